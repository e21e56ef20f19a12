//! The clock that is passed to the DTLS crate. The crate doubles the time between retransmissions
//! without end; its clock therefore runs ahead where the session's policy has a shorter timeout.

use std::sync::LazyLock;

use base::{Duration, Instant};

/// The crate counts time in the standard library's instants, and only their differences: the first
/// one is arbitrary.
#[allow(clippy::disallowed_methods, clippy::disallowed_types)]
static ORIGIN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);

/// Least time to the next timeout. When fragments of one message arrive out of order, the engine
/// may request a timeout now, acknowledge, and request the same again: without this limit a driver
/// would never stop sending.
const LEAST_WAIT: Duration = Duration::from_millis(10);
/// The timeout that does not double while timeouts are linear: that of RFC 9147, section 5.8.2, at
/// the first retransmission.
const LINEAR: Duration = Duration::from_secs(1);
/// A requested timeout beyond this means none: the engine requests ten years then.
const IDLE: Duration = Duration::from_secs(365 * 86_400);

/// An engine's clock, and its next timeout.
#[derive(Debug)]
pub(super) struct EngineClock {
    /// Remaining doublings beyond [`LINEAR`] that are skipped.
    linear: u8,
    /// Time by which the engine's clock is ahead, and time for which it has stood still.
    ahead: Duration,
    stood: Duration,
    /// Time at which the last datagram was sent, or the last timeout expired.
    sent: Instant,
    /// The engine's next timeout, by its clock.
    asked: Duration,
}

impl EngineClock {
    pub(super) fn new(linear: u8, now: Instant) -> EngineClock {
        let none = Duration::ZERO;
        EngineClock { linear, ahead: none, stood: none, sent: now, asked: none }
    }

    fn since_origin(&self, now: Instant) -> Duration {
        (now.since(Instant::ZERO) + self.ahead).saturating_sub(self.stood)
    }

    /// Time as the DTLS crate has it, counted from [`ORIGIN`].
    #[allow(clippy::disallowed_types)]
    pub(super) fn read(&self, now: Instant) -> std::time::Instant {
        ORIGIN.checked_add(self.since_origin(now).into()).unwrap_or(*ORIGIN)
    }

    /// Notes that a datagram was sent.
    pub(super) fn note_sent(&mut self, now: Instant) {
        self.sent = now;
    }

    /// Notes that the engine's datagram is sent only now: its timeout starts.
    pub(super) fn note_held_up(&mut self, now: Instant) {
        self.stood += now.since(self.sent);
        self.sent = now;
    }

    /// Notes that the engine requests a call at `at` by its clock, and returns the real time of it;
    /// none if it waits for nothing.
    #[allow(clippy::disallowed_types)]
    pub(super) fn ask(&mut self, now: Instant, at: std::time::Instant) -> Option<Instant> {
        self.asked = at.saturating_duration_since(*ORIGIN).into();
        let left = self.left(now);
        let wait = self.asked.saturating_sub(self.since_origin(self.sent));
        let shorter = Duration::from_nanos(wait.as_nanos() >> self.linear.min(63));
        let due = (now + left).min(self.sent + wait.min(shorter.max(LINEAR)));
        (left <= IDLE).then_some(due.max(now + LEAST_WAIT))
    }

    fn left(&self, now: Instant) -> Duration {
        self.asked.saturating_sub(self.since_origin(now))
    }

    /// Lets the engine's timeout expire now.
    pub(super) fn expire(&mut self, now: Instant) {
        self.ahead += self.left(now);
        self.sent = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of ten retransmissions, in milliseconds, of an engine whose waits double from this
    /// one.
    fn retransmissions(linear: u8, first: u64) -> Vec<u64> {
        let mut clock = EngineClock::new(linear, Instant::ZERO);
        let mut now = Instant::ZERO;
        (0..10)
            .map(|doubled| {
                let wait = Duration::from_millis(first << doubled);
                let at = clock.read(now) + wait.into();
                now = clock.ask(now, at).unwrap();
                clock.expire(now);
                assert_eq!(clock.read(now), at, "the engine is told that its time has come");
                now.as_nanos() / 1_000_000
            })
            .collect()
    }

    #[test]
    fn waits_double_as_the_engine_has_it_but_for_those_of_a_second() {
        let doubling = [200, 600, 1400, 3000, 6200, 12_600, 25_400, 51_000, 102_200, 204_600];
        assert_eq!(retransmissions(0, 200), doubling);
        let linear = [200, 600, 1400, 2400, 3400, 4400, 5400, 7000, 10_200, 16_600];
        assert_eq!(retransmissions(4, 200), linear);
        // As INIT's: docs/policies.md, `linear_setup`.
        assert_eq!(retransmissions(4, 1000)[..7], [1000, 2000, 3000, 4000, 5000, 7000, 11_000]);
    }

    #[test]
    fn the_wait_of_what_was_held_up_begins_when_it_leaves() {
        let mut clock = EngineClock::new(4, Instant::ZERO);
        let at = clock.read(Instant::ZERO) + core::time::Duration::from_millis(200);
        assert_eq!(clock.ask(Instant::ZERO, at), Some(Instant::from_millis(200)));
        let late = Instant::from_millis(3_000);
        clock.note_held_up(late);
        assert_eq!(clock.ask(late, at), Some(Instant::from_millis(3_200)));
    }

    #[test]
    fn an_engine_that_waits_for_nothing_is_not_called_and_one_in_a_hurry_not_at_once() {
        let mut clock = EngineClock::new(4, Instant::ZERO);
        let now = Instant::from_millis(5);
        let years = core::time::Duration::from_secs(10 * 365 * 86_400);
        assert_eq!(clock.ask(now, clock.read(now) + years), None);
        assert_eq!(clock.ask(now, clock.read(now)), Some(Instant::from_millis(15)));
    }
}
