//! RTT samples from retransmitted data, proven by duplicate reports. A doubtful sample counts if
//! the one before it was doubtful too, with no clean one in between. A sample without doubt counts
//! unless later data had a clean round trip within the timeout. The timer retransmits late data
//! only, so these samples are the longest ones, and where acknowledgements are lost they include
//! the wait for the next one.
//!
//! A packet that was sent once and is acknowledged together with a later one leaves the same doubt:
//! its own acknowledgement may have been lost.

use base::{Duration, Instant, Probability};

use super::mechanism::Mechanism;
use crate::ledger::Trip;
use crate::policy::{RecoveryPolicy, RttSamples};

/// Reciprocal of the probability with which lost acknowledgements alone may make a doubtful sample
/// believed: 2^12.
const SELDOM: u64 = 1 << (32 - 12);

/// Doubts about RTT samples proven by duplicate reports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubts {
    /// Number of consecutive samples that a lost acknowledgement may explain.
    in_a_row: u8,
    /// Number of consecutive timed packets that were acknowledged together with a later one.
    together: u8,
    /// Latest round trip of data that was sent once.
    clean: Option<Trip>,
}

impl Doubts {
    /// Whether to believe a doubtful sample: each may be due to a lost acknowledgement. If there
    /// are more in a row than chance explains on a path with this `loss`, and two at least, the
    /// peer delays its acknowledgements by as much as the timeout, or the path became longer.
    pub(crate) fn believes(&mut self, doubtful: bool, loss: Probability) -> bool {
        self.in_a_row = self.in_a_row.saturating_add(u8::from(doubtful));
        is_beyond_chance(self.in_a_row, loss)
    }

    /// Whether the wait of a timed packet that was acknowledged together with a later one is due to
    /// path and peer: a peer that delays acknowledgements does so each time; one that does not
    /// lost one of them.
    pub(crate) fn believes_together(&mut self, loss: Probability) -> bool {
        self.together = self.together.saturating_add(1);
        is_beyond_chance(self.together, loss)
    }

    /// The cumulative point covered a single packet that was sent once: the peer did not wait for
    /// another.
    pub(crate) fn on_alone(&mut self) {
        self.together = 0;
    }

    /// Data sent once, at `sent_at`, is acknowledged now.
    pub(crate) fn on_clean(&mut self, now: Instant, sent_at: Instant) {
        if self.clean.is_none_or(|clean| clean.sent_at < sent_at) {
            self.clean = Some(Trip { sent_at, took: now.since(sent_at) });
        }
    }

    /// Clean round trip of data sent after `sent_at`, if any.
    pub(crate) fn clean_after(self, sent_at: Instant) -> Option<Duration> {
        self.clean.filter(|clean| clean.sent_at > sent_at).map(|clean| clean.took)
    }
}

/// Whether lost acknowledgements are an unlikely explanation of `in_a_row` doubts, of which at
/// least two are required.
#[inline(never)]
fn is_beyond_chance(in_a_row: u8, loss: Probability) -> bool {
    let loss = loss.to_fixed_point();
    let (mut chance, mut needed) = (loss, 1);
    while chance > SELDOM && needed < in_a_row {
        chance = (chance * loss) >> 32;
        needed += 1;
    }
    chance <= SELDOM && in_a_row >= needed.max(2)
}

impl Mechanism for Doubts {
    fn is_wanted(policy: &RecoveryPolicy) -> bool {
        policy.rto.samples == RttSamples::Proven
    }

    fn on_clean_trip(&mut self) {
        self.in_a_row = 0;
    }

    fn is_blank(&self) -> bool {
        self.in_a_row == 0 && self.together == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_doubt_in_a_row_is_believed_and_a_clean_round_trip_ends_the_row() {
        let mut doubts = Doubts::default();
        let loss = Probability::ZERO;
        assert!(doubts.is_blank());
        assert!(!doubts.believes(true, loss));
        assert!(!doubts.believes(false, loss) && !doubts.is_blank());
        assert!(doubts.believes(true, loss));
        doubts.on_clean_trip();
        assert!(!doubts.believes(true, loss));
    }

    #[test]
    fn a_peer_that_acknowledges_packets_together_is_believed_until_it_answers_one_alone() {
        let mut doubts = Doubts::default();
        let loss = Probability::from_ratio(5, 100);
        let row = |doubts: &mut Doubts| [0; 4].map(|_| doubts.believes_together(loss));
        assert_eq!(row(&mut doubts), [false, false, true, true]);
        doubts.on_alone();
        assert_eq!(row(&mut doubts), [false, false, true, true]);
        assert!(!doubts.believes(true, loss), "the other row is one of its own");
    }

    #[test]
    fn where_acknowledgements_are_often_lost_it_takes_more_of_them() {
        let believed_at = |percent| {
            let mut doubts = Doubts::default();
            let loss = Probability::from_ratio(percent, 100);
            (1..100).find(|_| doubts.believes(true, loss))
        };
        let rows = [0, 1, 5, 20, 50].map(believed_at);
        assert_eq!(rows, [2, 2, 3, 6, 12].map(Some));
    }
}
