//! FreeBSD's early fast retransmit timer, early retransmit (RFC 5827), limited transmit (RFC 3042).

use base::Duration;
use netsim::LinkConfig;
use recovery::RecoveryPolicy;

use crate::support::{Pair, T0, plain};

fn early_timer(least: u64) -> RecoveryPolicy {
    let mut policy = plain();
    policy.loss.early_timer = Some(Duration::from_millis(least));
    policy
}

#[test]
fn the_early_timer_resends_after_its_least_wait_or_srtt_and_twice_rttvar() {
    let run = |policy| {
        let mut pair = Pair::established(policy, &[1]);
        pair.send_at(100, [0]);
        pair.at(3_000_000);
        pair
    };
    run(plain()).assert_sent(&[(0, &[0]), (1_000_000, &[0])]);
    // FreeBSD's least wait is 250 ms; its own figure is 100 + 2 · 37.5 = 175 ms.
    let on = run(early_timer(250));
    on.assert_sent(&[(0, &[0]), (250_000, &[0])]);
    assert_eq!(on.stats().recovery.retransmissions.early, 1);
    run(early_timer(20)).assert_sent(&[(0, &[0]), (175_000, &[0])]);
}

#[test]
fn the_early_timer_costs_one_packet_of_window_and_ends_slow_start() {
    let mut pair = Pair::established(early_timer(250), &[1]);
    pair.send_at(100, [0]);
    pair.at(260_000);
    let path = pair.stats().paths[0].recovery;
    assert_eq!((path.cwnd, path.ssthresh), (4404 - 1460, 4404 - 1460 - 1));
}

#[test]
fn each_sack_restarts_the_early_timer() {
    // The first of three messages is lost. SACKs come at 200 and 300 ms: 300 + 250.
    let mut pair = Pair::established(early_timer(250), &[1]);
    pair.send_at(100, [0, 100_000, 200_000]);
    pair.at(3_000_000);
    pair.assert_sent(&[(0, &[0]), (100_000, &[1]), (200_000, &[2]), (550_000, &[0])]);
}

#[test]
fn the_early_timer_rests_while_the_window_is_full() {
    // Four full packets fill the window of 4404 bytes and are all lost.
    for policy in [plain(), early_timer(250)] {
        let mut pair = Pair::established(policy, &[1, 2, 3, 4]);
        pair.send_at(1444, [0; 4]);
        pair.at(1_050_000);
        let times: Vec<f64> = pair.data_sent().iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [0.0, 0.0, 0.0, 0.0, 1_000_000.0]);
    }
}

fn early_retransmit() -> RecoveryPolicy {
    let mut policy = plain();
    policy.loss.early_retransmit = true;
    policy
}

/// Time of the first message's retransmission, of `count` messages 40 ms apart.
fn first_of(count: u64, policy: RecoveryPolicy) -> (f64, [u64; 2]) {
    let mut pair = Pair::established(policy, &[1]);
    pair.send_at(100, (0..count).map(|index| index * 40_000));
    pair.at(3_000_000);
    let counts = pair.stats().recovery.retransmissions;
    let (at, tsns) = pair.data_sent().last().cloned().unwrap();
    assert_eq!(tsns, [0]);
    (at, [counts.early, counts.fast])
}

#[test]
fn early_retransmit_needs_as_many_indications_as_a_short_stream_can_give() {
    // Two outstanding: one indication, at 140 ms. Three: two, at 180 ms.
    assert_eq!(first_of(2, early_retransmit()), (140_000.0, [1, 0]));
    assert_eq!(first_of(3, early_retransmit()), (180_000.0, [1, 0]));
    // Without it the timer alone retransmits.
    assert_eq!(first_of(2, plain()), (1_000_000.0, [0, 0]));
    assert_eq!(first_of(3, plain()), (1_000_000.0, [0, 0]));
}

#[test]
fn early_retransmit_leaves_four_outstanding_packets_to_fast_retransmit() {
    // The third indication comes at 220 ms.
    for policy in [plain(), early_retransmit()] {
        assert_eq!(first_of(4, policy), (220_000.0, [0, 1]));
    }
}

#[test]
fn early_retransmit_waits_while_new_data_can_be_sent() {
    // Nagle's rule holds a third message back until the first is acknowledged: there is data to
    // send.
    let run = |policy| {
        let mut options = crate::support::options(policy);
        options.no_delay = false;
        let link = |lost: &[u64]| LinkConfig {
            loss: netsim::LossModel::List(lost.to_vec()),
            ..crate::support::half(crate::support::RTT)
        };
        let links = netsim::topology::Directions { forward: link(&[3]), backward: link(&[]) };
        let mut pair = Pair::new(links, options, 1);
        pair.at(0);
        // Two full packets leave at once, the small message waits.
        pair.send_at(1444, [0, 0]);
        pair.send_at(100, [0]);
        pair.at(3_000_000);
        pair.data_sent().into_iter().filter(|(_, tsns)| tsns.contains(&0)).collect::<Vec<_>>()
    };
    let at = run(early_retransmit())[1].0;
    assert!(at > 100_000.0, "resent at {at}");
}

fn limited_transmit(on: bool) -> RecoveryPolicy {
    let mut policy = plain();
    policy.congestion.limited_transmit = on;
    policy
}

#[test]
fn limited_transmit_sends_one_new_packet_on_each_of_the_first_two_indications() {
    // Five packets fill the window of 4404 bytes: 4 · 1100 + 1444 = 5844. A link of 12 Mbit/s keeps
    // their SACKs apart. The first is lost. A gap report of 1100 bytes leaves 4744 in flight, more
    // than the window.
    let run = |on| {
        let mut pair = Pair::established_over(limited_transmit(on), &[1], &[], |link| {
            link.rate = Some("12mbit".parse().unwrap());
        });
        pair.send_at(1100, [0; 4]);
        pair.send_at(1444, [0]);
        pair.send_at(1100, [0; 4]);
        pair.at(900_000);
        let sacks = pair.sacks_sent().into_iter().map(|at| at + 50_000.0).collect::<Vec<_>>();
        let sent = pair.data_sent();
        let at = |tsn| sent.iter().find(|(_, tsns)| tsns == &[tsn]).unwrap().0;
        // Numbers of the SACKs that released the sixth and the seventh packet.
        [5, 6].map(|tsn| 1 + sacks.iter().position(|sack| (sack - at(tsn)).abs() < 0.001).unwrap())
    };
    assert_eq!(run(true), [1, 2]);
    assert_eq!(run(false)[0], 2, "once 3644 bytes are in flight");
}

#[test]
fn limited_transmit_sends_nothing_when_there_is_nothing_new() {
    let run = |on| {
        let mut pair = Pair::established(limited_transmit(on), &[1]);
        pair.send_at(100, [0, 40_000, 80_000]);
        pair.at(3_000_000);
        pair.data_sent()
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn the_clock_of_these_tests_starts_after_the_handshake() {
    let pair = Pair::established(plain(), &[]);
    assert_eq!(pair.sim.now(), T0);
    assert_eq!(pair.stats().paths[0].recovery.srtt, Some(Duration::from_millis(100)));
    assert_eq!(pair.stats().paths[0].recovery.rttvar, Some(Duration::from_micros(37_500)));
}
