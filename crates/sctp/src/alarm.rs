//! A timer of one row.

use base::Instant;

/// An instant or none, in the space of an instant: every idle association keeps several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alarm(Instant);

impl Alarm {
    /// The instant, if there is one.
    pub(crate) fn get(self) -> Option<Instant> {
        Some(self.0).filter(|at| *at != Instant::FAR_FUTURE)
    }

    /// Whether the instant has come.
    pub(crate) fn has_come(self, now: Instant) -> bool {
        self.get().is_some_and(|at| at <= now)
    }

    /// Whether the instant has come, which is then forgotten.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        let expired = self.has_come(now);
        if expired {
            *self = Alarm::default();
        }
        expired
    }

    /// Sets the instant, replacing any other.
    pub(crate) fn set(&mut self, at: Instant) {
        self.0 = at;
    }

    /// There is none any more; answers the one that there was.
    pub(crate) fn take(&mut self) -> Option<Instant> {
        core::mem::take(self).get()
    }
}

impl Default for Alarm {
    fn default() -> Self {
        Alarm(Instant::FAR_FUTURE)
    }
}
