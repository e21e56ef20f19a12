//! Linear and exponential timeouts, and when they end the association.

use base::{Duration, Instant};
use recovery::RecoveryPolicy;
use recovery::policy::{ErrorCounting, ThinBackoff};
use sctp::{Event, Failure};

use crate::support::{Pair, T0, plain};

fn backoff(while_thin: ThinBackoff, errors: ErrorCounting) -> RecoveryPolicy {
    let mut policy = plain();
    policy.backoff.while_thin = while_thin;
    policy.backoff.errors = errors;
    policy
}

fn four_times_lost(while_thin: ThinBackoff) -> Pair {
    let mut pair =
        Pair::established(backoff(while_thin, ErrorCounting::EveryExpiry), &[1, 2, 3, 4]);
    pair.send_at(100, [0]);
    pair.at(20_000_000);
    pair
}

#[test]
fn a_thin_stream_repeats_after_the_same_time_or_twice_the_time() {
    four_times_lost(ThinBackoff::Exponential).assert_sent(&[
        (0, &[0]),
        (1_000_000, &[0]),
        (3_000_000, &[0]),
        (7_000_000, &[0]),
        (15_000_000, &[0]),
    ]);
    four_times_lost(ThinBackoff::Linear).assert_sent(&[
        (0, &[0]),
        (1_000_000, &[0]),
        (2_000_000, &[0]),
        (3_000_000, &[0]),
        (4_000_000, &[0]),
    ]);
    four_times_lost(ThinBackoff::LinearFor(2)).assert_sent(&[
        (0, &[0]),
        (1_000_000, &[0]),
        (2_000_000, &[0]),
        (3_000_000, &[0]), // the third expiry doubles
        (5_000_000, &[0]),
    ]);
}

#[test]
fn retransmissions_are_counted_by_order() {
    let counts = four_times_lost(ThinBackoff::Linear).stats().recovery;
    assert_eq!(counts.timeouts, 4);
    assert_eq!(counts.retransmissions.timeout, 4);
    assert_eq!(counts.retransmissions.by_order, [1, 1, 1, 1]);
}

#[test]
fn a_thick_stream_doubles_its_timeout() {
    // Ten packets in flight, everything lost from 500 ms on: T3 expires at 590 + 1000 ms, and the
    // next time two seconds later.
    for while_thin in [ThinBackoff::Exponential, ThinBackoff::Linear] {
        let policy = backoff(while_thin, ErrorCounting::EveryExpiry);
        let blackout = T0 + Duration::from_millis(500)..T0 + Duration::from_millis(3_000);
        let mut pair =
            Pair::established_over(policy, &[], &[], |link| link.blackouts.push(blackout));
        pair.send_at(100, (0..60).map(|index| index * 10_000));
        pair.at(5_000_000);
        let times: Vec<f64> = pair.data_sent()[60..].iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [1_590_000.0, 3_590_000.0], "{while_thin:?}");
    }
}

/// Time at which the association fails if all packets from the first message on are lost.
fn given_up_at(while_thin: ThinBackoff, errors: ErrorCounting) -> Instant {
    let forever = T0..Instant::FAR_FUTURE;
    let mut pair = Pair::established_over(backoff(while_thin, errors), &[], &[], |link| {
        link.blackouts.push(forever);
    });
    pair.send_at(100, [0]);
    pair.at(1_000_000_000);
    let failed = Event::Failed(Failure::Unreachable);
    let event = pair.client().events.iter().find(|(_, _, event)| *event == failed);
    event.unwrap().0
}

#[test]
fn linear_timeouts_do_not_give_the_association_up_sooner_than_exponential_ones() {
    // Association.Max.Retrans = 10: the eleventh error ends it. RTO 1 s doubles up to 60 s:
    // 1 + 2 + 4 + 8 + 16 + 32 + 5 · 60 = 363 s.
    let exponential = given_up_at(ThinBackoff::Exponential, ErrorCounting::EveryExpiry);
    assert_eq!(exponential, T0 + Duration::from_secs(363));
    let decoupled = given_up_at(ThinBackoff::Linear, ErrorCounting::ExponentialSchedule);
    assert_eq!(decoupled, T0 + Duration::from_secs(363));
    // Counted at every expiry it would be 11 · 1 s.
    let coupled = given_up_at(ThinBackoff::Linear, ErrorCounting::EveryExpiry);
    assert_eq!(coupled, T0 + Duration::from_secs(11));
}
