//! Parts of an episode that only some policies use: the suspicion that it was needless (F-RTO,
//! undo), and its pace.

use base::{Duration, Instant};

use super::Episode;
use crate::congestion::Congestion;
use crate::congestion::prr::Prr;
use crate::ledger::{Ledger, PacketNumber};
use crate::loss::frto::{AfterTimeout, Frto, Verdict};
use crate::loss::undo::{Before, Undo};

/// Proportional rate reduction in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacing {
    pub(super) prr: Prr,
    /// Bytes that may be in flight now.
    pub(super) window: u64,
}

/// Parts of an episode that only some policies use; boxed, since few paths have one at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Apart {
    /// The suspicion that the timeout was needless.
    pub(super) frto: Option<Frto>,
    /// The window before it fell; outlives the episode until no acknowledgement can prove the
    /// reduction needless any more.
    pub(super) undo: Option<Undo>,
    pub(super) pacing: Option<Pacing>,
}

impl Apart {
    fn is_empty(&self) -> bool {
        self.frto.is_none() && self.undo.is_none() && self.pacing.is_none()
    }
}

impl Episode {
    /// Keeps the controller `congestion` before the window falls, so that it can be restored.
    pub(crate) fn keep(&mut self, congestion: &Congestion, cumulative: u64, next_unit: u64) {
        let state = self.state_mut();
        let fallen = state.fallen;
        let apart = state.apart.get_or_insert_default();
        if apart.undo.as_ref().is_none_or(|undo| undo.is_past(cumulative)) {
            let before = Before { congestion: congestion.clone(), fallen };
            apart.undo = Some(Undo::new(before, next_unit));
        }
    }

    /// Records the retransmission of a unit that was declared lost.
    pub(crate) fn on_resent(&mut self, now: Instant, unit: u64) {
        if let Some(undo) = self.undo_mut() {
            undo.on_resent(now, unit);
        }
    }

    /// Whether the last timeout is suspected to have been needless.
    pub(crate) fn is_suspected(&self) -> bool {
        self.apart().is_some_and(|apart| apart.frto.is_some())
    }

    /// Whether retransmissions wait for the result of sending new data.
    pub(crate) fn holds_back(&self) -> bool {
        self.apart().and_then(|apart| apart.frto.as_ref()).is_some_and(Frto::holds_back)
    }

    /// Judges the last timeout by an acknowledgement (RFC 5682). `lowest_once`: the lowest newly
    /// acknowledged unit that had been sent once only.
    pub(crate) fn judge_timeout(
        &mut self,
        lowest_once: Option<u64>,
        ack: AfterTimeout,
    ) -> Option<Verdict> {
        let frto = self.apart_mut()?.frto.as_mut()?;
        let original = lowest_once.is_some_and(|unit| unit < frto.recover());
        let verdict = frto.on_ack(AfterTimeout { original, ..ack });
        if matches!(verdict, Verdict::Conventional { .. }) {
            self.set_frto(None);
        }
        Some(verdict)
    }

    /// Whether an acknowledgement proves that nothing was lost (RFC 3708, RFC 3522). `needless`:
    /// number of units that the peer reports as duplicates; `echoed`: instant of the echoed
    /// timestamp; `delivered`: the latest packet found delivered.
    pub(crate) fn judge_loss(
        &mut self,
        ledger: &Ledger,
        needless: u32,
        echoed: Option<Instant>,
        delivered: Option<PacketNumber>,
    ) -> bool {
        /// Coarsest timestamps that tell an original from a retransmission.
        const TICK: Duration = Duration::from_millis(1);
        let cumulative = ledger.cumulative();
        let Some(undo) = self.undo_mut() else { return false };
        let all = undo.on_duplicates(needless)
            || undo.is_idle(cumulative)
            || echoed.is_some_and(|echoed| undo.is_original(cumulative, echoed, TICK));
        if !all && undo.is_closed(cumulative, delivered, ledger.next_packet()) {
            if let Some(apart) = self.apart_mut() {
                apart.undo = None;
            }
            self.tidy();
        }
        all
    }

    fn apart(&self) -> Option<&Apart> {
        self.0.as_ref()?.apart.as_deref()
    }

    pub(super) fn apart_mut(&mut self) -> Option<&mut Apart> {
        self.0.as_mut()?.apart.as_deref_mut()
    }

    pub(super) fn undo_mut(&mut self) -> Option<&mut Undo> {
        self.apart_mut()?.undo.as_mut()
    }

    pub(super) fn set_frto(&mut self, frto: Option<Frto>) {
        if self.apart().is_some() || frto.is_some() {
            self.state_mut().apart.get_or_insert_default().frto = frto;
            self.tidy();
        }
    }

    pub(super) fn set_pacing(&mut self, pacing: Option<Pacing>) {
        if self.apart().is_some() || pacing.is_some() {
            self.state_mut().apart.get_or_insert_default().pacing = pacing;
            self.tidy();
        }
    }

    /// Frees the box if all its parts are empty.
    pub(super) fn tidy(&mut self) {
        if let Some(state) = &mut self.0
            && state.apart.as_ref().is_some_and(|apart| apart.is_empty())
        {
            state.apart = None;
        }
    }
}
