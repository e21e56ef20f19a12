//! Variation of the delay from packet to packet.

use core::str::FromStr;

use base::{Duration, ParseQuantityError};

use super::LinkConfigError;
use super::variate::LazyStream;
use super::wifi::WifiRetries;

/// Variation of the delay from packet to packet.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Jitter {
    /// Every packet takes the delay.
    #[default]
    None,
    /// Delay plus or minus up to `spread`, uniformly; never below zero.
    Uniform {
        /// Largest deviation from the delay, in either direction.
        spread: Duration,
    },
    /// Delay plus a nearly normal deviation (within six standard deviations); never below zero.
    Normal {
        /// Standard deviation of the delay.
        deviation: Duration,
    },
    /// Delay plus an exponentially distributed time: a skew to the right, as queues make it.
    Exponential {
        /// Mean of the added delay.
        mean: Duration,
    },
    /// Delay plus a Pareto-distributed time (Lomax form): rare but very long ones.
    Pareto {
        /// Half of the added times are below `scale · (2^(1/shape) - 1)`.
        scale: Duration,
        /// Weight of the tail: smaller is heavier; above 1 the mean is `scale / (shape - 1)`.
        shape: f64,
        /// No packet gets more than this.
        limit: Duration,
    },
    /// Delay plus the time of a frame that Wi-Fi repeats until it arrives.
    Wifi(WifiRetries),
}

impl FromStr for Jitter {
    type Err = ParseQuantityError;

    /// Reads `10ms` (uniformly up to that more or less), `normal 10ms`, `exponential 10ms`,
    /// `pareto 10ms 3 1s` (scale, shape, limit) and `wifi near`, `wifi mid` or `wifi far`; `0s` is
    /// none.
    fn from_str(text: &str) -> Result<Jitter, ParseQuantityError> {
        const FORM: &str = "a jitter such as 10ms (more or less), \"normal 10ms\", \"exponential 10ms\", \
                            \"pareto 10ms 3 1s\" (scale, shape, limit) or \"wifi near\" (mid, far)";
        let refused = || ParseQuantityError::new(text, FORM);
        let time = |word: &str| word.parse::<Duration>().map_err(|_| refused());
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["normal", deviation] => Ok(Jitter::Normal { deviation: time(deviation)? }),
            ["exponential", mean] => Ok(Jitter::Exponential { mean: time(mean)? }),
            ["pareto", scale, shape, limit] => Ok(Jitter::Pareto {
                scale: time(scale)?,
                shape: shape.parse().map_err(|_| refused())?,
                limit: time(limit)?,
            }),
            ["wifi", "near"] => Ok(Jitter::Wifi(WifiRetries::Near)),
            ["wifi", "mid"] => Ok(Jitter::Wifi(WifiRetries::Mid)),
            ["wifi", "far"] => Ok(Jitter::Wifi(WifiRetries::Far)),
            [spread] => Ok(match time(spread)? {
                Duration::ZERO => Jitter::None,
                spread => Jitter::Uniform { spread },
            }),
            _ => Err(refused()),
        }
    }
}

impl Jitter {
    pub(super) fn check(&self) -> Result<(), LinkConfigError> {
        match *self {
            Jitter::Pareto { shape, .. } if !(shape.is_finite() && shape > 0.0) => {
                Err(LinkConfigError::ParetoShape(shape))
            }
            _ => Ok(()),
        }
    }

    /// The time that one packet takes where the link's delay is `delay`.
    pub(super) fn apply(self, delay: Duration, random: &mut LazyStream) -> Duration {
        match self {
            Jitter::None => delay,
            Jitter::Uniform { spread } => delay + random.uniform(spread * 2) - spread,
            Jitter::Normal { deviation } => {
                let normal = random.normal();
                let distance = deviation.scale(normal.unsigned_abs(), 1 << 16);
                if normal < 0 { delay - distance } else { delay + distance }
            }
            Jitter::Exponential { mean } => delay + random.exponential(mean),
            Jitter::Pareto { scale, shape, limit } => {
                delay + random.pareto(scale, shape).min(limit)
            }
            Jitter::Wifi(retries) => delay + retries.draw(random),
        }
    }
}
