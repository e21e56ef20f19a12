//! The next events: the pending instant of each link and host, in a total order.
//!
//! Each source has at most one pending instant, which may move either way, so that the queue's
//! memory depends on the number of sources, not on the length of the run. The order is that of
//! time; at the same time packets come before timers, then lower numbers before higher. (Packets of
//! one link keep their order in the link.)

#[cfg(test)]
mod tests;

use base::{Deadlines, Instant};

/// Source of an event; sources are ordered like their simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The arrival of a packet at the end of link number n.
    Link(u32),
    /// A timer of host number n.
    Host(u32),
}

/// The pending instants. No event happens at [`Instant::FAR_FUTURE`].
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    /// Links in a separate queue: they are few, and change with each packet.
    links: Deadlines,
    hosts: Deadlines,
    now: Instant,
}

impl EventQueue {
    /// The time of the latest event; it never goes back.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Sets the pending instant of `source`, replacing the previous one; none removes it. An
    /// instant in the past becomes now.
    pub fn set(&mut self, source: Source, at: Option<Instant>) {
        let at = at.map(|at| at.max(self.now));
        match source {
            Source::Link(number) => self.links.set(number, at),
            Source::Host(number) => self.hosts.set(number, at),
        }
    }

    /// Reads the entry of `source` ahead of its use.
    pub fn warm(&self, source: Source) {
        match source {
            Source::Link(number) => self.links.warm(number),
            Source::Host(number) => self.hosts.warm(number),
        }
    }

    /// The earliest pending event; none if none is pending.
    pub fn peek(&self) -> Option<(Instant, Source)> {
        let link = self.links.first().map(|(at, number)| (at, Source::Link(number)));
        let host = self.hosts.first().map(|(at, number)| (at, Source::Host(number)));
        match (link, host) {
            (Some(link), Some(host)) => Some(link.min(host)),
            (link, host) => link.or(host),
        }
    }

    /// Advances time to the next event if it happens at `limit` or before, and returns it. The
    /// event stays pending until its source's instant is set again, which happens after each event
    /// and saves a removal.
    pub fn advance_to_next(&mut self, limit: Instant) -> Option<(Instant, Source)> {
        let first = self.peek().filter(|(at, _)| *at <= limit)?;
        debug_assert!(first.0 >= self.now, "time went back from {:?} to {:?}", self.now, first.0);
        self.now = first.0;
        Some(first)
    }

    /// Advances time to `to`, or to the first pending event before it.
    pub fn advance(&mut self, to: Instant) {
        let limit = self.peek().map_or(to, |(at, _)| at.min(to));
        self.now = self.now.max(limit);
    }

    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.peek().is_none()
    }
}
