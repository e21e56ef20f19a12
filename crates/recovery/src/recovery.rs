//! The policy run over the ledger: what an acknowledgement, a timer or a sent packet leads to.
//!
//! Nothing here sends. The protocol asks what may be sent ([`Recovery::next_again`],
//! [`Recovery::may_send`]), puts packets together with [`Recovery::draft_new`] and
//! [`Recovery::draft_again`], and says that they left ([`Recovery::on_sent`]).

mod abandon;
mod bundles;
mod by_time;
mod paths;
mod response;
mod segments;

use core::num::NonZeroU64;
use std::sync::Arc;

use base::{Duration, Instant, Probability};
use smallvec::SmallVec;

pub use self::bundles::Bundle;
use self::response::Said;
use self::segments::Segments;
use crate::congestion::{Acked, Congested, Congestion, Signal, TimedOut};
use crate::event::{Event, EventLog};
use crate::ledger::{AckReport, AckView, Flight, Ledger, PacketNumber, PathAck, PathIndex};
use crate::loss::{self, RestartMoments};
use crate::path::{Fallen, PathRecovery, RunningTimer};
use crate::policy::{ImmediateRequest, RecoveryPolicy, TimeoutResends};
use crate::rto::compute_rto;
use crate::stats::{Cause, RecoveryStats};
use crate::thin_stream;

/// Loss recovery of one association or connection.
#[derive(Clone, Debug)]
pub struct Recovery {
    policy: Arc<RecoveryPolicy>,
    ledger: Ledger,
    paths: SmallVec<[PathRecovery; 1]>,
    stats: RecoveryStats,
    events: EventLog,
    draft: Draft,
    /// What acknowledgements of segments (TCP) lead to beside that.
    segments: Segments,
    /// The window fell, and nobody asked yet.
    reduced: bool,
    /// The peer said of a copy that it was needless: it says such things.
    copies_judged: bool,
}

/// The packet being put together.
#[derive(Clone, Copy, Debug, Default)]
struct Draft {
    /// Units sent for the first time.
    new: u32,
    /// Units sent again.
    again: u32,
    bytes: u64,
    /// Copies that ride along.
    along: u32,
    /// Whether the lowest unit outstanding is among those sent again.
    resends_oldest: bool,
}

/// What an acknowledgement led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// Whether the cumulative point advanced.
    pub advanced: bool,
    /// Bytes newly acknowledged.
    pub acked_bytes: u64,
    /// Paths that are proven to work, as a bit set: something that had travelled on them, and on no other,
    /// was newly acknowledged.
    pub paths: u64,
    /// Those of them on which something arrived that had neither been sent again nor taken for lost. What had
    /// been may have arrived long ago, and the acknowledgement have died with the path.
    pub certain: u64,
    /// Paths on which something was found to have been taken for lost too soon, as a bit set.
    pub spurious: u64,
    /// Paths whose round trip was measured, as a bit set.
    pub sampled: u64,
}

/// What an expired retransmission timer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutOutcome {
    /// The path whose timer expired.
    pub path: PathIndex,
    /// Whether it counts as an error of the path.
    pub counts_as_error: bool,
}

/// What a packet may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Data sent for the first time.
    New,
    /// Data sent again.
    Again,
}

/// A path's state for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSnapshot {
    /// Smoothed round-trip time, once measured.
    pub srtt: Option<Duration>,
    /// Its variation.
    pub rttvar: Option<Duration>,
    /// The latest measurement.
    pub latest_rtt: Option<Duration>,
    /// Timeout, with back-off.
    pub rto: Duration,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow start threshold, bytes.
    pub ssthresh: u64,
    /// Bytes acknowledged towards the window's next growth.
    pub partial_bytes_acked: u64,
    /// What is in flight.
    pub flight: Flight,
    /// Whether the stream is thin now.
    pub thin: bool,
    /// Estimated share of packets lost.
    pub loss: Probability,
    /// When the retransmission timer is due, if it runs.
    pub t3_rtx: Option<Instant>,
}

