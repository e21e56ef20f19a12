//! Stream reconfiguration (RFC 6525): reset streams, added streams, a reset association, and the
//! consequences for the association.

use base::Instant;

use super::{Association, Closed};
use crate::control::{Control, OwnedCause};
use crate::event::reconfiguration::ResetDirection;
use crate::extensions::Extensions;
use crate::reconfigure::error::ReconfigureError;
use crate::reconfigure::{Action, Context, Reconfiguration};
use crate::wire::chunk::{ReConfig, ReconfigParameters};
use crate::wire::{StreamId, Tsn};

impl Association {
    // ---- the application's calls ---------------------------------------------------------------

    /// Requests the reset of streams; an empty list means all.
    pub(crate) fn reset_streams(
        &mut self,
        now: Instant,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigureError> {
        let counts = (self.outbound_streams(), self.inbound_streams());
        self.reconfigurable()?.reset_streams(direction, streams, counts)?;
        self.advance_reconfiguration(now);
        Ok(())
    }

    /// Requests the reset of all streams and TSNs.
    pub(crate) fn reset_association(&mut self, now: Instant) -> Result<(), ReconfigureError> {
        self.reconfigurable()?.reset_association();
        self.advance_reconfiguration(now);
        Ok(())
    }

    /// Requests additional streams in either direction.
    pub(crate) fn add_streams(
        &mut self,
        now: Instant,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), ReconfigureError> {
        let counts = (self.outbound_streams(), self.inbound_streams());
        self.reconfigurable()?.add_streams((outgoing, incoming), counts)?;
        self.advance_reconfiguration(now);
        Ok(())
    }

    /// Section 5.1.1: only in ESTABLISHED.
    fn reconfigurable(&mut self) -> Result<&mut Reconfiguration, ReconfigureError> {
        if !self.is_established() {
            return Err(ReconfigureError::NotEstablished);
        }
        if !self.extensions.contains(Extensions::STREAM_RECONFIGURATION) {
            return Err(ReconfigureError::NotNegotiated);
        }
        Ok(self.extensions.begin_reconfiguration(&self.identity))
    }

    // ---- progress ------------------------------------------------------------------------------

    /// Runs a step of the reconfiguration, if any, and executes its actions.
    fn reconfigure(&mut self, step: impl FnOnce(&mut Reconfiguration, &mut Context<'_>)) {
        let (rto, is_established) = (self.request_rto(), self.is_established());
        let own = self.extensions.reconfiguration_mut();
        let (Some(own), Some(rx)) = (own, self.rx.as_mut()) else { return };
        let policy = self.options.reconfiguration;
        let (tx, actions) = (&mut self.tx, Vec::new());
        let mut context = Context { tx, rx, policy, is_established, rto, actions };
        step(own, &mut context);
        let actions = context.actions;
        for action in actions {
            if self.follow(action).is_err() {
                return;
            }
        }
    }

    /// Executes an action of a reconfiguration.
    ///
    /// # Errors
    /// [`Closed`]: the action ended the association.
    fn follow(&mut self, action: Action) -> Result<(), Closed> {
        match action {
            Action::Request => self.control.push_once(Control::Reconfigure),
            Action::Answer(answers) => self
                .control
                .push_answer(self.tx.fragment_size(), Control::ReconfigureAnswers(answers)),
            Action::Announce(event) => self.announce(event.into()),
            Action::Alive(now) => {
                self.liveness.clear_errors();
                self.on_path_alive(now, self.control_route());
            }
            Action::Dropped => self.counters.chunks_dropped += 1,
            Action::BadCombination => {
                self.counters.chunks_dropped += 1;
                let what = "RE-CONFIG with parameters that do not go together";
                self.control.push_answer(
                    self.tx.fragment_size(),
                    Control::Error(OwnedCause::ProtocolViolation(what)),
                );
            }
            Action::Fault(fault, tsn) => self.answer(fault.into(), tsn, StreamId(0)),
            Action::Violation(what) => self.abort_for_violation(what),
            Action::Writable => self.application.want_writable(),
        }
        if self.is_closed() { Err(Closed) } else { Ok(()) }
    }

    /// Makes progress where possible: performs the peer's resets whose data has arrived, sends
    /// requests, and releases held messages.
    #[inline]
    pub(super) fn advance_reconfiguration(&mut self, now: Instant) {
        if self.extensions.reconfiguration().is_some() {
            self.advance_requests(now);
        }
    }

    #[inline(never)]
    fn advance_requests(&mut self, now: Instant) {
        self.reconfigure(|own, context| own.advance(now, context));
        if self.extensions.reconfiguration().is_some_and(|own| !own.is_asking()) {
            // The requests were answered before they were sent.
            self.control.retain(|control| *control != Control::Reconfigure);
        }
    }

    /// Processes a RE-CONFIG chunk; one without agreement on the extension is dropped.
    pub(super) fn on_reconfig(&mut self, now: Instant, chunk: &ReConfig<ReconfigParameters<'_>>) {
        let takes_part = self.state().sends_data() || self.state() == super::State::ShutdownSent;
        if !takes_part || !self.extensions.contains(Extensions::STREAM_RECONFIGURATION) {
            // Without agreement it is of a type to be skipped silently.
            self.counters.chunks_dropped += 1;
            return;
        }
        self.extensions.begin_reconfiguration(&self.identity);
        self.reconfigure(|own, context| own.on_chunk(now, chunk, context));
        self.advance_reconfiguration(now);
    }

    /// DATA arrived: performs the peer's resets whose data is complete.
    #[inline]
    pub(super) fn on_reset_data(&mut self) {
        if self.extensions.reconfiguration().is_some() {
            self.perform_deferred_resets();
        }
    }

    #[inline(never)]
    fn perform_deferred_resets(&mut self) {
        self.reconfigure(|own, context| own.perform_deferred_resets(context));
    }

    /// Runs the Re-configuration Timer at `now`.
    pub(super) fn handle_reconfiguration_timer(&mut self, now: Instant) {
        let Some(own) = self.extensions.reconfiguration_mut() else { return };
        if own.handle_timeout(now) {
            self.on_request_timeout(now);
        }
        self.advance_reconfiguration(now);
    }

    /// The Re-configuration Timer expired: repeats the requests.
    fn on_request_timeout(&mut self, now: Instant) {
        let timeouts = (self.request_rto(), self.options.policy.rto.max);
        let sends_data = self.state().sends_data();
        let Some(own) = self.extensions.reconfiguration_mut() else { return };
        let Some(counts) = own.on_request_timeout(now, timeouts, sends_data) else { return };
        if counts {
            self.on_path_error(now, self.control_route(), true);
            if self.is_closed() {
                return;
            }
            self.switch_control_path();
        }
        self.control.push_once(Control::Reconfigure);
    }

    /// The association shuts down: requests that were not sent are dropped.
    pub(super) fn end_reconfiguration(&mut self) {
        self.reconfigure(|own, context| own.end(context));
    }

    // ---- queries -------------------------------------------------------------------------------

    /// Whether DATA that arrives now may belong after a reset of the association that this side
    /// does not know yet. Chunks that report the peer's progress have no `tsn`.
    #[inline]
    pub(super) fn refuses_data(&mut self, tsn: Option<Tsn>) -> bool {
        let Some(own) = self.extensions.reconfiguration_mut() else { return false };
        let opens_a_gap = self.rx.as_ref().zip(tsn).is_some_and(|(rx, tsn)| rx.would_open_gap(tsn));
        own.refuses_data(opens_a_gap)
    }

    /// Whether DATA belongs after a reset that waits for earlier data.
    #[inline]
    pub(super) fn is_ahead_of_reset(&self, tsn: Tsn, stream: StreamId) -> bool {
        self.extensions.reconfiguration().is_some_and(|own| own.is_ahead_of_reset(tsn, stream))
    }

    /// Whether a SACK for `tsn`, which was never sent, may be from before a reset of the TSNs,
    /// which moves them by half the space.
    pub(super) fn is_from_before_reset(&self, tsn: Tsn) -> bool {
        let ahead = tsn.distance_from(self.tx.last_assigned_tsn());
        self.extensions.reconfiguration().is_some() && ahead > 1 << 30
    }
}
