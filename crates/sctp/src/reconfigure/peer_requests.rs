//! The peer's requests (RFC 6525, sections 5.2.1 to 5.2.6). Each request takes effect once: a
//! repeated one gets the same answer again.

use base::Instant;
use smallvec::SmallVec;

use super::answers::{Answer, Deferred, RequestOrder};
use super::streams::Streams;
use super::{Action, Context, Reconfiguration};
use crate::event::reconfiguration::{ReconfigurationEvent, ResetDirection};
use crate::wire::chunk::{
    ReConfig, ReconfigParameter, ReconfigParameters, ReconfigResult, StreamIds,
};
use crate::wire::{Rsn, StreamId, Tsn};

/// Most streams in an outgoing reset, so that it fits the packets of every path.
const LISTED_LIMIT: usize = 240;

/// Number of timeouts for which this side holds new messages, so that a peer that wants to reset
/// the association finds no outstanding data when it asks again.
const PATIENCE: u64 = 4;

/// Most parameters that a peer may combine (section 3.1).
const TOGETHER: usize = 2;

type Parameter<'a> = ReconfigParameter<'a, StreamIds<'a>>;

impl Reconfiguration {
    /// Processes the requests and answers of a RE-CONFIG chunk in turn.
    pub(crate) fn on_chunk(
        &mut self,
        now: Instant,
        chunk: &ReConfig<ReconfigParameters<'_>>,
        context: &mut Context<'_>,
    ) {
        let parameters: Result<SmallVec<[_; TOGETHER]>, _> =
            chunk.parameters.iter().take(TOGETHER + 1).collect();
        let Ok(parameters) = parameters else {
            return context.actions.push(Action::Dropped);
        };
        if !may_stand_together(&parameters) {
            return context.actions.push(Action::BadCombination);
        }
        let mut answers: SmallVec<[Answer; TOGETHER]> = SmallVec::new();
        for parameter in parameters {
            answers.extend(self.on_parameter(now, parameter, context));
        }
        if !answers.is_empty() {
            context.actions.push(Action::Answer(answers.into_vec().into()));
        }
    }

    /// Processes one parameter and returns the answer, if any.
    fn on_parameter(
        &mut self,
        now: Instant,
        parameter: Parameter<'_>,
        context: &mut Context<'_>,
    ) -> Option<Answer> {
        let request = match parameter {
            Parameter::Response { response, result, next_tsns } => {
                self.on_response(now, response, (result, next_tsns), context);
                return None;
            }
            Parameter::OutgoingReset { request, .. }
            | Parameter::IncomingReset { request, .. }
            | Parameter::SsnTsnReset { request }
            | Parameter::AddOutgoing { request, .. }
            | Parameter::AddIncoming { request, .. } => request,
            Parameter::Unrecognized(_) => {
                context.actions.push(Action::Dropped);
                return None;
            }
        };
        let answer = |result| Some(Answer::new(request, result));
        match self.answers.order_of(request) {
            RequestOrder::Next => {}
            RequestOrder::Repeated(given) => {
                if let (Parameter::SsnTsnReset { .. }, true) = (parameter, given.is_in_progress()) {
                    // Performed only when it is requested again, so that the peer learns of it.
                    let again = self.on_ssn_tsn_reset(now, request, context);
                    self.answers.replace(again);
                    return Some(again);
                }
                return Some(given);
            }
            RequestOrder::Early => return answer(ReconfigResult::IN_PROGRESS),
            RequestOrder::Bad => return answer(ReconfigResult::BAD_SEQUENCE_NUMBER),
        }
        let (given, silent) = self.perform_request(now, request, parameter, context);
        self.answers.give(given);
        (!silent).then_some(given)
    }

