//! Assignment of arrivals to retransmissions.

use std::collections::VecDeque;

use base::{Duration, Instant};

use crate::observed::Needless;

/// Retransmissions remembered: those of a window of data.
const LIMIT: usize = 1024;

/// Retransmissions of which it is not yet known whether they were needed.
///
/// Packets with the same unit look alike. An arrival is assigned to the transmission whose transit
/// time is closest to that of other packets and no shorter than the shortest seen.
#[derive(Debug, Default)]
pub(super) struct Resends {
    list: VecDeque<Resent>,
    /// The unit after the highest retransmitted one: units beyond were sent once.
    end: u64,
    /// The shortest transit time, and the most recent one.
    least: Duration,
    lately: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Resent {
    unit: u64,
    needless: Needless,
    came: bool,
}

impl Resends {
    /// Notes that a unit is sent again, with the event to report if the retransmission turns out to
    /// be needless.
    pub(super) fn add(&mut self, unit: u64, needless: Needless) {
        if self.list.len() == LIMIT {
            self.list.pop_front();
        }
        self.end = self.end.max(unit.saturating_add(1));
        self.list.push_back(Resent { unit, needless, came: false });
    }

    /// Transit time of a packet whose units were sent once.
    pub(super) fn on_way(&mut self, took: Duration) {
        self.least = self.lately.map_or(took, |_| self.least.min(took));
        self.lately = Some(took);
    }

    /// Whether a unit may have been sent again.
    pub(super) fn may_have(&self, unit: u64) -> bool {
        unit < self.end
    }

    /// A unit, first sent at `first`, arrived for the first time.
    pub(super) fn on_first(&mut self, now: Instant, unit: u64, first: Instant) {
        let left = self.left(now);
        let place = self.nearest(now, unit);
        if let Some(one) = place.and_then(|place| self.list.get_mut(place))
            && distance(one.needless.sent, left) < distance(first, left)
        {
            one.came = true;
        } else {
            self.on_way(now.since(first));
        }
    }

    /// A unit arrived again. Returns the needless retransmission.
    pub(super) fn on_again(&mut self, now: Instant, unit: u64) -> Option<Needless> {
        // If none can be here, the first to come was not the one that it was taken for, but one
        // before it; or this one was faster than anything yet.
        let of = |came: bool| self.list.iter().position(|one| one.unit == unit && one.came == came);
        let place = self.nearest(now, unit).or_else(|| of(true)).or_else(|| of(false))?;
        let one = self.list.remove(place)?;
        self.list.retain(|other| other.unit != unit || !other.came);
        Some(one.needless)
    }

    /// The retransmission of a unit, not arrived yet, whose expected arrival is closest to now.
    fn nearest(&self, now: Instant, unit: u64) -> Option<usize> {
        let (latest, left) = (now.before(self.least), self.left(now));
        let all = self.list.iter().enumerate();
        let can_be =
            all.filter(|(_, one)| one.unit == unit && !one.came && one.needless.sent <= latest);
        can_be.min_by_key(|(_, one)| distance(one.needless.sent, left)).map(|(place, _)| place)
    }

    /// Time at which a packet that arrives now was sent, if it took as long as recent ones. Without
    /// a known transit time, the earliest transmission is the most likely.
    fn left(&self, now: Instant) -> Instant {
        self.lately.map_or(Instant::ZERO, |took| now.before(took))
    }
}

fn distance(one: Instant, other: Instant) -> Duration {
    one.max(other).since(one.min(other))
}
