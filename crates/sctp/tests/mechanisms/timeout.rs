//! Data that an expired retransmission timer resends.

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::TimeoutResends;

use crate::support::{Pair, T0, plain};

fn resends(timeout_resends: TimeoutResends) -> RecoveryPolicy {
    let mut policy = plain();
    policy.timeout_resends = timeout_resends;
    policy
}

/// Messages at 0, 500 and 900 ms; packets sent before 950 ms are lost.
fn three_lost(timeout_resends: TimeoutResends) -> Pair {
    let blackout = T0..T0 + Duration::from_millis(950);
    let mut pair = Pair::established_over(resends(timeout_resends), &[], &[], |link| {
        link.blackouts.push(blackout);
    });
    pair.send_at(100, [0, 500_000, 900_000]);
    pair.at(8_000_000);
    pair
}

#[test]
fn lksctp_bundles_all_that_is_outstanding() {
    let pair = three_lost(TimeoutResends::AllOutstanding);
    pair.assert_sent(&[(0, &[0]), (500_000, &[1]), (900_000, &[2]), (1_000_000, &[0, 1, 2])]);
    let counts = pair.stats().recovery.retransmissions;
    assert_eq!((counts.timeout, counts.bundled), (1, 2));
}

#[test]
fn freebsd_resends_only_what_is_old_enough() {
    // SRTT + 2 · RTTVAR = 175 ms: what left after 825 ms may still arrive. The timer runs on for it
    // with the doubled RTO; the SACK at 1100 ms restarts it, since no sample (Karn) has undone
    // the back-off.
    let pair = three_lost(TimeoutResends::OldEnough);
    pair.assert_sent(&[
        (0, &[0]),
        (500_000, &[1]),
        (900_000, &[2]),
        (1_000_000, &[0, 1]),
        (3_100_000, &[2]),
    ]);
    let counts = pair.stats().recovery.retransmissions;
    assert_eq!((counts.timeout, counts.bundled), (2, 1));
}

#[test]
fn bundling_resends_needlessly_what_has_just_arrived_and_hears_of_it() {
    // The first message is lost, the second (at 930 ms) has arrived when the timer expires, but its
    // SACK is still on its way.
    let run = |timeout_resends| {
        let mut pair = Pair::established(resends(timeout_resends), &[1]);
        pair.send_at(100, [0, 930_000]);
        pair.at(8_000_000);
        pair
    };
    let lksctp = run(TimeoutResends::AllOutstanding);
    lksctp.assert_sent(&[(0, &[0]), (930_000, &[1]), (1_000_000, &[0, 1])]);
    assert_eq!(lksctp.stats().recovery.spurious, 1);
    let freebsd = run(TimeoutResends::OldEnough);
    freebsd.assert_sent(&[(0, &[0]), (930_000, &[1]), (1_000_000, &[0])]);
    assert_eq!(freebsd.stats().recovery.spurious, 0);
}

#[test]
fn one_full_packet_leaves_at_once_and_the_others_as_the_window_allows() {
    // Three full packets are lost. The first resent is alone on its way for a round trip
    // (section 7.2.3); its SACK lets the two others go: cwnd = 1460 + 1444.
    for timeout_resends in [TimeoutResends::AllOutstanding, TimeoutResends::OldEnough] {
        let mut pair = Pair::established(resends(timeout_resends), &[1, 2, 3]);
        pair.send_at(1444, [0, 0, 0]);
        pair.at(4_000_000);
        pair.assert_sent(&[
            (0, &[0]),
            (0, &[1]),
            (0, &[2]),
            (1_000_000, &[0]),
            (1_100_000, &[1]),
            (1_100_000, &[2]),
        ]);
    }
}
