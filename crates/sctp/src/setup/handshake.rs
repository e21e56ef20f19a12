//! The attempts of the side that opens an association (RFC 9260, sections 5.1.4 and 5.1.6).

use base::{Duration, Instant};
use recovery::RecoveryPolicy;

use super::refusals::Refusals;
use super::schedule::setup_timeout;
use crate::path_id::PathId;

/// Stale cookies after which an association is given up.
const STALE_COOKIE_LIMIT: u8 = 3;

/// INITs and COOKIE ECHOs so far, until the association is set up.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    /// T1-init or T1-cookie, by state.
    t1: Option<Instant>,
    /// Expiries of it in a row.
    attempts: u8,
    /// When INIT or COOKIE ECHO, of which it is, left first.
    first_at: Instant,
    /// The timeout before any expiry.
    base: Duration,
    stale_cookies: u8,
    /// What ICMP said of the INITs.
    refusals: Refusals,
}

impl Handshake {
    /// A chunk is about to leave for the first time, and again after `wait` if there is no answer.
    pub(crate) fn begin(&mut self, now: Instant, wait: Duration) {
        (self.attempts, self.first_at, self.base) = (0, now, wait);
        self.t1 = Some(now + wait);
    }

    /// INIT leaves.
    pub(crate) fn on_init(&mut self, now: Instant) {
        self.refusals.on_init(now);
    }

    /// INIT goes elsewhere, at once.
    pub(crate) fn turn(&mut self, now: Instant) {
        self.refusals.on_init(now);
        self.first_at = now;
    }

    /// The time that the chunk's answer took, if it was sent once only (Karn).
    pub(crate) fn round_trip(&self, now: Instant) -> Option<Duration> {
        (self.attempts == 0).then(|| now.since(self.first_at))
    }

    /// The time since the chunk left first: if it was answered, the round trip is no longer.
    pub(crate) fn since_first(&self, now: Instant) -> Duration {
        now.since(self.first_at)
    }

    /// The peer found the cookie stale: whether to begin anew.
    pub(crate) fn on_stale_cookie(&mut self) -> bool {
        self.stale_cookies += 1;
        self.stale_cookies < STALE_COOKIE_LIMIT
    }

    /// When T1 expires.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.t1
    }

    /// Whether T1 has expired.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        self.t1.take_if(|at| *at <= now).is_some()
    }

    /// T1 is to expire now: a path is said to work again.
    pub(crate) fn hurry(&mut self, now: Instant) {
        // One that has not begun waits for something else.
        self.t1 = self.t1.map(|_| now);
    }

    /// T1 expired: whether to try again, `limit` times at most.
    pub(crate) fn retry(&mut self, limit: u8) -> bool {
        let may = self.attempts < limit;
        self.attempts += u8::from(may);
        may
    }

    /// Arms T1 for the chunk that leaves again.
    pub(crate) fn back_off(&mut self, now: Instant, policy: &RecoveryPolicy) {
        self.t1 = Some(now + setup_timeout(policy, self.base, self.attempts));
    }

    /// The INIT that was sent last to the address of `path` was refused.
    pub(crate) fn on_refusal(&mut self, path: PathId) {
        self.refusals.on_refusal(path);
    }

    /// What ICMP said of the INITs.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }
}
