//! Response to a loss: fast recovery, and when the window falls.

use base::{Duration, Instant};

use super::{AckContext, Recovery};
use crate::congestion::{Congested, Signal};
use crate::episode::Exempt;
use crate::event::Event;
use crate::ledger::PacketNumber;
use crate::path_id::PathId;
use crate::policy::{EarlyWindow, LeastWindow, WindowFalls};
use crate::stats::Cause;

/// Facts of an acknowledgement that may be evidence of losses on a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// The parts that do not concern single paths.
    pub(super) context: AckContext,
    /// Whether a packet left the network while the cumulative point stayed.
    pub(super) is_duplicate: bool,
    /// Whether fast recovery was in progress before.
    pub(super) was_recovering: bool,
    /// Flight before the acknowledgement, as the window counts it.
    pub(super) flight_before: u64,
}

/// Packets found lost by acknowledgements or short timers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    /// Number of packets declared lost by this input.
    pub(super) packets: u32,
    /// Evidence that revealed the loss.
    pub(super) cause: Cause,
    /// The latest of them that carried a retransmission, if that is relevant.
    pub(super) resent: Option<PacketNumber>,
    /// Flight before the input that revealed the loss, as the window counts it.
    pub(super) flight_before: u64,
}

impl Recovery {
    /// Responds to lost packets on `path`: fast recovery begins, unless it is in progress or this
    /// window of data has been dealt with. The window falls once for that, and once more for
    /// each lost retransmission that left since, whether in fast recovery or after a timeout.
    #[cold]
    pub(super) fn on_loss(&mut self, now: Instant, path: PathId, lost: Lost) {
        let Lost { packets, cause, resent, flight_before } = lost;
        self.events.record(now, || Event::Lost { path, packets, cause });
        let cumulative = self.ledger.cumulative();
        let state = &mut self.paths[path];
        state.on_fates(packets, true);
        let again = self.heard.counts_lost_retransmissions()
            && self.policy.congestion.window_falls == WindowFalls::Again
            && resent.is_some_and(|packet| state.episode.fallen().precedes(packet));
        let recovering = state.episode.is_recovering();
        let enters = !recovering && !self.has_dealt_with(path, cumulative);
        // To the letter, algorithm 1 of TCP-ER answers each early retransmission, in recovery, too.
        let repeats = recovering
            && cause == Cause::Early
            && self.policy.congestion.early_window == EarlyWindow::Algorithm1;
        if !enters && !again && !repeats {
            return;
        }
        let state = &self.paths[path];
        let falls = again || repeats || !state.episode.fallen().covers_loss(cumulative);
        let target = state.routes.fast;
        let cwnd_before = state.congestion.cwnd();
        self.keep_for_undo(path);
        if falls {
            self.lower_window(now, path, Signal::Loss, again);
        }
        if enters {
            self.stats.fast_recoveries += 1;
            self.begin_recovery(path, cause, cwnd_before, falls);
        } else if repeats {
            self.repeat_algorithm_1(path, cwnd_before);
        }
        if enters || recovering {
            self.begin_pacing(path, flight_before);
            self.paths[target].episode.exempt(Exempt::Fast);
        }
        self.record_window(now, path);
    }

    /// Lowers the window for congestion without a loss to repair, unless it fell already for the
    /// outstanding data. Returns whether it fell.
    #[cold]
    pub(super) fn reduce_window(&mut self, now: Instant, path: PathId, signal: Signal) -> bool {
        let state = &self.paths[path];
        let covered = state.episode.fallen().covers_signal(self.ledger.cumulative());
        if covered || state.episode.is_recovering() {
            return false;
        }
        self.lower_window(now, path, signal, false);
        self.record_window(now, path);
        true
    }

    /// The peer reports a congestion mark on `path` (RFC 3168, section 6.1.2): the window falls
    /// once per window of data. Returns whether it fell. If it had fallen for that data because
    /// of a loss, that reduction is no longer undone should the loss prove needless.
    pub fn on_ecn_echo(&mut self, now: Instant, path: PathId) -> bool {
        if self.paths[path].episode.fallen().covers_mark(self.ledger.cumulative()) {
            return false;
        }
        let reduced = self.reduce_window(now, path, Signal::Ecn);
        self.heed_mark(path);
        reduced
    }

    /// Whether a loss at the cumulative point belongs to a window of data that `path` has dealt
    /// with.
    pub(super) fn has_dealt_with(&self, path: PathId, cumulative: u64) -> bool {
        let episode = &self.paths[path].episode;
        self.heard.has_one_episode_a_window()
            && episode.has_dealt_with(cumulative, self.reports_gaps())
    }

    /// Whether the policy heeds queues and leaves less of the window in one, and the smoothed round
    /// trip is so far above the shortest that it may contain a queue.
    pub(super) fn fills_queue(&self, path: PathId) -> bool {
        let state = &self.paths[path];
        let least = state.shortest_trip();
        let above = |(least, srtt): (Duration, Duration)| {
            srtt > least + (least / 2).max(self.policy.backoff.least_queue())
        };
        self.policy.congestion.least_window == LeastWindow::Carried
            && self.policy.backoff.linear_queue > 0
            && least.zip(state.rtt.srtt()).is_some_and(above)
    }

    fn lower_window(&mut self, now: Instant, path: PathId, signal: Signal, again: bool) {
        let (flight_size, fills) = (self.flight_size(path), self.fills_queue(path));
        let state = &mut self.paths[path];
        if let Some(brake) = state.copying.brake_mut().filter(|_| signal == Signal::Ecn) {
            brake.on_mark(now);
        }
        let before = state.congestion.cwnd();
        state.congestion.on_congestion(Congested { now, signal, flight_size, again });
        if fills {
            state.congestion.fall_to_two(before);
        }
        if signal == Signal::Loss {
            state.congestion.keep(state.least_window(), before);
            if self.policy.congestion.least_window == LeastWindow::OnePacket {
                state.congestion.fall_to_one(flight_size.min(before));
            }
        }
        state.episode.on_fall(&self.ledger, false);
        self.reduced = true;
    }
}
