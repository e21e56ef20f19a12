//! The persist timer: probes a window that is closed or too small to use, since the peer's window
//! update may be lost (RFC 9293, sections 3.8.6.1 and 3.8.6.2.1).

use base::{Duration, Instant};

/// The persist timer and the state of its probes.
#[derive(Clone, Debug, Default)]
pub(super) struct Persist {
    /// Deadline; `None` while the window does not prevent sending.
    due: Option<Instant>,
    interval: Duration,
    /// Probes since the last acknowledgement.
    unanswered: u8,
    /// Whether the timer expired: a probe is to be sent, or a segment that fits a small window.
    expired: bool,
    /// Offset after the byte that probed the window, which the peer may have accepted.
    probed_to: u64,
    /// Whether a probe was due since the window closed.
    probes: bool,
}

impl Persist {
    /// Starts the timer unless it runs: the first probe is due after `interval`, later ones at
    /// doubled intervals.
    pub(super) fn start(&mut self, now: Instant, interval: Duration) {
        if self.due.is_none() {
            let (due, probed_to) = (Some(now + interval), self.probed_to);
            *self = Persist { due, interval, probed_to, ..Persist::default() };
        }
    }

    /// Stops the timer: the window does not prevent sending.
    pub(super) fn stop(&mut self) {
        self.due = None;
        self.expired = false;
    }

    /// Instant of the next window probe; `None` while the window is open.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Runs the timer if it is due, and returns the number of consecutive unanswered probes.
    /// Intervals double up to `max`.
    pub(super) fn on_timer(&mut self, now: Instant, max: Duration) -> u8 {
        if self.due.is_none_or(|due| due > now) {
            return 0;
        }
        self.expired = true;
        self.probes = true;
        self.interval = (self.interval * 2).min(max);
        self.due = Some(now + self.interval);
        self.unanswered = self.unanswered.saturating_add(1);
        self.unanswered - 1
    }

    /// Whether a probe is to be sent, or a segment that fits a small window.
    pub(super) fn is_expired(&self) -> bool {
        self.expired
    }

    /// Notes that the due window probe was sent.
    pub(super) fn on_probed(&mut self) {
        self.expired = false;
    }

    /// Records that the probe carries the bytes before this offset, which the peer may accept.
    pub(super) fn note_probed_to(&mut self, end: u64) {
        self.probed_to = end;
    }

    /// Offset after the byte that probed the window; 0 if there is none.
    pub(super) fn probed_to(&self) -> u64 {
        self.probed_to
    }

    /// Whether a probe was due since the window closed.
    pub(super) fn was_due(&self) -> bool {
        self.probes
    }

    /// The peer answered a probe: it is alive, however long the window stays closed.
    pub(super) fn on_answered(&mut self) {
        self.unanswered = 0;
    }

    /// Number of probes since the last acknowledgement.
    pub(super) fn unanswered(&self) -> u8 {
        self.unanswered
    }
}
