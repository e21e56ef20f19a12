//! Times at which a sent message is abandoned.

use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::BundlingPolicy;
use recovery::rtt::Ratio;
use sctp::{AbandonReason, Extensions, Reliability, SendError, SendOptions};

use crate::peer::{Peer, Sent};

const HALF_A_SECOND: Reliability = Reliability::Lifetime(Duration::from_millis(500));

#[test]
fn a_message_whose_lifetime_is_over_is_given_up_when_the_timer_would_send_it_again() {
    let mut peer = Peer::partial();
    assert_eq!(peer.send(1, 100, HALF_A_SECOND), [[Sent::Data(0, 1, 0, "BE", 100)]]);
    // Nothing happens at 500 ms; T3-rtx expires at 1 s, and again with doubled timeouts until the
    // FORWARD TSN is acknowledged.
    let forward = || vec![Sent::Forward(0, vec![(1, 0)])];
    assert_eq!(peer.pass(6999), [(1000.0, forward()), (3000.0, forward())]);
    assert_eq!(peer.pass(1), [(7000.0, forward())]);
    assert_eq!(peer.sack(0, &[]), [] as [Vec<Sent>; 0]);
    assert_eq!(peer.pass(60_000), []);
    let abandoned = peer.abandoned();
    assert_eq!((abandoned.len(), abandoned[0].sent), (1, true));
    assert_eq!(abandoned[0].reason, AbandonReason::Lifetime);
    let stats = peer.stats();
    assert_eq!((stats.abandoned.sent, stats.abandoned.unsent), (1, 0));
    assert_eq!((stats.outstanding_bytes, stats.paths[0].recovery.flight.bytes), (0, 0));
}

#[test]
fn a_message_that_may_live_is_sent_again_and_one_that_arrives_is_not_given_up() {
    let mut peer = Peer::partial();
    peer.send(1, 100, Reliability::Lifetime(Duration::from_millis(1500)));
    assert_eq!(peer.pass(1000), [(1000.0, vec![Sent::Data(0, 1, 0, "BE", 100)])]);
    assert_eq!(peer.sack(0, &[]), [] as [Vec<Sent>; 0]);
    assert_eq!(peer.pass(60_000), []);
    assert!(peer.abandoned().is_empty());
}

#[test]
fn retransmissions_are_counted_and_none_is_none() {
    for limit in [0, 1, 2] {
        let mut peer = Peer::partial();
        peer.send(1, 100, Reliability::Retransmissions(limit));
        let mut expected = vec![vec![Sent::Data(0, 1, 0, "BE", 100)]; limit as usize];
        expected.push(vec![Sent::Forward(0, vec![(1, 0)])]);
        let sent: Vec<Vec<Sent>> = peer.pass(7999).into_iter().map(|(_, sent)| sent).collect();
        assert_eq!(sent[..expected.len()], expected, "limit {limit}");
        assert_eq!(peer.abandoned()[0].reason, AbandonReason::Retransmissions);
    }
}

#[test]
fn without_the_peers_consent_what_was_sent_stays_reliable() {
    for reliability in [HALF_A_SECOND, Reliability::Retransmissions(0), Reliability::Priority(9)] {
        let mut peer = Peer::plain();
        peer.send(1, 100, reliability);
        let data = || vec![Sent::Data(0, 1, 0, "BE", 100)];
        assert_eq!(peer.pass(7000), [(1000.0, data()), (3000.0, data()), (7000.0, data())]);
        assert!(peer.abandoned().is_empty());
    }
}

#[test]
fn the_application_can_ask_whether_the_peer_offers_partial_reliability() {
    for (peer, offers) in [(Peer::partial(), true), (Peer::plain(), false)] {
        let own = peer.bench.endpoint.association(peer.bench.id()).unwrap();
        assert_eq!(own.extensions().contains(Extensions::PARTIAL_RELIABILITY), offers);
    }
}

#[test]
fn a_fast_retransmission_gives_up_as_well() {
    let mut peer = Peer::partial();
    peer.send(1, 100, Reliability::Retransmissions(0));
    for _ in 0..3 {
        peer.send(2, 100, Reliability::Full);
    }
    assert!(peer.sack(-1, &[(2, 2)]).is_empty());
    assert!(peer.sack(-1, &[(2, 3)]).is_empty());
    assert_eq!(peer.sack(-1, &[(2, 4)]), [[Sent::Forward(0, vec![(1, 0)])]]);
}

