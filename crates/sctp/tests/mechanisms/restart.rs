//! The timer's new value when an acknowledgement leaves data outstanding.

use base::Duration;
use recovery::policy::TimerRestart;

use crate::support::{Pair, T0, plain};

const PAPER: TimerRestart = TimerRestart::LessTimerAge;
const RFC_7765: TimerRestart = TimerRestart::LessOldestAge { threshold: 4 };

fn with(restart: TimerRestart) -> recovery::RecoveryPolicy {
    let mut policy = plain();
    policy.rto.min = Duration::from_millis(200);
    policy.timer_restart = restart;
    policy
}

#[test]
fn the_second_message_is_resent_after_its_own_age_the_timers_age_or_from_scratch() {
    // Messages at 0 and 60 ms, the second lost. The SACK of the first comes at 100 ms: RTTVAR =
    // 28.125, RTO = 212.5 ms.
    let resent_at = |restart| {
        let mut pair = Pair::established(with(restart), &[2]);
        pair.send_at(100, [0, 60_000]);
        pair.at(900_000);
        let sent = pair.data_sent();
        assert_eq!(sent.len(), 3);
        sent[2].clone()
    };
    // From scratch: 100 + 212.5.
    assert_eq!(resent_at(TimerRestart::Full), (312_500.0, vec![1]));
    // The old timer was 100 ms old: one RTO after the first message, before the second's own RTO.
    assert_eq!(resent_at(PAPER), (212_500.0, vec![1]));
    // The second message is 40 ms old: one RTO after it was sent, 60 + 212.5.
    assert_eq!(resent_at(RFC_7765), (272_500.0, vec![1]));
}

#[test]
fn data_waiting_to_be_sent_counts_towards_the_threshold_of_rfc_7765() {
    // Four packets in flight after the SACK at 100 ms are too many, three are not.
    let resent_at = |count: u64| {
        let mut pair = Pair::established(with(RFC_7765), &[2]);
        let lost_first = std::iter::once(60_000);
        pair.send_at(100, std::iter::once(0).chain(lost_first));
        // All but the first are lost.
        let blackout = (2..=count).map(|_| 70_000);
        pair.send_at(100, blackout);
        pair.at(99_000);
        assert_eq!(pair.stats().paths[0].recovery.flight.packets as u64, count + 1);
        pair.at(100_000);
        let due = pair.stats().paths[0].recovery.t3_rtx.unwrap();
        due.since(T0).as_micros()
    };
    // 1 + 2 in flight: the age counts. 1 + 3 in flight: from scratch.
    assert_eq!(resent_at(3), 272_500);
    assert_eq!(resent_at(4), 312_500);
}

#[test]
fn a_thick_stream_restarts_the_timer_from_scratch() {
    // As in `rto`: ten packets in flight when the last SACK comes at 590 ms. After six samples
    // or so the RTO is RTO.Min, 200 ms.
    for restart in [TimerRestart::Full, PAPER, RFC_7765] {
        let blackout = T0 + Duration::from_millis(500)..T0 + Duration::from_millis(700);
        let mut pair = Pair::established_over(with(restart), &[], &[], |link| {
            link.blackouts.push(blackout);
        });
        pair.send_at(100, (0..60).map(|index| index * 10_000));
        pair.at(5_000_000);
        let first_again = pair.data_sent()[60].clone();
        assert_eq!(first_again, (790_000.0, (50..60).collect()), "{restart:?}");
    }
}
