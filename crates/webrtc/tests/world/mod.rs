//! A server and a browser on a virtual network of 100 ms round trip. The browser is this crate's
//! [`Peer`] over the full ICE agent of the crate `is`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the agent counts time in the standard library's instants"
)]
#![allow(dead_code, reason = "each test needs a part of it")]

use core::net::SocketAddr;
use std::collections::BTreeSet;

use base::machine::Holder;
use base::{DatagramMeta, Duration, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use netsim::topology::{self, Directions, Placed};
use netsim::{Host, HostId, LinkConfig, Simulation};
use secure::{Context, Identity, Role, Secrets, Settings, Trust};
use webrtc::ice::{Credentials, Ice, Pair};
use webrtc::sdp::{Description, Setup};
use webrtc::{ChannelEvent, Peer, PeerEvent, PeerId, PeerOptions, Server, ServerOptions, StreamId};

/// The full agent of the crate `is`, controlling.
pub(crate) struct FullAgent {
    agent: is::IceAgent,
    origin: std::time::Instant,
    due: Option<Instant>,
    selected: Option<Pair>,
    verified: BTreeSet<SocketAddr>,
    lost: bool,
}

impl FullAgent {
    fn new(own: &Credentials, local: SocketAddr) -> FullAgent {
        let creds = |own: &Credentials| is::IceCreds {
            ufrag: own.ufrag.clone(),
            pass: own.password.clone(),
        };
        let mut agent = is::IceAgent::new(creds(own));
        agent.set_controlling(true);
        agent.set_control_tie_breaker(7);
        agent.add_local_candidate(is::Candidate::host(local, "udp").unwrap());
        let origin = std::time::Instant::now();
        let (verified, selected) = (BTreeSet::new(), None);
        FullAgent { agent, origin, due: Some(Instant::ZERO), selected, verified, lost: false }
    }

    /// Takes the server's credentials and candidates from its answer.
    pub(crate) fn answer(&mut self, answer: &Description) {
        self.agent.set_remote_credentials(is::IceCreds {
            ufrag: answer.credentials.ufrag.clone(),
            pass: answer.credentials.password.clone(),
        });
        for candidate in &answer.candidates {
            let remote = is::Candidate::host(candidate.socket().unwrap(), "udp").unwrap();
            self.agent.add_remote_candidate(remote);
        }
    }

    fn to_std(&self, now: Instant) -> std::time::Instant {
        self.origin + core::time::Duration::from_nanos(now.as_nanos())
    }

    fn settle(&mut self) {
        while let Some(event) = self.agent.poll_event() {
            match event {
                is::IceAgentEvent::NominatedSend { source, destination, .. } => {
                    self.selected = Some(Pair { local: source, remote: destination });
                }
                is::IceAgentEvent::DiscoveredRecv { source, .. } => {
                    _ = self.verified.insert(source)
                }
                is::IceAgentEvent::IceConnectionStateChange(state) => {
                    self.lost = state == is::IceConnectionState::Disconnected;
                }
                _ => {}
            }
        }
        let due = self.agent.poll_timeout();
        self.due =
            due.map(|at| Instant::ZERO + Duration::from(at.saturating_duration_since(self.origin)));
    }
}

impl Ice for FullAgent {
    fn handle_stun(&mut self, now: Instant, meta: DatagramMeta, datagram: &[u8]) {
        let Ok(message) = is::stun::StunMessage::parse(datagram) else { return };
        let (proto, now) = (is::Protocol::Udp, self.to_std(now));
        let packet =
            is::stun::StunPacket { proto, source: meta.remote, destination: meta.local, message };
        self.agent.handle_packet(now, packet);
        self.agent.handle_timeout(now);
        self.settle();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.agent.handle_timeout(self.to_std(now));
        self.settle();
    }

    fn poll_transmit(&mut self) -> Option<(Pair, Vec<u8>)> {
        let transmit = self.agent.poll_transmit()?;
        self.settle();
        let pair = Pair { local: transmit.source, remote: transmit.destination };
        Some((pair, transmit.contents.to_vec()))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    fn selected(&self) -> Option<Pair> {
        self.selected
    }

    fn has_verified(&self, remote: SocketAddr) -> bool {
        self.verified.contains(&remote)
    }

    fn has_proved(&self, remote: SocketAddr) -> bool {
        self.selected.is_some_and(|pair| pair.remote == remote)
    }

    fn is_lost(&self) -> bool {
        self.lost
    }
}

/// One of the two hosts.
pub(crate) enum End {
    /// A page with a connection, and its events.
    Browser(Box<Peer<FullAgent>>, Vec<PeerEvent>),
    /// The server, its events, and whether its application reads nothing.
    Server(Box<Server>, Vec<(PeerId, PeerEvent)>, bool),
}

impl End {}

impl Holder for End {
    type Held = dyn Machine;

    fn held(&self) -> &Self::Held {
        match self {
            End::Browser(peer, _) => &**peer,
            End::Server(server, ..) => &**server,
        }
    }

    fn held_mut(&mut self) -> &mut Self::Held {
        match self {
            End::Browser(peer, _) => &mut **peer,
            End::Server(server, ..) => &mut **server,
        }
    }
}

impl Host for End {
    fn after_input(&mut self, _: Instant) {
        match self {
            End::Browser(peer, told) => told.extend(core::iter::from_fn(|| peer.poll_event())),
            End::Server(_, _, true) => {}
            End::Server(server, told, false) => {
                told.extend(core::iter::from_fn(|| server.poll_event()));
            }
        }
    }
}

/// Variations of a world: link, roles and options.
pub(crate) struct Setting {
    /// Configuration of the links in both directions.
    pub(crate) link: LinkConfig,
    /// Seed of all random streams.
    pub(crate) seed: u64,
    /// Role in DTLS that the server takes.
    pub(crate) role: Role,
    /// Settings of the browser's DTLS.
    pub(crate) browser: Settings,
    /// Options of the browser's association.
    pub(crate) association: sctp::AssociationOptions,
    /// Function that varies the server's options.
    pub(crate) server: fn(&mut ServerOptions),
    /// Whether the offer names another key than the browser has.
    pub(crate) wrong_key: bool,
    /// Whether the browser's description carries SCTP's INIT; its answer does only if the offer's
    /// suits it.
    pub(crate) signals_init: bool,
    /// Change that a browser without INIT in descriptions makes to the offer's INIT in its answer.
    pub(crate) returns: Option<fn(Vec<u8>) -> Vec<u8>>,
    /// Whether the server offers and the browser answers.
    pub(crate) server_offers: bool,
}

impl Setting {
    /// A browser with DTLS 1.3 as the client, over a link that loses this percentage of packets.
    pub(crate) fn new(loss_percent: u64) -> Setting {
        let loss = base::Probability::from_ratio(loss_percent, 100);
        Setting {
            link: LinkConfig::lossy(Duration::from_millis(50), loss),
            seed: 1,
            role: Role::Server,
            browser: Settings::default(),
            association: PeerOptions::association(),
            server: |_| {},
            wrong_key: false,
            signals_init: false,
            returns: None,
            server_offers: false,
        }
    }
}

/// A server and a browser whose offer it has answered.
pub(crate) struct World {
    pub(crate) simulation: Simulation<End>,
    pub(crate) browser: HostId,
    pub(crate) server: HostId,
    pub(crate) peer: PeerId,
    /// The page's names in ICE.
    pub(crate) credentials: Credentials,
    /// SCTP's INIT of the offer.
    pub(crate) signalled: Option<Vec<u8>>,
}

pub(crate) fn identity(seed: u64) -> Identity {
    Identity::generate(&mut RandomStream::new(seed, Purpose("identity", 0)))
}

/// Address of the browser, 1, or of the server, 2.
pub(crate) fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 9000 + u16::from(host)))
}