#[test]
fn a_report_that_it_is_missing_ends_a_lifetime_but_not_a_limit_of_retransmissions() {
    let mut peer = Peer::partial();
    peer.send(1, 100, HALF_A_SECOND);
    peer.send(2, 100, Reliability::Full);
    peer.pass(499);
    assert!(peer.sack(-1, &[(2, 2)]).is_empty());
    peer.pass(1);
    assert_eq!(peer.sack(-1, &[(2, 2)]), [[Sent::Forward(0, vec![(1, 0)])]]);

    let mut peer = Peer::partial();
    peer.send(1, 100, Reliability::Retransmissions(0));
    peer.send(2, 100, Reliability::Full);
    peer.pass(900);
    assert!(peer.sack(-1, &[(2, 2)]).is_empty());
}

#[test]
fn a_message_is_given_up_whole_with_fragments_that_arrived() {
    let mut peer = Peer::partial();
    peer.send(1, 3000, HALF_A_SECOND);
    // The second of three fragments is lost.
    peer.sack(0, &[(2, 2)]);
    let sent = peer.pass(1000);
    assert_eq!(sent, [(1000.0, vec![Sent::Forward(2, vec![(1, 0)])])]);
    // The next message of the stream is the next number.
    assert!(peer.sack(2, &[]).is_empty());
    assert_eq!(peer.send(1, 10, Reliability::Full), [[Sent::Data(3, 1, 1, "BE", 10)]]);
}

#[test]
fn the_part_of_a_message_that_was_never_sent_is_one_tsn_that_the_peer_skips() {
    // A window of 4404 bytes takes four packets of a message of ten.
    let mut peer = Peer::partial();
    assert_eq!(peer.send(1, 14_440, HALF_A_SECOND).len(), 4);
    assert_eq!(peer.stats().queued_bytes, 14_440 - 4 * 1444);
    assert_eq!(peer.pass(1000), [(1000.0, vec![Sent::Forward(4, vec![(1, 0)])])]);
    let stats = peer.stats();
    assert_eq!((stats.queued_bytes, stats.outstanding_bytes), (0, 0));
    assert!(peer.sack(4, &[]).is_empty());
    assert_eq!(peer.send(1, 10, Reliability::Full), [[Sent::Data(5, 1, 1, "BE", 10)]]);
}

#[test]
fn a_message_that_was_begun_is_not_continued_after_its_lifetime() {
    let mut peer = Peer::partial();
    peer.send(1, 14_440, HALF_A_SECOND);
    peer.pass(600);
    // All four are acknowledged: there is room, but the waiting data has expired.
    assert_eq!(peer.sack(3, &[]), [[Sent::Forward(4, vec![(1, 0)])]]);
    assert_eq!(peer.abandoned().len(), 1);
    assert!(peer.sack(4, &[]).is_empty());
    assert_eq!(peer.pass(60_000), []);
}

#[test]
fn the_window_does_not_grow_by_what_was_given_up() {
    let mut peer = Peer::partial();
    peer.send(1, 4 * 1444, Reliability::Retransmissions(0));
    peer.pass(1000);
    let cwnd = peer.stats().paths[0].recovery.cwnd;
    assert_eq!(cwnd, 1460);
    peer.sack(3, &[]);
    assert_eq!(peer.stats().paths[0].recovery.cwnd, cwnd);
    // The timeout stays doubled: nothing was measured.
    peer.send(1, 10, Reliability::Full);
    assert_eq!(peer.pass(3000), [(3000.0, vec![Sent::Data(4, 1, 1, "BE", 10)])]);
}

#[test]
fn what_was_given_up_is_not_credited_and_ends_the_count_of_acknowledged_bytes() {
    let mut peer = Peer::partial();
    let state = |peer: &Peer| peer.stats().paths[0].recovery;
    // A loss, and a full window that arrives: congestion avoidance, in which acknowledged bytes are
    // counted.
    (0..5).for_each(|_| drop(peer.send(1, 1000, Reliability::Full)));
    (2..=4).for_each(|last| drop(peer.sack(0, &[(2, last)])));
    peer.sack(4, &[]);
    (0..6).for_each(|_| drop(peer.send(1, 1000, Reliability::Full)));
    peer.sack(10, &[]);
    assert!(state(&peer).cwnd > state(&peer).ssthresh, "{:?}", state(&peer));
    peer.send(1, 1000, Reliability::Full);
    peer.send(1, 1000, HALF_A_SECOND);
    peer.send(1, 1000, Reliability::Full);
    peer.sack(11, &[]);
    assert_eq!(state(&peer).partial_bytes_acked, 1000);
    // The second is reported missing after its lifetime: nothing is in flight any more.
    peer.pass(600);
    assert_eq!(peer.sack(11, &[(2, 2)]), [[Sent::Forward(12, vec![(1, 12)])]]);
    assert_eq!((state(&peer).flight.bytes, state(&peer).partial_bytes_acked), (0, 0));
    let cwnd = state(&peer).cwnd;
    peer.send(1, 1000, Reliability::Full);
    peer.sack(13, &[]);
    assert_eq!((state(&peer).cwnd, state(&peer).partial_bytes_acked), (cwnd, 0));
}