impl Recovery {
    /// Recovery with one path of maximum chunk size `pmdcs`, whose first unit of data is `first_unit`.
    pub fn new(policy: Arc<RecoveryPolicy>, pmdcs: u64, first_unit: u64) -> Self {
        let path = PathRecovery::new(0, pmdcs, &policy);
        Recovery {
            policy,
            ledger: Ledger::new(first_unit),
            paths: SmallVec::from_iter([path]),
            stats: RecoveryStats::default(),
            events: EventLog::default(),
            draft: Draft::default(),
            segments: Segments::default(),
            reduced: false,
            copies_judged: false,
        }
    }

    // ---- the application's ---------------------------------------------------------------------

    /// Replaces the policy. Timers that run keep their deadlines, and what was learned stays; what the new
    /// policy does not ask for any more ends.
    pub fn set_policy(&mut self, policy: Arc<RecoveryPolicy>) {
        if *self.policy != *policy {
            self.paths.iter_mut().for_each(|path| path.set_policy(&policy));
        }
        self.policy = policy;
    }

    /// The policy in force.
    pub fn policy(&self) -> &RecoveryPolicy {
        &self.policy
    }

    /// Switches the recording of events on or off.
    pub fn set_events_enabled(&mut self, enabled: bool) {
        self.events.set_enabled(enabled);
    }

    /// Whether events are being recorded.
    pub fn records_events(&self) -> bool {
        self.events.is_enabled()
    }

    /// The oldest event not fetched yet.
    pub fn poll_event(&mut self) -> Option<(Instant, Event)> {
        self.events.poll()
    }

    /// Counters since the beginning.
    pub fn stats(&self) -> &RecoveryStats {
        &self.stats
    }

    /// The ledger, to ask.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether the window fell since this was last asked, by whatever (CWR of RFC 3168, section 6.1.2).
    pub fn take_reduced(&mut self) -> bool {
        core::mem::take(&mut self.reduced)
    }

    /// The state of a path, for reports.
    pub fn snapshot(&self, path: PathIndex) -> PathSnapshot {
        let state = &self.paths[usize::from(path)];
        let thin = self.is_thin(path);
        PathSnapshot {
            srtt: state.rtt.srtt(),
            rttvar: state.rtt.rttvar(),
            latest_rtt: state.rtt.latest(),
            rto: state.rto(&self.policy.rto, thin),
            cwnd: state.congestion.cwnd(),
            ssthresh: state.congestion.ssthresh(),
            partial_bytes_acked: state.congestion.partial_bytes_acked(),
            flight: self.ledger.flight(path),
            thin,
            loss: state.loss.estimate(),
            t3_rtx: state.t3_rtx.map(|timer| timer.due),
        }
    }

    /// The latest round-trip time of `path`, once measured.
    pub fn latest_rtt(&self, path: PathIndex) -> Option<Duration> {
        self.paths[usize::from(path)].rtt.latest()
    }

    /// Variation of the round-trip time of `path`, once measured.
    pub fn rttvar(&self, path: PathIndex) -> Option<Duration> {
        self.paths[usize::from(path)].rtt.rttvar()
    }

    /// Smoothed round-trip time of `path`, once measured.
    pub fn srtt(&self, path: PathIndex) -> Option<Duration> {
        self.paths[usize::from(path)].rtt.srtt()
    }

    /// Whether the stream is thin on `path` now.
    pub fn is_thin(&self, path: PathIndex) -> bool {
        let loss = self.paths[usize::from(path)].loss.estimate();
        let in_flight = self.packets_in_flight(path);
        let srtt = self.srtt(path);
        thin_stream::detect(self.policy.thin, in_flight, loss, srtt)
    }

    /// The retransmission timeout of `path` with back-off; heartbeats use it too.
    pub fn rto(&self, path: PathIndex) -> Duration {
        self.paths[usize::from(path)].rto(&self.policy.rto, self.is_thin(path))
    }

    /// The path's maximum chunk size changed.
    pub fn set_pmdcs(&mut self, path: PathIndex, pmdcs: u64) {
        self.paths[usize::from(path)].congestion.set_mss(pmdcs);
    }

    /// Lets go of everything outstanding: nothing is sent again, no timer runs. What was measured and
    /// counted stays.
    pub fn discard(&mut self) {
        self.ledger.discard();
        self.segments.forget();
        for path in &mut self.paths {
            path.inflation = 0;
            path.fast_recovery_exit = None;
            if let Some(watch) = &mut path.watch {
                watch.settle();
            }
            path.t3_rtx = None;
            path.early_timer = None;
        }
    }

