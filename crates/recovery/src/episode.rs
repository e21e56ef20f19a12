//! A path's episode: its response to a loss, from the loss's detection until all data outstanding
//! at that time is repaired.
//!
//! An episode has one entry, [`Episode::enter`], and one exit, [`Episode::leave`]. It owns the
//! state with the repair's lifetime: where fast recovery ends, the window's deviation from the
//! controller's, which packet is exempt from the window, and the suspicion that nothing was lost.
//! The controller only receives numbers: when to reduce, and which windows to restore.

mod apart;
mod counted_flight;

use core::num::NonZeroU64;

use self::apart::{Apart, Pacing};
use crate::congestion::Congestion;
use crate::congestion::prr::{Prr, PrrAck};
use crate::ledger::Ledger;
use crate::loss::fallen::Fallen;
use crate::loss::frto::Frto;
use crate::loss::undo::Before;
use crate::policy::{CongestionPolicy, PartialAck, RecoveryPolicy};

/// The repair in progress on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No loss is under repair.
    #[default]
    Open,
    /// Repair of a loss found by acknowledgements or short timers (RFC 9260, 7.2.4; 6582; 6675).
    FastRecovery(FastRecovery),
    /// Repair of what the retransmission timer declared lost, until unit `exit` is acknowledged.
    AfterTimeout { exit: u64 },
}

/// State of a fast recovery, from its first loss to its exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FastRecovery {
    /// The cumulative point at which fast recovery ends.
    exit: u64,
    /// The first unit unsent when fast recovery began, or when it last advanced to the next hole.
    /// Duplicates are only believed for units below it.
    believed: u64,
    /// One past the highest unit retransmitted in this recovery (HighRxt of RFC 6675).
    high_rxt: u64,
    /// Number of partial acknowledgements, saturating at 255.
    partial_acks: u8,
    /// The rescue retransmission was sent.
    rescued: bool,
    /// Packets in flight, if acknowledgements count them (`sack-flight=acknowledgements`).
    pipe: Option<u32>,
}

/// Evidence with which an episode begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// A loss found by acknowledgements or a short timer. `inflation`: initial deviation of the
    /// window from the controller's, in bytes. `pipe`: packets in flight, if so counted.
    Loss { inflation: i64, pipe: Option<u32> },
    /// An expiry of the retransmission timer. `suspected`: F-RTO's state, if it suspects this one.
    Timeout { suspected: Option<Frto> },
}

/// Outcome with which an episode ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All data that was outstanding at its beginning is acknowledged.
    Repaired,
    /// The path's flight moved to another path. An episode that a timeout began continues.
    Abandoned,
    /// All outstanding data was discarded.
    Discarded,
}

/// The packet exempt from the window: the first after a timeout or on entering fast recovery (RFC
/// 9260, sections 6.3.3 E3 and 7.2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exempt {
    /// A fast retransmission, which is sent whatever the window (RFC 9260, section 7.2.4).
    Fast,
    /// The first packet after a timeout, or any other one.
    #[default]
    Other,
}

/// The episode of one path. A path without recent losses takes one word of memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Episode(Option<Box<State>>);

/// State of a path with recent losses.
#[derive(Clone, Debug, Default)]
struct State {
    phase: Phase,
    /// Losses below this unit belong to an episode that began earlier (`recover` of RFC 6582).
    dealt_with: u64,
    /// Bytes by which the window differs from the controller's: the data that duplicate
    /// acknowledgements say has left the network, if the peer reports no gaps (RFC 6582, 3.2).
    inflation: i64,
    /// Whether a packet is exempt from the window, and why the last one was.
    exempt: bool,
    exempt_for: Exempt,
    /// Packets of new data allowed beyond the window (RFC 3042).
    extra: u8,
    /// One past the cumulative point at the last expiry of the timer: if the point is still there
    /// at the next expiry, that expiry is for the same data (RFC 5681, section 3.1).
    timed_out_at: Option<NonZeroU64>,
    fallen: Fallen,
    apart: Option<Box<Apart>>,
}

// ---- memory -------------------------------------------------------------------------------------

impl Episode {
    /// The state, allocated if there is none.
    fn state_mut(&mut self) -> &mut State {
        self.0.get_or_insert_default()
    }

    fn phase(&self) -> Phase {
        self.0.as_ref().map_or(Phase::Open, |state| state.phase)
    }

    /// The fast recovery in progress, if any.
    fn fast_recovery(&mut self) -> Option<&mut FastRecovery> {
        match &mut self.0.as_mut()?.phase {
            Phase::FastRecovery(recovery) => Some(recovery),
            Phase::Open | Phase::AfterTimeout { .. } => None,
        }
    }