#[test]
fn with_a_full_buffer_the_least_important_makes_room_waiting_ones_first() {
    let mut peer = Peer::partial_with(|options| options.send_buffer = 7000);
    let send = |peer: &mut Peer, context, reliability| {
        let options = SendOptions { context, reliability, ..SendOptions::default() };
        let sent = peer.try_send(1, 1400, options);
        peer.drain();
        sent
    };
    // Four leave at once, the fifth waits for the window.
    for (context, priority) in [(0, 3), (1, 5), (2, 0), (3, 3), (4, 3)] {
        send(&mut peer, context, Reliability::Priority(priority)).unwrap();
    }
    // Not for a message that is no more important.
    assert!(send(&mut peer, 5, Reliability::Priority(5)).is_err());
    assert!(peer.abandoned().is_empty());
    send(&mut peer, 6, Reliability::Priority(2)).unwrap();
    send(&mut peer, 7, Reliability::Full).unwrap();
    send(&mut peer, 8, Reliability::Full).unwrap();
    let told: Vec<(u32, bool)> =
        peer.abandoned().iter().map(|gone| (gone.context, gone.sent)).collect();
    // The waiting one; the later waiting one; then the least important one in flight.
    assert_eq!(told, [(4, false), (6, false), (1, true)]);
    assert!(peer.abandoned().iter().all(|gone| gone.reason == AbandonReason::Priority));
}

#[test]
fn a_send_that_fails_gives_nothing_up() {
    let mut peer = Peer::partial_with(|options| options.send_buffer = 10_000);
    let with = |priority| SendOptions {
        reliability: Reliability::Priority(priority),
        ..SendOptions::default()
    };
    for (size, priority) in [(1400, 9), (4 * 1400, 1), (1000, 9)] {
        peer.try_send(1, size, with(priority)).unwrap();
    }
    peer.drain();
    // 2400 bytes could be freed, which is not enough; and without a stream no buffer helps.
    assert_eq!(peer.try_send(1, 4_500, with(1)), Err(SendError::BufferFull));
    assert!(matches!(peer.try_send(9_999, 4_000, with(1)), Err(SendError::NoSuchStream { .. })));
    assert!(peer.abandoned().is_empty());
    peer.try_send(1, 4_400, with(1)).unwrap();
    peer.drain();
    assert_eq!(peer.abandoned().len(), 2);
}

#[test]
fn what_is_given_up_in_place_of_a_retransmission_reduces_the_window() {
    // Lost for good at the timeout, and found lost by reports: both as if retransmitted.
    let window = |peer: &Peer| {
        let own = peer.bench.endpoint.association(peer.bench.id()).unwrap();
        own.stats().paths[0].recovery
    };
    let never_again = Reliability::Retransmissions(0);
    let mut peer = Peer::partial();
    let before = window(&peer);
    peer.send(0, 1000, never_again);
    peer.pass(1_100);
    let after = window(&peer);
    assert!(after.cwnd < before.cwnd && after.ssthresh < before.ssthresh, "{after:?}");
    assert!(after.rto > before.rto, "{after:?}");
    let mut peer = Peer::partial();
    for _ in 0..5 {
        peer.send(0, 1000, never_again);
    }
    for last in 2..=4 {
        peer.sack(0, &[(2, last)]);
    }
    let after = window(&peer);
    assert!(after.ssthresh < before.ssthresh, "{after:?}");
}

#[test]
fn a_copy_ahead_of_any_sign_of_a_loss_is_no_retransmission() {
    let mut peer = Peer::partial_with(|options| {
        let mut policy = RecoveryPolicy::sctp_latency_max();
        policy.redundancy.bundling = Some(BundlingPolicy {
            brake: None,
            alone: Some(Ratio::new(1, 4)),
            after_loss: 0,
            ..BundlingPolicy::MAX
        });
        options.policy = Arc::new(policy);
    });
    peer.send(1, 100, Reliability::Full);
    peer.pass(100);
    peer.sack(0, &[]);
    peer.send(1, 100, Reliability::Retransmissions(0));
    let sent: Vec<Vec<Sent>> = peer.pass(2000).into_iter().map(|(_, sent)| sent).collect();
    let expected = [vec![Sent::Data(1, 1, 1, "BE", 100)], vec![Sent::Forward(1, vec![(1, 1)])]];
    assert_eq!(sent[..2], expected, "its copy, and at the timeout it is given up");
}
