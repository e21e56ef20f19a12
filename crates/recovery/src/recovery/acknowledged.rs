//! Processing of an acknowledgement: arrivals, RTT samples, and their consequences.

use base::{Duration, Instant};

use super::losses::Evidence;
use super::{AckContext, AckOutcome, Recovery};
use crate::ack_delay::{AckDelay, Cargo};
use crate::congestion::Acked;
use crate::episode::Exempt;
use crate::event::Event;
use crate::feedback::{Feedback, Silence};
use crate::ledger::{AckReport, PathAck};
use crate::loss::Delivered;
use crate::loss::rack::TIMESTAMP_TICK;
use crate::path::RoundTrip;
use crate::path_id::{PathId, PathSet};
use crate::policy::ImmediateRequest;
use crate::stats::Cause;

/// Least delay of a receiver that delays acknowledgements (Linux, `TCP_DELACK_MIN`).
const LEAST_ACK_DELAY: Duration = Duration::from_millis(40);
/// Longest delay of an acknowledgement (RFC 9293, section 3.8.6.3).
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(500);

/// State of the paths' repairs before an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// Paths on which fast recovery was in progress.
    recovering: PathSet,
    /// Paths on which a repair was in progress: fast recovery, or what follows a timeout.
    repairing: PathSet,
}

impl Recovery {
    /// Processes an acknowledgement. `unsent_packets`: number of packets that unsent data would
    /// fill, as far as the peer's window allows.
    pub fn on_feedback(
        &mut self,
        now: Instant,
        feedback: &Feedback<'_>,
        unsent_packets: u32,
    ) -> AckOutcome {
        let looks = self.heard.silence == Silence::Missing || self.policy.loss.use_sack;
        self.heard.on_feedback(feedback, looks);
        if self.has_nothing_to_hear(feedback) {
            return AckOutcome::default();
        }
        let current = feedback.cumulative == self.ledger.cumulative() && !self.ledger.is_empty();
        let ranges = feedback.ranges.filter(|_| looks);
        let report = self.ledger.on_feedback(now, &Feedback { ranges, ..feedback.clone() });
        let advanced = report.advanced;
        let mut outcome = AckOutcome { advanced, ..AckOutcome::default() };
        if report.spurious > 0 {
            self.on_spurious(now, report.spurious);
        }
        let before = self.repairs();
        for (path, news) in report.paths.iter() {
            self.on_news(now, path, news, &report, feedback, &mut outcome);
        }
        let news = outcome.acked_bytes > 0;
        let left = if self.reports_gaps() { news } else { current && feedback.duplicate };
        let is_duplicate = left && !advanced;
        if is_duplicate {
            self.on_duplicate();
        }
        let original = self.take_proven(now, &report, feedback);
        let bundled = report.paths.position(|news| news.acked_bytes > 0);
        let bundled = bundled.unwrap_or(PathId::FIRST);
        self.on_bundles(now, bundled, &report);
        self.on_copy_acked(now, bundled, &report, feedback);
        let context = AckContext { advanced, echo_age: feedback.echo.or(original), unsent_packets };
        for (path, news) in report.paths.iter() {
            let was_recovering = before.recovering.contains(path);
            if was_recovering {
                self.paths[path].episode.drain_pipe(advanced);
            }
            let was_repairing = before.repairing.contains(path);
            let clean = news.largest_sent_at.filter(|_| !news.largest_resent);
            let delivered = Delivered {
                bytes: self.delivered(path, news),
                round_trip: clean.map(|sent_at| now.since(sent_at)),
                waits: unsent_packets > 0,
            };
            self.paths[path].on_data_delivered(now, &delivered, &self.policy);
            self.judge(now, path, news, context);
            let flight_before = self.counted(path, news.flight_before);
            let evidence = Evidence { context, is_duplicate, was_recovering, flight_before };
            let lost = self.detect(now, path, news, evidence);
            self.update_timer(now, path, news, unsent_packets);
            self.settle_ack(now, path, news, advanced, lost, was_repairing);
        }
        outcome
    }

    /// State of the paths' repairs.
    fn repairs(&self) -> Before {
        let mut repairs = Before::default();
        for (path, state) in self.paths.iter() {
            repairs.recovering.insert_if(state.episode.is_recovering(), path);
            repairs.repairing.insert_if(state.episode.is_repairing(), path);
        }
        repairs
    }

