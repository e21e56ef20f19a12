//! Retransmissions of fast recovery without evidence of a loss (RFC 6675, section 4, NextSeg, rules
//! 3 and 4).

use base::Instant;

use super::Recovery;
use crate::event::Event;
use crate::path_id::PathId;
use crate::stats::Cause;

impl Recovery {
    /// The next unit that may be retransmitted without evidence of a loss: in fast recovery, if
    /// there is room and neither lost nor new data. [`Recovery::draft_double`] adds it to a
    /// packet.
    ///
    /// Below the highest report, it is each missing unit, once (RFC 6675, section 4, NextSeg, rule
    /// 3). Above that, it is the last packet's data, once (rule 4), but only after a partial
    /// acknowledgement that left nothing to repair. Taken literally, the rule would retransmit
    /// the tail of every flight whose first loss is repaired, since the tail's reports are
    /// still under way then.
    pub fn next_rescue(&mut self, path: PathId) -> Option<(u64, u32)> {
        let wanted = self.policy.loss.rescue && self.reports_gaps();
        let episode = &mut self.paths[path].episode;
        let high_rxt = episode.high_rxt().filter(|_| wanted)?;
        if let Some(highest) = self.ledger.highest_reported() {
            let next = self.ledger.next_in_flight(high_rxt, highest);
            episode.set_high_rxt(next.map_or(high_rxt.max(highest), |next| next.0));
            return next;
        }
        self.ledger.last_in_flight().filter(|_| episode.lacks_rescue())
    }

    /// Adds a unit in flight to the packet being built, without declaring it lost.
    pub fn draft_double(
        &mut self,
        now: Instant,
        path: PathId,
        unit: u64,
        weight: u32,
        cause: Cause,
    ) {
        let Some(order) = self.ledger.draft_double(path, unit) else { return };
        self.draft.again += 1;
        self.draft.bytes += weight;
        if self.ledger.highest_reported().is_some_and(|highest| unit < highest) {
            self.paths[path].episode.on_again(unit, weight);
        } else {
            self.paths[path].episode.on_rescue();
        }
        self.stats.retransmissions.count(cause, order);
        self.events.record(now, || Event::Resent { unit, cause, order });
    }
}