/// An offer as a browser would make it.
pub(crate) fn offer(own: &Credentials, identity: &Identity) -> Description {
    Description {
        session: 1,
        mid: Some("0".into()),
        bundled: true,
        lite: false,
        credentials: own.clone(),
        fingerprints: [identity.fingerprint()].into(),
        setup: Setup::ActPass,
        sctp_port: 5000,
        max_message: Some(256 << 10),
        sctp_init: None,
        candidates: Vec::new(),
    }
}

/// A server that a seed decides.
pub(crate) fn server(seed: u64, role: Role, change: fn(&mut ServerOptions)) -> Server {
    let mut options = ServerOptions::new(vec![address(2)]);
    options.role = role;
    options.secrets = Secrets::Seeded;
    change(&mut options);
    Server::new(options, identity(2), RandomStream::new(seed, Purpose("server", 0))).unwrap()
}

impl World {
    pub(crate) fn new(setting: Setting) -> World {
        let Setting {
            link,
            seed,
            role,
            browser,
            association,
            server: change,
            wrong_key,
            signals_init,
            returns,
            server_offers,
        } = setting;
        let mut server = server(seed, role, change);
        let mut random = RandomStream::new(seed, Purpose("browser", 0));
        let own = Credentials::generate(&mut random);
        let agent = FullAgent::new(&own, address(1));
        // The offer leaves the choice.
        let role = match role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        let context = Context::without_cookies(browser, &identity(1)).unwrap();
        let options = PeerOptions {
            secrets: Secrets::Seeded,
            peer_max_message: Some(association.max_message_size as u64),
            association,
            ..PeerOptions::new(context)
        };
        let trust = Trust::Listed([server.fingerprint()].into());
        let page = Peer::new(Instant::ZERO, agent, (role, trust), options, random);
        let mut page = page.unwrap();
        let mut offer = offer(&own, &identity(if wrong_key { 3 } else { 1 }));
        if signals_init {
            offer.sctp_init = page.signal_init(Instant::ZERO);
        }
        let (peer, answer) = if server_offers {
            let (peer, description) = server.offer_at(Instant::ZERO, None, &[address(2)]).unwrap();
            assert_eq!(description.setup, Setup::ActPass);
            offer.setup = role.into();
            let init = description.sctp_init.clone();
            offer.sctp_init = offer
                .sctp_init
                .filter(|_| init.as_ref().is_some_and(|init| page.take_init(init) == Ok(true)));
            offer.sctp_init =
                offer.sctp_init.or(init.zip(returns).map(|(init, change)| change(init)));
            server.take_answer(Instant::ZERO, peer, &offer.to_string()).unwrap();
            (peer, description)
        } else {
            let (peer, answer) = server.accept(Instant::ZERO, &offer.to_string(), None).unwrap();
            assert_ne!(answer.setup, Setup::from(role));
            (peer, answer)
        };
        // The browser reads the text, too.
        let answer: Description = answer.to_string().parse().unwrap();
        assert!(answer.lite);
        assert_eq!(answer.max_message, Some(256 << 10));
        page.ice_mut().answer(&answer);
        if let Some(init) = &answer.sctp_init {
            page.take_init(init).unwrap();
        }
        let mut simulation = Simulation::new(seed);
        let pair = topology::pair(
            &mut simulation,
            Placed::at(End::Browser(Box::new(page), Vec::new()), address(1)),
            Placed::at(End::Server(Box::new(server), Vec::new(), false), address(2)),
            &[Directions::both(link)],
        );
        let pair = pair.unwrap();
        let signalled = offer.sctp_init;
        World {
            simulation,
            browser: pair.first,
            server: pair.second,
            peer,
            credentials: own,
            signalled,
        }
    }

