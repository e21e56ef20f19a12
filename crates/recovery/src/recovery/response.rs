//! What follows from a loss beyond the controller's verdict, and what is taken back: F-RTO (RFC 5682), undo
//! (RFC 3708, 3522, 4015), the pace of recovery (RFC 9937), the window of TCP-ER.

use core::num::NonZeroU64;

use base::{Duration, Instant};

use super::Recovery;
use crate::congestion::Signal;
use crate::congestion::prr::{Prr, PrrAck};
use crate::ledger::{Flight, PathAck, PathIndex};
use crate::loss::frto::{AfterTimeout, Frto, Verdict};
use crate::loss::inflation::{after_early_retransmission, window_in_recovery};
use crate::loss::probe::{ProbeAck, ProbeFate};
use crate::loss::undo::{Before, Undo};
use crate::path::Pacing;
use crate::policy::EarlyWindow;
use crate::stats::Cause;

/// How coarse timestamps are at most that tell an original from a retransmission.
const TICK: Duration = Duration::from_millis(1);

/// What an acknowledgement says beside what it says about paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    /// The cumulative point advanced.
    pub(super) advanced: bool,
    /// The age of the timestamp that it echoes.
    pub(super) echo_age: Option<Duration>,
    /// Packets that the data would fill that waits and may be sent.
    pub(super) unsent_packets: u32,
}

impl Recovery {
    /// What an acknowledgement means for what was done about losses before it.
    pub(super) fn judge(&mut self, now: Instant, path: PathIndex, news: &PathAck, said: Said) {
        if self.paths[usize::from(path)].watch.is_none() {
            return;
        }
        self.judge_probe(now, path, news, said);
        self.judge_timeout(now, path, news, said);
        self.judge_loss(now, path, news, said);
    }

    /// Is the probe's story over (RFC 8985, section 7.4.2)? A duplicate that no probe explains widens RACK's
    /// window.
    fn judge_probe(&mut self, now: Instant, path: PathIndex, news: &PathAck, said: Said) {
        let cumulative = self.ledger.cumulative();
        let next_packet = self.ledger.next_packet();
        let duplicate = news.needless > 0;
        let Some(watch) = self.paths[usize::from(path)].watch.as_deref_mut() else { return };
        let fate = watch.probe.on_ack(ProbeAck {
            cumulative,
            advanced: said.advanced,
            duplicate,
            bare_duplicate: !said.advanced && news.acked_bytes == 0 && !duplicate,
        });
        match fate {
            ProbeFate::Open if duplicate && !watch.probe.is_open() => {
                watch.rack.on_duplicate(next_packet);
            }
            ProbeFate::Open | ProbeFate::Needless => {}
            ProbeFate::Repaired => {
                self.reduce_window(now, path, Signal::Loss);
            }
        }
    }

    /// Was the last timeout needless (RFC 5682)?
    fn judge_timeout(&mut self, now: Instant, path: PathIndex, news: &PathAck, said: Said) {
        let cumulative = self.ledger.cumulative();
        let state = &mut self.paths[usize::from(path)];
        let mss = state.congestion.mss();
        let Some(watch) = state.watch.as_deref_mut() else { return };
        let Some(frto) = &mut watch.frto else { return };
        let verdict = frto.on_ack(AfterTimeout {
            cumulative,
            advanced: said.advanced,
            original: news.lowest_once.is_some_and(|unit| unit < frto.recover()),
            gap: news.by_gap,
            has_new: said.unsent_packets > 0,
        });
        match verdict {
            Verdict::Wait => {}
            Verdict::SendNew => {
                if state.t3_rtx.is_none() {
                    self.start_timer(now, path);
                }
            }
            Verdict::Conventional { sent_new } => {
                watch.frto = None;
                if sent_new && state.congestion.cwnd() > 3 * mss {
                    let ssthresh = state.congestion.ssthresh();
                    state.congestion.set_windows(3 * mss, ssthresh);
                }
            }
            Verdict::Spurious => self.undo(now, path),
        }
    }

