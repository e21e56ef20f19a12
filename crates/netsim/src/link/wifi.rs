//! Wi-Fi that sends frames again until they arrive.

use base::Duration;

use super::variate::LazyStream;

/// A radio that repeats lost frames, each time after twice the time of the last: few are lost, and
/// some are very late.
///
/// The model and its numbers are those of Huitema's simulation of round trips over Wi-Fi
/// (`wifiretry.py` and "Wi-Fi Jitter" in private-octopus/c4, 2025), which he compares with traces
/// near an access point, far from it, and between: a first time of 0.8 ms, up to eight repetitions,
/// each of them likely in its own degree, and a uniform share of the last time that is not needed.
/// So all times from 0 to 204 ms occur, and the link, which keeps the order of packets,
/// delivers those behind a late one at once, as in the traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WifiRetries {
    /// Near the access point: half of all take less than 2 ms, one of a thousand more than 20 ms.
    Near,
    /// Midway: one of a hundred takes more than 89 ms.
    Mid,
    /// Far from it: one of ten takes more than 18 ms, one of a hundred more than 97 ms.
    Far,
}

/// Time of a frame's first transmission.
const FIRST: Duration = Duration::from_micros(800);
/// Number of repetitions below which a share of the last time is not needed.
const GIVEN_UP: usize = 7;

impl WifiRetries {
    /// Probability of each repetition if all before it failed.
    pub(super) fn repeats(self) -> [f64; 8] {
        match self {
            WifiRetries::Near => [0.99, 0.3, 0.125, 0.04, 0.5, 0.25, 0.0, 0.0],
            WifiRetries::Mid => [1.0, 0.6125, 0.42, 0.4, 0.45, 0.8, 0.05, 0.0],
            WifiRetries::Far => [1.0, 0.99, 0.25, 0.5, 0.625, 0.8, 0.08, 0.0],
        }
    }

    /// The time of one frame.
    pub(super) fn draw(self, random: &mut LazyStream) -> Duration {
        let (mut time, mut last, mut repeated) = (FIRST, FIRST, 0);
        for chance in self.repeats() {
            if !random.less_than(chance) {
                break;
            }
            last = last * 2;
            time += last;
            repeated += 1;
        }
        if repeated < GIVEN_UP { time - random.uniform(last) } else { time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probability that a frame takes at most `limit`, from the chances alone: with n repetitions
    /// it takes from 0.8 (2ⁿ - 1) to 0.8 (2ⁿ⁺¹ - 1) ms, uniformly.
    fn share_within(retries: WifiRetries, limit: f64) -> f64 {
        let (mut left, mut share) = (1.0, 0.0);
        for (place, chance) in retries.repeats().into_iter().chain([0.0]).enumerate() {
            let [from, to] = [place, place + 1].map(|n| 0.8 * (f64::from(1u32 << n) - 1.0));
            let part = match place < GIVEN_UP {
                true => ((limit - from) / (to - from)).clamp(0.0, 1.0),
                false => f64::from(u8::from(limit >= to)),
            };
            share += left * (1.0 - chance) * part;
            left *= chance;
        }
        share
    }

    #[test]
    fn times_are_those_of_the_published_chances() {
        for retries in [WifiRetries::Near, WifiRetries::Mid, WifiRetries::Far] {
            let mut random = LazyStream::new(1, "test", 0);
            let times: Vec<f64> =
                (0..200_000).map(|_| retries.draw(&mut random).as_millis_f64()).collect();
            for limit in [0.8, 1.6, 2.4, 4.0, 5.6, 12.0, 30.0, 60.0, 100.0, 203.0] {
                let found =
                    times.iter().filter(|time| **time <= limit).count() as f64 / times.len() as f64;
                let expected = share_within(retries, limit);
                assert!(
                    (found - expected).abs() < 0.004,
                    "{retries:?} {limit}: {found} {expected}"
                );
            }
            let longest = times.iter().copied().fold(0.0, f64::max);
            assert!(longest <= 204.0, "{longest}");
        }
    }

    #[test]
    fn the_farther_the_station_the_later_its_frames() {
        let beyond = |retries, limit| 1.0 - share_within(retries, limit);
        for (retries, limit, share) in [
            (WifiRetries::Near, 20.36, 0.001),
            (WifiRetries::Mid, 89.75, 0.01),
            (WifiRetries::Far, 18.55, 0.1),
            (WifiRetries::Far, 97.06, 0.01),
        ] {
            let found = beyond(retries, limit);
            assert!((found / share - 1.0).abs() < 0.01, "{retries:?} {limit}: {found}");
        }
        for limit in [2.4, 20.0, 50.0] {
            let [near, mid, far] = [WifiRetries::Near, WifiRetries::Mid, WifiRetries::Far]
                .map(|retries| beyond(retries, limit));
            assert!(near < mid && mid < far, "{limit}: {near} {mid} {far}");
        }
    }
}
