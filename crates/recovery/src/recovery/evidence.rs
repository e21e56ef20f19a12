//! Evidence of loss in an acknowledgement: by time, by miss indications of each transmission, or by
//! position.

use base::Instant;

use super::Recovery;
use super::losses::{Evidence, Lost};
use crate::feedback::Silence;
use crate::ledger::{PacketNumber, PathAck};
use crate::loss;
use crate::path_id::PathId;
use crate::policy::SackLosses;
use crate::stats::Cause;

impl Recovery {
    /// Detects the losses on a path that an acknowledgement shows, and returns whether there are
    /// any.
    pub(super) fn detect(
        &mut self,
        now: Instant,
        path: PathId,
        news: &PathAck,
        evidence: Evidence,
    ) -> bool {
        if self.detects_by_time() {
            return self.detect_by_time(now, path, evidence.flight_before);
        }
        let is_silent = self.heard.silence == Silence::Nothing;
        if is_silent
            && self.looks_at_age(path, evidence.is_duplicate)
            && self.lose_overdue_first(now, path, evidence.flight_before)
        {
            return true;
        }
        let lost = match is_silent {
            false => self.count_misses(now, path, news, evidence),
            true => self.count_by_position(path, news, evidence),
        };
        if let Some((packets, cause)) = lost {
            let flight_before = evidence.flight_before;
            self.on_loss(now, path, Lost { packets, cause, resent: None, flight_before });
        }
        lost.is_some()
    }

    // ---- by miss indications (RFC 9260, section 7.2.4) -----------------------------------------

    /// Counts units that the acknowledgement does not name as missing, for each transmission.
    /// Returns the number of lost packets and the evidence.
    fn count_misses(
        &mut self,
        now: Instant,
        path: PathId,
        news: &PathAck,
        evidence: Evidence,
    ) -> Option<(u32, Cause)> {
        let recovering = evidence.context.advanced && evidence.was_recovering;
        let (before, below) = self.missing_below(news, recovering)?;
        if !self.ledger.has_sent_before(path, before) {
            return None;
        }
        self.count_misses_of(now, path, (before, below), evidence)
    }

    /// Counts the units below `below` of the packets sent before `before`, of which there are some,
    /// as missing.
    #[inline(never)]
    fn count_misses_of(
        &mut self,
        now: Instant,
        path: PathId,
        (before, below): (PacketNumber, u64),
        evidence: Evidence,
    ) -> Option<(u32, Cause)> {
        let thin = self.is_thin(path);
        let policy = self.policy.loss;
        let threshold = loss::dup_threshold(&policy, thin);
        let repeat = policy.repeat_fast_retransmit.applies(thin);
        let to = self.paths[path].routes.fast;
        let misses =
            self.ledger.indicate_misses(path, to, before, below, threshold, repeat, Cause::Fast);
        if misses.lost > 0 {
            return Some((misses.lost, Cause::Fast));
        }
        if misses.indicated == 0 {
            return None;
        }
        let in_flight = self.ledger.flight(path).packets;
        let outstanding = self.ledger.outstanding_packets(4);
        let can_send_new = evidence.context.unsent_packets > 0;
        let packets = if loss::early_retransmit(&policy, in_flight, outstanding, can_send_new) {
            self.ledger.indicate_misses(path, to, before, below, 1, repeat, Cause::Early).lost
        } else {
            let aged = self.lose_by_age(now, path, before);
            if aged == 0 && self.policy.congestion.limited_transmit && !evidence.was_recovering {
                self.paths[path].episode.on_miss();
            }
            aged
        };
        (packets > 0).then_some((packets, Cause::Early))
    }

    /// Packet and unit below which an acknowledgement is evidence of loss: those that it newly
    /// acknowledges (HTNA); in fast recovery, when the cumulative point advances, all that it
    /// reports missing.
    fn missing_below(&self, news: &PathAck, recovering: bool) -> Option<(PacketNumber, u64)> {
        let (packet, unit) = (news.largest_packet?, news.highest_unit?);
        let highest = if recovering { self.ledger.highest_reported() } else { None };
        Some((packet, highest.map_or(unit, |end| unit.max(end))))
    }

