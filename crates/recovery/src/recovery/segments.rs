//! Recovery by TCP's acknowledgements: duplicates (RFC 5681, section 3.2), the holes that partial
//! acknowledgements show one by one (RFC 6582), and reports that add up (RFC 6675).
//!
//! The controller says to what the window falls. What RFC 6582 calls inflating and deflating it stands
//! apart, as the path's `inflation`; with SACK there is none, since what was reported is not in flight.

use base::{Duration, Instant};

use super::{AckOutcome, Lost, Recovery, Said};
use crate::congestion::Signal;
use crate::event::Event;
use crate::ledger::{AckReport, GapRanges, PathAck, PathIndex, SegmentAck};
use crate::loss;
use crate::path::RoundTrip;
use crate::stats::Cause;

/// No acknowledgement is delayed by more (RFC 9293, section 3.8.6.3).
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(500);

/// Segments travel on one path.
const PATH: PathIndex = 0;

impl Recovery {
    /// Takes the acknowledgement of a segment in. `unsent_packets` is how many packets the data would fill
    /// that waits to be sent and may be, as far as the peer's window goes.
    pub fn on_segment_ack(
        &mut self,
        now: Instant,
        ack: &SegmentAck<'_>,
        unsent_packets: u32,
    ) -> AckOutcome {
        let has_sack = ack.has_sack && self.policy.loss.use_sack;
        let Some(segments) = self.feedback.segments_mut() else {
            debug_assert!(false, "recovery of chunks");
            return AckOutcome::default();
        };
        segments.congestion_experienced = ack.congestion_experienced;
        segments.has_sack = has_sack;
        if self.has_nothing_to_hear(ack) {
            return AckOutcome::default();
        }
        let nothing = GapRanges::new();
        let blocks = if has_sack { ack.blocks } else { &nothing };
        let ack = &SegmentAck { blocks, has_sack, ..ack.clone() };
        let current = ack.cumulative == self.ledger.cumulative() && !self.ledger.is_empty();
        let report = self.ledger.on_segment_ack(now, ack);
        let mut outcome = AckOutcome { advanced: report.advanced, ..AckOutcome::default() };
        if report.spurious > 0 {
            self.on_spurious(now, report.spurious);
            outcome.spurious = 1;
            self.paths[0].loss.on_spurious();
        }
        let Some(news) = report.paths.first() else { return outcome };
        self.watch_delivery(now, PATH, news);
        if news.acked_bytes > 0 || report.advanced {
            self.on_segments_delivered(now, ack, &report, news, &mut outcome);
        }
        let is_duplicate = if ack.has_sack {
            !report.advanced && news.acked_bytes > 0
        } else {
            current && ack.is_duplicate && !report.advanced
        };
        if is_duplicate {
            self.on_duplicate();
        }
        self.on_bundles(now, PATH, &report);
        let said = Said { advanced: report.advanced, echo_age: ack.rtt, unsent_packets };
        self.judge(now, PATH, news, said);
        self.detect_segment_loss(now, is_duplicate, news.acked_bytes > 0, unsent_packets);
        self.update_timer(now, PATH, news, unsent_packets);
        self.settle_ack(now, PATH, news, report.advanced);
        outcome
    }

    /// Whether an acknowledgement finds nothing that it could change: one of those that come with all data to a side
    /// that has sent none of late.
    fn has_nothing_to_hear(&self, ack: &SegmentAck<'_>) -> bool {
        let path = &self.paths[0];
        let is_quiet = path.t3_rtx.is_none() && path.early_timer.is_none() && path.watch.is_none();
        is_quiet
            && self.ledger.is_empty()
            && ack.needless.is_none()
            && ack.cumulative <= self.ledger.cumulative()
    }

    /// Segments arrived, or the cumulative point advanced.
    fn on_segments_delivered(
        &mut self,
        now: Instant,
        ack: &SegmentAck<'_>,
        report: &AckReport,
        news: &PathAck,
        outcome: &mut AckOutcome,
    ) {
        outcome.acked_bytes = news.acked_bytes;
        outcome.paths = 1;
        outcome.certain = u64::from(news.certain);
        outcome.sampled = u64::from(news.timed_sent_at.is_some());
        self.sample_by_timestamp(now, ack, report, outcome);
        self.on_path_acked(now, PATH, news, report.advanced);
        if report.advanced {
            self.on_segments_advance(now, report);
        }
    }

