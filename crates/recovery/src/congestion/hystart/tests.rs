use super::*;
use base::Instant;

const MSS: u64 = 1000;

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Rounds of `samples` acknowledgements with the same round-trip time each, and the growth of the
/// window by each.
struct Rounds {
    hystart: HyStart,
    acknowledged: u64,
}

impl Rounds {
    fn new() -> Self {
        Rounds { hystart: HyStart::default(), acknowledged: 0 }
    }

    fn round(&mut self, samples: usize, rtt: Duration) -> Vec<u64> {
        self.round_of(&vec![rtt; samples])
    }

    /// A round with the round-trip time of each acknowledgement, and the growth of the window by
    /// each.
    fn round_of(&mut self, rtts: &[Duration]) -> Vec<u64> {
        let samples = rtts.len() as u64;
        let next_unit = self.acknowledged + samples * MSS;
        let ack = |(index, rtt): (u64, &Duration)| {
            let cumulative = self.acknowledged + (index + 1) * MSS;
            let acked = Acked {
                now: Instant::ZERO,
                cumulative,
                next_unit: if index == 0 { next_unit } else { next_unit + index * 2 * MSS },
                rtt: Some(*rtt),
                ..Acked::default()
            };
            self.hystart.growth(MSS, &acked)
        };
        let grown = (0..).zip(rtts).map(ack).collect();
        self.acknowledged = next_unit;
        grown
    }
}

#[test]
fn the_threshold_is_an_eighth_between_four_and_sixteen_milliseconds() {
    for (rtt, expected) in [(8, 4_000), (32, 4_000), (100, 12_500), (128, 16_000), (800, 16_000)] {
        assert_eq!(threshold(millis(rtt)), Duration::from_micros(expected), "{rtt} ms");
    }
}

#[test]
fn a_round_trip_that_grows_by_an_eighth_slows_down_with_its_eighth_sample_and_ends_after_five_rounds()
 {
    let mut rounds = Rounds::new();
    assert_eq!(rounds.round(10, millis(100)), [MSS; 10]);
    let grown = rounds.round(10, Duration::from_micros(112_500));
    assert_eq!(grown[..7], [MSS; 7]);
    assert_eq!(grown[7..], [MSS / 4; 3]);
    for round in 1..=5 {
        assert!(!rounds.hystart.is_over(), "round {round}");
        rounds.round(10, millis(120));
    }
    rounds.round(1, millis(120));
    assert!(rounds.hystart.is_over());
}

#[test]
fn a_round_trip_that_grows_by_less_changes_nothing() {
    let mut rounds = Rounds::new();
    for _ in 0..10 {
        rounds.round(10, millis(100));
        rounds.round(10, Duration::from_micros(112_499));
    }
    assert!(rounds.hystart.conservative.is_none() && !rounds.hystart.is_over());
}

#[test]
fn fewer_than_eight_samples_say_nothing() {
    let mut rounds = Rounds::new();
    rounds.round(10, millis(100));
    rounds.round(7, millis(200));
    assert!(rounds.hystart.conservative.is_none());
}

#[test]
fn a_false_alarm_goes_back_to_slow_start() {
    let mut rounds = Rounds::new();
    rounds.round(10, millis(100));
    rounds.round(10, millis(120));
    assert!(rounds.hystart.conservative.is_some());
    let grown = rounds.round(10, millis(119));
    assert!(rounds.hystart.conservative.is_none());
    assert_eq!(grown[6..8], [MSS / 4, MSS]);
}

#[test]
fn what_counts_of_a_round_is_its_shortest_round_trip() {
    let mut rounds = Rounds::new();
    rounds.round(10, millis(100));
    let mut rtts = [millis(150); 10];
    rtts[0] = millis(100);
    assert_eq!(rounds.round_of(&rtts), [MSS; 10]);
}
