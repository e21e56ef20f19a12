//! The attempts of the side that opens an association (RFC 9260, sections 5.1.4 and 5.1.6).

use base::{Duration, Instant};
use recovery::{PathId, RecoveryPolicy};

use super::refusals::Refusals;
use super::schedule::setup_timeout;

/// Number of stale cookies after which the association fails.
const STALE_COOKIE_LIMIT: u8 = 3;

/// INITs and COOKIE ECHOs so far, until the association is set up.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    /// Deadline of T1-init or T1-cookie, depending on the state.
    t1: Option<Instant>,
    /// Number of consecutive expiries of T1.
    attempts: u8,
    /// First transmission of the present INIT or COOKIE ECHO.
    first_at: Instant,
    /// The timeout before any expiry.
    base: Duration,
    stale_cookies: u8,
    /// ICMP errors that answered INITs, by path.
    refusals: Refusals,
}

impl Handshake {
    /// A chunk leaves for the first time, and is repeated after `wait` without an answer.
    pub(crate) fn begin(&mut self, now: Instant, wait: Duration) {
        (self.attempts, self.first_at, self.base) = (0, now, wait);
        self.t1 = Some(now + wait);
    }

    /// Notes that INIT was sent, which an ICMP error may then answer.
    pub(crate) fn on_init(&mut self, now: Instant) {
        self.refusals.on_init(now);
    }

    /// Sends INIT to another address at once.
    pub(crate) fn on_other_address(&mut self, now: Instant) {
        self.refusals.on_init(now);
        self.first_at = now;
    }

    /// Round trip of the answered chunk, if it was sent only once (Karn).
    pub(crate) fn round_trip(&self, now: Instant) -> Option<Duration> {
        (self.attempts == 0).then(|| now.since(self.first_at))
    }

    /// Time since the chunk was first sent: an upper bound of the round trip of an answered chunk.
    pub(crate) fn since_first(&self, now: Instant) -> Duration {
        now.since(self.first_at)
    }

    /// The peer reported the cookie as stale; returns whether to restart.
    pub(crate) fn on_stale_cookie(&mut self) -> bool {
        self.stale_cookies += 1;
        self.stale_cookies < STALE_COOKIE_LIMIT
    }

    /// Deadline of T1-init or T1-cookie; `None` before the first INIT.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.t1
    }

    /// Whether T1 has expired; stops it if so.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        self.t1.take_if(|at| *at <= now).is_some()
    }

    /// Makes T1 expire now, since a path is reported to work again.
    pub(crate) fn hurry(&mut self, now: Instant) {
        // A set-up that has not begun waits for something else.
        self.t1 = self.t1.map(|_| now);
    }

    /// T1 expired; returns whether to try again, at most `limit` times.
    pub(crate) fn retry(&mut self, limit: u8) -> bool {
        let may = self.attempts < limit;
        self.attempts += u8::from(may);
        may
    }

    /// Restarts T1 for a repeated chunk.
    pub(crate) fn back_off(&mut self, now: Instant, policy: &RecoveryPolicy) {
        self.t1 = Some(now + setup_timeout(policy, self.base, self.attempts));
    }

    /// The last INIT to the address of `path` was refused.
    pub(crate) fn on_refusal(&mut self, path: PathId) {
        self.refusals.on_refusal(path);
    }

    /// ICMP errors that answered INITs, by path.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }
}
