//! Reports of abandoned messages to the peer.

use base::Duration;
use sctp::wire::ChunkType;
use sctp::{Extensions, Reliability, SendOptions};

use crate::peer::{Peer, Sent};

const ONCE: Reliability = Reliability::Retransmissions(0);

fn unordered(reliability: Reliability) -> SendOptions {
    SendOptions { reliability, unordered: true, ..SendOptions::default() }
}

#[test]
fn it_goes_ahead_of_the_data_that_is_sent_again() {
    let mut peer = Peer::partial();
    peer.send(1, 100, ONCE);
    peer.send(2, 100, Reliability::Full);
    let both = vec![Sent::Forward(0, vec![(1, 0)]), Sent::Data(1, 2, 0, "BE", 100)];
    assert_eq!(peer.pass(1000), [(1000.0, both)]);
}

#[test]
fn it_stops_at_what_was_not_given_up_and_goes_on_when_that_is_acknowledged() {
    let mut peer = Peer::partial();
    for reliability in [ONCE, Reliability::Full, ONCE] {
        peer.send(1, 100, reliability);
    }
    let first = vec![Sent::Forward(0, vec![(1, 0)]), Sent::Data(1, 1, 1, "BE", 100)];
    assert_eq!(peer.pass(1000), [(1000.0, first)]);
    assert_eq!(peer.sack(1, &[]), [[Sent::Forward(2, vec![(1, 2)])]]);
    assert!(peer.sack(2, &[]).is_empty());
    assert_eq!(peer.pass(60_000), []);
}

#[test]
fn it_names_the_last_ordered_message_of_each_stream_and_no_unordered_one() {
    let mut peer = Peer::partial();
    for stream in [3, 1, 3] {
        peer.send(stream, 100, ONCE);
    }
    peer.try_send(2, 100, unordered(ONCE)).unwrap();
    peer.drain();
    assert_eq!(peer.pass(1000), [(1000.0, vec![Sent::Forward(3, vec![(1, 0), (3, 1)])])]);
}

#[test]
fn where_messages_interleave_it_names_unordered_ones_too() {
    let mut peer = Peer::interleaving();
    peer.send(3, 100, ONCE);
    for _ in 0..2 {
        peer.try_send(3, 100, unordered(ONCE)).unwrap();
        peer.drain();
    }
    let skips = vec![(3, false, 0), (3, true, 1)];
    assert_eq!(peer.pass(1000), [(1000.0, vec![Sent::IForward(2, skips)])]);
}

#[test]
fn at_zero_loss_none_is_sent() {
    let mut peer = Peer::partial();
    for tsn in 0..1000 {
        let sent = peer.send(1, 100, ONCE);
        assert_eq!(sent.len(), 1);
        peer.pass(20);
        assert!(peer.sack(tsn, &[]).is_empty());
    }
}

#[test]
fn a_sack_that_was_under_way_does_not_repeat_it() {
    let mut peer = Peer::partial();
    peer.send(1, 100, ONCE);
    for _ in 0..4 {
        peer.send(2, 100, Reliability::Full);
    }
    peer.sack(-1, &[(2, 2)]);
    peer.sack(-1, &[(2, 3)]);
    assert_eq!(peer.sack(-1, &[(2, 4)]), [[Sent::Forward(0, vec![(1, 0)])]]);
    assert!(peer.sack(-1, &[(2, 5)]).is_empty());
    peer.pass(200);
    // This SACK is late enough: the FORWARD TSN must have been lost.
    assert_eq!(peer.sack(-1, &[(2, 5)]), [[Sent::Forward(0, vec![(1, 0)])]]);
}

#[test]
fn its_own_timer_counts_errors_until_the_association_is_given_up() {
    let mut peer = Peer::partial_with(|options| options.association_max_retrans = 2);
    peer.send(1, 100, ONCE);
    let sent = peer.pass(60_000);
    let times: Vec<f64> = sent.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [1000.0, 3000.0, 7000.0]);
    assert_eq!(sent[2].1, [Sent::Other(ChunkType::ABORT)]);
}

#[test]
fn it_never_exceeds_a_packet_however_many_streams_it_names() {
    let mut peer = Peer::partial_with(|options| {
        options.outbound_streams = 1000;
        let mut policy = (*options.policy).clone();
        policy.timeout_resends = recovery::policy::TimeoutResends::AllOutstanding;
        options.policy = std::sync::Arc::new(policy);
    });
    // Ones of one byte fit the window of 4404 bytes.
    for stream in 0..1000 {
        peer.send(stream, 1, ONCE);
    }
    let sent = peer.pass(1000);
    let [(_, first)] = &sent[..] else { panic!("{sent:?}") };
    let [Sent::Forward(point, skips)] = &first[..] else { panic!("{first:?}") };
    assert_eq!((*point, skips.len()), (362, 363));
    let second = peer.sack(362, &[]);
    let [Sent::Forward(point, skips)] = &second[0][..] else { panic!("{second:?}") };
    assert_eq!((*point, skips.len()), (725, 363));
    let third = peer.sack(725, &[]);
    assert!(matches!(&third[0][..], [Sent::Forward(999, _)]));
    assert!(peer.sack(999, &[]).is_empty());
    assert_eq!(peer.pass(60_000), []);
}

#[test]
fn a_shutdown_waits_until_it_is_acknowledged() {
    let mut peer = Peer::partial();
    peer.send(1, 100, ONCE);
    assert!(peer.shutdown().is_empty());
    assert_eq!(peer.pass(1000), [(1000.0, vec![Sent::Forward(0, vec![(1, 0)])])]);
    assert_eq!(peer.sack(0, &[]), [[Sent::Other(ChunkType::SHUTDOWN)]]);
}

#[test]
fn the_peers_shutdown_acknowledges_it() {
    let mut peer = Peer::partial();
    peer.send(1, 100, ONCE);
    assert!(peer.peer_shuts_down(-1).is_empty());
    assert_eq!(peer.pass(1000), [(1000.0, vec![Sent::Forward(0, vec![(1, 0)])])]);
    assert_eq!(peer.peer_shuts_down(0), [[Sent::Other(ChunkType::SHUTDOWN_ACK)]]);
}

#[test]
fn a_switched_off_extension_gives_nothing_up() {
    let mut peer = Peer::partial_with(|options| options.extensions = Extensions::NONE);
    peer.send(1, 100, Reliability::Lifetime(Duration::from_millis(1)));
    let again = vec![Sent::Data(0, 1, 0, "BE", 100)];
    assert_eq!(peer.pass(1000), [(1000.0, again)]);
}