    /// Whether an acknowledgement cannot change anything. All data that arrives at a side which has
    /// sent none recently carries such acknowledgements.
    fn has_nothing_to_hear(&self, feedback: &Feedback<'_>) -> bool {
        self.ledger.is_empty()
            && feedback.needless.is_empty()
            && feedback.cumulative <= self.ledger.cumulative()
            && !self.paths.any(|path| !path.waits_for_nothing())
    }

    /// Processes the news of an acknowledgement about one path.
    fn on_news(
        &mut self,
        now: Instant,
        path: PathId,
        news: &PathAck,
        report: &AckReport,
        feedback: &Feedback<'_>,
        outcome: &mut AckOutcome,
    ) {
        // Where reports add up, data whose reports were forgotten at a timeout counts as lost too:
        // its acknowledgement is not evidence of an early loss.
        let adds_up = self.heard.silence == Silence::Nothing;
        let hasty = if adds_up { news.needless } else { news.spurious };
        if hasty > 0 {
            outcome.spurious.insert(path);
            self.paths[path].on_spurious();
        }
        self.watch_delivery(now, path, news, feedback.echo);
        if news.acked_bytes > 0 || (outcome.advanced && adds_up) {
            outcome.acked_bytes += news.acked_bytes;
            outcome.paths.insert_if(news.proven, path);
            outcome.certain.insert_if(news.certain_sent_at.is_some(), path);
            let timed = news.timed_sent_at.is_some();
            let sampled = timed
                || self.sample_ambiguous(now, path, news, report)
                || self.sample_by_echo(now, path, news, report, feedback);
            outcome.sampled.insert_if(sampled, path);
            self.on_path_acked(now, path, news, outcome.advanced);
        }
        if outcome.advanced {
            self.on_advance(now, path, news);
        }
    }

    /// Takes an RTT sample from the echo of a timestamp, which identifies the transmission that
    /// arrived (RFC 7323, section 4), where Karn's rule leaves no sample of retransmitted data.
    /// Only if the cumulative point advanced.
    #[inline(never)]
    fn sample_by_echo(
        &mut self,
        now: Instant,
        path: PathId,
        news: &PathAck,
        report: &AckReport,
        feedback: &Feedback<'_>,
    ) -> bool {
        let Some(rtt) = feedback.echo.filter(|_| report.advanced && !self.ledger.is_timing(path))
        else {
            return false;
        };
        // The echo is that of the oldest acknowledged packet, with which the peer waited; the
        // latest packet shows the path's own time.
        let latest = news.largest_sent_at.filter(|_| news.largest_fresh && self.samples_proven());
        let rtt = latest.map_or(rtt, |sent_at| rtt.min(now.since(sent_at)));
        // Timestamps count milliseconds, too coarse for a shorter path.
        let least = self.paths[path].shortest_trip();
        let rtt = least.map_or(rtt, |least| rtt.max(least));
        // This is the answer to a duplicate: earlier ones were lost, perhaps for seconds, and the
        // echo is from before them.
        let narrow = self.policy.rto.margin.heeds_narrow();
        let duplicate = report.again.latest.filter(|_| news.needless > 0 && narrow);
        let rtt = match duplicate.map(|again| now.since(again.again_at)) {
            Some(took) => {
                self.paths[path].backoff.on_sample();
                if least.is_some_and(|least| took < least) {
                    return true;
                }
                rtt.min(took)
            }
            None => rtt,
        };
        // The first transmission arrived, and the peer may have delayed its acknowledgement beyond
        // the timeout.
        let tick = TIMESTAMP_TICK;
        let first = report.again.latest.filter(|again| rtt > now.since(again.again_at) + tick);
        if first.is_some_and(|first| self.is_excused(now, path, first.first_at)) {
            self.paths[path].backoff.on_sample();
            return true;
        }
        let copied = report.again.ahead.map(|ahead| self.copy_trip(now, path, ahead, feedback));
        let rtt = match copied {
            None => rtt,
            Some(Some(measured)) => rtt.min(measured),
            Some(None) => return false,
        };
        if !self.waited(path, news, rtt) {
            self.on_rtt_sample(path, rtt);
        }
        if copied.is_none() {
            let delay = LONGEST_ACK_DELAY;
            self.watch_queue(now, path, Some(RoundTrip { measured: rtt, delay }));
        }
        if let Some(mechanisms) = self.paths[path].mechanisms.as_deref_mut() {
            mechanisms.min_rtt.on_sample(now, rtt);
        }
        true
    }

