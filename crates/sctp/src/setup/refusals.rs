//! What ICMP says of INITs: that nobody listens where they went (RFC 9260, section 10).

use base::{Duration, Instant};

use crate::association::{Association, Control};
use crate::event::Failure;

/// Over UDP, INITs this far apart must be refused, and all between them: a server that is about to start, or
/// one message that was forged or late, must not end what would have worked.
const REFUSED_FOR: Duration = Duration::from_secs(2);

/// Addresses that are said to have no listener.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refusals {
    /// There was any.
    pub(crate) any: bool,
    /// When the INIT left that was sent last.
    sent_at: Instant,
    /// Whether that INIT was refused.
    answered: bool,
    /// When the INIT left that was refused first, of those in a row.
    since: Instant,
    /// Paths to addresses that refused in this row, a bit each.
    once: u8,
    /// Paths to addresses that refused again, [`REFUSED_FOR`] after the first refusal.
    again: u8,
}

impl Refusals {
    /// INIT leaves. One before it that got no answer at all ends a row of refusals.
    pub(super) fn on_init(&mut self, now: Instant) {
        if !self.answered {
            (self.once, self.again) = (0, 0);
        }
        (self.sent_at, self.answered) = (now, false);
    }

    /// The INIT that was sent last to the address of `path` was refused.
    fn on_refusal(&mut self, path: u8) {
        (self.any, self.answered) = (true, true);
        if self.once == 0 {
            self.since = self.sent_at;
        }
        let bit = 1 << (path & 7);
        if self.once & bit != 0 && self.sent_at.since(self.since) >= REFUSED_FOR {
            self.again |= bit;
        }
        self.once |= bit;
    }
}

impl Association {
    /// ICMP, verified to be about an INIT of this attempt, says that nobody listens at the address of `path`.
    ///
    /// Protocol unreachable is treated as an ABORT (rule ICMP8), port unreachable of the encapsulation so once
    /// it was said again: see [`REFUSED_FOR`]. Where the application named several addresses, each refuses for
    /// itself, and the attempt goes on with the next at once.
    pub(crate) fn on_init_refused(&mut self, now: Instant, path: u8) {
        self.refusals.on_refusal(path);
        let is_final = |path: &crate::paths::path::Path, index: usize| match path.remote.port() {
            0 => self.refusals.once & 1 << index != 0,
            _ => self.refusals.again & 1 << index != 0,
        };
        if self.live_paths().all(|(index, path)| is_final(path, index)) {
            return self.fail(Failure::NobodyThere);
        }
        if self.paths.len() > 1 {
            // The next INIT goes elsewhere, at once where one has not said the same.
            let refused = &mut self.paths[usize::from(path)];
            refused.error_count = refused.error_count.saturating_add(1);
            if self.refusals.once.count_ones() < self.paths.len() as u32 {
                self.refusals.on_init(now);
                self.first_attempt_at = now;
                self.turn_control_path();
                self.push_control(Control::Init);
            }
        }
    }
}
