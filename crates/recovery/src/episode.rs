//! A path's episode: what it does about a loss, from when the loss is found until what was outstanding then is
//! repaired.
//!
//! An episode is one state with one way in, [`Episode::enter`], and one way out, [`Episode::leave`]. It owns what
//! lasts no longer than the repair: where fast recovery ends, how the window deviates from the controller's, which
//! packet may leave whatever the window says, and the suspicion that nothing was lost at all. The controller only
//! hears numbers: when to fall, and what was before.

mod apart;

use core::num::NonZeroU64;

use self::apart::{Apart, Pacing};
use crate::congestion::Congestion;
use crate::congestion::prr::{Prr, PrrAck};
use crate::ledger::Ledger;
use crate::loss::fallen::Fallen;
use crate::loss::frto::Frto;
use crate::loss::undo::Before;
use crate::policy::{CongestionPolicy, PartialAck, RecoveryPolicy};

/// What a path is repairing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing.
    #[default]
    Open,
    /// A loss that acknowledgements or short timers told of (RFC 9260, section 7.2.4; RFC 6582; RFC 6675).
    FastRecovery(FastRecovery),
    /// What the retransmission timer took for lost, until this unit is acknowledged.
    AfterTimeout { exit: u64 },
}

/// State of a fast recovery, from its first loss to its exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FastRecovery {
    /// The cumulative point at which fast recovery ends.
    exit: u64,
    /// The first unit not sent when fast recovery began, or when it last went on with the next hole: duplicates are believed
    /// of what was sent before that.
    believed: u64,
    /// One past the highest unit sent again since (HighRxt of RFC 6675).
    high_rxt: u64,
    /// Acknowledgements that advanced without ending fast recovery, 255 at most.
    partial_acks: u8,
    /// The rescue retransmission was sent.
    rescued: bool,
    /// An acknowledgement came that did not end fast recovery.
    heard: bool,
}

/// How an episode begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// Acknowledgements or a short timer told of a loss; by how many bytes the window deviates from the controller's
    /// from the beginning on.
    Loss { inflation: i64 },
    /// The retransmission timer expired; whether F-RTO suspects it.
    Timeout { suspected: Option<Frto> },
}

/// How an episode ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All that was outstanding when it began is acknowledged.
    Repaired,
    /// What is in flight was given up on this path, which another one repairs. What a timeout began goes on.
    Abandoned,
    /// Everything outstanding is let go of.
    Discarded,
}

/// The packet that may leave whatever the window says: the first after a timeout or on entering fast recovery
/// (RFC 9260, sections 6.3.3 E3 and 7.2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exempt {
    /// For a fast retransmission.
    Fast,
    /// For any other reason.
    #[default]
    Other,
}

/// What a path does about losses. A path of which nothing was lost for long has no more than a word for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Episode(Option<Box<State>>);

/// The state of a path that lost something.
#[derive(Clone, Debug, Default)]
struct State {
    phase: Phase,
    /// Losses below this unit are those of an episode that is over or goes on (`recover` of RFC 6582).
    dealt_with: u64,
    /// Bytes by which the window is wider or narrower than the controller has it: for what duplicate
    /// acknowledgements say has left the network, where no reports say what (RFC 6582, section 3.2).
    inflation: i64,
    /// A packet may leave whatever the window says, and for what the last one that might did.
    exempt: bool,
    exempt_for: Exempt,
    /// Packets of new data that may leave beyond the window (RFC 3042).
    extra: u8,
    /// One past the cumulative point when the timer last expired: if it is there still when the timer
    /// expires again, it is for the same data (RFC 5681, section 3.1).
    timed_out_at: Option<NonZeroU64>,
    fallen: Fallen,
    apart: Option<Box<Apart>>,
}

// ---- memory --------------------------------------------------------------------------------------

impl Episode {
    /// The state, to be changed.
    fn state_mut(&mut self) -> &mut State {
        self.0.get_or_insert_default()
    }

    fn phase(&self) -> Phase {
        self.0.as_ref().map_or(Phase::Open, |state| state.phase)
    }

    /// Fast recovery, while it is in progress.
    fn fast_recovery(&mut self) -> Option<&mut FastRecovery> {
        match &mut self.0.as_mut()?.phase {
            Phase::FastRecovery(recovery) => Some(recovery),
            Phase::Open | Phase::AfterTimeout { .. } => None,
        }
    }

    /// Nothing is outstanding, and the cumulative point stands at `cumulative`: lets go of what concerns nothing but data
    /// that was acknowledged.
    pub(crate) fn rest(&mut self, cumulative: u64) {
        if self.0.as_ref().is_some_and(|state| state.is_past(cumulative)) {
            self.0 = None;
        }
    }
}

