//! SCTP over DTLS (RFC 8261) between two endpoints over the virtual network.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod world;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use base::{
    Datagram, DatagramMeta, Duration, Ecn, Icmp, Instant, IpService, Machine, Probability, Purpose,
    RandomStream, Transmit, TransmitBuffer,
};
use secure::{
    Context, Failure, Limits, Notice, Refusal, Role, Secrets, Secured, Sessions, Settings,
};
use world::{Stack, World, identity, link};

#[test]
fn the_first_message_arrives_two_round_trips_after_that_of_a_plain_association() {
    for (expected, at) in [(None, 150), (Some([2, 1]), 350)] {
        let mut world = World::new(link(0), 1, expected);
        world.send("hello");
        world.run_for(Duration::from_secs(5));
        let received = world.received();
        assert_eq!(received.len(), 1);
        assert_eq!(received[0], (Instant::from_millis(at), "hello".into()));
    }
}

#[test]
fn messages_survive_loss_reordering_and_duplication_once_and_in_order() {
    for seed in 0..6 {
        let mut link = link(10);
        link.duplicate = Probability::from_ratio(1, 10);
        link.reorder.probability = Probability::from_ratio(1, 10);
        link.reorder.extra_delay = Duration::from_millis(15);
        link.allow_reordering = true;
        let mut world = World::new(link, seed, Some([2, 1]));
        for number in 0..60_u8 {
            world.send(vec![number; 1 + usize::from(number) * 50]);
            world.run_for(Duration::from_millis(50));
        }
        world.run_for(Duration::from_secs(120));
        let received: Vec<_> = world.received().iter().map(|message| message.1.clone()).collect();
        let sent: Vec<_> = (0..60_u8).map(|n| vec![n; 1 + usize::from(n) * 50]).collect();
        assert_eq!(received, sent, "seed {seed}");
    }
}

/// Number of 200 clients without an association after ten seconds, over a path that loses 30 % each
/// way.
fn not_set_up(expected: Option<[u64; 2]>) -> usize {
    let waits = |seed: &u64| {
        let mut world =
            World::with_retransmission(link(30), *seed, expected, Duration::from_millis(250));
        world.send("hello");
        world.run_for(Duration::from_secs(10));
        !world.is_set_up()
    };
    (0..200).filter(waits).count()
}

#[test]
fn at_30_percent_loss_each_way_few_clients_wait_for_longer_than_ten_seconds() {
    let [plain, secure] = [None, Some([2, 1])].map(not_set_up);
    println!("of 200 clients {plain} in plain and {secure} over DTLS are not set up after 10 s");
    assert!(plain <= 10 && secure <= 10, "{plain}, {secure}");
}