    /// The cumulative point advanced: the path's episode ends, or fast recovery continues with the
    /// next hole.
    fn on_advance(&mut self, now: Instant, path: PathId, news: &PathAck) {
        let cumulative = self.ledger.cumulative();
        self.heard.duplicates = 0;
        let state = &mut self.paths[path];
        let was_recovering = state.episode.is_recovering();
        state.episode.on_cumulative(cumulative);
        if state.episode.is_recovering() {
            return self.on_partial_ack(now, path, news);
        }
        state.episode.settle_window();
        if was_recovering {
            self.on_recovered(now, path);
        }
    }

    /// Fast recovery continues with the next hole.
    #[cold]
    fn on_partial_ack(&mut self, now: Instant, path: PathId, news: &PathAck) {
        let state = &mut self.paths[path];
        let (mss, acked) = (state.congestion.mss(), news.acked_bytes);
        let full = acked >= mss;
        state.episode.on_partial_ack(full, self.ledger.next_unit());
        if !self.heard.reports_gaps() {
            // RFC 6582, section 3.2, step 3: deflate by the data that left, less one packet, which
            // is the retransmission.
            state.episode.deflate(acked, if full { mss } else { 0 });
            state.episode.exempt(Exempt::Other);
            self.lose_next_hole(now, path);
        }
    }

    /// Fast recovery ended on `path`: the window is capped so that no burst follows.
    #[cold]
    fn on_recovered(&mut self, now: Instant, path: PathId) {
        if !self.reports_gaps() {
            let flight = self.window_taken(path);
            let congestion = &mut self.paths[path].congestion;
            let mss = congestion.mss();
            // First choice of RFC 6582, section 3.2, step 3: no burst of the data that waited
            // behind the hole.
            congestion.cap(flight.max(mss) + mss);
        }
        self.record_window(now, path);
    }

    /// Declares the unit at the cumulative point lost: it is the next hole.
    fn lose_next_hole(&mut self, now: Instant, path: PathId) {
        let state = &mut self.paths[path];
        if self.ledger.lose_first(state.routes.fast, true, Cause::Fast) {
            state.on_fates(1, true);
            self.events.record(now, || Event::Lost { path, packets: 1, cause: Cause::Fast });
        }
    }

    /// Processes a duplicate acknowledgement: a packet left the network.
    #[cold]
    fn on_duplicate(&mut self) {
        self.heard.duplicates = self.heard.duplicates.saturating_add(1);
        if self.reports_gaps() {
            return self.transmit_limited(self.ledger.first_path());
        }
        let limited = self.policy.congestion.limited_transmit && self.heard.duplicates <= 2;
        let limited = limited.then(|| self.ledger.unacknowledged_bytes());
        let cumulative = self.ledger.cumulative();
        // The duplicate concerns the unit at the cumulative point.
        let state = &mut self.paths[self.ledger.first_path()];
        state.episode.on_duplicate(cumulative, state.congestion.mss(), limited);
    }

    #[cold]
    pub(super) fn on_spurious(&mut self, now: Instant, units: u32) {
        self.stats.spurious += u64::from(units);
        self.events.record(now, || Event::Spurious { units });
        let delays = self.paths.values_mut().filter_map(|path| path.ack_delay.as_deref_mut());
        delays.for_each(AckDelay::on_needless);
    }

    /// Passes on the round trip of the latest delivered packet, unless that was sent before, as
    /// evidence of the peer's delay and of a queue.
    fn watch_round_trip(&mut self, now: Instant, path: PathId, news: &PathAck) {
        let state = &self.paths[path];
        if state.ack_delay.is_some() || !state.copying.is_empty() {
            self.watch_largest(now, path, news);
        }
    }