    /// Frees state that concerns acknowledged data only. Called while nothing is outstanding and
    /// the cumulative point is `cumulative`.
    pub(crate) fn rest(&mut self, cumulative: u64) {
        if self.0.as_ref().is_some_and(|state| state.is_past(cumulative)) {
            self.0 = None;
        }
    }
}

impl State {
    /// Whether all state concerns data below the cumulative point.
    fn is_past(&self, cumulative: u64) -> bool {
        self.phase == Phase::Open
            && self.inflation == 0
            && !self.exempt
            && self.extra == 0
            && self.apart.is_none()
            && self.dealt_with < cumulative
            && self.timed_out_at.is_none_or(|end| end.get() <= cumulative)
            && !self.fallen.covers_signal(cumulative)
    }
}

// ---- in and out ---------------------------------------------------------------------------------

impl Episode {
    /// Begins an episode and ends the previous one's state, except a window that may still be
    /// restored. `next_unit` is the first unsent unit.
    pub(crate) fn enter(&mut self, entry: Entry, next_unit: u64) {
        self.set_pacing(None);
        let state = self.state_mut();
        state.dealt_with = next_unit;
        match entry {
            Entry::Loss { inflation, pipe } => {
                state.inflation = inflation;
                state.phase = Phase::FastRecovery(FastRecovery {
                    exit: next_unit,
                    believed: next_unit,
                    high_rxt: 0,
                    partial_acks: 0,
                    rescued: false,
                    pipe,
                });
            }
            Entry::Timeout { suspected } => {
                state.inflation = 0;
                state.extra = 0;
                state.phase = Phase::AfterTimeout { exit: next_unit };
                self.set_frto(suspected);
            }
        }
    }

    /// Ends the episode. F-RTO's suspicion and the window that may be restored survive a repair,
    /// since the acknowledgement that ends it may concern both.
    pub(crate) fn leave(&mut self, end: End) {
        self.set_pacing(None);
        let Some(state) = &mut self.0 else { return };
        state.inflation = 0;
        match end {
            End::Repaired => state.phase = Phase::Open,
            End::Abandoned => {
                state.apart = None;
                if matches!(state.phase, Phase::FastRecovery(_)) {
                    state.phase = Phase::Open;
                }
            }
            End::Discarded => {
                let State { fallen, extra, timed_out_at, .. } = **state;
                **state = State { fallen, extra, timed_out_at, ..State::default() };
            }
        }
    }

    /// Ends an episode in which nothing was lost, and returns the controller to restore if it is
    /// known. A genuine loss of the same data is handled as a new one.
    pub(crate) fn take_back(&mut self) -> Option<Congestion> {
        self.leave(End::Repaired);
        let state = self.0.as_mut()?;
        let before = state.apart.take()?.undo?.into_before();
        state.dealt_with = 0;
        state.timed_out_at = None;
        state.fallen = before.fallen;
        Some(before.congestion)
    }

    /// The cumulative point is `cumulative`: ends an episode whose exit it has reached.
    pub(crate) fn on_cumulative(&mut self, cumulative: u64) {
        let exit = match self.phase() {
            Phase::Open => return,
            Phase::FastRecovery(FastRecovery { exit, .. }) | Phase::AfterTimeout { exit } => exit,
        };
        if cumulative >= exit {
            self.leave(End::Repaired);
        }
    }

    /// Whether fast recovery is in progress.
    pub(crate) fn is_recovering(&self) -> bool {
        matches!(self.phase(), Phase::FastRecovery(_))
    }

    /// Whether a repair is in progress, by fast recovery or after a timeout.
    pub(crate) fn is_repairing(&self) -> bool {
        self.phase() != Phase::Open
    }

    /// Whether a loss at the cumulative point belongs to a window of data that an episode has
    /// already dealt with.
    ///
    /// If the peer reports gaps, this ends once all of that window is acknowledged (RFC 6675,
    /// section 5.1). If it does not, duplicates caused by needless retransmissions may still
    /// arrive until data beyond the window is acknowledged (RFC 6582, 3.2, steps 2 and 4).
    pub(crate) fn has_dealt_with(&self, cumulative: u64, reports: bool) -> bool {
        let dealt_with = self.0.as_ref().map_or(0, |state| state.dealt_with);
        cumulative < dealt_with || (cumulative == dealt_with && !reports)
    }

    /// Whether there is neither a suspicion nor a window that may be restored.
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.0.as_ref().is_none_or(|state| state.apart.is_none())
    }

    /// Applies a replaced policy: state that it does not ask for ends.
    pub(crate) fn set_policy(&mut self, policy: &RecoveryPolicy) {
        let congestion: &CongestionPolicy = &policy.congestion;
        let Some(apart) = self.apart_mut() else { return };
        apart.frto = apart.frto.filter(|_| policy.loss.frto);
        apart.pacing = apart.pacing.filter(|_| congestion.prr);
        apart.undo = apart.undo.take().filter(|_| congestion.undo || policy.loss.frto);
        if let Some(undo) = &mut apart.undo {
            undo.set_policy(congestion);
        }
        self.tidy();
    }
}