#[test]
fn an_association_comes_to_be_where_answers_are_seconds_late_and_overtake_each_other() {
    for seed in 0..40 {
        let mut link = link(if seed % 2 == 0 { 0 } else { 10 });
        link.reorder.probability = Probability::from_ratio(1, 2);
        link.reorder.extra_delay = Duration::from_millis(500 + seed * 100);
        link.allow_reordering = true;
        let mut world =
            World::with_retransmission(link, seed, Some([2, 1]), Duration::from_millis(250));
        world.send("hello");
        world.run_for(Duration::from_secs(60));
        assert_eq!(world.received().len(), 1, "seed {seed}");
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    let run = |seed| {
        let mut world = World::new(link(10), seed, Some([2, 1]));
        (0..20).for_each(|number| world.send(vec![number; 100]));
        world.run_for(Duration::from_secs(60));
        (world.simulation.packets_sent(), world.received().to_vec())
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn a_wrong_key_on_either_side_lets_no_message_through() {
    for (expected, refuses, presented) in [([3, 1], 0, 2), ([2, 3], 1, 1)] {
        let mut world = World::new(link(0), 1, Some(expected));
        world.send("hello");
        world.run_for(Duration::from_secs(100));
        assert_eq!(world.received(), []);
        let host = [world.client, world.server][refuses];
        let notice = world.simulation.host(host).notices.first();
        let role = [Role::Client, Role::Server][refuses];
        let refusal = Refusal::NotListed(identity(presented).fingerprint());
        assert!(
            matches!(notice, Some(Notice::Failed { role: r, failure: Failure::Refused(f), .. }) if *r == role && *f == refusal),
            "{notice:?}"
        );
        assert!(world.simulation.host(world.client).failed, "the association ends");
    }
}

/// A peer with an accepted key that sends arbitrary packets inside its session.
#[derive(Debug, Default)]
struct Rubbish(Vec<Vec<u8>>);

impl Machine for Rubbish {
    fn handle_datagram(&mut self, _: Instant, _: DatagramMeta, _: Datagram) {}

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, _: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let packet = self.0.pop()?;
        buffer.head().extend_from_slice(&packet);
        let (remote, size) = (SERVER, packet.len());
        let (ecn, service) = (Ecn::NotEct, IpService::default());
        Some(Transmit { local: None, remote, ecn, dont_fragment: false, service, size })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 9899);

/// Delivers datagrams between the peer and the server of `world` until neither has more.
fn exchange(world: &mut World, peer: &mut Secured<Rubbish>) {
    let remote = SocketAddr::from(([10, 0, 0, 66], 9899));
    let meta = |local, remote| DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
    let server = world.server;
    loop {
        let mut count = 0;
        let mut buffer = Vec::new();
        world.simulation.with_host(server, |end, now| {
            while peer.poll_transmit(now, &mut buffer).is_some() {
                count += 1;
                let bytes = std::mem::take(&mut buffer);
                end.stack.handle_datagram(now, meta(SERVER, remote), bytes.into());
            }
            while let Some(transmit) = end.stack.poll_transmit(now, &mut buffer) {
                let bytes = std::mem::take(&mut buffer);
                if transmit.remote == remote {
                    count += 1;
                    peer.handle_datagram(now, meta(remote, SERVER), bytes.into());
                }
            }
        });
        if count == 0 {
            return;
        }
    }
}

#[test]
fn a_peer_that_speaks_dtls_and_then_rubbish_disturbs_no_other() {
    let mut world = World::new(link(0), 1, Some([2, 1]));
    world.send("before");
    world.run_for(Duration::from_secs(1));
    let now = world.simulation.now();
    // The key of the client, from another host.
    let context = Context::new(Settings::default(), &identity(1)).unwrap();
    let random = RandomStream::new(9, Purpose("peer", 0));
    let sessions = Sessions::new(context, Limits::default(), Secrets::Seeded, random);
    let mut peer = Secured { machine: Rubbish::default(), sessions };
    let (trust, patience) = (identity(2).fingerprint().into(), Settings::default().patience());
    peer.sessions.connect(now, (SERVER, None), trust, patience).unwrap();
    exchange(&mut world, &mut peer);
    assert!(peer.sessions.is_open(SERVER));
    let mut random = RandomStream::new(9, Purpose("rubbish", 0));
    for _ in 0..2_000 {
        let mut packet = vec![0; random.below(1_400) as usize];
        random.fill(&mut packet);
        // Some with SCTP's ports, and no checksum, as is good between these.
        if let Some(header) = packet.first_chunk_mut::<12>().filter(|_| random.below(2) == 0) {
            header[..4].copy_from_slice(&[0x13, 0x88, 0x13, 0x88]);
            header[8..].fill(0);
        }
        peer.machine.0.push(packet);
    }
    exchange(&mut world, &mut peer);
    let sealed = peer.sessions.stats().packets_sealed;
    world.simulation.with_host(world.server, |end, _| {
        let Stack::Secure(secured) = &mut end.stack else { panic!("plain") };
        assert!(sealed > 1_900 && secured.machine.stats().datagrams > 1_900, "{sealed}");
        assert_eq!(secured.machine.association_count(), 1);
    });
    world.send("after");
    world.run_for(Duration::from_secs(1));
    let texts: Vec<_> = world.received().iter().map(|message| message.1.clone()).collect();
    assert_eq!(texts, ["before", "after"]);
}

#[test]
fn a_secure_end_and_a_plain_end_never_meet() {
    let mut secure = World::new(link(0), 1, Some([2, 1]));
    // A plain INIT, as a stranger sends it, gets no answer: no attacker can talk an end down to
    // plain.
    let random = RandomStream::new(1, Purpose("plain", 0));
    let mut plain = sctp::Endpoint::new(sctp::EndpointOptions::default(), random);
    let remote = std::net::SocketAddr::from(([10, 0, 0, 9], 9899));
    plain.connect(Instant::ZERO, remote, 5000, world::options(false)).unwrap();
    let mut init = Vec::new();
    let transmit = plain.poll_transmit(Instant::ZERO, &mut init).unwrap();
    let meta = DatagramMeta { local: transmit.remote, remote, ecn: transmit.ecn, origin: None };
    secure.simulation.with_host(secure.server, |end, now| {
        end.stack.handle_datagram(now, meta, init.into());
        assert_eq!(end.stack.poll_transmit(now, &mut Vec::new()), None);
        let Stack::Secure(secured) = &mut end.stack else { panic!("plain") };
        assert_eq!(secured.sessions.stats().strangers_ignored, 1);
        assert_eq!(secured.machine.stats().datagrams, 0);
    });
}