    /// Karn's rule leaves no sample from what was sent again; the echo of a timestamp tells which of its
    /// transmissions arrived (RFC 7323, section 4). Only where the cumulative point advanced.
    fn sample_by_timestamp(
        &mut self,
        now: Instant,
        ack: &SegmentAck<'_>,
        report: &AckReport,
        outcome: &mut AckOutcome,
    ) {
        let timed = report.paths.first().is_some_and(|news| news.timed_sent_at.is_some());
        if let Some(rtt) = ack.rtt.filter(|_| report.advanced && !timed)
            && !self.ledger.is_timing(PATH)
        {
            self.on_rtt_sample(PATH, rtt);
            self.watch_queue(now, PATH, RoundTrip { measured: rtt, delay: LONGEST_ACK_DELAY });
            if let Some(watch) = self.paths[0].watch.as_deref_mut() {
                watch.min_rtt.on_sample(now, rtt);
            }
            outcome.sampled = 1;
        }
    }

    /// The cumulative point advanced: fast recovery ends, or goes on with the next hole.
    fn on_segments_advance(&mut self, now: Instant, report: &AckReport) {
        let cumulative = self.ledger.cumulative();
        let acked = report.paths.first().map_or(0, |news| news.acked_bytes);
        let mss = self.paths[0].congestion.mss();
        let has_sack = self.feedback.reports_gaps();
        let flight = self.window_taken(PATH);
        self.feedback.on_advance();
        let state = &mut self.paths[0];
        let Some(exit) = state.fast_recovery_exit else {
            state.inflation = 0;
            return;
        };
        if cumulative < exit.get() {
            let full = acked >= mss;
            self.feedback.on_partial_ack(full, self.ledger.next_unit());
            if !has_sack {
                // RFC 6582, section 3.2, step 3: deflate by what left, but by one segment less, which
                // was the one sent again.
                let back = if full { mss } else { 0 };
                state.inflation = state.inflation - acked as i64 + back as i64;
                state.exempt_packets = 1;
                state.exempt_is_fast = false;
                self.lose_next_hole(now);
            }
            return;
        }
        state.fast_recovery_exit = None;
        state.inflation = 0;
        self.feedback.on_recovered();
        if !has_sack {
            // The same step's first choice: no burst of what waited behind the hole.
            let (cwnd, ssthresh) = (state.congestion.cwnd(), state.congestion.ssthresh());
            let next = cwnd.min(flight.max(mss) + mss);
            if next < cwnd {
                state.congestion.set_windows(next, ssthresh);
            }
        }
        self.record_window(now, PATH);
    }

    /// What stands at the cumulative point is the next hole: it is sent again.
    fn lose_next_hole(&mut self, now: Instant) {
        let to = self.paths[0].routes.fast;
        if self.ledger.lose_first(to, true, Cause::Fast) {
            self.paths[0].loss.on_fate(true);
            self.events.record(now, || Event::Lost { path: PATH, packets: 1, cause: Cause::Fast });
        }
    }

    /// A duplicate acknowledgement: a segment left the network.
    fn on_duplicate(&mut self) {
        self.feedback.on_duplicate();
        if self.feedback.reports_gaps() {
            return;
        }
        let mss = self.paths[0].congestion.mss();
        let limited = self.policy.congestion.limited_transmit;
        let duplicates = self.duplicates();
        let believed = self.believed();
        let cumulative = self.ledger.cumulative();
        let state = &mut self.paths[0];
        let most = match state.fast_recovery_exit {
            // As much as is outstanding of what was sent before the last hole was: what left since then may be
            // there by the grace of duplicates that a peer made up (RFC 5681, section 3.2, step 4; Savage et al.
            // 1999). What an honest peer still has to say of it comes behind the next partial acknowledgement.
            Some(_) => believed.saturating_sub(cumulative),
            None if limited && duplicates <= 2 => self.ledger.unacknowledged_bytes(),
            None => return,
        };
        if state.inflation < most as i64 {
            state.inflation = (state.inflation + mss as i64).min(most as i64);
        }
    }

