//! Section 3.8.3 under each preset: times of retransmitted SYNs and data, and when a connection
//! fails.

use base::Instant;
use recovery::RecoveryPolicy;
use recovery::policy::TCP_PRESETS;
use tcp::{ConnectionOptions, Event, Failure};

use crate::support::Bench;

/// The options of an application that chooses only a preset.
fn options(preset: &str) -> ConnectionOptions {
    let policy = RecoveryPolicy::tcp_preset(preset).unwrap();
    ConnectionOptions { policy: policy.into(), ..ConnectionOptions::default() }
}

/// Times of segments, in milliseconds since `start`.
fn times(bench: &Bench, start: Instant) -> Vec<u64> {
    bench.sent.iter().map(|(at, _, _)| at.since(start).as_millis()).collect()
}

/// Time at which a connection failed, in milliseconds since `start`, and the reason.
fn failed_at(bench: &mut Bench, start: Instant) -> (u64, Failure) {
    loop {
        for event in bench.take_events() {
            if let Event::Failed(failure) = event {
                return (bench.now.since(start).as_millis(), failure);
            }
        }
        bench.wait(100);
    }
}

#[test]
fn every_preset_asks_for_three_minutes_before_it_gives_up_opening() {
    for (preset, _) in TCP_PRESETS {
        let mut bench = Bench::opening(options(preset));
        let start = bench.now;
        // RFC 6298, sections 2.1 and 5.5; a timeout is a minute at most. The first four of
        // `latency` begin with a quarter of a second, do not double beyond a second, as in
        // Linux, and do not count towards the seven that end the connection.
        let doubled = [0, 1000, 3000, 7000, 15_000, 31_000, 63_000, 123_000];
        let (first, begin): (&[u64], u64) = match preset.starts_with("latency") {
            true => (&[0, 250, 750, 1750], 2750),
            false => (&[], 0),
        };
        let expected = first.iter().copied().chain(doubled.iter().map(|at| at + begin));
        // The test polls for the failure every 100 ms.
        let ends = (begin + 183_000).next_multiple_of(100);
        assert_eq!(failed_at(&mut bench, start), (ends, Failure::NoAnswer), "{preset}");
        assert_eq!(times(&bench, start), expected.collect::<Vec<_>>(), "{preset}");
    }
}

#[test]
fn every_preset_answers_a_syn_for_a_minute() {
    for (preset, _) in TCP_PRESETS {
        let mut bench = Bench::listening(options(preset));
        let start = bench.now;
        bench.inject("S 0:0(0) <mss 1460>");
        bench.wait(62_999);
        assert_eq!(bench.endpoint.connection_count(), 1, "{preset}");
        bench.wait(1);
        assert_eq!(bench.endpoint.connection_count(), 0, "{preset}");
        assert_eq!(times(&bench, start), [0, 1000, 3000, 7000, 15_000, 31_000], "{preset}");
    }
}

/// The timeouts' times in seconds, doubled from `first` on, none longer than `most`, 16 of them: R2
/// is 15 retransmissions, and at the next expiry the connection ends.
fn doubled(first: f64, most: f64) -> Vec<u64> {
    let timeouts = core::iter::successors(Some(first), |last| Some((last * 2.0).min(most)));
    let mut at = 0.0;
    timeouts.take(16).map(|timeout| (at += timeout, (at * 1000.0).round() as u64).1).collect()
}

#[test]
fn no_preset_gives_a_connection_up_before_a_hundred_seconds() {
    // The round trip is negligible, so that the least timeout applies. Linux' linear ones for thin
    // streams are six: 200 ms, and the seventh as long; those of `thin` are never longer than a
    // second.
    let linear = (1..=7).map(|expiry| expiry * 200);
    let paper: Vec<u64> = linear
        .clone()
        .chain([1800, 2600, 4200, 7400, 13_800, 26_600, 52_200, 103_400, 163_400])
        .collect();
    // Of those, an expiry counts if a timeout that doubles with each counted expiry would have
    // expired, too: at 0.2, 0.6, 1.4, 3.6, 7.6, 14.6, 27.6, 53.6 and 105.6 s, and then each
    // minute.
    let thin: Vec<u64> =
        linear.chain([1800, 2600]).chain((3..=525).map(|second| second * 1000 + 600)).collect();
    // The same from the first one on that allows for a delay of 200 ms, and from the third on for
    // half of it; linear for 1.2 s by time as well.
    let latency: Vec<u64> = [200]
        .into_iter()
        .chain((4..=15).map(|expiry| expiry * 100))
        .chain([1628, 1884, 2396])
        .chain((3..=525).map(|second| second * 1000 + 396))
        .collect();
    for (preset, _) in TCP_PRESETS {
        let mut bench = Bench::accepted(options(preset));
        let start = bench.now;
        bench.send(100);
        let (at, failure) = failed_at(&mut bench, start);
        let expected = match preset {
            "rfc" | "newreno" => doubled(1.0, 60.0),
            "sack" | "vegas" | "er" | "ns-2" => doubled(0.2, 60.0),
            "linux" => doubled(0.2, 120.0),
            "thin-paper" | "thin-rdb-paper" => paper.clone(),
            "latency" | "latency-lean" | "latency-max" => latency.clone(),
            _ => thin.clone(),
        };
        // The last segment is the reset that informs the peer.
        assert_eq!(times(&bench, start)[1..], expected, "{preset}");
        let last = expected[expected.len() - 1];
        assert_eq!((at, failure), (last.next_multiple_of(100), Failure::TimedOut), "{preset}");
        assert!(at >= 100_000, "{preset}");
    }
}

#[test]
fn without_sack_neither_rack_nor_a_tail_probe_acts() {
    let mut policy = RecoveryPolicy::tcp_rfc();
    policy.loss.rack = true;
    policy.loss.tail_probe = Some(base::Duration::from_millis(200));
    for (sack, acts) in [("", false), (",sackOK", true)] {
        let options =
            ConnectionOptions { policy: policy.clone().into(), sack: true, ..Bench::plain() };
        let mut bench = Bench::listening(options);
        bench.inject(&format!("S 0:0(0) <mss 1460{sack}>"));
        // The round trip is 100 ms.
        bench.wait(100);
        bench.inject(". 1:1(0) ack 1");
        bench.sent.clear();
        let start = bench.now;
        bench.send(4380);
        bench.wait(900);
        assert_eq!(times(&bench, start).len() > 3, acts, "a tail probe {sack}");
        bench.sent.clear();
        bench.inject(". 1:1(0) ack 1461");
        // One duplicate: RACK alone would send the second segment again a quarter of a round trip
        // later.
        let block = if acts { " <sack 2921:4381>" } else { "" };
        bench.inject(&format!(". 1:1(0) ack 1461{block}"));
        bench.wait(60);
        assert_eq!(!bench.sent.is_empty(), acts, "RACK {sack}");
    }
}
