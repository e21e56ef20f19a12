//! The peer's requests (RFC 6525, sections 5.2.1 to 5.2.6). Each request takes effect once: a repeated one gets the
//! same answer again.

use base::Instant;
use smallvec::SmallVec;

use super::streams::Streams;
use super::{Action, Context, Reconfiguration};
use crate::event::reconfiguration::{ReconfigurationEvent, ResetDirection};
use crate::wire::chunk::{
    ReConfig, ReconfigParameter, ReconfigParameters, ReconfigResult, StreamIds,
};
use crate::wire::{Rsn, StreamId, Tsn};

/// Most resets of the peer that wait for its data. It may request one at a time, but some peers have several
/// outstanding.
const DEFERRED_LIMIT: usize = 8;

/// Largest distance of an early request that is explained by reordering.
const OVERTAKING: u32 = 16;

/// Most consecutive requests ahead of a missing one that are answered with a request to wait; later ones are
/// answered as having wrong numbers. The peer may remember another association.
const EARLY_LIMIT: u8 = 64;

/// Most streams in an outgoing reset, so that it fits the packets of every path.
const LISTED_LIMIT: usize = 240;

/// Number of timeouts for which this side holds new messages, so that a peer that wants to reset the association
/// finds no outstanding data when it asks again.
const PATIENCE: u64 = 4;

/// Most parameters that a peer may combine (section 3.1).
const TOGETHER: usize = 2;

type Parameter<'a> = ReconfigParameter<'a, StreamIds<'a>>;

/// Answers that are sent together.
pub(crate) type AnswerList = Box<[Answer]>;

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    request: Rsn,
    result: ReconfigResult,
    /// After a reset of the association: the next TSNs of this side and of the peer.
    next_tsns: Option<(Tsn, Tsn)>,
}

impl Answer {
    /// The answer in its wire form.
    pub(crate) fn parameter(&self) -> ReconfigParameter<'static, core::iter::Empty<StreamId>> {
        let Answer { request, result, next_tsns } = *self;
        ReconfigParameter::Response { response: request, result, next_tsns }
    }
}

/// A reset by the peer, which may wait for earlier data (section 5.2.2, step E2).
#[derive(Debug)]
struct Deferred {
    request: Rsn,
    last_tsn: Tsn,
    streams: Streams,
}

impl Deferred {
    /// Whether DATA belongs after this reset.
    fn precedes(&self, tsn: Tsn, stream: StreamId) -> bool {
        tsn.is_after(self.last_tsn) && self.streams.contains(stream)
    }
}

/// Position of a request among the peer's, by its number.
enum RequestOrder {
    Next,
    Repeated(Answer),
    Early,
    Bad,
}

#[derive(Debug)]
pub(super) struct Answers {
    /// The number of the peer's next request.
    expected: Rsn,
    /// The last two answers, the latest first: those of one chunk.
    given: [Option<Answer>; 2],
    deferred: Vec<Deferred>,
    /// Consecutive early requests.
    early: u8,
    /// The peer wants to reset the association: new messages are held until this instant.
    clearing_until: Option<Instant>,
}

impl Answers {
    pub(super) fn new(first: Rsn) -> Self {
        let (given, deferred) = ([None; 2], Vec::new());
        Answers { expected: first, given, deferred, early: 0, clearing_until: None }
    }

    /// Whether new messages of all streams must be held.
    pub(super) fn hold(&self) -> bool {
        self.clearing_until.is_some()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.clearing_until
    }

    /// The number of the peer's last request.
    pub(super) fn last_request(&self) -> Rsn {
        self.expected.previous()
    }

    /// Updates the result of a request that was postponed.
    pub(super) fn update(&mut self, request: Rsn, result: ReconfigResult) {
        for answer in self.given.iter_mut().flatten().filter(|answer| answer.request == request) {
            answer.result = result;
        }
    }

    /// Runs the timer at `now`; returns whether messages need not be held any more.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let expired = self.clearing_until.is_some_and(|until| until <= now);
        if expired {
            self.clearing_until = None;
        }
        expired
    }

    /// Ends the holding of messages for the peer's requests.
    pub(super) fn forget_waiting(&mut self) {
        self.clearing_until = None;
    }

    fn order_of(&mut self, request: Rsn) -> RequestOrder {
        if request == self.expected {
            return RequestOrder::Next;
        }
        match self.given.iter().flatten().find(|answer| answer.request == request) {
            Some(answer) => RequestOrder::Repeated(*answer),
            // A peer with several outstanding requests (against section 5.1.1) repeats them all if told that they
            // are in progress; told that the number is bad it would give up.
            None if self.early < EARLY_LIMIT
                && request.distance_from(self.expected) <= OVERTAKING =>
            {
                self.early += 1;
                RequestOrder::Early
            }
            None => RequestOrder::Bad,
        }
    }

    /// Stores the answer to the next request.
    fn give(&mut self, answer: Answer) {
        self.expected = self.expected.next();
        self.early = 0;
        self.given = [Some(answer), self.given[0]];
    }
}

