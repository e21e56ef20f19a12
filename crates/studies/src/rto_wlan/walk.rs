//! The walk out of the cell.
//!
//! The paper measured 25 of them and shows the averages as a picture. Of the numbers in its text,
//! some are of a single walk (section 5: timeouts of 3 s) and some follow from the average (section
//! 6.2: sums that are possible only with round-trip times of a few tenths of a second). One model
//! gives both: a walk is undisturbed, has short stalls as the signal fades, and long ones once it
//! has left the cell; each walk leaves at its own time, so that the average goes on rising. A stall
//! adds an exponential time to a round trip. Losses begin with the short stalls and grow after the
//! cell is left.

use base::{Duration, Purpose, RandomStream};
use serde::Deserialize;

use crate::form::{self, whole_seconds};

/// Course of walks. Times are from the beginning of the walk.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Walk {
    /// Number of walks that are averaged.
    pub walks: u64,
    /// Duration of each walk, in whole seconds.
    #[serde(deserialize_with = "form::text")]
    pub length: Duration,
    /// The first round-trip time of all, give or take a fifth.
    #[serde(deserialize_with = "form::text")]
    pub first: Duration,
    /// Shortest round-trip time without a stall.
    #[serde(deserialize_with = "form::text")]
    pub shortest: Duration,
    /// Longest round-trip time without a stall.
    #[serde(deserialize_with = "form::text")]
    pub longest: Duration,
    /// Time at which the signal begins to fade.
    #[serde(deserialize_with = "form::text")]
    pub fades: Duration,
    /// Time from then until short stalls are most frequent.
    #[serde(deserialize_with = "form::text")]
    pub fading: Duration,
    /// Share of seconds with a short stall then: 0 to 1.
    pub short_stalls: f64,
    /// Mean length of a short stall.
    #[serde(deserialize_with = "form::text")]
    pub short_stall: Duration,
    /// The earliest time at which a walk leaves the cell.
    #[serde(deserialize_with = "form::text")]
    pub leaves_from: Duration,
    /// The latest; every time between is as likely.
    #[serde(deserialize_with = "form::text")]
    pub leaves_to: Duration,
    /// Share of seconds with a long stall outside: 0 to 1.
    pub long_stalls: f64,
    /// Mean length of a long stall.
    #[serde(deserialize_with = "form::text")]
    pub long_stall: Duration,
    /// Packets lost when short stalls are as frequent as they get: 0 to 1.
    pub fading_loss: f64,
    /// Growth of this loss each second outside: 0 to 1.
    pub loss_growth: f64,
}

impl Default for Walk {
    /// Found by a coarse search for what comes closest to the paper's numbers; `docs/rto-wlan.md`
    /// shows how close. Losses are not reported at all: these are plausible, and no number
    /// depends on them unless a transfer asks for them.
    fn default() -> Walk {
        Walk {
            walks: 25,
            length: Duration::from_secs(250),
            first: Duration::from_millis(20),
            shortest: Duration::from_millis(3),
            longest: Duration::from_millis(8),
            fades: Duration::from_secs(40),
            fading: Duration::from_secs(60),
            short_stalls: 0.3,
            short_stall: Duration::from_millis(320),
            leaves_from: Duration::from_secs(70),
            leaves_to: Duration::from_secs(190),
            long_stalls: 0.1,
            long_stall: Duration::from_millis(3_600),
            fading_loss: 0.02,
            loss_growth: 0.01,
        }
    }
}

/// Properties of a path, second by second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Round-trip time of each second.
    pub round_trips: Vec<Duration>,
    /// Packets lost: 0 to 1.
    pub losses: Vec<f64>,
}

impl Walk {
    /// Number of whole seconds that a walk lasts.
    pub fn seconds(&self) -> usize {
        whole_seconds(self.length)
    }

    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first value out of bounds.
    pub fn check(&self) -> Result<(), String> {
        let shares = [
            ("walk.short_stalls", self.short_stalls),
            ("walk.long_stalls", self.long_stalls),
            ("walk.fading_loss", self.fading_loss),
            ("walk.loss_growth", self.loss_growth),
        ];
        if let Some((name, share)) = shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err(format!("`{name}` is {share}: 0 to 1"));
        }
        if self.walks == 0 || self.walks > 10_000 {
            return Err(format!("`walk.walks` is {}: 1 to 10000", self.walks));
        }
        if self.seconds() == 0 || self.seconds() > 86_400 {
            return Err(format!("`walk.length` is {}: 1s to 86400s", self.length));
        }
        if self.leaves_to < self.leaves_from {
            return Err("`walk.leaves_to` is before `walk.leaves_from`".to_owned());
        }
        Ok(())
    }

    /// A walk. It leaves the cell in the given second, or at a time of its own.
    pub fn single(&self, seed: u64, index: u64, leaves: Option<usize>) -> Profile {
        let mut random = RandomStream::new(seed, Purpose("walk", index));
        let between = self.leaves_to.saturating_sub(self.leaves_from);
        let drawn = self.leaves_from + between.scale(random.below(1 << 20), 1 << 20);
        let leaves = leaves.unwrap_or(whole_seconds(drawn));
        let mut profile = Profile::default();
        for second in 0..=self.seconds() {
            profile.round_trips.push(self.round_trip(second, leaves, &mut random));
            let outside = second.saturating_sub(leaves) as f64;
            let loss = self.fading_loss * self.faded(second) + self.loss_growth * outside;
            profile.losses.push(loss.min(1.0));
        }
        profile
    }

    /// Fading of the signal: 0 to 1.
    fn faded(&self, second: usize) -> f64 {
        let since = second as f64 - self.fades.as_secs_f64();
        (since / self.fading.as_secs_f64().max(1.0)).clamp(0.0, 1.0)
    }

    /// Draws as often in each second, so that walks that leave at other times differ in nothing
    /// else.
    fn round_trip(&self, second: usize, leaves: usize, random: &mut RandomStream) -> Duration {
        let (base, stalls, length) = (random.unit_f64(), random.unit_f64(), random.unit_f64());
        if second == 0 {
            return Duration::from_secs_f64(self.first.as_secs_f64() * (0.8 + 0.4 * base));
        }
        let (likely, stall) = match second < leaves {
            true => (self.short_stalls * self.faded(second), self.short_stall),
            false => (self.long_stalls, self.long_stall),
        };
        let undisturbed = self.shortest
            + Duration::from_secs_f64(
                self.longest.saturating_sub(self.shortest).as_secs_f64() * base,
            );
        if stalls >= likely {
            return undisturbed;
        }
        undisturbed + Duration::from_secs_f64(-libm::log(1.0 - length) * stall.as_secs_f64())
    }

    /// Mean round-trip time and mean loss in each second over all walks drawn with `seed`.
    pub fn average(&self, seed: u64) -> Profile {
        let seconds = self.seconds() + 1;
        let mut sums = (vec![0u64; seconds], vec![0.0; seconds]);
        for index in 0..self.walks {
            let walk = self.single(seed, index, None);
            for second in 0..seconds {
                sums.0[second] = sums.0[second].saturating_add(walk.round_trips[second].as_nanos());
                sums.1[second] += walk.losses[second];
            }
        }
        let walks = self.walks.max(1);
        Profile {
            round_trips: sums.0.iter().map(|sum| Duration::from_nanos(sum / walks)).collect(),
            losses: sums.1.iter().map(|sum| sum / walks as f64).collect(),
        }
    }
}
