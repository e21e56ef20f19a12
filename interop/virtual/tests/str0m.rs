//! Data channels between our server and str0m, which plays the browser, over the virtual network.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "str0m counts time in the standard library's instants"
)]

use std::collections::VecDeque;
use std::net::SocketAddr;

use base::{
    Datagram, DatagramMeta, Duration, Ecn, Icmp, Instant, IpService, Machine, Probability, Purpose,
    RandomStream, Transmit, TransmitBuffer,
};
use bytes::Bytes;
use netsim::topology::{self, Directions, Placed};
use netsim::{Host, HostId, LinkConfig, Simulation};
use secure::{Identity, Role, Secrets};
use str0m::channel::{ChannelConfig, ChannelId, Reliability};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc};
use webrtc::{
    ChannelEvent, ChannelOptions, ChannelReliability, MessageKind, PeerEvent, PeerId, Server,
    ServerOptions, StreamId,
};

/// str0m as a machine: what it has to send, when it wants to be called, and what it reported.
struct Browser {
    rtc: Rtc,
    origin: std::time::Instant,
    outgoing: VecDeque<(SocketAddr, SocketAddr, Vec<u8>)>,
    due: Option<Instant>,
    told: Vec<Event>,
}

impl Browser {
    fn new(local: SocketAddr) -> Browser {
        let origin = std::time::Instant::now();
        let mut rtc = Rtc::builder().set_sctp_max_buffered_amount(1 << 20).build(origin);
        rtc.add_local_candidate(Candidate::host(local, "udp").unwrap());
        let (due, told) = (Some(Instant::ZERO), Vec::new());
        Browser { rtc, origin, outgoing: VecDeque::new(), due, told }
    }

    fn to_std(&self, now: Instant) -> std::time::Instant {
        self.origin + core::time::Duration::from_nanos(now.as_nanos())
    }

    /// Collects its output; to be called after each of its inputs.
    fn settle(&mut self) {
        loop {
            match self.rtc.poll_output().unwrap() {
                Output::Timeout(at) => {
                    let since = at.saturating_duration_since(self.origin);
                    // An instant far off is none.
                    self.due = (since.as_secs() < 1 << 30).then(|| Instant::ZERO + since.into());
                    return;
                }
                Output::Transmit(out) => {
                    self.outgoing.push_back((out.source, out.destination, out.contents.to_vec()));
                }
                Output::Event(event) => self.told.push(event),
            }
        }
    }
}

enum End {
    Browser(Box<Browser>),
    Server(Box<Server>, Vec<(PeerId, PeerEvent)>),
}

impl Machine for End {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        match self {
            End::Server(server, _) => server.handle_datagram(now, meta, datagram),
            End::Browser(browser) => {
                let bytes = datagram.into_bytes();
                let Ok(contents) = bytes.as_ref().try_into() else { return };
                let (proto, source, destination) = (Protocol::Udp, meta.remote, meta.local);
                let received = Receive { proto, source, destination, contents };
                let now = browser.to_std(now);
                browser.rtc.handle_input(Input::Receive(now, received)).unwrap();
                browser.settle();
            }
        }
    }

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            End::Server(server, _) => server.handle_timeout(now),
            End::Browser(browser) => {
                let now = browser.to_std(now);
                browser.rtc.handle_input(Input::Timeout(now)).unwrap();
                browser.settle();
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        match self {
            End::Server(server, _) => server.poll_transmit(now, buffer),
            End::Browser(browser) => {
                let (local, remote, bytes) = browser.outgoing.pop_front()?;
                buffer.head().extend_from_slice(&bytes);
                let (ecn, service) = (Ecn::NotEct, IpService::default());
                let (local, size) = (Some(local), bytes.len());
                Some(Transmit { local, remote, ecn, dont_fragment: false, service, size })
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            End::Server(server, _) => server.poll_timeout(),
            End::Browser(browser) => browser.due,
        }
    }
}

impl Host for End {
    fn after_input(&mut self, _: Instant) {
        if let End::Server(server, told) = self {
            told.extend(core::iter::from_fn(|| server.poll_event()));
        }
    }
}

struct World {
    simulation: Simulation<End>,
    browser: HostId,
    server: HostId,
    peer: PeerId,
    channels: Vec<ChannelId>,
}

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 9000))
}