// ---- what acknowledgements do within it ---------------------------------------------------------

impl Episode {
    /// A duplicate acknowledgement arrived, and the peer does not report gaps: the window opens by
    /// one packet of `mss` bytes. In fast recovery it opens to at most what is outstanding of
    /// the data sent before the last hole was retransmitted: later packets may have been sent
    /// only because of forged duplicates (RFC 5681, section 3.2, step 4; Savage et al. 1999),
    /// and an honest peer's information about them follows the next partial acknowledgement.
    /// Before fast recovery it opens by at most `limited` bytes, if limited transmit allows any.
    pub(crate) fn on_duplicate(&mut self, cumulative: u64, mss: u64, limited: Option<u64>) {
        let most = match self.phase() {
            Phase::FastRecovery(recovery) => Some(recovery.believed.saturating_sub(cumulative)),
            Phase::Open | Phase::AfterTimeout { .. } => limited,
        };
        let Some(most) = most.map(|most| most as i64) else { return };
        let state = self.state_mut();
        if state.inflation < most {
            state.inflation = (state.inflation + mss as i64).min(most);
        }
    }

    /// A partial acknowledgement arrived; `full`: it covers at least one full packet.
    pub(crate) fn on_partial_ack(&mut self, full: bool, next_unit: u64) {
        if let Some(recovery) = self.fast_recovery() {
            recovery.partial_acks = recovery.partial_acks.saturating_add(1);
            if full {
                recovery.believed = next_unit;
            }
        }
    }

    /// Deflates the window by `acked` bytes less `back` bytes (RFC 6582, section 3.2, step 3).
    pub(crate) fn deflate(&mut self, acked: u64, back: u64) {
        let state = self.state_mut();
        state.inflation = state.inflation - acked as i64 + back as i64;
    }

    /// Ends the inflation by duplicates: outside fast recovery the cumulative point advanced.
    pub(crate) fn settle_window(&mut self) {
        if let Some(state) = &mut self.0 {
            state.inflation = 0;
        }
    }

    /// Whether an acknowledgement that advances the cumulative point restarts the retransmission
    /// timer (RFC 6582, section 3.2, step 3).
    pub(crate) fn restarts_timer(&self, reports: bool, policy: PartialAck) -> bool {
        let partial_acks = match self.phase() {
            Phase::FastRecovery(recovery) => recovery.partial_acks,
            Phase::Open | Phase::AfterTimeout { .. } => 0,
        };
        reports || partial_acks <= 1 || policy == PartialAck::Every
    }

    /// Updates the pace of recovery after an acknowledgement was processed.
    pub(crate) fn on_dealt_with(&mut self, ack: PrrAck, mss: u64) {
        if self.is_recovering()
            && let Some(pacing) = self.apart_mut().and_then(|apart| apart.pacing.as_mut())
            && ack.delivered > 0
        {
            pacing.window = ack.in_flight + pacing.prr.quota(ack, mss);
        }
    }
}

// ---- the window ---------------------------------------------------------------------------------

impl Episode {
    /// Whether there is no state: no loss was recent.
    pub(crate) fn is_blank(&self) -> bool {
        self.0.is_none()
    }

    /// Bytes that may be in flight if the controller's window is `cwnd`.
    pub(crate) fn window(&self, cwnd: u64, mss: u64) -> u64 {
        let Some(state) = &self.0 else { return cwnd };
        if let Some(pacing) = state.apart.as_ref().and_then(|apart| apart.pacing) {
            return pacing.window;
        }
        match state.inflation {
            0 => cwnd,
            inflation => cwnd.saturating_add_signed(inflation).max(mss),
        }
    }

    /// Sets the deviation of the window from the controller's, in bytes.
    pub(crate) fn inflate_to(&mut self, inflation: i64) {
        self.state_mut().inflation = inflation;
    }

    /// Paces the recovery by acknowledgements, so that it ends with `target` bytes in flight;
    /// `flight_before` bytes were in flight before the loss was detected (RFC 9937).
    pub(crate) fn pace(&mut self, flight_before: u64, target: u64, window: u64) {
        self.set_pacing(Some(Pacing { prr: Prr::new(flight_before, target), window }));
    }