    /// Performs the next request: returns the answer, and whether a request of this side serves as
    /// the answer for now.
    fn perform_request(
        &mut self,
        now: Instant,
        request: Rsn,
        parameter: Parameter<'_>,
        context: &mut Context<'_>,
    ) -> (Answer, bool) {
        let said = |result| (Answer::new(request, result), false);
        match parameter {
            Parameter::OutgoingReset { response, last_tsn, streams, .. } => {
                let streams = Streams::new(streams);
                let deferred = Deferred { request, last_tsn, streams };
                said(self.on_outgoing_reset(now, response, deferred, context))
            }
            Parameter::IncomingReset { streams, .. } => {
                let result = self.on_incoming_reset(request, Streams::new(streams), context);
                (Answer::new(request, result), result == ReconfigResult::PERFORMED)
            }
            Parameter::AddOutgoing { count, .. } => said(self.on_add_outgoing(now, count, context)),
            Parameter::AddIncoming { count, .. } => {
                let result = self.on_add_incoming(count, context);
                (Answer::new(request, result), result == ReconfigResult::PERFORMED)
            }
            _ => (self.on_ssn_tsn_reset(now, request, context), false),
        }
    }

    /// Resets the peer's streams (section 5.2.2).
    fn on_outgoing_reset(
        &mut self,
        now: Instant,
        response: Rsn,
        reset: Deferred,
        context: &mut Context<'_>,
    ) -> ReconfigResult {
        let streams = &reset.streams;
        let asked_for = self.requests.asked_for_reset(streams);
        if !asked_for && !context.policy.reset_streams {
            return ReconfigResult::DENIED;
        }
        if !streams.exist(context.rx.inbound_streams()) {
            return ReconfigResult::WRONG_SSN;
        }
        let waits = !context.rx.has_reached(reset.last_tsn);
        if waits && !self.answers.may_defer() {
            return ReconfigResult::DENIED;
        }
        self.requests.on_reset_by_peer(now, streams, response);
        if waits {
            self.answers.defer(reset);
            return ReconfigResult::IN_PROGRESS;
        }
        reset_inbound(streams, context);
        ReconfigResult::PERFORMED
    }

    /// Whether DATA belongs after a reset that waits for earlier data (section 5.2.2, step E2): its
    /// SSN would be confused with an earlier one. A peer that waits for the answer sends no
    /// such DATA.
    pub(crate) fn is_ahead_of_reset(&self, tsn: Tsn, stream: StreamId) -> bool {
        self.answers.is_ahead_of_reset(tsn, stream)
    }

    /// DATA arrived: performs the peer's resets whose data is complete (section 5.2.2, steps E3 to
    /// E5).
    pub(crate) fn perform_deferred_resets(&mut self, context: &mut Context<'_>) {
        let reached = self.answers.take_reached(|last_tsn| context.rx.has_reached(last_tsn));
        for Deferred { request, streams, .. } in reached {
            reset_inbound(&streams, context);
            let answer = Answer::new(request, ReconfigResult::PERFORMED);
            self.answers.replace(answer);
            context.actions.push(Action::Answer(Box::new([answer])));
        }
    }

    /// Resets this side's streams (section 5.2.3) by a request of its own.
    fn on_incoming_reset(
        &mut self,
        request: Rsn,
        streams: Streams,
        context: &mut Context<'_>,
    ) -> ReconfigResult {
        if !context.policy.reset_streams
            || streams.listed().len() > LISTED_LIMIT
            || !context.is_established
        {
            return ReconfigResult::DENIED;
        }
        if !streams.exist(context.tx.queue().streams()) {
            return ReconfigResult::WRONG_SSN;
        }
        if self.requests.is_resetting(&streams) {
            return ReconfigResult::NOTHING_TO_DO;
        }
        // The answer is a request of this side, which follows the outstanding one.
        if self.requests.may_await_the_peers() || self.requests.is_answering() {
            return ReconfigResult::REQUEST_IN_PROGRESS;
        }
        self.requests.answer_with_reset(streams, request);
        let at_once = self.answers_at_once(request, context);
        if at_once { ReconfigResult::PERFORMED } else { ReconfigResult::IN_PROGRESS }
    }

