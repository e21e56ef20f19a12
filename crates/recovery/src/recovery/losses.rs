//! What follows from a loss: fast recovery, and how often the window falls.

use core::num::NonZeroU64;

use base::Instant;

use super::Recovery;
use crate::congestion::{Congested, Signal};
use crate::event::Event;
use crate::ledger::{PacketNumber, PathIndex};
use crate::path::Fallen;
use crate::stats::Cause;

/// What was taken for lost, by acknowledgements or short timers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    /// How many packets.
    pub(super) packets: u32,
    /// By what.
    pub(super) cause: Cause,
    /// The latest of them that carried something again, where that is looked at.
    pub(super) resent: Option<PacketNumber>,
}

impl Recovery {
    /// Packets were lost on `path`: fast recovery begins, unless it is in progress or this window of data has
    /// been dealt with. The window falls once for that, and once more with each retransmission lost that left
    /// since, be it in fast recovery or in what follows a timeout.
    pub(super) fn on_loss(&mut self, now: Instant, path: PathIndex, lost: Lost) {
        let Lost { packets, cause, resent } = lost;
        self.events.record(now, || Event::Lost { path, packets, cause });
        let cumulative = self.ledger.cumulative();
        let state = &mut self.paths[usize::from(path)];
        (0..packets).for_each(|_| state.loss.on_fate(true));
        if let Some(watch) = &mut state.watch {
            watch.lost_now = true;
        }
        let again = self.feedback.counts_lost_retransmissions()
            && resent.is_some_and(|packet| state.fallen.precedes(packet));
        let recovering = state.fast_recovery_exit.is_some();
        let enters = !recovering && !self.feedback.has_dealt_with(cumulative);
        if !enters && !again {
            return;
        }
        let falls = again || !state.fallen.covers_loss(cumulative);
        let target = usize::from(state.routes.fast);
        let cwnd_before = state.congestion.cwnd();
        self.keep_for_undo(path);
        if falls {
            self.lower_window(now, path, Signal::Loss, again);
        }
        if enters {
            let next_unit = self.ledger.next_unit();
            self.paths[usize::from(path)].fast_recovery_exit = NonZeroU64::new(next_unit);
            self.stats.fast_recoveries += 1;
            self.begin_recovery(path, cause, cwnd_before, falls);
            self.feedback.on_recovery(next_unit);
        }
        if enters || recovering {
            self.begin_pacing(path);
            self.paths[target].exempt_packets = 1;
            self.paths[target].exempt_is_fast = true;
        }
        self.record_window(now, path);
    }

    /// Something tells of congestion that is no loss to be repaired: the window falls, unless it did already for
    /// what is outstanding; true if it did.
    pub(super) fn reduce_window(&mut self, now: Instant, path: PathIndex, signal: Signal) -> bool {
        let state = &self.paths[usize::from(path)];
        let covered = state.fallen.covers_signal(self.ledger.cumulative());
        if covered || state.fast_recovery_exit.is_some() {
            return false;
        }
        self.lower_window(now, path, signal, false);
        self.record_window(now, path);
        true
    }

    fn lower_window(&mut self, now: Instant, path: PathIndex, signal: Signal, again: bool) {
        let flight_size = self.flight_size(path);
        let state = &mut self.paths[usize::from(path)];
        if let Some(brake) = state.brake.as_deref_mut().filter(|_| signal == Signal::Ecn) {
            brake.on_mark(now);
        }
        state.congestion.on_congestion(Congested { now, signal, flight_size, again });
        state.fallen = Fallen::now(&self.ledger, false);
        self.reduced = true;
    }
}
