//! Responses to a loss besides the controller's, and their undo: F-RTO (RFC 5682), undo (RFC 3708,
//! 3522, 4015), the pace of recovery (RFC 9937), the window of TCP-ER.

use core::num::NonZeroU64;

use base::{Duration, Instant};

use super::Recovery;
use crate::congestion::Signal;
use crate::congestion::prr::PrrAck;
use crate::episode::Entry;
use crate::ledger::{Flight, PathAck};
use crate::loss::frto::{AfterTimeout, Frto, Verdict};
use crate::loss::inflation::{after_early_retransmission, window_in_recovery};
use crate::loss::probe::{ProbeAck, ProbeFate};
use crate::path_id::PathId;
use crate::policy::EarlyWindow;
use crate::stats::Cause;

/// The part of an acknowledgement that does not concern single paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckContext {
    /// Whether the cumulative point advanced.
    pub(super) advanced: bool,
    /// Age of the timestamp that it echoes.
    pub(super) echo_age: Option<Duration>,
    /// Number of packets that sendable data would fill.
    pub(super) unsent_packets: u32,
}

impl Recovery {
    /// Judges earlier responses to losses by an acknowledgement.
    pub(super) fn judge(
        &mut self,
        now: Instant,
        path: PathId,
        news: &PathAck,
        context: AckContext,
    ) {
        self.judge_probe(now, path, news, context);
        self.judge_timeout(now, path, news, context);
        self.judge_loss(now, path, news, context);
    }

    /// Decides whether the probe is over (RFC 8985, section 7.4.2). A duplicate that no probe
    /// explains widens RACK's window.
    fn judge_probe(&mut self, now: Instant, path: PathId, news: &PathAck, context: AckContext) {
        let cumulative = self.ledger.cumulative();
        let next_packet = self.ledger.next_packet();
        let duplicate = news.needless > 0;
        let Some(mechanisms) = self.paths[path].mechanisms.as_deref_mut() else {
            return;
        };
        let fate = mechanisms.probe.on_ack(ProbeAck {
            cumulative,
            advanced: context.advanced,
            duplicate,
            bare_duplicate: !context.advanced && news.acked_bytes == 0 && !duplicate,
        });
        match fate {
            ProbeFate::Open if duplicate && !mechanisms.probe.is_open() => {
                mechanisms.rack.on_duplicate(next_packet);
            }
            ProbeFate::Open | ProbeFate::Needless => {}
            ProbeFate::Repaired => {
                self.reduce_window(now, path, Signal::Loss);
            }
        }
    }

    /// Decides whether the last timeout was needless (RFC 5682).
    fn judge_timeout(&mut self, now: Instant, path: PathId, news: &PathAck, context: AckContext) {
        let state = &mut self.paths[path];
        let ack = AfterTimeout {
            cumulative: self.ledger.cumulative(),
            advanced: context.advanced,
            original: false,
            gap: news.by_gap,
            has_new: context.unsent_packets > 0,
        };
        match state.episode.judge_timeout(news.lowest_once, ack) {
            None | Some(Verdict::Wait | Verdict::Conventional { sent_new: false }) => {}
            Some(Verdict::SendNew) => {
                if state.t3_rtx.is_none() {
                    self.start_timer(now, path);
                }
            }
            Some(Verdict::Conventional { sent_new: true }) => {
                state.congestion.cap(3 * state.congestion.mss());
            }
            Some(Verdict::Spurious) => self.undo(now, path),
        }
    }

    /// Decides whether what fast retransmission or a timeout retransmitted had not been lost (RFC
    /// 3708, 3522).
    fn judge_loss(&mut self, now: Instant, path: PathId, news: &PathAck, context: AckContext) {
        if self.policy.congestion.undo {
            self.judge_fall(now, path, news, context);
        }
    }

