//! The flight in fast recovery, counted by acknowledgements (`pipe_` of ns-2's `Agent/TCP/Sack1`).

use super::{Episode, FastRecovery, Phase};

impl Episode {
    /// Packets in flight in fast recovery, if acknowledgements count them.
    pub(crate) fn pipe(&self) -> Option<u32> {
        match self.phase() {
            Phase::FastRecovery(FastRecovery { pipe, .. }) => pipe,
            Phase::Open | Phase::AfterTimeout { .. } => None,
        }
    }

    /// An acknowledgement arrived in fast recovery: a packet left the count, or two at a partial
    /// one.
    pub(crate) fn drain_pipe(&mut self, partial: bool) {
        if let Some(pipe) = self.pipe_mut() {
            *pipe = pipe.saturating_sub(if partial { 2 } else { 1 });
        }
    }

    /// A packet joins the count.
    pub(crate) fn fill_pipe(&mut self) {
        if let Some(pipe) = self.pipe_mut() {
            *pipe = pipe.saturating_add(1);
        }
    }

    fn pipe_mut(&mut self) -> Option<&mut u32> {
        self.fast_recovery()?.pipe.as_mut()
    }
}