    // ---- by position (RFC 5681, section 3.2; RFC 6675) -----------------------------------------

    /// Counts duplicates, and reports above a unit, since a unit that the acknowledgement does not
    /// name may have arrived. Returns the number of lost packets and the evidence.
    fn count_by_position(
        &mut self,
        path: PathId,
        news: &PathAck,
        evidence: Evidence,
    ) -> Option<(u32, Cause)> {
        let Evidence { context, is_duplicate, .. } = evidence;
        if !is_duplicate && (!self.reports_gaps() || news.acked_bytes == 0) {
            return None;
        }
        let thin = self.is_thin(path);
        let threshold = loss::dup_threshold(&self.policy.loss, thin);
        let limit = self.lost_limit(path, threshold);
        let enough = is_duplicate && self.duplicates() >= u32::from(threshold);
        // RFC 6582, section 3.2, steps 2 and 4, and 6675, section 5.1: duplicates caused by
        // retransmissions after a timeout are no evidence.
        let recovering = self.paths[path].episode.is_recovering();
        let may_enter = !recovering && !self.has_dealt_with(path, self.ledger.cumulative());
        let limit = match self.repairs_each_hole() {
            true => self.holes_below(path, enough && may_enter),
            false => limit,
        };
        let (limit, first, cause) = if limit.is_some() || (enough && may_enter) {
            (limit, enough && may_enter, Cause::Fast)
        } else if is_duplicate && may_enter && self.is_early(path, context.unsent_packets > 0) {
            (self.lost_limit(path, 1), true, Cause::Early)
        } else {
            return None;
        };
        let packets = self.lose_by_position(path, limit, first, cause);
        (packets > 0).then_some((packets, cause))
    }

    /// Whether early retransmit declares the first unit lost (RFC 5827).
    fn is_early(&self, path: PathId, can_send_new: bool) -> bool {
        let policy = self.policy.loss;
        if !policy.early_retransmit_by_bytes {
            let in_flight = self.packets_in_flight(path);
            let outstanding = self.ledger.outstanding_packets(4);
            return loss::early_retransmit(&policy, in_flight, outstanding, can_send_new);
        }
        let mss = self.paths[path].congestion.mss();
        let outstanding = self.ledger.unacknowledged_bytes();
        let reported = outstanding.saturating_sub(self.ledger.flight(path).bytes);
        let reported = Some(reported).filter(|_| self.reports_gaps());
        let duplicates = self.duplicates();
        policy.early_retransmit
            && loss::early_retransmit_by_bytes(outstanding, mss, duplicates, reported, can_send_new)
    }

    /// Unit below which the reports mean loss, if that is above the cumulative point.
    pub(super) fn lost_limit(&self, path: PathId, threshold: u8) -> Option<u64> {
        let mss = self.paths[path].congestion.mss();
        let limit = self.ledger.lost_below(threshold, mss).filter(|_| self.reports_gaps());
        limit.filter(|limit| *limit > self.ledger.cumulative())
    }

    /// Whether each hole that the peer reports is retransmitted once, and only in a recovery.
    fn repairs_each_hole(&self) -> bool {
        self.policy.loss.sack_losses == SackLosses::EachHole && self.reports_gaps()
    }

    /// Unit below which each hole is retransmitted: only in a recovery, which `begins` now or is in
    /// progress.
    fn holes_below(&self, path: PathId, begins: bool) -> Option<u64> {
        let repairs = begins || self.paths[path].episode.is_recovering();
        self.lost_limit(path, 1).filter(|_| repairs)
    }

    /// Declares lost the units that are missing below `limit`, and the first unit if `first`.
    /// Returns the number of lost packets.
    fn lose_by_position(
        &mut self,
        path: PathId,
        limit: Option<u64>,
        first: bool,
        cause: Cause,
    ) -> u32 {
        let to = self.paths[path].routes.fast;
        let mut packets = limit.map_or(0, |limit| self.ledger.lose_below(limit, to, cause));
        if first && packets == 0 {
            packets += u32::from(self.ledger.lose_first(to, false, cause));
        }
        packets
    }
}