    /// Resets the association (section 5.2.4). Unlike there, outstanding data is not abandoned: the
    /// peer is asked to wait until it is acknowledged.
    fn on_ssn_tsn_reset(
        &mut self,
        now: Instant,
        request: Rsn,
        context: &mut Context<'_>,
    ) -> Answer {
        let said = |result| Answer::new(request, result);
        if !(context.policy.reset_association && context.is_established) {
            return said(ReconfigResult::DENIED);
        }
        if self.requests.is_outstanding() {
            return said(ReconfigResult::REQUEST_IN_PROGRESS);
        }
        if !context.tx.is_settled() {
            self.answers.hold_until(now + context.rto * PATIENCE);
            return said(ReconfigResult::IN_PROGRESS);
        }
        // G1: half the space away, so that no old TSN can be confused with a new one.
        let peer_tsn = context.rx.cumulative().advance(1 << 31).next();
        let own_tsn = context.tx.last_assigned_tsn().next();
        self.answers.begin_again();
        self.release_due = true;
        context.begin_association_again(peer_tsn);
        Answer::association_reset(request, (own_tsn, peer_tsn))
    }

    /// Adds streams of the peer (section 5.2.5).
    fn on_add_outgoing(
        &mut self,
        now: Instant,
        count: u16,
        context: &mut Context<'_>,
    ) -> ReconfigResult {
        let asked_for = self.requests.asked_for_streams(count);
        let allowed = asked_for || context.policy.add_streams;
        let fits = context.rx.inbound_streams().checked_add(count).is_some();
        if !allowed || count == 0 || !fits {
            return ReconfigResult::DENIED;
        }
        context.rx.add_inbound(count);
        self.requests.on_streams_added_by_peer(now, count);
        context.announce(ReconfigurationEvent::StreamsAdded { outgoing: 0, incoming: count });
        ReconfigResult::PERFORMED
    }

    /// Adds streams of this side (section 5.2.6) by a request of its own.
    fn on_add_incoming(&mut self, count: u16, context: &Context<'_>) -> ReconfigResult {
        if self.requests.is_outstanding() {
            return ReconfigResult::REQUEST_IN_PROGRESS;
        }
        let (to_come, _) = self.requests.streams_to_come();
        let sum =
            context.tx.queue().streams().checked_add(to_come).and_then(|s| s.checked_add(count));
        let allowed = context.policy.add_streams && context.is_established;
        if !allowed || count == 0 || sum.is_none() {
            return ReconfigResult::DENIED;
        }
        self.requests.want_streams(count, 0);
        ReconfigResult::PERFORMED
    }
}

fn reset_inbound(streams: &Streams, context: &mut Context<'_>) {
    if let Err(fault) = context.rx.reset_inbound(streams.listed()) {
        context.actions.push(Action::Fault(fault, context.rx.cumulative()));
    }
    let (direction, streams) = (ResetDirection::Incoming, streams.listed().into());
    context.announce(ReconfigurationEvent::StreamsReset { direction, streams });
}

/// Whether a chunk may combine these parameters: one, or one of the pairs of section 3.1.
fn may_stand_together(parameters: &[Parameter<'_>]) -> bool {
    use ReconfigParameter::{AddIncoming, AddOutgoing, IncomingReset, OutgoingReset, Response};
    match parameters {
        [_] => true,
        [first, second] => matches!(
            (first, second),
            (OutgoingReset { .. }, IncomingReset { .. } | Response { .. })
                | (IncomingReset { .. }, OutgoingReset { .. })
                | (AddOutgoing { .. }, AddIncoming { .. })
                | (AddIncoming { .. }, AddOutgoing { .. })
                | (Response { .. }, OutgoingReset { .. } | Response { .. })
        ),
        _ => false,
    }
}