impl World {
    /// str0m opens these channels to a server that is `role` in DTLS, over links of 50 ms that lose
    /// this many of a hundred.
    fn new(role: Role, loss_percent: u64, channels: Vec<ChannelConfig>) -> World {
        let mut options = ServerOptions::new(vec![address(2)]);
        (options.role, options.secrets) = (role, Secrets::Seeded);
        let identity = Identity::generate(&mut RandomStream::new(1, Purpose("identity", 0)));
        let random = RandomStream::new(1, Purpose("server", 0));
        let mut server = Server::new(options, identity, random).unwrap();
        let mut browser = Browser::new(address(1));
        let mut change = browser.rtc.sdp_api();
        let channels =
            channels.into_iter().map(|one| change.add_channel_with_config(one)).collect();
        let (offer, pending) = change.apply().unwrap();
        let offer = offer.to_sdp_string();
        let (peer, answer) = server.accept(Instant::ZERO, &offer, None).unwrap();
        let answer = str0m::change::SdpAnswer::from_sdp_string(&answer.to_string()).unwrap();
        browser.rtc.sdp_api().accept_answer(pending, answer).unwrap();
        browser.settle();
        let loss = Probability::from_ratio(loss_percent, 100);
        let link = LinkConfig::lossy(Duration::from_millis(50), loss);
        let mut simulation = Simulation::new(1);
        let pair = topology::pair(
            &mut simulation,
            Placed::at(End::Browser(Box::new(browser)), address(1)),
            Placed::at(End::Server(Box::new(server), Vec::new()), address(2)),
            &[Directions::both(link)],
        );
        let pair = pair.unwrap();
        World { simulation, browser: pair.first, server: pair.second, peer, channels }
    }

    fn run_for(&mut self, span: Duration) {
        let until = self.simulation.now() + span;
        self.simulation.run_until(until).unwrap();
    }

    fn browser<R>(&mut self, act: impl FnOnce(&mut Rtc) -> R) -> R {
        self.simulation.with_host(self.browser, |end, now| {
            let End::Browser(browser) = end else { panic!("the server") };
            let now = browser.to_std(now);
            browser.rtc.handle_input(Input::Timeout(now)).unwrap();
            browser.settle();
            let result = act(&mut browser.rtc);
            browser.settle();
            result
        })
    }

    fn server<R>(
        &mut self,
        act: impl FnOnce(&mut webrtc::Peer<webrtc::ice::IceLite>, Instant) -> R,
    ) -> R {
        let id = self.peer;
        self.simulation.with_host(self.server, |end, now| {
            let End::Server(server, _) = end else { panic!("the browser") };
            server.with_peer(id, |peer| act(peer, now)).unwrap()
        })
    }

    fn told_server(&self) -> Vec<ChannelEvent> {
        let End::Server(_, told) = self.simulation.host(self.server) else { panic!("the browser") };
        let channel = |event: &PeerEvent| match event {
            PeerEvent::Channel(event) => Some(event.clone()),
            _ => None,
        };
        told.iter().filter_map(|(_, event)| channel(event)).collect()
    }

    /// Messages that str0m received on one of its channels.
    fn told_browser(&self, channel: ChannelId) -> Vec<Vec<u8>> {
        let End::Browser(browser) = self.simulation.host(self.browser) else {
            panic!("the server")
        };
        let data = browser.told.iter().filter_map(|event| match event {
            Event::ChannelData(data) if data.id == channel => Some(data.data.clone()),
            _ => None,
        });
        data.collect()
    }
}

fn config(label: &str, ordered: bool, reliability: Reliability) -> ChannelConfig {
    let (negotiated, protocol) = (None, format!("{label}-protocol"));
    ChannelConfig { label: label.into(), ordered, reliability, negotiated, protocol }
}

