//! What happens next: the pending instant of each link and host, in a total order.
//!
//! Each source has at most one pending instant, which may move to and fro, so that the queue's memory is that of
//! the sources, however long the run. The order is that of time; at the same time packets come before timers, then
//! lower numbers before higher. (Packets of one link keep their order in the link.)

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

/// The pending instants. Nothing waits for [`Instant::FAR_FUTURE`].
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    /// Few, and asked with each packet: they do not move among the timers.
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

    /// The earliest pending event; none if none is pending.
    pub fn peek(&self) -> Option<(Instant, Source)> {
        let link = self.links.first().map(|(at, number)| (at, Source::Link(number)));
        let host = self.hosts.first().map(|(at, number)| (at, Source::Host(number)));
        match (link, host) {
            (Some(link), Some(host)) => Some(link.min(host)),
            (link, host) => link.or(host),
        }
    }

    /// Moves time to the next event if it happens at `limit` or before, and answers which it is. It stays pending
    /// until its source's instant is set again, as it is after each event: to take it out in between would cost as
    /// much again.
    pub fn advance_to_next(&mut self, limit: Instant) -> Option<(Instant, Source)> {
        let first = self.peek().filter(|(at, _)| *at <= limit)?;
        debug_assert!(first.0 >= self.now, "time went back from {:?} to {:?}", self.now, first.0);
        self.now = first.0;
        Some(first)
    }

    /// Moves time on to `to` if nothing is pending before; what is pending is never jumped over.
    pub fn advance(&mut self, to: Instant) {
        let limit = self.peek().map_or(to, |(at, _)| at.min(to));
        self.now = self.now.max(limit);
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.peek().is_none()
    }
}