    /// Runs the simulation for `span`.
    pub(crate) fn run_for(&mut self, span: Duration) {
        let until = self.simulation.now() + span;
        self.simulation.run_until(until).unwrap();
    }

    /// Lets the page act on its peer at the present time.
    pub(crate) fn browser<R>(&mut self, act: impl FnOnce(&mut Peer<FullAgent>, Instant) -> R) -> R {
        self.simulation.with_host(self.browser, |end, now| match end {
            End::Browser(peer, _) => act(peer, now),
            End::Server(..) => panic!("the server"),
        })
    }

    /// The server's application acts on its peer.
    pub(crate) fn server<R>(
        &mut self,
        act: impl FnOnce(&mut Peer<webrtc::ice::IceLite>, Instant) -> R,
    ) -> Option<R> {
        let id = self.peer;
        self.simulation.with_host(self.server, |end, now| match end {
            End::Server(server, ..) => server.with_peer(id, |peer| act(peer, now)),
            End::Browser(..) => panic!("the browser"),
        })
    }

    /// The server's application stops reading its events, or resumes.
    pub(crate) fn set_deaf(&mut self, is_deaf: bool) {
        self.simulation.with_host(self.server, |end, _| {
            if let End::Server(_, _, deaf) = end {
                *deaf = is_deaf;
            }
        });
    }

    /// Events that the page's peer reported, in order.
    pub(crate) fn told_browser(&self) -> &[PeerEvent] {
        match self.simulation.host(self.browser) {
            End::Browser(_, told) => told,
            End::Server(..) => panic!("the server"),
        }
    }

    /// Events of the server's application.
    pub(crate) fn told_server(&self) -> Vec<PeerEvent> {
        match self.simulation.host(self.server) {
            End::Server(_, told, _) => told.iter().map(|(_, event)| event.clone()).collect(),
            End::Browser(..) => panic!("the browser"),
        }
    }
}

/// A binding request of the browser with these names and password, from the crate's other side.
pub(crate) fn check(local: &str, remote: &str, password: &str) -> Vec<u8> {
    let name = format!("{local}:{remote}");
    let id = is::stun::TransId::new();
    let message = is::stun::StunMessage::binding_request(&name, id, true, 1, 1, true);
    let mut bytes = vec![0; 500];
    let provider = is::DefaultSha1HmacProvider;
    let sha1 = |key: &[u8], parts: &[&[u8]]| is::Sha1HmacProvider::sha1_hmac(&provider, key, parts);
    let length = message.to_bytes(Some(password.as_bytes()), &mut bytes, sha1).unwrap();
    bytes.truncate(length);
    bytes
}

/// Messages on a channel among events.
pub(crate) fn messages(told: &[PeerEvent], id: StreamId) -> Vec<Bytes> {
    let of_channel = |event: &PeerEvent| match event {
        PeerEvent::Channel(ChannelEvent::Message { id: on, payload, .. }) if *on == id => {
            Some(payload.clone())
        }
        _ => None,
    };
    told.iter().filter_map(of_channel).collect()
}