#[test]
fn str0m_and_our_server_speak_over_channels_of_every_kind_over_loss() {
    for role in [Role::Server, Role::Client] {
        let kinds = vec![
            config("reliable", true, Reliability::Reliable),
            config("unordered", false, Reliability::Reliable),
            config("twice", false, Reliability::MaxRetransmits { retransmits: 2 }),
            config("brief", true, Reliability::MaxPacketLifetime { lifetime: 300 }),
        ];
        let mut world = World::new(role, 10, kinds);
        world.run_for(Duration::from_secs(20));
        let mut opened: Vec<(StreamId, ChannelOptions)> = Vec::new();
        for event in world.told_server() {
            if let ChannelEvent::Opened { id, options } = event {
                opened.push((id, options));
            }
        }
        opened.sort_by_key(|(id, _)| *id);
        let told: Vec<_> = (opened.iter())
            .map(|(_, own)| {
                (own.label.as_str(), own.protocol.as_str(), own.ordered, own.reliability)
            })
            .collect();
        let brief = ChannelReliability::Lifetime(Duration::from_millis(300));
        let expected = [
            ("reliable", "reliable-protocol", true, ChannelReliability::Full),
            ("unordered", "unordered-protocol", false, ChannelReliability::Full),
            ("twice", "twice-protocol", false, ChannelReliability::Retransmissions(2)),
            ("brief", "brief-protocol", true, brief),
        ];
        assert_eq!(told, expected, "{role:?}");
        let sent: Vec<Vec<u8>> = (0..50u8).map(|number| vec![number; 200]).collect();
        let channels = world.channels.clone();
        for payload in &sent {
            for (channel, (id, _)) in channels.iter().zip(&opened) {
                world.browser(|rtc| rtc.channel(*channel).unwrap().write(true, payload).unwrap());
                let payload = Bytes::from(payload.clone());
                world
                    .server(|peer, now| peer.send(now, *id, MessageKind::Binary, payload))
                    .unwrap();
            }
            world.run_for(Duration::from_millis(20));
        }
        world.run_for(Duration::from_secs(60));
        for (channel, (id, kind)) in channels.iter().zip(&opened) {
            let at_server = world.told_server().into_iter().filter_map(|event| match event {
                ChannelEvent::Message { id: on, payload, .. } if on == *id => {
                    Some(payload.to_vec())
                }
                _ => None,
            });
            for mut arrived in [at_server.collect(), world.told_browser(*channel)] {
                if !kind.ordered {
                    arrived.sort();
                }
                match kind.reliability {
                    ChannelReliability::Full => assert_eq!(arrived, sent, "{role:?} {kind:?}"),
                    _ => assert!(
                        arrived.len() > 30 && arrived.iter().all(|one| sent.contains(one)),
                        "{role:?} {kind:?}: {}",
                        arrived.len()
                    ),
                }
            }
        }
    }
}

#[test]
fn messages_of_1_b_to_256_kb_arrive_whole_both_ways() {
    let mut world = World::new(Role::Server, 0, vec![ChannelConfig::default()]);
    world.run_for(Duration::from_secs(5));
    let channel = world.channels[0];
    let sizes = [1, 1_000, 16_000, 65_535, 256_000];
    for size in sizes {
        let payload = vec![(size % 251) as u8; size];
        world.browser(|rtc| assert!(rtc.channel(channel).unwrap().write(true, &payload).unwrap()));
        // str0m announces what it takes; longer messages are refused here.
        let taken = world.server(|peer, now| {
            let id = peer.channel_ids().next().unwrap();
            peer.send(now, id, MessageKind::Binary, payload.into()).is_ok()
        });
        assert!(taken, "{size}");
        world.run_for(Duration::from_secs(20));
    }
    let arrived = world.told_server().into_iter().filter_map(|event| match event {
        ChannelEvent::Message { payload, .. } => Some(payload.len()),
        _ => None,
    });
    assert_eq!(arrived.collect::<Vec<_>>(), sizes);
    let arrived: Vec<usize> = world.told_browser(channel).iter().map(Vec::len).collect();
    assert_eq!(arrived, sizes);
}

#[test]
fn a_channel_that_the_server_closes_is_closed_for_str0m() {
    let mut world = World::new(Role::Server, 0, vec![ChannelConfig::default()]);
    world.run_for(Duration::from_secs(5));
    let id = world.server(|peer, _| peer.channel_ids().next().unwrap());
    world.server(|peer, now| peer.close_channel(now, id)).unwrap();
    world.run_for(Duration::from_secs(5));
    let channel = world.channels[0];
    let End::Browser(browser) = world.simulation.host(world.browser) else { panic!("the server") };
    let closed = |event: &Event| matches!(event, Event::ChannelClose(id) if *id == channel);
    assert!(browser.told.iter().any(closed));
    assert!(world.told_server().contains(&ChannelEvent::Closed { id }));
}