    /// Watches the round trip where the delay is estimated or copies are weighed; kept apart so
    /// that its caller stays small.
    #[inline(never)]
    fn watch_largest(&mut self, now: Instant, path: PathId, news: &PathAck) {
        let state = &mut self.paths[path];
        let fresh = news.largest_packet.filter(|_| news.largest_fresh);
        let Some((packet, sent_at)) = fresh.zip(news.largest_sent_at) else { return };
        let measured = now.since(sent_at);
        let next_sent_at = self.ledger.next_sent_at(packet);
        let asked = state.was_asked_for(packet);
        let mut in_vain = false;
        if let Some(delay) = state.ack_delay.as_deref_mut() {
            let alone = news.delivered == 1 && next_sent_at.is_none();
            let cargo = Cargo::of(news.largest_copies);
            delay.on_round_trip(now, measured, alone, asked, cargo);
            delay.on_packets(news.delivered, next_sent_at.is_some(), cargo, measured);
            in_vain = alone && asked && delay.requests.is_in_vain();
        }
        // The last of several packets made the receiver acknowledge them, unless the
        // acknowledgement of the others was lost, which was due long before. A single
        // packet may have waited for the next.
        let followed = news
            .before_sent_at
            .is_none_or(|before| state.rtt.srtt().is_none_or(|srtt| sent_at.since(before) < srtt));
        let prompt = (news.delivered > 1 && followed) || news.largest_asked || asked;
        let delay = match next_sent_at {
            // The request was lost.
            _ if in_vain => return self.watch_queue(now, path, None),
            _ if prompt => Duration::ZERO,
            // The next packet came before any receiver gives up waiting for it, so that the wait is
            // not longer than that.
            Some(next) if next.since(sent_at) < LEAST_ACK_DELAY => Duration::ZERO,
            Some(next) => next.since(sent_at),
            None => return self.watch_queue(now, path, None),
        };
        let state = &mut self.paths[path];
        // An acknowledgement that a copy brought about takes longer than others, which would be
        // attributed to the copy's bytes.
        if let Some(worth) = state.copying.worth_mut().filter(|_| prompt) {
            worth.on_round_trip(news.largest_bytes, measured);
        }
        self.watch_queue(now, path, Some(RoundTrip { measured, delay }));
    }

    /// Whether requests for acknowledgements may follow packets of `path` in its present state.
    pub(super) fn may_ask(&self, path: PathId) -> bool {
        match self.policy.acknowledgement.request_immediate {
            ImmediateRequest::Never => false,
            ImmediateRequest::WhileThin => self.copies_pay(path),
            ImmediateRequest::Always => true,
        }
    }

    /// Whether the peer delayed an acknowledgement that it would have sent at once on request.
    #[inline]
    fn waited(&self, path: PathId, news: &PathAck, measured: Duration) -> bool {
        self.paths[path].ack_delay.is_some() && self.waited_unasked(path, news, measured)
    }

    /// Whether the peer waited, by the estimate of its delay; kept apart so that its caller stays
    /// small.
    #[inline(never)]
    fn waited_unasked(&self, path: PathId, news: &PathAck, measured: Duration) -> bool {
        let state = &self.paths[path];
        let delay = state.ack_delay.as_deref().filter(|_| self.may_ask(path));
        let (Some(delay), Some(packet)) = (delay, news.largest_packet) else { return false };
        let asked = state.was_asked_for(packet);
        let sent_at = news.largest_sent_at.unwrap_or_default();
        // A packet that followed late enough found the acknowledgement waiting.
        let followed = self.ledger.next_sent_at(packet).map(|next| next.since(sent_at));
        let alone = followed.is_none_or(|after| delay.waited(after, asked));
        news.delivered == 1 && alone && delay.waited(measured, asked)
    }

    /// Whether the timed packet travelled alone for a round trip and is acknowledged only with the
    /// next one: the peer waited for that one, or the acknowledgement was lost.
    #[inline]
    fn waited_for_next(&mut self, now: Instant, path: PathId, news: &PathAck) -> bool {
        self.paths[path].ack_delay.is_some() && self.is_answered_late(now, path, news)
    }

