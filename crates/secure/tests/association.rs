//! SCTP over DTLS (RFC 8261) between two endpoints over the virtual network.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod world;

use base::{DatagramMeta, Duration, Instant, Machine, Probability, Purpose, RandomStream};
use secure::{Failure, Notice, Refusal, Role};
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

#[test]
fn a_secure_end_and_a_plain_end_never_meet() {
    let mut secure = World::new(link(0), 1, Some([2, 1]));
    // A plain INIT, as a stranger sends it, gets no answer: no attacker can talk an end down to plain.
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
