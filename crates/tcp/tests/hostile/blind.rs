//! Attackers that know the addresses of a connection but see none of its segments (RFC 5961).

use allocation_counter::measure;
use base::{Purpose, RandomStream};
use tcp::wire::{Flags, Options, Segment, SeqNumber};
use tcp::{ConnectionOptions, EndpointOptions, Event, State};

use crate::crowd::{Crowd, Honest};
use crate::support::address;

fn connected() -> (Crowd, Honest) {
    let mut crowd = Crowd::new(EndpointOptions::default(), ConnectionOptions::default());
    let honest = crowd.connect(address("10.0.7.7:777"), Options::default());
    crowd.drain();
    (crowd, honest)
}

/// Asserts that the connection is unchanged, and that no forged data reached its application.
fn unharmed(crowd: &mut Crowd, honest: &Honest) {
    let id = crowd.accepted[0];
    let own = crowd.endpoint.connection(id).unwrap();
    assert_eq!((own.state(), own.readable_bytes()), (State::Established, 0));
    crowd.give(honest.remote, &honest.segment(10));
    assert_eq!(crowd.endpoint.connection(id).unwrap().readable_bytes(), 10);
}

#[test]
fn resets_all_over_the_window_end_nothing_and_get_few_answers() {
    let (mut crowd, honest) = connected();
    let mut answers = 0;
    for step in 1..20_000 {
        let mut reset = honest.segment(0);
        reset.flags = Flags::RST;
        reset.seq = honest.seq.advance(step * 100);
        crowd.give(honest.remote, &reset);
        answers += crowd.drain();
    }
    assert_eq!(answers, 5);
    unharmed(&mut crowd, &honest);
}

#[test]
fn syns_end_nothing_and_get_few_answers() {
    let (mut crowd, honest) = connected();
    let mut answers = 0;
    let used = measure(|| {
        for step in 0..20_000 {
            let mut syn = honest.segment(0);
            syn.flags = if step % 2 == 0 { Flags::SYN } else { Flags::SYN | Flags::ACK };
            syn.seq = honest.seq.advance(step * 100);
            crowd.give(honest.remote, &syn);
            answers += crowd.drain();
        }
    });
    assert_eq!(answers, 5);
    assert!(used.bytes_current < 1024, "{} bytes", used.bytes_current);
    unharmed(&mut crowd, &honest);
}

#[test]
fn data_with_a_guessed_acknowledgement_is_not_taken() {
    let (mut crowd, honest) = connected();
    // The one valid sequence number of the window, with acknowledgment numbers from everywhere
    // else.
    for step in 1..10_000u32 {
        let mut forged = honest.segment(100);
        forged.ack = honest.ack.advance(step * 400_000);
        // Only recently sent data can be acknowledged: the largest window that the peer advertised
        // is 65535.
        let back = honest.ack.distance_from(forged.ack);
        if back <= u32::from(u16::MAX) {
            continue;
        }
        crowd.give(honest.remote, &forged);
        crowd.drain();
    }
    unharmed(&mut crowd, &honest);
}

#[test]
fn segments_at_random_do_no_harm() {
    let mut random = RandomStream::new(4, Purpose("test", 0));
    let (mut crowd, honest) = connected();
    for _ in 0..50_000 {
        let [a, b] = [random.next_u32(), random.next_u32()];
        let mut forged = Segment::new(honest.remote.port(), 80);
        forged.seq = SeqNumber(a);
        forged.ack = SeqNumber(b);
        forged.flags = Flags::from_bits(random.next_u32() as u16);
        forged.payload = vec![9; random.below(20) as usize].into();
        // A segment that happens to hit is outside of this test.
        let hits = forged.seq.distance_from(honest.seq) < 1 << 20
            || forged.ack.distance_from(honest.ack.advance(1 << 31)) > 1 << 31;
        if !hits {
            crowd.give(honest.remote, &forged);
            crowd.drain();
        }
    }
    unharmed(&mut crowd, &honest);
    let told = core::iter::from_fn(|| crowd.endpoint.poll_event());
    assert!(!told.into_iter().any(|(_, event)| matches!(event, Event::Failed(_))));
}

#[test]
fn how_many_resets_a_stranger_gets_tells_nothing_about_other_hosts_connections() {
    // Cao et al. 2016, with resets instead of challenge ACKs: guess a port with a forged source,
    // then count the own resets.
    let own_resets = |guessed: u16| {
        let (mut crowd, honest) = connected();
        let stray = |port| Segment { flags: Flags::ACK, ..Segment::new(port, 80) };
        for _ in 0..500 {
            let named = std::net::SocketAddr::new(honest.remote.ip(), guessed);
            crowd.give(named, &stray(guessed));
            crowd.drain();
        }
        let stranger = address("10.0.8.8:888");
        let answers = (0..3000).map(|_| {
            crowd.give(stranger, &stray(888));
            crowd.drain()
        });
        answers.sum::<usize>()
    };
    assert_eq!((own_resets(777), own_resets(778)), (1000, 1000));
}

#[test]
fn how_many_challenges_one_connection_sends_tells_nothing_about_another() {
    let challenges = |disturbed: bool| {
        let (mut crowd, honest) = connected();
        let stranger = crowd.connect(address("10.0.8.8:888"), Options::default());
        crowd.drain();
        let mut challenge = |honest: &Honest| {
            let mut syn = honest.segment(0);
            syn.flags = Flags::SYN;
            crowd.give(honest.remote, &syn);
            crowd.drain()
        };
        if disturbed {
            assert_eq!((0..500).map(|_| challenge(&honest)).sum::<usize>(), 5);
        }
        (0..500).map(|_| challenge(&stranger)).sum::<usize>()
    };
    assert_eq!((challenges(false), challenges(true)), (5, 5));
}

#[test]
fn a_syn_as_if_from_oneself_does_not_go_round_for_ever() {
    let mut crowd = Crowd::new(EndpointOptions::default(), ConnectionOptions::default());
    let own = address(crate::support::LOCAL);
    crowd.give(own, &crate::crowd::syn(own, SeqNumber(7)));
    let mut rounds = 0;
    while let Some((to, answer)) = crowd.next() {
        assert_eq!(to, own);
        crowd.give(own, &answer);
        rounds += 1;
        assert!(rounds < 100);
    }
    assert!(crowd.accepted.is_empty());
    crowd.serves();
}

#[test]
fn a_reset_with_the_right_number_is_the_peers() {
    let (mut crowd, honest) = connected();
    let mut reset = honest.segment(0);
    reset.flags = Flags::RST;
    crowd.give(honest.remote, &reset);
    let own = crowd.endpoint.connection(crowd.accepted[0]).unwrap();
    assert_eq!(own.state(), State::Closed);
}
