//! Thin-stream detection, and the effect of a single miss indication in a thin stream.

use recovery::RecoveryPolicy;
use recovery::policy::{RepeatFast, ThinDetector};

use crate::support::{Pair, T0, plain};

fn first_indication() -> RecoveryPolicy {
    let mut policy = plain();
    policy.loss.dup_threshold_while_thin = Some(1);
    policy
}

#[test]
fn a_thin_stream_is_repaired_at_the_first_miss_indication() {
    // The first message is lost. SACKs of the following ones arrive at 140, 180, 220 ms.
    let run = |policy| {
        let mut pair = Pair::established(policy, &[1]);
        pair.send_at(100, [0, 40_000, 80_000, 120_000, 160_000]);
        pair.at(900_000);
        pair
    };
    let on = run(first_indication());
    on.assert_sent(&[
        (0, &[0]),
        (40_000, &[1]),
        (80_000, &[2]),
        (120_000, &[3]),
        (140_000, &[0]), // in flight at the first indication: 0, 2 and 3
        (160_000, &[4]),
    ]);
    assert_eq!(on.stats().recovery.retransmissions.fast, 1);
    run(plain()).assert_sent(&[
        (0, &[0]),
        (40_000, &[1]),
        (80_000, &[2]),
        (120_000, &[3]),
        (160_000, &[4]),
        (220_000, &[0]), // the third
    ]);
}

#[test]
fn a_fast_retransmission_of_a_thin_stream_is_not_repeated_before_the_timer() {
    // Messages every 40 ms; the first is lost, and so is its fast retransmission at 140 ms (the
    // fifth packet). Rule 4 of section 7.2.4 restarts the timer then: it expires at 1140 ms.
    let run = |repeat| {
        let mut policy = first_indication();
        policy.loss.repeat_fast_retransmit = repeat;
        let mut pair = Pair::established(policy, &[1, 5]);
        pair.send_at(100, (0..8).map(|index| index * 40_000));
        pair.at(2_000_000);
        let again = pair.data_sent().into_iter().filter(|(_, tsns)| tsns.contains(&0));
        again.map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(run(RepeatFast::Never), [0.0, 140_000.0, 1_140_000.0]);
    // FreeBSD repeats it once something sent after it was acknowledged: the message of 160 ms.
    for repeat in [RepeatFast::WhileThin, RepeatFast::Always] {
        assert_eq!(run(repeat), [0.0, 140_000.0, 260_000.0], "{repeat:?}");
    }
}

#[test]
fn a_thick_stream_waits_for_the_third_miss_indication() {
    // A packet every 10 ms, that of 200 ms is lost: SACKs with the gap come at 310, 320, 330 ms.
    for policy in [plain(), first_indication()] {
        let mut pair = Pair::established(policy, &[21]);
        pair.send_at(100, (0..60).map(|index| index * 10_000));
        pair.at(900_000);
        let again: Vec<f64> = pair
            .data_sent()
            .into_iter()
            .filter(|(_, tsns)| *tsns == [20])
            .map(|(at, _)| at)
            .collect();
        assert_eq!(again, [200_000.0, 330_000.0]);
    }
}

/// Time of retransmission of the first of five packets 1 ms apart, which is lost. After the SACKs
/// at 101, 102, 103, 104 ms there are 4, 3, 2, 1 packets in flight. `earlier`: a message before was
/// lost, so that the estimate is 1/64 · 63/64 = 1.5 %.
fn repaired_at(thin: ThinDetector, earlier: bool) -> f64 {
    let mut policy = first_indication();
    policy.thin = thin;
    let lost: &[u64] = if earlier { &[1, 3] } else { &[2] };
    let mut pair = Pair::established(policy, lost);
    pair.send_at(100, [0]);
    let start = 5_000_000;
    pair.send_at(100, (0..5).map(|index| start + index * 1_000));
    let loss = pair.stats().paths[0].recovery.loss.as_f64();
    assert!((loss - if earlier { 63.0 / 4096.0 } else { 0.0 }).abs() < 1e-6, "{loss}");
    pair.at(start + 900_000);
    let (at, tsns) = pair.data_sent().last().cloned().unwrap();
    assert_eq!(tsns, [1]);
    at - start as f64
}

#[test]
fn four_packets_in_flight_are_thin_only_if_losses_are_expected() {
    let paper = |inclusive| ThinDetector::InFlight { threshold: 3, inclusive };
    // 4 < 4 / (1 - 0) is false, 3 < 4 true.
    assert_eq!(repaired_at(paper(false), false), 102_000.0);
    // 4 < 4 / (1 - 0.015) = 4.06.
    assert_eq!(repaired_at(paper(false), true), 101_000.0);
    // 4 <= 4.
    assert_eq!(repaired_at(paper(true), false), 101_000.0);
}

#[test]
fn other_detectors_do_not_look_at_losses() {
    assert_eq!(repaired_at(ThinDetector::FewerThanFour, true), 102_000.0);
    assert_eq!(repaired_at(ThinDetector::Always, false), 101_000.0);
    assert_eq!(repaired_at(ThinDetector::Off, true), 103_000.0);
}

#[test]
fn the_snapshot_says_whether_the_stream_is_thin() {
    let mut pair = Pair::established(plain(), &[]);
    pair.send_at(100, [0, 0, 0]);
    assert!(pair.stats().paths[0].recovery.thin);
    pair.send_at(100, [0]);
    assert!(!pair.stats().paths[0].recovery.thin);
    pair.at(100_000);
    assert!(pair.stats().paths[0].recovery.thin, "at {}", pair.sim.now().since(T0));
}

/// Time of the next transmission of the first of four packets, 10 ms apart, if its fast
/// retransmission is lost, too.
fn fast_retransmission_lost(restarts: bool) -> Vec<f64> {
    let mut policy = plain();
    policy.loss.fast_restarts_timer = restarts;
    let mut pair = Pair::established(policy, &[1, 5]);
    pair.send_at(100, [0, 10_000, 20_000, 30_000]);
    pair.at(1_900_000);
    let first = pair.data_sent().into_iter().filter(|(_, tsns)| *tsns == [0]);
    first.map(|(at, _)| at).collect()
}

#[test]
fn a_fast_retransmission_restarts_the_timer_unless_the_policy_lets_it_go_on() {
    // Three SACKs with the gap, the last at 130 ms; the timer began with the first transmission.
    assert_eq!(fast_retransmission_lost(true), [0.0, 130_000.0, 1_130_000.0]);
    assert_eq!(fast_retransmission_lost(false), [0.0, 130_000.0, 1_000_000.0]);
}