    /// A packet left that takes `bytes` bytes of the window.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        if let Some(pacing) = self.apart_mut().and_then(|apart| apart.pacing.as_mut()) {
            pacing.prr.on_sent(bytes);
        }
    }

    /// The data for which the window fell last.
    pub(crate) fn fallen(&self) -> Fallen {
        self.0.as_ref().map_or_else(Fallen::default, |state| state.fallen)
    }

    /// Records that the window falls now, by the retransmission timer or otherwise.
    pub(crate) fn on_fall(&mut self, ledger: &Ledger, by_timeout: bool) {
        self.state_mut().fallen = Fallen::now(ledger, by_timeout);
    }

    /// The network marked data for which the window fell to its present value `now`, so that this
    /// fall is never undone.
    pub(crate) fn on_mark(&mut self, now: &Congestion) {
        let state = self.state_mut();
        state.fallen.marked = true;
        let fallen = state.fallen;
        if let Some(undo) = self.undo_mut() {
            undo.on_mark(Before { congestion: now.clone(), fallen });
        }
    }

    /// The retransmission timer expires for data that begins at `cumulative`. Returns whether the
    /// previous expiry was for the same data.
    pub(crate) fn expires_again(&mut self, cumulative: u64) -> bool {
        let oldest = NonZeroU64::MIN.checked_add(cumulative);
        core::mem::replace(&mut self.state_mut().timed_out_at, oldest) == oldest
    }

    /// Exempts one packet from the window.
    pub(crate) fn exempt(&mut self, exempt: Exempt) {
        let state = self.state_mut();
        (state.exempt, state.exempt_for) = (true, exempt);
    }

    /// Exempts one more packet, for the previous reason.
    pub(crate) fn exempt_again(&mut self) {
        self.state_mut().exempt = true;
    }

    /// Reason for which a packet is exempt from the window; `None` if none is.
    pub(crate) fn exempted(&self) -> Option<Exempt> {
        let state = self.0.as_ref()?;
        state.exempt.then_some(state.exempt_for)
    }

    /// Ends the exemption, since the packet left or no data waits; returns whether there was one.
    pub(crate) fn end_exemption(&mut self) -> bool {
        self.0.as_mut().is_some_and(|state| core::mem::take(&mut state.exempt))
    }

    /// Lets a miss indication release a new packet beyond the window, two at most (RFC 3042).
    pub(crate) fn on_miss(&mut self) {
        let state = self.state_mut();
        state.extra = (state.extra + 1).min(2);
    }

    /// Allows a probe with new data beyond the window.
    pub(crate) fn allow_probe(&mut self) {
        let state = self.state_mut();
        state.extra = state.extra.max(1);
    }

    /// Whether a packet of new data may leave beyond the window.
    pub(crate) fn allows_extra(&self) -> bool {
        self.0.as_ref().is_some_and(|state| state.extra > 0)
    }

    /// Records that a packet left beyond the window.
    pub(crate) fn use_extra(&mut self) {
        if let Some(state) = &mut self.0 {
            state.extra = state.extra.saturating_sub(1);
        }
    }

    /// The cumulative point advanced: packets beyond the window are not allowed any more.
    pub(crate) fn end_extra(&mut self) {
        if let Some(state) = &mut self.0 {
            state.extra = 0;
        }
    }
}

// ---- retransmissions ----------------------------------------------------------------------------

impl Episode {
    /// Records the retransmission of a unit.
    pub(crate) fn on_again(&mut self, unit: u64, weight: u32) {
        if let Some(recovery) = self.fast_recovery() {
            recovery.high_rxt = recovery.high_rxt.max(unit + u64::from(weight.max(1)));
        }
    }

    /// One past the highest unit retransmitted in the fast recovery in progress.
    pub(crate) fn high_rxt(&self) -> Option<u64> {
        match self.phase() {
            Phase::FastRecovery(recovery) => Some(recovery.high_rxt),
            Phase::Open | Phase::AfterTimeout { .. } => None,
        }
    }

    /// Sets HighRxt: every unit below it has been retransmitted or acknowledged.
    pub(crate) fn set_high_rxt(&mut self, high_rxt: u64) {
        if let Some(recovery) = self.fast_recovery() {
            recovery.high_rxt = high_rxt;
        }
    }

    /// Whether fast recovery advances and has sent no rescue retransmission yet (RFC 6675, section
    /// 4, NextSeg, rule 4).
    pub(crate) fn lacks_rescue(&self) -> bool {
        matches!(self.phase(), Phase::FastRecovery(recovery) if recovery.partial_acks > 0 && !recovery.rescued)
    }

    /// Records that the rescue retransmission leaves.
    pub(crate) fn on_rescue(&mut self) {
        if let Some(recovery) = self.fast_recovery() {
            recovery.rescued = true;
        }
    }
}

#[cfg(test)]
mod tests;
