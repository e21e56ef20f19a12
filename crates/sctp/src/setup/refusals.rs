//! What ICMP says of INITs: no SCTP listens where they went (RFC 9260, section 10).

use base::{Duration, Instant};

use crate::path_id::{PathId, PathSet};

/// Over UDP, INITs this far apart must be refused, and all between them: a server that is about to start, or
/// one message that was forged or late, must not end what would have worked.
const REFUSED_FOR: Duration = Duration::from_secs(2);

/// Addresses that are said to have no listener.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refusals {
    /// There was any.
    any: bool,
    /// When the INIT left that was sent last.
    sent_at: Instant,
    /// Whether that INIT was refused.
    answered: bool,
    /// When the INIT left that was refused first, of those in a row.
    since: Instant,
    /// Paths to addresses that refused in this row.
    once: PathSet,
    /// Paths to addresses that refused again, [`REFUSED_FOR`] after the first refusal.
    again: PathSet,
}

impl Refusals {
    /// INIT leaves. One before it that got no answer at all ends a row of refusals.
    pub(super) fn on_init(&mut self, now: Instant) {
        if !self.answered {
            (self.once, self.again) = (PathSet::NONE, PathSet::NONE);
        }
        (self.sent_at, self.answered) = (now, false);
    }

    /// The INIT that was sent last to the address of `path` was refused.
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

    /// Whether the address of `path` has no listener for certain: protocol unreachable is treated as an ABORT (rule
    /// ICMP8), port unreachable of the encapsulation (`over_udp`) so once it was said again.
    pub(crate) fn are_final(&self, path: PathId, over_udp: bool) -> bool {
        if over_udp { self.again.contains(path) } else { self.once.contains(path) }
    }

    /// Paths that refused in this row.
    pub(crate) fn count(&self) -> usize {
        self.once.len()
    }
}