    /// A round-trip time measured by other means than data: the handshake or a heartbeat.
    pub fn on_rtt_sample(&mut self, path: PathIndex, sample: Duration) {
        let state = &mut self.paths[usize::from(path)];
        let policy = state.rto_policy.as_deref().unwrap_or(&self.policy.rto);
        state.rtt.on_sample(sample, policy.alpha, policy.beta, policy.deviation);
        state.backoff.on_sample();
    }

    // ---- sending -------------------------------------------------------------------------------

    /// An input arrived: a new burst may begin.
    pub fn begin_burst(&mut self) {
        self.paths.iter_mut().for_each(|path| path.burst_end = None);
    }

    /// The lowest unit at or after `from` that waits to be sent again on `path`, and its weight.
    pub fn next_again(&self, path: PathIndex, from: u64) -> Option<(u64, u32)> {
        self.ledger.next_lost(path, from).filter(|_| !self.holds_back(path))
    }

    /// Whether a packet with this load may leave on `path` now.
    pub fn may_send(&mut self, now: Instant, path: PathIndex, load: Load) -> bool {
        self.room(now, path, load) > 0
    }

    /// Bytes that may leave on `path` with this load now; without limit for a packet that may leave
    /// whatever the window says.
    pub fn room(&mut self, now: Instant, path: PathIndex, load: Load) -> u64 {
        let flight = self.ledger.flight(path).bytes;
        let rto = self.rto(path);
        let max_burst = u64::from(self.policy.congestion.max_burst);
        let state = &mut self.paths[usize::from(path)];
        if load == Load::Again && state.exempt_packets > 0 {
            return u64::MAX;
        }
        state.congestion.before_send(now, rto, flight);
        if max_burst > 0 {
            let pmdcs = state.congestion.mss();
            let end = NonZeroU64::new(flight + max_burst * pmdcs);
            state.burst_end = state.burst_end.or(end);
        }
        if state.burst_end.is_some_and(|end| flight >= end.get()) {
            return 0;
        }
        let room = state.window().saturating_sub(flight);
        if room == 0 && load == Load::New && state.limited_transmit > 0 {
            return state.congestion.mss();
        }
        // RFC 9260, section 6.1, rule B: what begins inside the window may end beyond it; its controller
        // grows only when it does.
        let overlaps = room > 0 && matches!(state.congestion, Congestion::Rfc9260(_));
        if overlaps { room.max(state.congestion.mss()) } else { room }
    }

    /// Whether new data on `path` should ask the peer for an immediate acknowledgement. `last`: nothing
    /// waits to be sent behind it.
    pub fn asks_for_ack(&self, path: PathIndex, last: bool) -> bool {
        match self.policy.acknowledgement.request_immediate {
            ImmediateRequest::Never => false,
            ImmediateRequest::WhileThin => last && self.is_thin(path),
            ImmediateRequest::Always => true,
        }
    }

    /// Adds new data of `len` steps and `weight` bytes to the packet being put together for `path`.
    pub fn draft_new(&mut self, path: PathIndex, len: u32, weight: u32) -> u64 {
        self.draft.new += 1;
        self.draft.bytes += u64::from(weight);
        self.ledger.draft_new(path, len, weight)
    }

    /// Bytes of data in the packet being put together.
    pub fn drafted_bytes(&self) -> u64 {
        self.draft.bytes
    }

    /// Adds a unit that waits to be sent again to the packet being put together for `path`.
    pub fn draft_again(&mut self, now: Instant, path: PathIndex, unit: u64, weight: u32) {
        if let Some((cause, order)) = self.ledger.draft_again(path, unit) {
            self.draft.again += 1;
            self.draft.bytes += u64::from(weight);
            self.draft.resends_oldest |= unit == self.ledger.cumulative();
            self.segments.on_again(unit, weight);
            if let Some(lost_on) = self.ledger.lost_on(unit) {
                self.watch_again(now, lost_on, unit, cause);
            }
            self.stats.retransmissions.count(cause, order);
            self.events.record(now, || Event::Resent { unit, cause, order });
        }
    }