impl State {
    /// Whether all of it concerns what lies below the cumulative point.
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

// ---- in and out ----------------------------------------------------------------------------------

impl Episode {
    /// An episode begins, and with it all ends that belonged to the one before, except what may still be given
    /// back. `next_unit` is the first unit not sent yet.
    pub(crate) fn enter(&mut self, entry: Entry, next_unit: u64) {
        self.set_pacing(None);
        let state = self.state_mut();
        state.dealt_with = next_unit;
        match entry {
            Entry::Loss { inflation } => {
                state.inflation = inflation;
                state.phase = Phase::FastRecovery(FastRecovery {
                    exit: next_unit,
                    believed: next_unit,
                    high_rxt: 0,
                    partial_acks: 0,
                    rescued: false,
                    heard: false,
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

    /// The episode is over. What F-RTO suspects and what may be given back stay after a repair, for the
    /// acknowledgement that ends it may tell of both.
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

    /// Nothing had been lost: the episode is over, and the answer is the controller to go back to, if it is known
    /// yet. Of the same data something else may be lost: that is news.
    pub(crate) fn take_back(&mut self) -> Option<Congestion> {
        self.leave(End::Repaired);
        let state = self.0.as_mut()?;
        let before = state.apart.take()?.undo?.into_before();
        state.dealt_with = 0;
        state.timed_out_at = None;
        state.fallen = before.fallen;
        Some(before.congestion)
    }

    /// The cumulative point stands at `cumulative`: an episode that reached its exit is left.
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

    /// Whether anything is being repaired, be it by fast recovery or after a timeout.
    pub(crate) fn is_repairing(&self) -> bool {
        self.phase() != Phase::Open
    }

    /// Whether fast recovery is in progress, and an acknowledgement came that did not end it.
    pub(crate) fn is_heard(&self) -> bool {
        matches!(self.phase(), Phase::FastRecovery(recovery) if recovery.heard)
    }

    /// Whether a loss at the cumulative point is one of a window of data that an episode has dealt with.
    ///
    /// Where the peer reports what it has, that is over once all of that window is acknowledged (RFC 6675,
    /// section 5.1). Where it does not, duplicates may still come of what was sent again without need, until
    /// something is acknowledged that lies beyond it (RFC 6582, section 3.2, steps 2 and 4).
    pub(crate) fn has_dealt_with(&self, cumulative: u64, reports: bool) -> bool {
        let dealt_with = self.0.as_ref().map_or(0, |state| state.dealt_with);
        cumulative < dealt_with || (cumulative == dealt_with && !reports)
    }

    /// Whether there is neither a suspicion nor anything that may be given back.
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.0.as_ref().is_none_or(|state| state.apart.is_none())
    }

    /// The policy was replaced: what it does not ask for ends.
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

// ---- what acknowledgements do within it ----------------------------------------------------------

impl Episode {
    /// A duplicate acknowledgement came, and no report says what left the network: the window opens by a packet of
    /// `mss` bytes. In fast recovery by as much at most as is outstanding of what was sent before the last hole was:
    /// what left since then may have been let go by duplicates that a peer made up (RFC 5681, section 3.2, step 4;
    /// Savage et al. 1999), and what an honest peer still has to say of it comes behind the next partial
    /// acknowledgement. Before fast recovery by `limited` bytes at most, if limited transmit allows any.
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

    /// The cumulative point advanced in fast recovery, not to its end; by a `full` packet at least.
    pub(crate) fn on_partial_ack(&mut self, full: bool, next_unit: u64) {
        if let Some(recovery) = self.fast_recovery() {
            recovery.partial_acks = recovery.partial_acks.saturating_add(1);
            if full {
                recovery.believed = next_unit;
            }
        }
    }

    /// The window is narrower by what arrived, but for `back` bytes (RFC 6582, section 3.2, step 3).
    pub(crate) fn deflate(&mut self, acked: u64, back: u64) {
        let state = self.state_mut();
        state.inflation = state.inflation - acked as i64 + back as i64;
    }

    /// The cumulative point advanced, and no fast recovery is in progress: what duplicates had told of is over.
    pub(crate) fn settle_window(&mut self) {
        if let Some(state) = &mut self.0 {
            state.inflation = 0;
        }
    }

    /// Whether an acknowledgement that advances restarts the retransmission timer (RFC 6582, section 3.2, step 3).
    pub(crate) fn restarts_timer(&self, reports: bool, policy: PartialAck) -> bool {
        let partial_acks = match self.phase() {
            Phase::FastRecovery(recovery) => recovery.partial_acks,
            Phase::Open | Phase::AfterTimeout { .. } => 0,
        };
        reports || partial_acks <= 1 || policy == PartialAck::Every
    }

    /// An acknowledgement has been dealt with: what may leave now. `delivered`: bytes that it found delivered;
    /// `lost`: something was taken for lost by it.
    pub(crate) fn on_dealt_with(&mut self, ack: PrrAck, mss: u64) {
        let Some(recovery) = self.fast_recovery() else { return };
        recovery.heard = true;
        if let Some(pacing) = self.apart_mut().and_then(|apart| apart.pacing.as_mut())
            && ack.delivered > 0
        {
            pacing.window = ack.in_flight + pacing.prr.quota(ack, mss);
        }
    }
}

// ---- the window ----------------------------------------------------------------------------------

impl Episode {
    /// Bytes that may be in flight where the controller's window is `cwnd`.
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

    /// Packets leave at the pace of acknowledgements from now on, so that recovery ends with `target` bytes in flight,
    /// of `flight_before` before the loss was found (RFC 9937).
    pub(crate) fn pace(&mut self, flight_before: u64, target: u64, window: u64) {
        self.set_pacing(Some(Pacing { prr: Prr::new(flight_before, target), window }));
    }

    /// A packet left that takes `bytes` of the window.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        if let Some(pacing) = self.apart_mut().and_then(|apart| apart.pacing.as_mut()) {
            pacing.prr.on_sent(bytes);
        }
    }

    /// For what the window fell last.
    pub(crate) fn fallen(&self) -> Fallen {
        self.0.as_ref().map_or_else(Fallen::default, |state| state.fallen)
    }

    /// The window falls now, by the retransmission timer or not.
    pub(crate) fn on_fall(&mut self, ledger: &Ledger, by_timeout: bool) {
        self.state_mut().fallen = Fallen::now(ledger, by_timeout);
    }

    /// A mark of the network came for data for which the window fell to what it is `now`: nothing takes that back.
    pub(crate) fn on_mark(&mut self, now: &Congestion) {
        let state = self.state_mut();
        state.fallen.marked = true;
        let fallen = state.fallen;
        if let Some(undo) = self.undo_mut() {
            undo.on_mark(Before { congestion: now.clone(), fallen });
        }
    }

    /// The retransmission timer expires for what begins at `cumulative`; whether it did so for the same data the last
    /// time.
    pub(crate) fn expires_again(&mut self, cumulative: u64) -> bool {
        let oldest = NonZeroU64::MIN.checked_add(cumulative);
        core::mem::replace(&mut self.state_mut().timed_out_at, oldest) == oldest
    }

    /// One packet may leave whatever the window says.
    pub(crate) fn exempt(&mut self, exempt: Exempt) {
        let state = self.state_mut();
        (state.exempt, state.exempt_for) = (true, exempt);
    }

    /// One more may, for the reason of the last one.
    pub(crate) fn exempt_again(&mut self) {
        self.state_mut().exempt = true;
    }

    /// Why a packet may leave whatever the window says, if one may.
    pub(crate) fn exempted(&self) -> Option<Exempt> {
        let state = self.0.as_ref()?;
        state.exempt.then_some(state.exempt_for)
    }

    /// Ends the exemption: the packet left, or nothing waits to leave. Answers whether there was one.
    pub(crate) fn end_exemption(&mut self) -> bool {
        self.0.as_mut().is_some_and(|state| core::mem::take(&mut state.exempt))
    }

    /// A miss indication lets a packet of new data leave beyond the window, two at most (RFC 3042).
    pub(crate) fn on_miss(&mut self) {
        let state = self.state_mut();
        state.extra = (state.extra + 1).min(2);
    }

    /// A packet of new data may leave beyond the window as a probe.
    pub(crate) fn allow_probe(&mut self) {
        let state = self.state_mut();
        state.extra = state.extra.max(1);
    }

    /// Whether a packet of new data may leave beyond the window.
    pub(crate) fn allows_extra(&self) -> bool {
        self.0.as_ref().is_some_and(|state| state.extra > 0)
    }

    /// Takes note that a packet left beyond the window.
    pub(crate) fn use_extra(&mut self) {
        if let Some(state) = &mut self.0 {
            state.extra = state.extra.saturating_sub(1);
        }
    }

    /// The cumulative point advanced: no packet leaves beyond the window any more.
    pub(crate) fn end_extra(&mut self) {
        if let Some(state) = &mut self.0 {
            state.extra = 0;
        }
    }
}

// ---- what is sent again --------------------------------------------------------------------------

impl Episode {
    /// A unit is sent again.
    pub(crate) fn on_again(&mut self, unit: u64, weight: u32) {
        if let Some(recovery) = self.fast_recovery() {
            recovery.high_rxt = recovery.high_rxt.max(unit + u64::from(weight.max(1)));
        }
    }

    /// One past the highest unit sent again in the fast recovery that is in progress.
    pub(crate) fn high_rxt(&self) -> Option<u64> {
        match self.phase() {
            Phase::FastRecovery(recovery) => Some(recovery.high_rxt),
            Phase::Open | Phase::AfterTimeout { .. } => None,
        }
    }

    /// All below this unit is sent again or known.
    pub(crate) fn set_high_rxt(&mut self, high_rxt: u64) {
        if let Some(recovery) = self.fast_recovery() {
            recovery.high_rxt = high_rxt;
        }
    }

    /// Whether fast recovery advances and has no rescue retransmission yet (RFC 6675, section 4, NextSeg, rule 4).
    pub(crate) fn lacks_rescue(&self) -> bool {
        matches!(self.phase(), Phase::FastRecovery(recovery) if recovery.partial_acks > 0 && !recovery.rescued)
    }

    /// The rescue retransmission leaves.
    pub(crate) fn on_rescue(&mut self) {
        if let Some(recovery) = self.fast_recovery() {
            recovery.rescued = true;
        }
    }
}

#[cfg(test)]
mod tests;
