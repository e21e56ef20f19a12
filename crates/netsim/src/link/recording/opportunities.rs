//! Recorded times at which packets could leave.

use std::sync::Arc;

use base::{Instant, Rate};

/// Bytes that one opportunity carries.
pub const OPPORTUNITY: u64 = 1500;

/// Times at which 1500 bytes each may leave, as mahimahi records cellular networks (its manual,
/// mm-link).
///
/// An opportunity carries the packets that wait at its time, several if they are small; a packet
/// that does not fit continues in the next one. Unused bytes of an opportunity are lost. After the
/// last one the recording begins again, and its length is the time of the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// Milliseconds from the beginning, in order; never empty.
    times: Vec<u64>,
    /// The last time, above zero.
    period: u64,
}

impl Opportunities {
    /// Opportunities at these milliseconds.
    ///
    /// # Errors
    /// When there are none, they are out of order, or the last is at 0.
    pub fn new(times: Vec<u64>) -> Result<Opportunities, String> {
        match times.last() {
            None => Err("there is no opportunity in it".to_owned()),
            Some(0) => {
                Err("the last opportunity is at 0 ms, so that it would never end".to_owned())
            }
            _ if !times.is_sorted() => Err("opportunities must be in order of time".to_owned()),
            Some(&period) => Ok(Opportunities { times, period }),
        }
    }

    /// Times in milliseconds of one repetition.
    pub fn times(&self) -> &[u64] {
        &self.times
    }

    /// The mean rate with a never empty queue; none if it is less than one bit a second.
    pub fn mean_rate(&self) -> Option<Rate> {
        let bits = self.times.len() as u128 * u128::from(OPPORTUNITY) * 8 * 1_000;
        let bits = bits / u128::from(self.period.max(1));
        Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    fn count(&self) -> u64 {
        self.times.len() as u64
    }

    /// Nanoseconds of opportunity number `number` since the beginning, over all repetitions.
    fn time(&self, number: u64) -> u128 {
        let (round, place) = (number / self.count(), number % self.count());
        let millis = u128::from(round) * u128::from(self.period)
            + self.times.get(place as usize).map_or(0, |millis| u128::from(*millis));
        millis.saturating_mul(1_000_000)
    }

    /// Number of the first opportunity at these nanoseconds or later.
    fn first_from(&self, nanos: u128) -> u64 {
        let (millis, period) = (nanos.div_ceil(1_000_000), u128::from(self.period));
        // The end of a round belongs to it, and may be the beginning of the next.
        let round = millis.saturating_sub(1) / period;
        let rest = millis - round * period;
        let place = self.times.partition_point(|time| u128::from(*time) < rest);
        let begun = u64::try_from(round).unwrap_or(u64::MAX).saturating_mul(self.count());
        begun.saturating_add(place as u64)
    }
}

/// A link's next opportunity, and the bytes left of the present one.
#[derive(Debug)]
pub(in super::super) struct NextOpportunity {
    recorded: Arc<Opportunities>,
    /// Nanoseconds of the recording before the link's beginning.
    skipped: u128,
    /// Number of the first unused opportunity.
    next: u64,
    /// Time of the present opportunity.
    at: Instant,
    /// Bytes that the present opportunity can still carry.
    left: u64,
}

impl NextOpportunity {
    /// Opportunities of `recorded`, of which the first ones are skipped: the share `share` of its
    /// period.
    pub(super) fn new(recorded: Arc<Opportunities>, share: f64) -> NextOpportunity {
        let skipped = (recorded.period as f64 * share) as u128 * 1_000_000;
        NextOpportunity { recorded, skipped, next: 0, at: Instant::ZERO, left: 0 }
    }

    pub(in super::super) fn mean_rate(&self) -> Option<Rate> {
        self.recorded.mean_rate()
    }

    /// Time at which bytes that wait from `free` on begin to be sent.
    #[inline(never)]
    pub(in super::super) fn start(&self, free: Instant) -> Instant {
        if self.left > 0 && free <= self.at { self.at } else { self.time(self.first(free)) }
    }

    /// Time by which the last of `octets` that begin to be sent at `start` has been sent.
    #[inline(never)]
    pub(in super::super) fn take(&mut self, start: Instant, octets: u64) -> Instant {
        if self.left == 0 || start > self.at {
            self.begin(self.first(start));
        }
        if octets > self.left {
            let more = octets - self.left;
            let opportunities = more.div_ceil(OPPORTUNITY);
            self.begin(self.next.saturating_add(opportunities - 1));
            self.left = opportunities.saturating_mul(OPPORTUNITY).saturating_sub(more);
        } else {
            self.left -= octets;
        }
        self.at
    }

    fn begin(&mut self, number: u64) {
        self.at = self.time(number);
        self.next = number.saturating_add(1);
        self.left = OPPORTUNITY;
    }

    /// The first unused opportunity from `at` on.
    fn first(&self, at: Instant) -> u64 {
        let nanos = u128::from(at.as_nanos()).saturating_add(self.skipped);
        self.recorded.first_from(nanos).max(self.next)
    }

    fn time(&self, number: u64) -> Instant {
        let nanos = self.recorded.time(number).saturating_sub(self.skipped);
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