    /// The packet put together left on `path`.
    pub fn on_sent(&mut self, now: Instant, path: PathIndex) -> PacketNumber {
        let Draft { new, again, bytes, resends_oldest, .. } = core::mem::take(&mut self.draft);
        let beyond_window =
            self.ledger.flight(path).bytes >= self.paths[usize::from(path)].window();
        let number = self.ledger.commit(now, path);
        self.paths[usize::from(path)].congestion.on_sent(now);
        self.events.record(now, || Event::Sent { packet: number, path, new, again, bytes });
        let state = &mut self.paths[usize::from(path)];
        if beyond_window && again == 0 {
            state.limited_transmit = state.limited_transmit.saturating_sub(1);
        }
        // Section 7.2.4, rule 4: a fast retransmission of the oldest data restarts the timer.
        let restarts = resends_oldest && state.exempt_packets > 0 && state.exempt_is_fast;
        if again > 0 {
            state.exempt_packets = state.exempt_packets.saturating_sub(1);
        }
        if state.t3_rtx.is_none() || restarts {
            self.start_timer(now, path);
        }
        self.arm_early_timer(now, path);
        self.watch_sent(now, path, bytes, new > 0);
        number
    }

    fn start_timer(&mut self, now: Instant, path: PathIndex) {
        let due = now + self.rto(path);
        self.paths[usize::from(path)].t3_rtx = Some(RunningTimer { started_at: now, due });
        self.events.record(now, || Event::TimerSet { path, due });
    }

    // ---- acknowledgements ----------------------------------------------------------------------

    /// Takes an acknowledgement in. `unsent_packets` is how many packets the data would fill that
    /// waits to be sent and may be, as far as the peer's window goes.
    pub fn on_ack(&mut self, now: Instant, view: &AckView<'_>, unsent_packets: u32) -> AckOutcome {
        let report = self.ledger.on_ack(now, view);
        let mut outcome = AckOutcome { advanced: report.advanced, ..AckOutcome::default() };
        if report.spurious > 0 {
            self.on_spurious(now, report.spurious);
        }
        for (index, news) in report.paths.iter().enumerate() {
            let path = index as PathIndex;
            if news.spurious > 0 {
                outcome.spurious |= 1 << index;
                self.paths[index].loss.on_spurious();
            }
            self.watch_delivery(now, path, news);
            if news.acked_bytes > 0 {
                outcome.acked_bytes += news.acked_bytes;
                outcome.paths |= u64::from(news.proven) << index;
                outcome.certain |= u64::from(news.certain) << index;
                outcome.sampled |= u64::from(news.timed_sent_at.is_some()) << index;
                self.on_path_acked(now, path, news, report.advanced);
            }
        }
        let bundled = report.paths.iter().position(|news| news.acked_bytes > 0);
        self.on_bundles(now, bundled.unwrap_or(0) as PathIndex, &report);
        let cumulative = self.ledger.cumulative();
        for (index, news) in report.paths.iter().enumerate() {
            let path = index as PathIndex;
            let exit = &mut self.paths[index].fast_recovery_exit;
            let was_recovering = exit.is_some();
            *exit = exit.filter(|exit| cumulative < exit.get());
            let said = Said { advanced: report.advanced, echo_age: None, unsent_packets };
            self.judge(now, path, news, said);
            self.detect_loss(now, path, news, &report, was_recovering, unsent_packets);
            self.update_timer(now, path, news, unsent_packets);
            self.settle_ack(now, path, news, report.advanced);
        }
        outcome
    }

    fn on_spurious(&mut self, now: Instant, units: u32) {
        self.stats.spurious += u64::from(units);
        self.events.record(now, || Event::Spurious { units });
    }

