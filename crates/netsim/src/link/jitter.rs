//! What varies the delay from packet to packet.

use base::Duration;

use super::LinkConfigError;
use super::variate::LazyStream;

/// What varies the delay from packet to packet.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Jitter {
    /// Every packet takes the delay.
    #[default]
    None,
    /// Delay plus or minus up to `spread`, uniformly; never below zero.
    Uniform {
        /// The largest deviation.
        spread: Duration,
    },
    /// Delay plus a nearly normal deviation (within six standard deviations); never below zero.
    Normal {
        /// The standard deviation.
        deviation: Duration,
    },
    /// Delay plus an exponentially distributed time: a skew to the right, as queues make it.
    Exponential {
        /// Mean of what is added.
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
        }
    }
}
