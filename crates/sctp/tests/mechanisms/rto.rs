//! RTO.Min while thin, and the gains of the estimator.

use base::Duration;
use netsim::link::ProfileStep;
use recovery::RecoveryPolicy;
use recovery::rtt::{Deviation, Ratio};

use crate::support::{Pair, T0, plain};

fn min_200() -> RecoveryPolicy {
    let mut policy = plain();
    policy.rto.min_while_thin = Some(Duration::from_millis(200));
    policy
}

#[test]
fn a_thin_stream_waits_for_its_own_rto_and_not_for_one_second() {
    let first_lost = |policy| {
        let mut pair = Pair::established(policy, &[1]);
        pair.send_at(100, [0]);
        pair.at(2_000_000);
        pair
    };
    first_lost(plain()).assert_sent(&[(0, &[0]), (1_000_000, &[0])]);
    first_lost(min_200()).assert_sent(&[(0, &[0]), (250_000, &[0])]);
}

#[test]
fn the_rto_of_a_steady_thin_stream_stops_at_200_ms() {
    let sixth_lost = |policy| {
        let mut pair = Pair::established(policy, &[6]);
        pair.send_at(100, (0..6).map(|index| index * 250_000));
        pair.at(4_000_000);
        pair.data_sent().last().cloned().unwrap()
    };
    // Five samples: RTTVAR = 37.5 · (3/4)^5 = 8.9, SRTT + 4 · RTTVAR = 135.6 ms.
    assert_eq!(sixth_lost(min_200()), (1_250_000.0 + 200_000.0, vec![5]));
    assert_eq!(sixth_lost(plain()), (1_250_000.0 + 1_000_000.0, vec![5]));
}

#[test]
fn a_thick_stream_keeps_rto_min() {
    // A packet every 10 ms: ten in flight. What is sent from 500 ms on is lost; the last SACK comes
    // at 590 ms, for what left at 490, and restarts the timer.
    for policy in [plain(), min_200()] {
        let blackout = T0 + Duration::from_millis(500)..T0 + Duration::from_millis(1_500);
        let mut pair =
            Pair::established_over(policy, &[], &[], |link| link.blackouts.push(blackout));
        pair.send_at(100, (0..60).map(|index| index * 10_000));
        pair.at(5_000_000);
        let first_again = pair.data_sent()[60].clone();
        assert_eq!(first_again, (1_590_000.0, (50..60).collect()));
    }
}

/// The RTO after the handshake and, the delay having grown, after a sample of 300 ms. RTO.Min keeps
/// the timer from expiring before that; asked for the RTO, the policy has none.
fn rto_before_and_after(change: impl FnOnce(&mut RecoveryPolicy)) -> [Duration; 2] {
    let mut policy = plain();
    change(&mut policy);
    let mut unbounded = policy.clone();
    unbounded.rto.min = Duration::ZERO;
    let mut pair = Pair::established_over(policy.clone(), &[], &[], |link| {
        let delay = Some(Duration::from_millis(250));
        link.profile.push(ProfileStep { at: T0, delay, ..ProfileStep::default() });
    });
    let rto = |pair: &mut Pair| {
        pair.set_policy(unbounded.clone());
        let rto = pair.stats().paths[0].recovery.rto;
        pair.set_policy(policy.clone());
        rto
    };
    let before = rto(&mut pair);
    pair.send_at(100, [0]);
    pair.at(300_000);
    assert_eq!(pair.stats().paths[0].recovery.latest_rtt, Some(Duration::from_millis(300)));
    [before, rto(&mut pair)]
}

#[test]
fn alpha_and_beta_decide_how_fast_the_rto_follows() {
    let millis = |tenths: u64| Duration::from_micros(tenths * 100);
    let gains = |alpha, beta| {
        rto_before_and_after(|policy| (policy.rto.alpha, policy.rto.beta) = (alpha, beta))
    };
    // SRTT = 100 + 1/8 · 200 = 125, RTTVAR = 3/4 · 37.5 + 1/4 · 200 = 78.125.
    assert_eq!(gains(Ratio::new(1, 8), Ratio::new(1, 4)), [millis(2_500), millis(4_375)]);
    // The first sample for ever: 100 + 4 · 50.
    assert_eq!(gains(Ratio::new(0, 1), Ratio::new(0, 1)), [millis(3_000), millis(3_000)]);
    // Before: 100 + 4 · 25. After: SRTT = 200, RTTVAR = 12.5 + 100.
    assert_eq!(gains(Ratio::new(1, 2), Ratio::new(1, 2)), [millis(2_000), millis(6_500)]);
    // The latest sample alone: RTTVAR 0 counts as one tick of 1 ms; then 300 + 4 · 200.
    assert_eq!(gains(Ratio::new(1, 1), Ratio::new(1, 1)), [millis(1_010), millis(11_000)]);
}

#[test]
fn a_signed_deviation_lets_the_rto_fall_below_the_round_trip_time() {
    let signed = rto_before_and_after(|policy| policy.rto.deviation = Deviation::Signed);
    // RTTVAR = 3/4 · 37.5 + 1/4 · (100 - 300) = -21.875, SRTT = 125: 125 - 87.5.
    assert_eq!(signed, [Duration::from_millis(250), Duration::from_micros(37_500)]);
}

#[test]
fn a_retransmission_whose_round_trip_is_the_shortest_so_far_is_no_early_timeout() {
    // The sixth message is lost. Its retransmission and all later packets take a hundredth less
    // than those before.
    let mut pair = Pair::established_over(RecoveryPolicy::sctp_latency(), &[6], &[], |link| {
        let (at, delay) = (T0 + Duration::from_millis(1_300), Some(Duration::from_micros(49_500)));
        link.profile.push(ProfileStep { at, delay, ..ProfileStep::default() });
    });
    pair.send_at(100, (0..6).map(|index| index * 250_000));
    pair.at(2_000_000);
    let (again, units) = pair.data_sent().last().cloned().unwrap();
    assert_eq!((units, pair.data_sent().len()), (vec![5], 7));
    assert!((1_300_000.0..1_500_000.0).contains(&again), "{again}");
    let recovery = &pair.stats().paths[0].recovery;
    assert_eq!(recovery.latest_rtt, Some(Duration::from_millis(100)));
}