    fn on_path_acked(&mut self, now: Instant, path: PathIndex, news: &PathAck, advanced: bool) {
        let rtt = news.timed_sent_at.map(|sent_at| now.since(sent_at));
        if let Some(sample) = rtt {
            self.on_rtt_sample(path, sample);
        }
        let cumulative = self.ledger.cumulative();
        let bytes = news.acked_bytes;
        self.events.record(now, || Event::Acknowledged { path, cumulative, bytes, rtt });
        let flight_after = self.ledger.flight(path).bytes;
        let (next_unit, next_packet) = (self.ledger.next_unit(), self.ledger.next_packet());
        let state = &mut self.paths[usize::from(path)];
        let flight_peak = state.peak.get().max(news.flight_before);
        if let Some(packet) = news.largest_packet {
            state.peak.on_delivered(packet, next_packet, flight_after);
        }
        // Every packet's round trip, where the timeout's estimator takes one per round trip.
        let clean = news.largest_sent_at.filter(|_| !news.largest_resent);
        let latest = clean.map(|sent_at| now.since(sent_at)).or(rtt);
        if news.proven {
            state.backoff.on_acknowledged();
        }
        (0..news.delivered).for_each(|_| state.loss.on_fate(false));
        if advanced {
            state.limited_transmit = 0;
        }
        let before = state.congestion.cwnd();
        state.congestion.on_acked(Acked {
            now,
            bytes,
            flight_before: news.flight_before,
            flight_after,
            flight_peak,
            advanced,
            in_fast_recovery: state.fast_recovery_exit.is_some()
                || self.segments.congestion_experienced,
            rtt: latest,
            srtt: state.rtt.srtt(),
            cumulative,
            next_unit,
        });
        if state.congestion.cwnd() != before {
            self.record_window(now, path);
        }
    }

    fn detect_loss(
        &mut self,
        now: Instant,
        path: PathIndex,
        news: &PathAck,
        report: &AckReport,
        was_recovering: bool,
        unsent_packets: u32,
    ) {
        if self.detects_by_time() {
            return self.detect_by_time(now, path);
        }
        let Some((before, below)) = self.evidence(news, report.advanced && was_recovering) else {
            return;
        };
        let thin = self.is_thin(path);
        let policy = self.policy.loss;
        let threshold = loss::dup_threshold(&policy, thin);
        let repeat = policy.repeat_fast_retransmit;
        let to = self.paths[usize::from(path)].routes.fast;
        let strikes = self.ledger.strike(path, to, before, below, threshold, repeat, Cause::Fast);
        let mut lost = (strikes.lost, Cause::Fast);
        if lost.0 == 0 && strikes.struck > 0 {
            let in_flight = self.ledger.flight(path).packets;
            let outstanding = self.ledger.outstanding_packets(4);
            if loss::early_retransmit(&policy, in_flight, outstanding, unsent_packets > 0) {
                let strikes = self.ledger.strike(path, to, before, below, 1, repeat, Cause::Early);
                lost = (strikes.lost, Cause::Early);
            } else if let aged @ 1.. = self.lose_by_age(now, path, before) {
                lost = (aged, Cause::Early);
            } else if self.policy.congestion.limited_transmit && !was_recovering {
                let state = &mut self.paths[usize::from(path)];
                state.limited_transmit = (state.limited_transmit + 1).min(2);
            }
        }
        if lost.0 > 0 {
            self.on_fast_loss(now, path, lost.0, lost.1, false);
        }
    }

    /// Below which packet and unit an acknowledgement is evidence of loss: what it newly acknowledges
    /// (HTNA); in fast recovery, when the cumulative point advances, all that it reports missing.
    fn evidence(&self, news: &PathAck, recovering: bool) -> Option<(PacketNumber, u64)> {
        let (packet, unit) = (news.largest_packet?, news.highest_unit?);
        let highest_gap = self.ledger.highest_gap_end().filter(|_| recovering);
        Some((packet, highest_gap.map_or(unit, |gap| unit.max(gap))))
    }

    /// Acknowledgements or short timers told of losses. `again`: a retransmission was among them that had left
    /// since the window fell.
    fn on_fast_loss(
        &mut self,
        now: Instant,
        path: PathIndex,
        packets: u32,
        cause: Cause,
        again: bool,
    ) {
        self.events.record(now, || Event::Lost { path, packets, cause });
        let flight_size = self.ledger.unacknowledged_bytes();
        let state = &mut self.paths[usize::from(path)];
        (0..packets).for_each(|_| state.loss.on_fate(true));
        if let Some(watch) = &mut state.watch {
            watch.lost_now = true;
        }
        let enters = state.fast_recovery_exit.is_none();
        if !enters && !again {
            return;
        }
        self.keep_for_undo(path);
        let (cumulative, next_unit) = (self.ledger.cumulative(), self.ledger.next_unit());
        let state = &mut self.paths[usize::from(path)];
        let cwnd_before = state.congestion.cwnd();
        let falls = again || !state.fallen.covers_loss(cumulative);
        if falls {
            let congested = Congested { now, signal: Signal::Loss, flight_size, again };
            state.congestion.on_congestion(congested);
            state.fallen = Fallen::now(&self.ledger, false);
            self.reduced = true;
        }
        if enters {
            state.fast_recovery_exit = NonZeroU64::new(next_unit);
            self.stats.fast_recoveries += 1;
            self.begin_recovery(path, cause, cwnd_before, falls);
        }
        self.begin_pacing(path);
        let target = usize::from(self.paths[usize::from(path)].routes.fast);
        self.paths[target].exempt_packets = 1;
        self.paths[target].exempt_is_fast = true;
        self.record_window(now, path);
    }

