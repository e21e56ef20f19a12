//! Recovery by TCP's acknowledgements: duplicates (RFC 5681, section 3.2), the holes that partial
//! acknowledgements show one by one (RFC 6582), and reports that add up (RFC 6675).
//!
//! The controller says to what the window falls. What RFC 6582 calls inflating and deflating it stands
//! apart, as the path's `inflation`; with SACK there is none, since what was reported is not in flight.

use base::{Duration, Instant};

use super::{AckOutcome, Lost, Recovery, Said};
use crate::congestion::Signal;
use crate::episode::Exempt;
use crate::event::Event;
use crate::ledger::{AckReport, GapRanges, PathAck, PathIndex, SegmentAck};
use crate::loss;
use crate::path::RoundTrip;
use crate::stats::Cause;

/// No acknowledgement is delayed by more (RFC 9293, section 3.8.6.3).
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(500);

/// What an acknowledgement may tell of losses.
#[derive(Clone, Copy, Debug)]
struct Evidence {
    /// A segment left the network, and the cumulative point stands still.
    is_duplicate: bool,
    /// Something was newly acknowledged.
    news: bool,
    /// What was in flight before, as the window counts it.
    flight_before: u64,
}

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
        let was_heard = self.paths[0].episode.is_heard();
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
        let flight_before = self.counted(PATH, news.flight_before);
        let what = Evidence { is_duplicate, news: news.acked_bytes > 0, flight_before };
        let lost = self.detect_segment_loss(now, what, unsent_packets);
        self.update_timer(now, PATH, news, unsent_packets);
        self.settle_ack(now, PATH, news, report.advanced, lost, was_heard);
        outcome
    }

    /// Whether an acknowledgement finds nothing that it could change: one of those that come with all data to a side
    /// that has sent none of late.
    fn has_nothing_to_hear(&self, ack: &SegmentAck<'_>) -> bool {
        let path = &self.paths[0];
        let is_quiet = path.t3_rtx.is_none() && path.early_timer.is_none() && path.watch.is_none();
        let is_quiet = is_quiet && path.episode.keeps_nothing();
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
        let was_recovering = state.episode.is_recovering();
        state.episode.on_cumulative(cumulative);
        if state.episode.is_recovering() {
            let full = acked >= mss;
            state.episode.on_partial_ack(full, self.ledger.next_unit());
            if !has_sack {
                // RFC 6582, section 3.2, step 3: deflate by what left, but by one segment less, which
                // was the one sent again.
                state.episode.deflate(acked, if full { mss } else { 0 });
                state.episode.exempt(Exempt::Other);
                self.lose_next_hole(now);
            }
            return;
        }
        state.episode.settle_window();
        if !was_recovering {
            return;
        }
        if !has_sack {
            // The same step's first choice: no burst of what waited behind the hole.
            state.congestion.cap(flight.max(mss) + mss);
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
        let limited = self.policy.congestion.limited_transmit && self.duplicates() <= 2;
        let limited = limited.then(|| self.ledger.unacknowledged_bytes());
        let cumulative = self.ledger.cumulative();
        let state = &mut self.paths[0];
        state.episode.on_duplicate(cumulative, state.congestion.mss(), limited);
    }

    /// Finds what is lost, and answers whether anything is.
    fn detect_segment_loss(&mut self, now: Instant, what: Evidence, unsent_packets: u32) -> bool {
        let Evidence { is_duplicate, news, flight_before } = what;
        if self.detects_by_time() {
            return self.detect_by_time(now, PATH, flight_before);
        }
        if self.looks_at_age(PATH, is_duplicate) && self.lose_overdue_first(now, flight_before) {
            return true;
        }
        let recovering = self.paths[0].episode.is_recovering();
        if !is_duplicate && (!self.feedback.reports_gaps() || !news) {
            return false;
        }
        let thin = self.is_thin(PATH);
        let policy = self.policy.loss;
        let threshold = loss::dup_threshold(&policy, thin);
        let limit = self.lost_limit(threshold);
        let enough = is_duplicate && self.duplicates() >= u32::from(threshold);
        // RFC 6582, section 3.2, steps 2 and 4, and 6675, section 5.1: duplicates of what a timeout resent say nothing.
        let may_enter = !recovering && !self.has_dealt_with(PATH, self.ledger.cumulative());
        let (limit, first, cause) = if limit.is_some() || (enough && may_enter) {
            (limit, enough && may_enter, Cause::Fast)
        } else if is_duplicate && may_enter && self.is_early(unsent_packets > 0) {
            (self.lost_limit(1), true, Cause::Early)
        } else {
            return false;
        };
        let packets = self.lose_segments(limit, first, cause);
        if packets > 0 {
            self.on_loss(now, PATH, Lost { packets, cause, resent: None, flight_before });
        }
        packets > 0
    }

    /// Whether early retransmit takes the first segment for lost (RFC 5827).
    fn is_early(&self, can_send_new: bool) -> bool {
        let policy = self.policy.loss;
        if policy.early_retransmit_by_bytes {
            return policy.early_retransmit && self.is_early_by_bytes(can_send_new);
        }
        let in_flight = self.packets_in_flight(PATH);
        let outstanding = self.ledger.outstanding_packets(4);
        loss::early_retransmit(&policy, in_flight, outstanding, can_send_new)
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

    /// What is missing below `limit` is lost, and the first unit too if `first`. Answers how many packets that are.
    fn lose_segments(&mut self, limit: Option<u64>, first: bool, cause: Cause) -> u32 {
        let to = self.paths[0].routes.fast;
        let mut packets = limit.map_or(0, |limit| self.ledger.lose_below(limit, to, cause));
        if first && packets == 0 {
            packets += u32::from(self.ledger.lose_first(to, false, cause));
        }
        packets
    }

    /// The unit at the cumulative point is older than a round trip should be: it is sent again, even if it
    /// was before, and even in recovery (Brakmo and Peterson 1995; Yin et al.).
    fn lose_overdue_first(&mut self, now: Instant, flight_before: u64) -> bool {
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
        self.on_loss(now, PATH, Lost { packets: 1, cause: Cause::Early, resent, flight_before });
        self.paths[0].episode.exempt_again();
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
        let wanted = self.policy.loss.rescue && self.reports_gaps();
        let episode = &mut self.paths[0].episode;
        let high_rxt = episode.high_rxt().filter(|_| wanted)?;
        if let Some(highest) = self.ledger.highest_reported() {
            let next = self.ledger.next_in_flight(high_rxt, highest);
            episode.set_high_rxt(next.map_or(high_rxt.max(highest), |next| next.0));
            return next;
        }
        self.ledger.last_in_flight().filter(|_| episode.lacks_rescue())
    }

    /// Adds a unit that is in flight to the packet being put together, without taking it for lost.
    pub fn draft_double(&mut self, now: Instant, unit: u64, weight: u32, cause: Cause) {
        let Some(order) = self.ledger.draft_double(PATH, unit) else { return };
        self.draft.again += 1;
        self.draft.bytes += u64::from(weight);
        if self.ledger.highest_reported().is_some_and(|highest| unit < highest) {
            self.paths[0].episode.on_again(unit, weight);
        } else {
            self.paths[0].episode.on_rescue();
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
        if self.paths[0].episode.fallen().covers_mark(self.ledger.cumulative()) {
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
        self.paths[0].episode.is_recovering()
    }

    /// The first packet after the handshake may take with it this window instead of the initial one
    /// (RFC 5681, section 3.1: one segment if SYN was lost).
    pub fn restart_window(&mut self, window: u64) {
        self.paths[0].congestion.restart(window);
    }
}
