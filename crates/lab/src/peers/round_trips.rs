//! The round trip of a path whose delays change over time.

use base::{Duration, Instant};
use netsim::LinkConfig;

/// Round trips of a path without queues and at the least jitter, over time, as its links' profiles
/// change them.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTrips(Vec<(Instant, Duration)>);

impl RoundTrips {
    /// The round trips over these links in both directions, plus `extra`.
    pub fn over(links: &[&LinkConfig], extra: Duration) -> RoundTrips {
        let steps = links.iter().flat_map(|link| &link.profile).map(|step| step.at);
        let mut times: Vec<Instant> = core::iter::once(Instant::ZERO).chain(steps).collect();
        times.sort_unstable();
        times.dedup();
        let sum = |at| links.iter().fold(extra, |sum, link| sum + link.least_delay_at(at));
        RoundTrips(times.into_iter().map(|at| (at, sum(at))).collect())
    }

    /// The round trip of a packet sent now, if no step of a profile falls into it.
    pub fn at(&self, now: Instant) -> Duration {
        let begun = self.0.partition_point(|(begin, _)| *begin <= now);
        self.0.get(begun.saturating_sub(1)).map_or(Duration::ZERO, |(_, round_trip)| *round_trip)
    }
}

#[cfg(test)]
mod tests {
    use netsim::link::parse_profile;

    use super::*;

    #[test]
    fn a_round_trip_follows_the_profiles_of_its_links_and_leaves_jitter_out() {
        let millis = Duration::from_millis;
        let there = LinkConfig {
            profile: parse_profile("10s delay=80ms\n20s delay=20ms jitter=5ms").unwrap(),
            ..LinkConfig::with_delay(millis(20))
        };
        let back = LinkConfig {
            profile: parse_profile("10s rate=64kbit\n15s delay=30ms").unwrap(),
            ..LinkConfig::with_delay(millis(20))
        };
        let trips = RoundTrips::over(&[&there, &back], millis(1));
        for (second, round_trip) in [(0, 41), (9, 41), (10, 101), (15, 111), (25, 46)] {
            let at = Instant::ZERO + Duration::from_secs(second);
            assert_eq!(trips.at(at), millis(round_trip), "{second}");
        }
    }
}