    fn update_timer(&mut self, now: Instant, path: PathIndex, news: &PathAck, unsent_packets: u32) {
        let flight = self.ledger.flight(path);
        let thin = self.is_thin(path);
        let state = &self.paths[usize::from(path)];
        let (timer, oldest) = (state.t3_rtx, self.ledger.oldest_sent_at(path));
        let (Some(timer), Some(oldest_sent_at)) = (timer, oldest) else {
            // Rule R2: nothing outstanding. Rule R4 (reneging) starts a timer that does not run.
            if flight.packets == 0 && !self.waits_for_cumulative() && !self.holds_back(path) {
                self.paths[usize::from(path)].t3_rtx = None;
                self.paths[usize::from(path)].early_timer = None;
            } else if timer.is_none() || flight.packets > 0 {
                self.start_timer(now, path);
            }
            return;
        };
        if news.cumulative && self.partial_ack_restarts() {
            let moments = RestartMoments {
                now,
                timer_started_at: timer.started_at,
                oldest_sent_at,
                outstanding: flight.packets + unsent_packets,
            };
            let rto = state.rto(&self.policy.rto, thin);
            let due = loss::restarted_timer(self.policy.timer_restart, moments, rto, thin);
            self.paths[usize::from(path)].t3_rtx = Some(RunningTimer { started_at: now, due });
            self.events.record(now, || Event::TimerSet { path, due });
        }
        self.restart_early_timer(now, path);
    }

    // ---- the early fast retransmit timer --------------------------------------------------------

    fn arm_early_timer(&mut self, now: Instant, path: PathIndex) {
        let state = &self.paths[usize::from(path)];
        let full = self.ledger.flight(path).bytes >= state.congestion.cwnd();
        if full || state.early_timer.is_none() {
            self.restart_early_timer(now, path);
        }
    }

    /// Runs while data is in flight and does not fill the window.
    fn restart_early_timer(&mut self, now: Instant, path: PathIndex) {
        let Some(least) = self.policy.loss.early_timer else { return };
        let flight = self.ledger.flight(path);
        let state = &mut self.paths[usize::from(path)];
        let runs = flight.packets > 0 && flight.bytes < state.congestion.cwnd();
        let wait = loss::early_timer(&state.rtt, self.policy.rto.initial, least);
        state.early_timer = runs.then_some(now + wait);
    }

    fn on_early_timer(&mut self, now: Instant, path: PathIndex) {
        let Some(least) = self.policy.loss.early_timer else { return };
        let state = &self.paths[usize::from(path)];
        let wait = loss::early_timer(&state.rtt, self.policy.rto.initial, least);
        let overdue = self.ledger.oldest_sent_at(path).is_some_and(|sent| now.since(sent) >= wait);
        if overdue {
            let (early, sent_by) = (Cause::Early, now.before(wait));
            let to = state.routes.fast;
            let packets = self.ledger.lose_sent_by(path, to, sent_by, early, early);
            self.events.record(now, || Event::Lost { path, packets, cause: early });
            let state = &mut self.paths[usize::from(path)];
            (0..packets).for_each(|_| state.loss.on_fate(true));
            state.congestion.on_early_timer();
            self.record_window(now, path);
        }
        self.restart_early_timer(now, path);
    }

    // ---- time ----------------------------------------------------------------------------------

