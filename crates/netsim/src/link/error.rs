//! Errors of a link's configuration.

use core::fmt;
use core::ops::Range;

use base::{Duration, Instant};

use super::cross::CrossTraffic;
use super::queue::{Codel, FqCodel, Pie, Red};

/// A link configuration that contradicts itself.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkConfigError {
    /// A blackout that ends before it begins, or at once.
    EmptyBlackout(Range<Instant>),
    /// A profile step at a time before that of its predecessor.
    UnorderedProfile(Instant),
    /// A list of packets to lose that names packet 0; they count from 1.
    PacketZero,
    /// A mean duration of a Gilbert model below a microsecond.
    SojournTooShort(Duration),
    /// A Pareto shape that is not above zero and finite.
    ParetoShape(f64),
    /// Thresholds of RED that are not in order, or other numbers of it out of their range.
    Red(Red),
    /// A target of CoDel that is not below its interval.
    Codel(Codel),
    /// No queues, turns of less than 64 bytes, or a target that is not below its interval.
    FqCodel(FqCodel),
    /// A target or a time between updates below a millisecond.
    Pie(Pie),
    /// Recorded opportunities and a rate, or a profile that changes it.
    OpportunitiesAndRate,
    /// Cross traffic that never comes, or never leaves room.
    CrossTraffic(CrossTraffic),
}

impl fmt::Display for LinkConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkConfigError::EmptyBlackout(range) => {
                write!(f, "blackout {:?} to {:?}: must end after it begins", range.start, range.end)
            }
            LinkConfigError::UnorderedProfile(at) => {
                write!(f, "profile step at {at:?}: steps must be in order of time")
            }
            LinkConfigError::PacketZero => {
                f.write_str("packet 0 in a loss list: they count from 1")
            }
            LinkConfigError::SojournTooShort(mean) => {
                write!(f, "mean stay of {mean} in a loss state: must be at least 1us")
            }
            LinkConfigError::ParetoShape(shape) => {
                write!(f, "Pareto shape {shape}: must be finite and above 0")
            }
            LinkConfigError::Red(red) => write!(
                f,
                "RED from {} to {} with weight {}: the minimum must be below the maximum, the weight above 0 and \
                 not above 1, typical packets of 1 byte at least",
                red.min, red.max, red.weight
            ),
            LinkConfigError::Codel(codel) => {
                let Codel { target, interval, .. } = codel;
                write!(
                    f,
                    "CoDel with target {target} and interval {interval}: the target must be shorter"
                )
            }
            LinkConfigError::FqCodel(FqCodel { codel, queues, quantum }) => write!(
                f,
                "fq_codel with {queues} queues, quantum {quantum} B, target {} and interval {}: give one queue or more, \
                 a quantum of 64 B or more, and a target shorter than the interval",
                codel.target, codel.interval
            ),
            LinkConfigError::Pie(Pie { target, update, .. }) => {
                write!(f, "PIE with target {target} and update {update}: both must be at least 1ms")
            }
            LinkConfigError::OpportunitiesAndRate => f.write_str(
                "recorded opportunities and a rate: packets leave at the opportunities; leave the rate out",
            ),
            LinkConfigError::CrossTraffic(CrossTraffic { load, burst, .. }) => write!(
                f,
                "cross traffic of {load} in bursts of {burst}: give a load above 0% and up to 99%, and bursts of 1us \
                 at least"
            ),
        }
    }
}

impl std::error::Error for LinkConfigError {}