    /// Was what fast retransmission or a timeout sent again not lost (RFC 3708, 3522)?
    fn judge_loss(&mut self, now: Instant, path: PathIndex, news: &PathAck, said: Said) {
        if !self.policy.congestion.undo {
            return;
        }
        let (cumulative, next_packet) = (self.ledger.cumulative(), self.ledger.next_packet());
        let Some(watch) = self.paths[usize::from(path)].watch.as_deref_mut() else { return };
        let Some(undo) = &mut watch.undo else { return };
        let echoed = said.echo_age.filter(|_| said.advanced).map(|age| now.before(age));
        let all = undo.on_duplicates(news.needless)
            || undo.is_idle(cumulative)
            || echoed.is_some_and(|echoed| undo.is_original(cumulative, echoed, TICK));
        if all {
            self.undo(now, path);
        } else if undo.is_closed(cumulative, news.largest_packet, next_packet) {
            watch.undo = None;
        }
    }

    /// The window is what it was before it fell in vain.
    fn undo(&mut self, now: Instant, path: PathIndex) {
        let state = &mut self.paths[usize::from(path)];
        let Some(watch) = state.watch.as_deref_mut() else { return };
        watch.frto = None;
        watch.pacing = None;
        watch.timeout_exit = 0;
        let Some(undo) = watch.undo.take() else { return };
        // What a timer took for lost is on its way after all; nothing more of it is sent again.
        self.ledger.revive(now, path);
        state.backoff.on_sample();
        let before = undo.into_before();
        state.congestion.undo(before.congestion);
        // Of the same data something may be lost in truth: that is news.
        state.fallen = before.fallen;
        state.fast_recovery_exit = None;
        state.timed_out_at = None;
        state.inflation = 0;
        self.feedback.on_undo();
        self.stats.undone += 1;
        self.record_window(now, path);
    }

    /// The window is about to fall: what it is may have to be given back.
    pub(super) fn keep_for_undo(&mut self, path: PathIndex) {
        if !self.policy.congestion.undo && !self.policy.loss.frto {
            return;
        }
        let (cumulative, next_unit) = (self.ledger.cumulative(), self.ledger.next_unit());
        let state = &mut self.paths[usize::from(path)];
        let Some(watch) = state.watch.as_deref_mut() else { return };
        if watch.undo.as_ref().is_none_or(|undo| undo.is_past(cumulative)) {
            let before = Before { congestion: state.congestion.clone(), fallen: state.fallen };
            watch.undo = Some(Undo::new(before, next_unit));
        }
    }

    /// A unit is sent again, because of its loss on `path`.
    pub(super) fn watch_again(&mut self, now: Instant, path: PathIndex, unit: u64, cause: Cause) {
        let watch =
            self.paths.get_mut(usize::from(path)).and_then(|state| state.watch.as_deref_mut());
        if let Some(undo) = watch.and_then(|watch| watch.undo.as_mut())
            && cause != Cause::Probe
        {
            undo.on_resent(now, unit);
        }
    }

    /// The timer expired: was it needless? Not if it is for the same data as the last time.
    pub(super) fn suspect_timeout(&mut self, path: PathIndex, again: bool) {
        let next_unit = self.ledger.next_unit();
        let gaps = self.reports_gaps();
        let frto = self.policy.loss.frto && !again;
        if let Some(watch) = self.paths[usize::from(path)].watch.as_deref_mut() {
            watch.probe_due = None;
            watch.rack_due = None;
            watch.probe.reset();
            watch.pacing = None;
            watch.was_recovering = false;
            watch.timeout_exit = next_unit;
            watch.frto = frto.then(|| Frto::new(next_unit, gaps));
        }
    }

    /// Whether retransmissions on `path` wait for what new data shows.
    pub(super) fn holds_back(&self, path: PathIndex) -> bool {
        let watch = self.paths.get(usize::from(path)).and_then(|state| state.watch.as_deref());
        watch.and_then(|watch| watch.frto.as_ref()).is_some_and(Frto::holds_back)
    }

    // ---- the window during recovery ------------------------------------------------------------