    /// The next instant at which a timer is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        let due = |path: &PathRecovery| {
            let t3_rtx = path.t3_rtx.map(|timer| timer.due);
            let watch = path.watch.as_ref().and_then(|watch| watch.next_timeout());
            [t3_rtx, path.early_timer, watch].into_iter().flatten().min()
        };
        self.paths.iter().filter_map(due).min()
    }

    /// Time has come to `now`: runs the timers that are due and answers which retransmission timer
    /// expired, one at a time, until there is none. `probing`: the peer's window is closed, and what is
    /// in flight probes it; such probes are backed off whatever the policy (RFC 9260, section 6.1).
    /// `unsent_packets` as for an acknowledgement.
    pub fn on_timeout(
        &mut self,
        now: Instant,
        probing: bool,
        unsent_packets: u32,
    ) -> Option<TimeoutOutcome> {
        for index in 0..self.paths.len() {
            let path = index as PathIndex;
            self.on_watch_timers(now, path, probing, unsent_packets);
            if self.paths[index].early_timer.is_some_and(|due| due <= now) {
                self.paths[index].early_timer = None;
                // A probe of a closed window is not late: the back-off of T3-rtx alone repeats it.
                if !probing {
                    self.on_early_timer(now, path);
                }
            }
            if self.paths[index].t3_rtx.is_some_and(|timer| timer.due <= now) {
                return Some(self.on_t3_rtx(now, path, probing));
            }
        }
        None
    }

    /// T3-rtx expired (RFC 9260, section 6.3.3).
    fn on_t3_rtx(&mut self, now: Instant, path: PathIndex, probing: bool) -> TimeoutOutcome {
        // Before anything is taken out of flight: what counts is how the stream was.
        let thin = self.is_thin(path);
        let policy = Arc::clone(&self.policy);
        let flight_size = self.ledger.unacknowledged_bytes();
        let oldest = NonZeroU64::MIN.checked_add(self.ledger.cumulative());
        let state = &mut self.paths[usize::from(path)];
        state.t3_rtx = None;
        let again = core::mem::replace(&mut state.timed_out_at, oldest) == oldest;
        self.keep_for_undo(path);
        self.suspect_timeout(path, again || probing);
        let state = &mut self.paths[usize::from(path)];
        state.congestion.on_timeout(TimedOut { now, flight_size, again });
        state.fallen = Fallen::now(&self.ledger, true);
        self.reduced = true;
        let (rto, max) = {
            let rto = state.rto_policy(&policy.rto);
            (compute_rto(rto, &state.rtt, thin), rto.max)
        };
        let may_stay = thin && !probing;
        let expiry = state.backoff.on_expiry(now, policy.backoff, may_stay, rto, max);
        state.limited_transmit = 0;
        state.inflation = 0;
        state.fast_recovery_exit = None;
        let target = state.routes.timeout;
        let sent_by = match policy.timeout_resends {
            TimeoutResends::AllOutstanding => now,
            TimeoutResends::OldEnough => now.before(state.rtt.overdue_after().unwrap_or(rto)),
            TimeoutResends::ByRack => {
                let watch = state.watch.as_deref();
                let lost = watch.and_then(|watch| watch.lost_at_timeout(now, &state.rtt));
                lost.unwrap_or(now)
            }
        };
        let packets =
            self.ledger.lose_sent_by(path, target, sent_by, Cause::Timeout, Cause::Bundled);
        self.on_segments_timeout(target);
        self.grant_one_packet(target);
        let state = &mut self.paths[usize::from(path)];
        (0..packets).for_each(|_| state.loss.on_fate(true));
        self.stats.timeouts += 1;
        let next_rto = state.rto(&policy.rto, thin);
        let linear = expiry.linear;
        self.events.record(now, || Event::Timeout { path, next_rto, thin, linear });
        self.events.record(now, || Event::Lost { path, packets, cause: Cause::Timeout });
        self.record_window(now, path);
        if self.ledger.flight(path).packets > 0 {
            // What was too young to be resent still needs a timer.
            self.start_timer(now, path);
        }
        TimeoutOutcome { path, counts_as_error: expiry.counts_as_error }
    }

    fn record_window(&mut self, now: Instant, path: PathIndex) {
        let congestion = &self.paths[usize::from(path)].congestion;
        let (cwnd, ssthresh) = (congestion.cwnd(), congestion.ssthresh());
        let flight = self.ledger.flight(path).bytes;
        self.events.record(now, || Event::Window { path, cwnd, ssthresh, flight });
    }
}
