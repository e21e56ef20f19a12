//! Acknowledgement of sent data by SACK or SHUTDOWN, and expired retransmission timers (RFC 9260,
//! sections 6.2.1 and 6.3.3).

use core::ops::Range;

use base::Instant;
use recovery::{AckOutcome, Feedback, GapRanges};

use super::sender::Sender;
use crate::wire::Tsn;
use crate::wire::chunk::Sack;

/// Reason for which a SACK is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SackError {
    /// The cumulative TSN ack was never sent.
    BeyondSent,
    /// The gap ack blocks are out of order, empty or beyond sent data.
    BadGaps,
}

impl Sender {
    /// Processes a SACK: acknowledged and lost units, and what follows for the window.
    pub(crate) fn on_sack(
        &mut self,
        now: Instant,
        sack: &Sack<'_>,
    ) -> Result<AckOutcome, SackError> {
        let cumulative = self.unit(sack.cumulative_tsn_ack) + 1;
        let ledger = self.recovery.ledger();
        if cumulative < ledger.cumulative() {
            return Ok(AckOutcome::default());
        }
        let next_unit = ledger.next_unit();
        if cumulative > next_unit {
            return Err(SackError::BeyondSent);
        }
        let gaps = gap_ranges(sack, cumulative, next_unit)?;
        let unit = |tsn| self.unit(tsn);
        let needless: smallvec::SmallVec<[Range<u64>; 4]> =
            sack.duplicate_tsns().map(unit).map(|unit| unit..unit + 1).collect();
        let feedback = Feedback { needless: &needless, ..Feedback::of_all(cumulative, &gaps) };
        let unsent = self.unsent_packets();
        self.peer_a_rwnd = sack.a_rwnd;
        let outcome = self.recovery.on_feedback(now, &feedback, unsent);
        self.on_acknowledged(now, outcome);
        Ok(outcome)
    }

    /// Processes a cumulative acknowledgement without a SACK, in SHUTDOWN.
    pub(crate) fn on_cumulative_ack(
        &mut self,
        now: Instant,
        tsn: Tsn,
    ) -> Result<AckOutcome, SackError> {
        let cumulative = self.unit(tsn) + 1;
        if cumulative > self.recovery.ledger().next_unit() {
            return Err(SackError::BeyondSent);
        }
        // Section 3.3.8: SHUTDOWN has no gap ack blocks, and does not revoke reported ones.
        let outcome = self.recovery.on_feedback(now, &Feedback::up_to(cumulative), 0);
        self.on_acknowledged(now, outcome);
        Ok(outcome)
    }

    fn on_acknowledged(&mut self, now: Instant, outcome: AckOutcome) {
        self.release_acknowledged();
        if self.partial.is_some() {
            self.on_partial_acked(now, outcome.advanced);
        }
    }

    /// Runs expired retransmission timers at `now`.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        if self.partial.is_some() {
            for path in self.recovery.path_ids() {
                self.give_up_lost(now, path, usize::MAX);
            }
            self.on_forward_lost();
        }
    }

    fn release_acknowledged(&mut self) {
        let ledger = self.recovery.ledger();
        let outstanding = (ledger.next_unit() - ledger.cumulative()) as usize;
        while self.outstanding.len() > outstanding
            && let Some(chunk) = self.outstanding.pop()
        {
            self.release_partial(&chunk);
        }
        self.keys.forget_below(self.recovery.ledger().cumulative());
    }
}

/// Units in a SACK's gap ack blocks, verified against sent data.
fn gap_ranges(sack: &Sack<'_>, cumulative: u64, next_unit: u64) -> Result<GapRanges, SackError> {
    let mut ranges = GapRanges::new();
    for block in sack.gap_ack_blocks() {
        // Offset 0 is the cumulative TSN ack itself, which is redundant, and no reason to drop the
        // rest.
        let (first, last) = (block.start.max(1), block.end);
        if block.start == 0 && last == 0 {
            continue;
        }
        let range = cumulative - 1 + u64::from(first)..cumulative + u64::from(last);
        let lowest = ranges.last().map_or(cumulative, |before| before.end);
        if range.is_empty() || range.start < lowest {
            return Err(SackError::BadGaps);
        }
        if range.end > next_unit {
            return Err(SackError::BeyondSent);
        }
        match ranges.last_mut() {
            // Adjacent blocks form one.
            Some(before) if before.end == range.start => before.end = range.end,
            _ => ranges.push(range),
        }
    }
    Ok(ranges)
}