    /// One past what may have caused the duplicates that come in fast recovery.
    fn believed(&self) -> u64 {
        self.feedback.segments().map_or(0, |segments| segments.believed)
    }

    fn detect_segment_loss(
        &mut self,
        now: Instant,
        is_duplicate: bool,
        news: bool,
        unsent_packets: u32,
    ) {
        if self.detects_by_time() {
            return self.detect_by_time(now, PATH);
        }
        if self.looks_at_age(PATH, is_duplicate) && self.lose_overdue_first(now) {
            return;
        }
        let recovering = self.paths[0].fast_recovery_exit.is_some();
        if !is_duplicate && (!self.feedback.reports_gaps() || !news) {
            return;
        }
        let thin = self.is_thin(PATH);
        let policy = self.policy.loss;
        let threshold = loss::dup_threshold(&policy, thin);
        let limit = self.lost_limit(threshold);
        let enough = is_duplicate && self.duplicates() >= u32::from(threshold);
        // RFC 6582, section 3.2, steps 2 and 4, and 6675, section 5.1: duplicates of what a timeout resent say nothing.
        let may_enter = !recovering && !self.feedback.has_dealt_with(self.ledger.cumulative());
        if limit.is_some() || (enough && may_enter) {
            self.on_segment_loss(now, limit, enough && may_enter, Cause::Fast);
        } else if is_duplicate && may_enter {
            let in_flight = self.packets_in_flight(PATH);
            let outstanding = self.ledger.outstanding_packets(4);
            let new = unsent_packets > 0;
            let early = if policy.early_retransmit_by_bytes {
                policy.early_retransmit && self.is_early_by_bytes(new)
            } else {
                loss::early_retransmit(&policy, in_flight, outstanding, new)
            };
            if early {
                self.on_segment_loss(now, self.lost_limit(1), true, Cause::Early);
            }
        }
    }

    fn is_early_by_bytes(&self, can_send_new: bool) -> bool {
        let mss = self.paths[0].congestion.mss();
        let outstanding = self.ledger.unacknowledged_bytes();
        let reported = outstanding.saturating_sub(self.ledger.flight(PATH).bytes);
        let reported = Some(reported).filter(|_| self.feedback.reports_gaps());
        let duplicates = self.duplicates();
        loss::early_retransmit_by_bytes(outstanding, mss, duplicates, reported, can_send_new)
    }

    /// Below which unit the reports mean loss, if that is above the cumulative point.
    fn lost_limit(&self, threshold: u8) -> Option<u64> {
        let mss = self.paths[0].congestion.mss();
        let limit = self.ledger.lost_below(threshold, mss).filter(|_| self.feedback.reports_gaps());
        limit.filter(|limit| *limit > self.ledger.cumulative())
    }

    /// What is missing below `limit` is lost, and the first unit too if `first`.
    fn on_segment_loss(&mut self, now: Instant, limit: Option<u64>, first: bool, cause: Cause) {
        let to = self.paths[0].routes.fast;
        let mut packets = limit.map_or(0, |limit| self.ledger.lose_below(limit, to, cause));
        if first && packets == 0 {
            packets += u32::from(self.ledger.lose_first(to, false, cause));
        }
        if packets > 0 {
            self.on_loss(now, PATH, Lost { packets, cause, resent: None });
        }
    }

    /// The unit at the cumulative point is older than a round trip should be: it is sent again, even if it
    /// was before, and even in recovery (Brakmo and Peterson 1995; Yin et al.).
    fn lose_overdue_first(&mut self, now: Instant) -> bool {
        let Some(sent_at) = self.ledger.first_sent_at() else { return false };
        if !self.is_overdue(now, PATH, sent_at) {
            return false;
        }
        let resent = self.ledger.first_resent_in();
        let to = self.paths[0].routes.fast;
        if !self.ledger.lose_first(to, true, Cause::Early) {
            return false;
        }
        self.on_overdue(PATH, resent.is_none());
        self.on_loss(now, PATH, Lost { packets: 1, cause: Cause::Early, resent });
        self.paths[0].exempt_packets = 1;
        true
    }