impl Reconfiguration {
    /// Processes RE-CONFIG.
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
        let answer = |result| Some(Answer { request, result, next_tsns: None });
        match self.answers.order_of(request) {
            RequestOrder::Next => {}
            RequestOrder::Repeated(given) => {
                let unfinished = given.result == ReconfigResult::IN_PROGRESS;
                if let (Parameter::SsnTsnReset { .. }, true) = (parameter, unfinished) {
                    // Performed only when it is requested again, so that the peer learns of it.
                    let again = self.on_ssn_tsn_reset(now, request, context);
                    for old in self.answers.given.iter_mut().flatten() {
                        if old.request == request {
                            *old = again;
                        }
                    }
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

    /// Performs the next request: returns the answer, and whether a request of this side serves as the answer for
    /// now.
    fn perform_request(
        &mut self,
        now: Instant,
        request: Rsn,
        parameter: Parameter<'_>,
        context: &mut Context<'_>,
    ) -> (Answer, bool) {
        let said = |result| (Answer { request, result, next_tsns: None }, false);
        match parameter {
            Parameter::OutgoingReset { response, last_tsn, streams, .. } => {
                let streams = Streams::new(streams);
                let deferred = Deferred { request, last_tsn, streams };
                said(self.on_outgoing_reset(now, response, deferred, context))
            }
            Parameter::IncomingReset { streams, .. } => {
                let result = self.on_incoming_reset(request, Streams::new(streams), context);
                let answer = Answer { request, result, next_tsns: None };
                (answer, result == ReconfigResult::PERFORMED)
            }
            Parameter::AddOutgoing { count, .. } => said(self.on_add_outgoing(now, count, context)),
            Parameter::AddIncoming { count, .. } => {
                let result = self.on_add_incoming(count, context);
                let answer = Answer { request, result, next_tsns: None };
                (answer, result == ReconfigResult::PERFORMED)
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
        if waits && self.answers.deferred.len() >= DEFERRED_LIMIT {
            return ReconfigResult::DENIED;
        }
        self.requests.on_reset_by_peer(now, streams, response);
        if waits {
            self.answers.deferred.push(reset);
            return ReconfigResult::IN_PROGRESS;
        }
        reset_inbound(streams, context);
        ReconfigResult::PERFORMED
    }

    /// Whether DATA belongs after a reset that waits for earlier data (section 5.2.2, step E2): its SSN would be
    /// confused with an earlier one. A peer that waits for the answer sends no such DATA.
    pub(crate) fn is_ahead_of_reset(&self, tsn: Tsn, stream: StreamId) -> bool {
        self.answers.deferred.iter().any(|deferred| deferred.precedes(tsn, stream))
    }

    /// DATA arrived: performs the peer's resets whose data is complete (section 5.2.2, steps E3 to E5).
    pub(crate) fn perform_deferred_resets(&mut self, context: &mut Context<'_>) {
        if self.answers.deferred.is_empty() {
            return;
        }
        let (reached, waiting) = core::mem::take(&mut self.answers.deferred)
            .into_iter()
            .partition(|deferred: &Deferred| context.rx.has_reached(deferred.last_tsn));
        self.answers.deferred = waiting;
        for Deferred { request, streams, .. } in reached {
            reset_inbound(&streams, context);
            self.answers.update(request, ReconfigResult::PERFORMED);
            let result = ReconfigResult::PERFORMED;
            let answer = Answer { request, result, next_tsns: None };
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

    /// Resets the association (section 5.2.4). Unlike there, outstanding data is not abandoned: the peer is asked
    /// to wait until it is acknowledged.
    fn on_ssn_tsn_reset(
        &mut self,
        now: Instant,
        request: Rsn,
        context: &mut Context<'_>,
    ) -> Answer {
        let said = |result| Answer { request, result, next_tsns: None };
        if !(context.policy.reset_association && context.is_established) {
            return said(ReconfigResult::DENIED);
        }
        if self.requests.is_outstanding() {
            return said(ReconfigResult::REQUEST_IN_PROGRESS);
        }
        if !context.tx.is_settled() {
            self.answers.clearing_until = Some(now + context.rto * PATIENCE);
            return said(ReconfigResult::IN_PROGRESS);
        }
        // G1: half the space away, so that no old TSN can be confused with a new one.
        let peer_tsn = context.rx.cumulative().advance(1 << 31).next();
        let own_tsn = context.tx.last_assigned_tsn().next();
        self.answers.clearing_until = None;
        self.answers.deferred.clear();
        self.release_due = true;
        begin_association_again(peer_tsn, context);
        let next_tsns = Some((own_tsn, peer_tsn));
        Answer { request, result: ReconfigResult::PERFORMED, next_tsns }
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

/// Restarts both sides: the peer with `peer_tsn`, this side with its next TSN.
pub(super) fn begin_association_again(peer_tsn: Tsn, context: &mut Context<'_>) {
    if let Err(fault) = context.rx.restart_at(peer_tsn) {
        context.actions.push(Action::Fault(fault, peer_tsn));
    }
    context.tx.queue_mut().reset_all_streams();
    let local_tsn = context.tx.last_assigned_tsn().next();
    context.announce(ReconfigurationEvent::AssociationReset { local_tsn, peer_tsn });
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
