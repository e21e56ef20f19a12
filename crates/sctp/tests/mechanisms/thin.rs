//! Cases in which `thin` repairs losses and the papers' modifications, `thin-paper`, fail.

use base::Duration;
use netsim::link::{ProfileStep, RateChange};

use crate::support::{Pair, T0, preset};

const SECOND: u64 = 1_000_000;

/// Messages every 250 ms for 20 s; after 5 s the round trip grows from 100 to 400 ms.
fn longer_path(name: &str) -> Pair {
    let mut pair = Pair::established_over(preset(name), &[], &[], |link| {
        let (at, delay) = (T0 + Duration::from_secs(5), Some(Duration::from_millis(350)));
        let (jitter, rate, loss) = (None, RateChange::Keep, None);
        link.profile = vec![ProfileStep { at, delay, jitter, rate, loss }];
    });
    pair.send_at(100, (0..80).map(|index| index * SECOND / 4));
    pair.at(40 * SECOND);
    pair
}

#[test]
fn a_longer_round_trip_is_learned_from_a_few_messages_that_were_sent_twice() {
    let pair = longer_path("thin");
    let recovery = pair.stats().recovery;
    let (again, needless) = (recovery.retransmissions.total(), recovery.spurious);
    assert!(again == needless && (1..=4).contains(&again), "{recovery:?}");
    let srtt = pair.stats().paths[0].recovery.srtt.unwrap();
    assert!((390..=400).contains(&srtt.as_millis()), "{srtt}");
    // Karn's algorithm and linear timeouts: every message is sent twice, forever.
    assert!(longer_path("thin-paper").stats().recovery.retransmissions.total() >= 59);
}

#[test]
fn a_retransmission_that_is_lost_below_the_round_trip_is_found_by_what_was_sent_later() {
    // A message each 24 ms over 100 ms: the first is lost, and so is its retransmission.
    let again = |name: &str, retransmission: u64| {
        let mut pair = Pair::established(preset(name), &[1, retransmission]);
        pair.send_at(100, (0..100).map(|index| index * 24_000));
        pair.at(20 * SECOND);
        let of = pair.data_sent().into_iter().filter(|(_, tsns)| tsns.contains(&0));
        of.map(|(at, _)| at).collect::<Vec<_>>()
    };
    // The SACKs of the messages at 24 ms and at 144 ms, the first that left behind the
    // retransmission at 124 ms.
    assert_eq!(again("thin", 7), [0.0, 124_000.0, 244_000.0]);
    // Three miss indications take until 172 ms; then the timer alone is left.
    let rfc = again("rfc", 9);
    assert_eq!(rfc.len(), 3);
    assert!(rfc[2] >= 1_100_000.0, "{rfc:?}");
}

/// A message each second; from 2 s on no packet arrives for `span`. Times of the message in flight
/// then.
fn blackout(name: &str, span: Duration) -> Vec<f64> {
    let start = T0 + Duration::from_millis(1_990);
    let mut pair = Pair::established_over(preset(name), &[], &[], |link| {
        link.blackouts.push(start..start + span);
    });
    pair.send_at(100, (0..60).map(|index| index * SECOND));
    pair.at(200 * SECOND);
    assert_eq!(pair.server().messages.len(), 60, "{name}");
    let of = pair.data_sent().into_iter().filter(|(_, tsns)| tsns.contains(&2));
    of.map(|(at, _)| at / 1000.0).collect()
}

#[test]
fn timeouts_in_an_outage_are_linear_six_times_and_then_doubled_up_to_a_second() {
    let sent = blackout("thin", Duration::from_secs(10));
    let gaps: Vec<f64> = sent.windows(2).map(|two| two[1] - two[0]).collect();
    // Three measurements of 100 ms, each of which takes an eighth of the variation.
    let rto = 100.0 + 4.0 * 50.0 * (7.0f64 / 8.0).powi(3);
    let linear = [1.0; 7].into_iter().chain([2.0, 4.0]).map(|factor| factor * rto);
    let expected = linear.chain(std::iter::repeat(1000.0)).take(gaps.len());
    // Timers count whole nanoseconds.
    assert!(gaps.iter().zip(expected).all(|(gap, due)| (gap - due).abs() < 0.001), "{sent:?}");
    assert!(gaps.len() > 12, "{sent:?}");
}

#[test]
fn a_blackout_of_any_length_ends_within_a_second_of_the_paths_return() {
    for seconds in [3, 9, 17, 30, 45] {
        let last = *blackout("thin", Duration::from_secs(seconds)).last().unwrap();
        let late = last - 1_990.0 - seconds as f64 * 1000.0;
        assert!((0.0..=1000.0).contains(&late), "{seconds} s: {late} ms");
    }
    let rfc = *blackout("rfc", Duration::from_secs(34)).last().unwrap();
    assert!(rfc > 40_000.0, "{rfc}");
}