    /// Judges the loss behind the last fall of the window, and undoes the fall if it was none.
    #[inline(never)]
    fn judge_fall(&mut self, now: Instant, path: PathId, news: &PathAck, context: AckContext) {
        let echoed = context.echo_age.filter(|_| context.advanced).map(|age| now.before(age));
        let episode = &mut self.paths[path].episode;
        if episode.judge_loss(&self.ledger, news.needless, echoed, news.largest_packet) {
            self.undo(now, path);
        }
    }

    /// Restores the window from before a needless fall.
    #[cold]
    fn undo(&mut self, now: Instant, path: PathId) {
        let state = &mut self.paths[path];
        let Some(before) = state.episode.take_back() else { return };
        // Data that a timer declared lost is in flight after all, and is not retransmitted any
        // further.
        self.ledger.revive(now, path);
        state.backoff.on_sample();
        state.congestion.undo(before);
        self.heard.duplicates = 0;
        self.stats.undone += 1;
        self.record_window(now, path);
    }

    /// Keeps the window before it falls, in case the fall proves needless.
    pub(super) fn keep_for_undo(&mut self, path: PathId) {
        if self.policy.congestion.undo || self.policy.loss.frto {
            let (cumulative, next_unit) = (self.ledger.cumulative(), self.ledger.next_unit());
            let state = &mut self.paths[path];
            state.episode.keep(&state.congestion, cumulative, next_unit);
        }
    }

    /// Records the retransmission of a unit that was lost on `path`.
    pub(super) fn watch_again(&mut self, now: Instant, path: PathId, unit: u64, cause: Cause) {
        if cause != Cause::Probe
            && let Some(state) = self.paths.get_mut(path)
        {
            state.episode.on_resent(now, unit);
        }
    }

    /// The timer expired: F-RTO suspects it, unless it expired for the same data before (`again`).
    pub(super) fn enter_timeout(&mut self, path: PathId, again: bool) {
        let next_unit = self.ledger.next_unit();
        let suspects = self.policy.loss.frto && !again;
        let suspected = suspects.then(|| Frto::new(next_unit, self.reports_gaps()));
        let state = &mut self.paths[path];
        if let Some(mechanisms) = state.mechanisms.as_deref_mut() {
            mechanisms.on_timeout();
        }
        state.episode.enter(Entry::Timeout { suspected }, next_unit);
    }

    /// Whether retransmissions on `path` wait for the result of sending new data.
    pub(super) fn holds_back(&self, path: PathId) -> bool {
        self.paths.get(path).is_some_and(|state| state.episode.holds_back())
    }

    // ---- the window during recovery ------------------------------------------------------------

    /// Begins fast recovery. If the window falls (`falls`), chooses how the flight gets there.
    pub(super) fn begin_recovery(
        &mut self,
        path: PathId,
        cause: Cause,
        cwnd_before: u64,
        falls: bool,
    ) {
        let gaps = self.reports_gaps();
        let (duplicates, unnamed) = (self.duplicates(), self.heard.arrived_unnamed());
        let (in_flight, next_unit) = (self.window_taken(path), self.ledger.next_unit());
        let pipe = self.first_pipe(path);
        let state = &mut self.paths[path];
        let mss = state.congestion.mss();
        let mut inflation = 0;
        let early = cause == Cause::Early && falls;
        if early && self.policy.congestion.early_window == EarlyWindow::TcpEr {
            let inflated = after_early_retransmission(cwnd_before, mss, duplicates);
            state.congestion.on_early_retransmission(inflated.window);
            inflation = (window_in_recovery(inflated, mss, gaps) - inflated.window) as i64;
            if gaps {
                // At once only as much leaves as the final window allows, without the inflation,
                // which waits for the next acknowledgement as in ns-2: the queue
                // that dropped one packet has no room for three, but
                // a retransmission alone could not reveal its own loss.
                state.burst_end = NonZeroU64::new(inflated.window.max(in_flight.saturating_add(1)));
            }
        }
        inflation += i64::from(unnamed).saturating_mul(mss as i64);
        if falls && self.policy.congestion.early_window == EarlyWindow::Algorithm1 {
            inflation = state.run_algorithm_1(cwnd_before, cause == Cause::Early, duplicates);
        }
        if let Some(mechanisms) = state.mechanisms.as_deref_mut() {
            mechanisms.on_recovery();
        }
        state.episode.enter(Entry::Loss { inflation, pipe }, next_unit);
    }

