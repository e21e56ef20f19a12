//! The line of a link: the time at which a dequeued packet has left.

use base::{Duration, Instant, Rate};

use super::profile::{Condition, Conditions};
use super::queue::Serialiser;
use super::recording::NextOpportunity;

/// Serialises packets one after the other, at a rate or at recorded opportunities.
#[derive(Debug)]
pub(super) struct Line {
    conditions: Conditions,
    opportunities: Option<Box<NextOpportunity>>,
}

impl Line {
    pub(super) fn new(conditions: Conditions, opportunities: Option<NextOpportunity>) -> Line {
        Line { conditions, opportunities: opportunities.map(Box::new) }
    }

    pub(super) fn at(&self, at: Instant) -> Condition {
        self.conditions.at(at)
    }

    /// Sets the delay at all times.
    pub(super) fn set_delay(&mut self, delay: Duration) {
        self.conditions.set_delay(delay);
    }
}

impl Serialiser for Line {
    fn rate(&self, at: Instant) -> Option<Rate> {
        match &self.opportunities {
            Some(recorded) => recorded.mean_rate(),
            None => self.conditions.at(at).rate,
        }
    }

    fn start(&self, free: Instant) -> Instant {
        self.opportunities.as_ref().map_or(free, |recorded| recorded.start(free))
    }

    /// The rate at its dequeue holds until the packet's last bit.
    fn depart(&mut self, start: Instant, octets: u64) -> Instant {
        match &mut self.opportunities {
            Some(recorded) => recorded.take(start, octets),
            None => {
                let rate = self.conditions.at(start).rate;
                rate.map_or(start, |rate| start + rate.transmission_time(octets))
            }
        }
    }
}