    /// Fast recovery begins, and the window has fallen, if it `falls`: how it gets there.
    pub(super) fn begin_recovery(
        &mut self,
        path: PathIndex,
        cause: Cause,
        cwnd_before: u64,
        falls: bool,
    ) {
        let gaps = self.reports_gaps();
        let (duplicates, unnamed) = (self.feedback.told_of_loss(), self.feedback.arrived_unnamed());
        let in_flight = self.window_taken(path);
        let state = &mut self.paths[usize::from(path)];
        let mss = state.congestion.mss();
        state.inflation = 0;
        let early = cause == Cause::Early && falls;
        if early && self.policy.congestion.early_window == EarlyWindow::TcpEr {
            let inflated = after_early_retransmission(cwnd_before, mss, duplicates);
            state.congestion.set_windows(inflated.window, inflated.window.max(2 * mss));
            state.inflation = (window_in_recovery(inflated, mss, gaps) - inflated.window) as i64;
            if gaps {
                // At once leaves what the window allows that recovery ends with, as it would without the
                // inflation; that waits for the next acknowledgement, as in ns-2: the queue that dropped
                // one has no room for three, but a retransmission alone has nothing to tell of its loss.
                state.burst_end = NonZeroU64::new(inflated.window.max(in_flight.saturating_add(1)));
            }
        }
        state.inflation += i64::from(unnamed).saturating_mul(mss as i64);
        if let Some(watch) = state.watch.as_deref_mut() {
            watch.probe_due = None;
            watch.probe.reset();
        }
    }

    /// The window fell to what recovery is to end with.
    pub(super) fn begin_pacing(&mut self, path: PathIndex) {
        let paces = self.policy.congestion.prr && self.reports_gaps();
        let in_flight = self.window_taken(path);
        let state = &mut self.paths[usize::from(path)];
        let (target, mss) = (state.congestion.cwnd(), state.congestion.mss());
        if let Some(watch) = state.watch.as_deref_mut().filter(|_| paces) {
            let prr = Prr::new(watch.flight_before.max(in_flight), target);
            // Where a timer told of the loss there is no acknowledgement to make the first quota.
            watch.pacing = Some(Pacing { prr, window: in_flight + mss });
        }
    }

    /// An acknowledgement has been dealt with: what may leave now.
    fn pace(&mut self, path: PathIndex, news: &PathAck, advanced: bool) {
        let in_flight = self.window_taken(path);
        let delivered = self.delivered(path, news);
        let state = &mut self.paths[usize::from(path)];
        let recovering = state.fast_recovery_exit.is_some();
        let mss = state.congestion.mss();
        let Some(watch) = state.watch.as_deref_mut() else { return };
        if core::mem::replace(&mut watch.was_recovering, recovering) && !recovering {
            watch.rack.on_recovered();
            state.inflation = 0;
        }
        if !recovering {
            watch.pacing = None;
        } else if let Some(pacing) = &mut watch.pacing
            && delivered > 0
        {
            let safe = advanced && !watch.lost_now;
            let ack = PrrAck { delivered, in_flight, safe };
            pacing.window = in_flight + pacing.prr.quota(ack, mss);
        }
    }

    /// An acknowledgement has been dealt with, and the retransmission timer set.
    pub(super) fn settle_ack(
        &mut self,
        now: Instant,
        path: PathIndex,
        news: &PathAck,
        advanced: bool,
    ) {
        self.pace(path, news, advanced);
        if advanced || self.ledger.has_reports() {
            self.arm_probe(now, path);
        }
        // Where the timeout allows for the peer's delay, streams are thin, and the smoothed round trip is as good as the
        // shortest: connections that rest are many, and none keeps what it can do without.
        if self.ledger.is_empty() && self.policy.rto.ack_delay.is_some() {
            self.paths[usize::from(path)].rest();
        }
    }

    /// A packet with `bytes` of data left.
    pub(super) fn watch_sent(&mut self, now: Instant, path: PathIndex, bytes: u64, is_new: bool) {
        let flight = self.window_taken(path);
        let sent = self.counted(path, Flight { packets: 1, bytes });
        let state = &mut self.paths[usize::from(path)];
        state.peak.on_sent(flight);
        let Some(watch) = state.watch.as_deref_mut() else { return };
        if let Some(pacing) = &mut watch.pacing {
            pacing.prr.on_sent(sent);
        }
        if is_new {
            self.arm_probe(now, path);
        }
    }

    /// A mark of the network came for data for which the window fell: nothing takes that back.
    pub(super) fn heed_mark(&mut self, path: PathIndex) {
        let state = &mut self.paths[usize::from(path)];
        state.fallen = state.fallen.marked();
        if let Some(undo) = state.watch.as_deref_mut().and_then(|watch| watch.undo.as_mut()) {
            undo.on_mark(Before { congestion: state.congestion.clone(), fallen: state.fallen });
        }
    }
}
