//! ICMP reports about INITs: the destination has no SCTP (RFC 9260, section 10).

use base::{Duration, Instant};
use recovery::{PathId, PathSet};

/// Over UDP, all INITs over this time must be refused before the attempt ends: a server that is
/// about to start, or one forged or late message, must not end an attempt that would succeed.
const REFUSED_FOR: Duration = Duration::from_secs(2);

/// Addresses that are reported to have no listener.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refusals {
    /// Whether there was any report.
    any: bool,
    /// Transmission of the last INIT.
    sent_at: Instant,
    /// Whether that INIT was refused.
    answered: bool,
    /// Transmission of the first INIT in the present series of refusals.
    since: Instant,
    /// Paths to addresses that refused in this series.
    once: PathSet,
    /// Paths to addresses that refused again, [`REFUSED_FOR`] after the first refusal.
    again: PathSet,
}

impl Refusals {
    /// INIT was sent. A previous one without any answer ends a series of refusals.
    pub(super) fn on_init(&mut self, now: Instant) {
        if !self.answered {
            (self.once, self.again) = (PathSet::NONE, PathSet::NONE);
        }
        (self.sent_at, self.answered) = (now, false);
    }

    /// The last INIT to the address of `path` was refused.
    pub(super) fn on_refusal(&mut self, path: PathId) {
        (self.any, self.answered) = (true, true);
        if self.once.is_empty() {
            self.since = self.sent_at;
        }
        if self.once.contains(path) && self.sent_at.since(self.since) >= REFUSED_FOR {
            self.again.insert(path);
        }
        self.once.insert(path);
    }

    /// Whether any INIT was refused.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Whether the address of `path` certainly has no listener: protocol unreachable counts as an
    /// ABORT (rule ICMP8), and so does port unreachable of the encapsulation (`over_udp`) when
    /// it is repeated.
    pub(crate) fn are_final(&self, path: PathId, over_udp: bool) -> bool {
        if over_udp { self.again.contains(path) } else { self.once.contains(path) }
    }

    /// Number of paths that refused in this series.
    pub(crate) fn count(&self) -> usize {
        self.once.len()
    }
}
