//! Round trips of what was sent again, proven by duplicate reports: one that comes in doubt is believed once another
//! one did before, without a clean one between them.

use super::mechanism::Mechanism;
use crate::policy::{RecoveryPolicy, RttSamples};

/// How often in a row a measured round trip may have been an acknowledgement that was lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubts(u8);

impl Doubts {
    /// Whether a measurement in doubt is to be believed: one may be an acknowledgement that was lost; two in a row are a
    /// peer that delays its acknowledgements by as much as the timeout.
    pub(crate) fn believes(&mut self, doubtful: bool) -> bool {
        self.0 = self.0.saturating_add(u8::from(doubtful));
        self.0 > 1
    }
}

impl Mechanism for Doubts {
    fn is_wanted(policy: &RecoveryPolicy) -> bool {
        policy.rto.samples == RttSamples::Proven
    }

    fn on_clean_trip(&mut self) {
        self.0 = 0;
    }

    fn is_blank(&self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_doubt_in_a_row_is_believed_and_a_clean_round_trip_ends_the_row() {
        let mut doubts = Doubts::default();
        assert!(doubts.is_blank());
        assert!(!doubts.believes(true));
        assert!(!doubts.believes(false) && !doubts.is_blank());
        assert!(doubts.believes(true));
        doubts.on_clean_trip();
        assert!(!doubts.believes(true));
    }
}