    /// What may be sent again though nothing says that it was lost: in fast recovery, when there is room
    /// and neither lost nor new data. To be put into a packet by [`Recovery::draft_double`].
    ///
    /// Below what is reported that is what is missing there, once (RFC 6675, section 4, NextSeg, rule 3).
    /// Above it, the last segment, once (rule 4): but only after a partial acknowledgement that left
    /// nothing to repair. The rule's letter would resend the tail of every flight whose first loss is
    /// repaired, since the tail's reports are still on their way then.
    pub fn next_rescue(&mut self) -> Option<(u64, u32)> {
        let wanted = self.is_recovering() && self.policy.loss.rescue;
        let segments = self.feedback.segments_mut().filter(|said| wanted && said.has_sack)?;
        if let Some(highest) = self.ledger.highest_reported() {
            let next = self.ledger.next_in_flight(segments.high_rxt, highest);
            segments.high_rxt = next.map_or(segments.high_rxt.max(highest), |next| next.0);
            return next;
        }
        let stalls = segments.partial_acks > 0 && !segments.rescued;
        self.ledger.last_in_flight().filter(|_| stalls)
    }

    /// Adds a unit that is in flight to the packet being put together, without taking it for lost.
    pub fn draft_double(&mut self, now: Instant, unit: u64, weight: u32, cause: Cause) {
        let Some(order) = self.ledger.draft_double(PATH, unit) else { return };
        self.draft.again += 1;
        self.draft.bytes += u64::from(weight);
        if self.ledger.highest_reported().is_some_and(|highest| unit < highest) {
            self.feedback.on_again(unit, weight);
        } else if let Some(segments) = self.feedback.segments_mut() {
            segments.rescued = true;
        }
        self.stats.retransmissions.count(cause, order);
        self.events.record(now, || Event::Resent { unit, cause, order });
    }

    /// Adds new data to the packet being put together that was sent earlier outside of this reckoning: its
    /// round trip is not to be measured.
    pub fn draft_untimed(&mut self, path: PathIndex, len: u32, weight: u32) -> u64 {
        self.draft.new += 1;
        self.draft.bytes += u64::from(weight);
        self.ledger.draft_untimed(path, len, weight)
    }

    /// The peer says that a segment met congestion on its way (RFC 3168, section 6.1.2): the window falls, once
    /// per window of data, and true is answered if it did. If it had fallen for that data already, because of a
    /// loss, it does not rise again should the loss turn out to have been none.
    pub fn on_ecn_echo(&mut self, now: Instant) -> bool {
        if self.paths[0].fallen.covers_mark(self.ledger.cumulative()) {
            return false;
        }
        let reduced = self.reduce_window(now, PATH, Signal::Ecn);
        self.heed_mark(PATH);
        reduced
    }

    /// Timers of `path` were not heeded for a while: a retransmission timer that was due meanwhile begins anew.
    pub fn resume_timer(&mut self, now: Instant, path: PathIndex) {
        let timer = self.paths.get(usize::from(path)).and_then(|state| state.t3_rtx);
        if timer.is_some_and(|timer| timer.due <= now) {
            self.start_timer(now, path);
        }
    }

    /// Cuts a unit that waits to be sent again so that its first `len` bytes stand alone.
    pub fn cut_lost(&mut self, unit: u64, len: u32) -> bool {
        self.ledger.cut_lost(unit, len)
    }

    /// Duplicate acknowledgements in a row.
    pub fn duplicates(&self) -> u32 {
        self.feedback.segments().map_or(0, |segments| segments.duplicates)
    }

    /// Says whether the peer reports what arrives out of order, before its first acknowledgement does.
    pub fn set_reports(&mut self, has_sack: bool) {
        if let Some(segments) = self.feedback.segments_mut() {
            segments.has_sack = has_sack && self.policy.loss.use_sack;
        }
    }

    /// Whether fast recovery is in progress.
    pub fn is_recovering(&self) -> bool {
        self.paths[0].fast_recovery_exit.is_some()
    }

    /// The first packet after the handshake may take with it this window instead of the initial one
    /// (RFC 5681, section 3.1: one segment if SYN was lost).
    pub fn restart_window(&mut self, window: u64) {
        let state = &mut self.paths[0];
        let ssthresh = state.congestion.ssthresh();
        state.congestion.set_windows(window, ssthresh);
    }
}