    /// Judges the timed packet by the estimate of the peer's delay, and updates that.
    #[inline(never)]
    fn is_answered_late(&mut self, now: Instant, path: PathId, news: &PathAck) -> bool {
        let (may_ask, state) = (self.may_ask(path), &mut self.paths[path]);
        let delay = state.ack_delay.as_deref_mut().filter(|_| may_ask);
        let times = news.timed_sent_at.zip(news.largest_sent_at);
        delay.zip(times).is_some_and(|(delay, (timed, latest))| {
            delay.on_answered_late(latest.since(timed), now.since(timed))
        })
    }

    /// Transmission of data that was sent once and whose acknowledgement is its own: the timed
    /// packet, or the latest one acknowledged with it if the acknowledgement of the timed one
    /// may have been lost.
    fn trusted_timing(&mut self, now: Instant, path: PathId, news: &PathAck) -> Option<Instant> {
        let latest = news.largest_sent_at.filter(|_| news.largest_fresh);
        if self.waited_for_next(now, path, news) {
            return latest;
        }
        let judges = self.samples_proven() && self.heard.silence == Silence::Missing;
        let state = &mut self.paths[path];
        let doubts = state.mechanisms.as_deref_mut().map(|mechanisms| &mut mechanisms.doubts);
        let Some(doubts) = doubts.filter(|_| judges) else { return news.timed_sent_at };
        if news.delivered == 1 && news.cumulative && latest.is_some() {
            doubts.on_alone();
        }
        let together = news.timed_sent_at.is_some_and(|timed| news.largest_sent_at > Some(timed));
        if together && !doubts.believes_together(state.loss.estimate()) {
            return latest;
        }
        news.timed_sent_at
    }

    #[cold]
    fn record_acknowledged(
        &mut self,
        now: Instant,
        path: PathId,
        bytes: u64,
        rtt: Option<Duration>,
    ) {
        let (cumulative, rto) = (self.ledger.cumulative(), self.rto(path));
        self.events.record(now, || Event::Acknowledged { path, cumulative, bytes, rtt, rto });
    }

    /// Processes new acknowledgements of data on `path`.
    pub(super) fn on_path_acked(
        &mut self,
        now: Instant,
        path: PathId,
        news: &PathAck,
        advanced: bool,
    ) {
        let timed = self.trusted_timing(now, path, news);
        let rtt = timed.map(|sent_at| now.since(sent_at));
        let backoff = self.policy.backoff;
        match rtt {
            // The sample only shows that the path is no longer than the peer's delay explains.
            Some(sample) if self.waited(path, news, sample) => {
                self.paths[path].backoff.on_sample();
            }
            Some(sample) => self.on_rtt_sample(path, sample),
            None => {}
        }
        self.watch_round_trip(now, path, news);
        let cumulative = self.ledger.cumulative();
        let bytes = news.acked_bytes;
        if self.events.is_enabled() {
            self.record_acknowledged(now, path, bytes, rtt);
        }
        let (window_bytes, flight_before) =
            (self.delivered(path, news), self.counted(path, news.flight_before));
        let flight_after = self.window_taken(path);
        let (next_unit, next_packet) = (self.ledger.next_unit(), self.ledger.next_packet());
        let state = &mut self.paths[path];
        let flight_peak = state.peak.get().max(flight_before);
        if let Some(packet) = news.largest_packet {
            state.peak.on_delivered(packet, next_packet, flight_after);
        }
        // Round trips of all packets; the timeout's estimator takes one per round trip.
        let clean = news.largest_sent_at.filter(|_| !news.largest_resent);
        let latest = clean.map(|sent_at| now.since(sent_at)).or(rtt);
        if news.proven {
            state.backoff.on_acknowledged(backoff);
        }
        state.on_fates(news.delivered, false);
        state.margin.on_delivered(news.delivered);
        if advanced {
            state.episode.end_extra();
        }
        let before = state.congestion.cwnd();
        state.congestion.on_acked(Acked {
            now,
            bytes: window_bytes,
            flight_before,
            flight_after,
            flight_peak,
            advanced,
            in_fast_recovery: state.episode.is_recovering() || self.heard.marked,
            rtt: latest,
            srtt: state.rtt.srtt(),
            cumulative,
            next_unit,
        });
        if state.congestion.cwnd() != before {
            self.record_window(now, path);
        }
    }
}
