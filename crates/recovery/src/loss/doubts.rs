//! Which round trips of what was sent again count, proven by duplicate reports: one that comes in doubt once another
//! one did before, without a clean one between them; and one without a doubt unless something sent later had a clean
//! round trip within the timeout. The timer picks what it sends again by its lateness, so that the measurements which that yields are the
//! longest ones only, and where acknowledgements are lost they are of what waited for the next one.
//!
//! A packet sent once that is acknowledged together with a later one leaves the same doubt: its own acknowledgement may
//! have been lost.

use base::{Duration, Instant, Probability};

use super::mechanism::Mechanism;
use crate::ledger::Trip;
use crate::policy::{RecoveryPolicy, RttSamples};

/// How seldom lost acknowledgements alone may make a measurement believed: one time in 2^12.
const SELDOM: u64 = 1 << (32 - 12);

/// What stands against measurements by duplicate reports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubts {
    /// How often in a row a measured round trip may have been an acknowledgement that was lost.
    in_a_row: u8,
    /// How often in a row a packet that was timed was acknowledged together with a later one.
    together: u8,
    /// The round trip of what was sent last of all that was sent once.
    clean: Option<Trip>,
}

impl Doubts {
    /// Whether a measurement in doubt is to be believed: each may be an acknowledgement that was lost. More in a row than
    /// packets are lost by chance on a path with this `loss`, two at least, are a peer that delays its acknowledgements by as
    /// much as the timeout, or a path that became longer.
    pub(crate) fn believes(&mut self, doubtful: bool, loss: Probability) -> bool {
        self.in_a_row = self.in_a_row.saturating_add(u8::from(doubtful));
        is_beyond_chance(self.in_a_row, loss)
    }

    /// Whether the wait of a timed packet that was acknowledged together with a later one is the path's and the peer's: a
    /// peer that delays its acknowledgements does so each time, and one that does not lost one of them.
    pub(crate) fn believes_together(&mut self, loss: Probability) -> bool {
        self.together = self.together.saturating_add(1);
        is_beyond_chance(self.together, loss)
    }

    /// The cumulative point covered a single packet, sent once: the peer did not wait for another one.
    pub(crate) fn on_alone(&mut self) {
        self.together = 0;
    }

    /// Something that was sent once, at `sent_at`, is acknowledged now.
    pub(crate) fn on_clean(&mut self, now: Instant, sent_at: Instant) {
        if self.clean.is_none_or(|clean| clean.sent_at < sent_at) {
            self.clean = Some(Trip { sent_at, took: now.since(sent_at) });
        }
    }

    /// The clean round trip of something sent after `sent_at`, if there was one.
    pub(crate) fn clean_after(self, sent_at: Instant) -> Option<Duration> {
        self.clean.filter(|clean| clean.sent_at > sent_at).map(|clean| clean.took)
    }
}

/// Whether lost acknowledgements hardly explain as many doubts in a row; two are needed on any path.
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