    /// Another early retransmission in the same recovery: algorithm 1 to the letter sets the
    /// windows again.
    pub(super) fn repeat_algorithm_1(&mut self, path: PathId, cwnd_before: u64) {
        let duplicates = self.duplicates();
        let state = &mut self.paths[path];
        let inflation = state.run_algorithm_1(cwnd_before, true, duplicates);
        state.episode.inflate_to(inflation);
    }

    /// Paces the flight to the window that recovery ends with; `flight_before` was in flight before
    /// the input that revealed the loss.
    pub(super) fn begin_pacing(&mut self, path: PathId, flight_before: u64) {
        if !self.policy.congestion.prr || !self.reports_gaps() {
            return;
        }
        let in_flight = self.window_taken(path);
        let state = &mut self.paths[path];
        let (target, mss) = (state.congestion.cwnd(), state.congestion.mss());
        // If a timer revealed the loss, no acknowledgement provides the first quota.
        state.episode.pace(flight_before.max(in_flight), target, in_flight + mss);
    }

    /// Updates the pace after an acknowledgement was processed, and tells RACK of a repair that it
    /// ended. `was_repairing`: a repair was in progress before.
    fn pace(&mut self, path: PathId, news: &PathAck, safe: bool, was_repairing: bool) {
        let (delivered, in_flight) = (self.delivered(path, news), self.window_taken(path));
        let state = &mut self.paths[path];
        if state.episode.is_recovering() {
            let ack = PrrAck { delivered, in_flight, safe };
            state.episode.on_dealt_with(ack, state.congestion.mss());
        } else if was_repairing
            && !state.episode.is_repairing()
            && let Some(mechanisms) = state.mechanisms.as_deref_mut()
        {
            mechanisms.rack.on_recovered();
        }
    }

    /// Finishes an acknowledgement after the retransmission timer is set. `lost`: it revealed a
    /// loss; `was_repairing`: as in `pace`.
    pub(super) fn settle_ack(
        &mut self,
        now: Instant,
        path: PathId,
        news: &PathAck,
        advanced: bool,
        lost: bool,
        was_repairing: bool,
    ) {
        self.pace(path, news, advanced && !lost, was_repairing);
        if advanced || self.ledger.has_reports() {
            self.arm_probe(now, path);
        }
        self.settle_copies(path);
        // If the timeout allows for the peer's delay, streams are thin, and the smoothed round trip
        // replaces the shortest: idle connections are numerous, and keep only what they
        // need.
        if self.ledger.is_empty() {
            let state = &mut self.paths[path];
            if self.policy.rto.ack_delay.is_some() {
                state.rest();
            }
            state.episode.rest(self.ledger.cumulative());
        }
    }

    /// A packet with `bytes` bytes of data left.
    pub(super) fn watch_sent(&mut self, now: Instant, path: PathId, bytes: u64, is_new: bool) {
        let flight = self.window_taken(path);
        let sent = self.counted(path, Flight { packets: 1, bytes });
        let state = &mut self.paths[path];
        state.peak.on_sent(flight);
        state.episode.on_sent(sent);
        if is_new && state.mechanisms.is_some() {
            self.arm_probe(now, path);
        }
    }

    /// The network marked data for which the window fell: the fall is not undone any more.
    pub(super) fn heed_mark(&mut self, path: PathId) {
        let state = &mut self.paths[path];
        state.episode.on_mark(&state.congestion);
    }
}
