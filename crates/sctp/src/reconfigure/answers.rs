//! What the peer asks of this side (RFC 6525, sections 5.2.1 to 5.2.6). Each request has an effect
//! once: a repeated one gets the answer that it got before.

use base::Instant;
use smallvec::SmallVec;

use super::streams::Streams;
use super::{Reconfiguration, ResetDirection};
use crate::association::{Association, Control, OwnedCause, State};
use crate::event::Event;
use crate::extensions::Extensions;
use crate::wire::chunk::{
    ReConfig, ReconfigParameter, ReconfigParameters, ReconfigResult, StreamIds,
};
use crate::wire::{Rsn, StreamId, Tsn};

/// Resets of the peer that may wait for its data at once. It may ask for one at a time, but some have
/// several under way.
const DEFERRED_LIMIT: usize = 8;

/// A request that is ahead of the next by no more than this overtook another.
const OVERTAKING: u32 = 16;

/// Requests in a row that may be ahead of one that does not come: the peer is told to wait so often, and
/// then that its numbers are wrong. It may be somebody who remembers another association.
const EARLY_LIMIT: u8 = 64;

/// Streams that an outgoing reset may list, so that it fits the packets of every path.
const LISTED_LIMIT: usize = 240;

/// Timeouts for which this side holds new messages back, so that a peer that wants to reset the
/// association finds nothing outstanding when it asks again.
const PATIENCE: u64 = 4;

/// Parameters that a peer may put together (section 3.1).
const TOGETHER: usize = 2;

type Parameter<'a> = ReconfigParameter<'a, StreamIds<'a>>;

/// Answers that leave together.
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
    /// As it is written.
    pub(crate) fn parameter(&self) -> ReconfigParameter<'static, core::iter::Empty<StreamId>> {
        let Answer { request, result, next_tsns } = *self;
        ReconfigParameter::Response { response: request, result, next_tsns }
    }
}

/// A reset of the peer's, which may wait for the data before it (section 5.2.2, step E2).
#[derive(Debug)]
struct Deferred {
    request: Rsn,
    last_tsn: Tsn,
    streams: Streams,
}

impl Deferred {
    /// Whether DATA belongs behind this reset.
    fn precedes(&self, tsn: Tsn, stream: StreamId) -> bool {
        tsn.is_after(self.last_tsn) && self.streams.contains(stream)
    }
}

/// What a request is by its number.
enum Turn {
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
    /// Requests that came too early since the last that did not.
    early: u8,
    /// The peer wants to reset the association: until then no new message is sent.
    clearing_until: Option<Instant>,
}

impl Answers {
    pub(super) fn new(first: Rsn) -> Self {
        let (given, deferred) = ([None; 2], Vec::new());
        Answers { expected: first, given, deferred, early: 0, clearing_until: None }
    }

    /// Whether new messages have to wait, whatever their stream.
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

    /// The result of a request that was to be done later.
    pub(super) fn update(&mut self, request: Rsn, result: ReconfigResult) {
        for answer in self.given.iter_mut().flatten().filter(|answer| answer.request == request) {
            answer.result = result;
        }
    }

    /// Time has come. True if messages need not wait any more.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let expired = self.clearing_until.is_some_and(|until| until <= now);
        if expired {
            self.clearing_until = None;
        }
        expired
    }

    /// Nothing that the peer asked for makes messages wait any more.
    pub(super) fn forget_waiting(&mut self) {
        self.clearing_until = None;
    }

    fn turn(&mut self, request: Rsn) -> Turn {
        if request == self.expected {
            return Turn::Next;
        }
        match self.given.iter().flatten().find(|answer| answer.request == request) {
            Some(answer) => Turn::Repeated(*answer),
            // A peer that has several requests under way (against section 5.1.1) sends them all again
            // if told that they are in progress; told that the number is bad it would give up.
            None if self.early < EARLY_LIMIT
                && request.distance_from(self.expected) <= OVERTAKING =>
            {
                self.early += 1;
                Turn::Early
            }
            None => Turn::Bad,
        }
    }

    /// Remembers the answer to the next request.
    fn give(&mut self, answer: Answer) {
        self.expected = self.expected.next();
        self.early = 0;
        self.given = [Some(answer), self.given[0]];
    }
}

impl Association {
    /// Input: RE-CONFIG.
    pub(crate) fn on_reconfig(&mut self, now: Instant, chunk: &ReConfig<ReconfigParameters<'_>>) {
        let takes_part = self.state.sends_data() || self.state == State::ShutdownSent;
        if !takes_part || !self.extensions.contains(Extensions::STREAM_RECONFIGURATION) {
            // Not agreed on, it is of a type to be skipped in silence.
            self.counters.chunks_dropped += 1;
            return;
        }
        let parameters: Result<SmallVec<[_; TOGETHER]>, _> =
            chunk.parameters.iter().take(TOGETHER + 1).collect();
        let Ok(parameters) = parameters else {
            self.counters.chunks_dropped += 1;
            return;
        };
        if !may_stand_together(&parameters) {
            self.counters.chunks_dropped += 1;
            let cause =
                OwnedCause::ProtocolViolation("RE-CONFIG with parameters that do not go together");
            return self.push_control(Control::Error(cause));
        }
        self.reconfiguration();
        let Some(mut own) = self.reconfiguration.take() else { return };
        let mut answers: SmallVec<[Answer; TOGETHER]> = SmallVec::new();
        for parameter in parameters {
            answers.extend(self.on_reconfig_parameter(now, &mut own, parameter));
        }
        self.reconfiguration = Some(own);
        if !answers.is_empty() {
            self.push_control(Control::ReconfigureAnswers(answers.into_vec().into()));
        }
        self.advance_reconfiguration(now);
    }

    /// Takes one parameter and says what is to be answered, if anything.
    fn on_reconfig_parameter(
        &mut self,
        now: Instant,
        own: &mut Reconfiguration,
        parameter: Parameter<'_>,
    ) -> Option<Answer> {
        let request = match parameter {
            Parameter::Response { response, result, next_tsns } => {
                self.on_reconfiguration_response(now, own, response, result, next_tsns);
                return None;
            }
            Parameter::OutgoingReset { request, .. }
            | Parameter::IncomingReset { request, .. }
            | Parameter::SsnTsnReset { request }
            | Parameter::AddOutgoing { request, .. }
            | Parameter::AddIncoming { request, .. } => request,
            Parameter::Unrecognized(_) => {
                self.counters.chunks_dropped += 1;
                return None;
            }
        };
        let answer = |result| Some(Answer { request, result, next_tsns: None });
        match own.answers.turn(request) {
            Turn::Next => {}
            Turn::Repeated(given) => {
                let unfinished = given.result == ReconfigResult::IN_PROGRESS;
                if let (Parameter::SsnTsnReset { .. }, true) = (parameter, unfinished) {
                    // Done only when it is asked for, so that the peer hears of it.
                    let again = self.on_ssn_tsn_reset(now, own, request);
                    for old in own.answers.given.iter_mut().flatten() {
                        if old.request == request {
                            *old = again;
                        }
                    }
                    return Some(again);
                }
                return Some(given);
            }
            Turn::Early => return answer(ReconfigResult::IN_PROGRESS),
            Turn::Bad => return answer(ReconfigResult::BAD_SEQUENCE_NUMBER),
        }
        let (given, silent) = self.perform_request(now, own, request, parameter);
        own.answers.give(given);
        (!silent).then_some(given)
    }

    /// A request whose turn it is: what is answered to it from now on, and whether a request of this
    /// side is the answer for the moment.
    fn perform_request(
        &mut self,
        now: Instant,
        own: &mut Reconfiguration,
        request: Rsn,
        parameter: Parameter<'_>,
    ) -> (Answer, bool) {
        let said = |result| (Answer { request, result, next_tsns: None }, false);
        match parameter {
            Parameter::OutgoingReset { response, last_tsn, streams, .. } => {
                let streams = Streams::new(streams);
                let deferred = Deferred { request, last_tsn, streams };
                said(self.on_outgoing_reset(now, own, response, deferred))
            }
            Parameter::IncomingReset { streams, .. } => {
                let result = self.on_incoming_reset(own, request, Streams::new(streams));
                let answer = Answer { request, result, next_tsns: None };
                (answer, result == ReconfigResult::PERFORMED)
            }
            Parameter::AddOutgoing { count, .. } => said(self.on_add_outgoing(now, own, count)),
            Parameter::AddIncoming { count, .. } => {
                let result = self.on_add_incoming(own, count);
                let answer = Answer { request, result, next_tsns: None };
                (answer, result == ReconfigResult::PERFORMED)
            }
            _ => (self.on_ssn_tsn_reset(now, own, request), false),
        }
    }

    /// The peer's streams are to begin again (section 5.2.2).
    fn on_outgoing_reset(
        &mut self,
        now: Instant,
        own: &mut Reconfiguration,
        response: Rsn,
        reset: Deferred,
    ) -> ReconfigResult {
        let streams = &reset.streams;
        let asked_for = own.requests.asked_for_reset(streams);
        if !asked_for && !self.options.reconfiguration.reset_streams {
            return ReconfigResult::DENIED;
        }
        if !streams.exist(self.inbound_streams) {
            return ReconfigResult::WRONG_SSN;
        }
        let Some(rx) = &self.rx else { return ReconfigResult::DENIED };
        let waits = !rx.has_reached(reset.last_tsn);
        if waits && own.answers.deferred.len() >= DEFERRED_LIMIT {
            return ReconfigResult::DENIED;
        }
        own.requests.on_reset_by_peer(now, streams, response);
        if waits {
            own.answers.deferred.push(reset);
            return ReconfigResult::IN_PROGRESS;
        }
        self.reset_inbound(streams);
        ReconfigResult::PERFORMED
    }

    fn reset_inbound(&mut self, streams: &Streams) {
        let done = self.rx.as_mut().map(|rx| rx.reset_inbound(streams.listed()));
        if let (Some(Err(fault)), Some(rx)) = (done, &self.rx) {
            self.answer(fault.into(), rx.cumulative(), StreamId(0));
        }
        let (direction, streams) = (ResetDirection::Incoming, streams.listed().into());
        self.announce(Event::StreamsReset { direction, streams });
    }

    /// Whether DATA belongs behind a reset that waits for the data before it (section 5.2.2, step E2): its
    /// SSN would be taken for one of before. A peer that waits for the answer sends none such.
    pub(crate) fn is_ahead_of_reset(&self, tsn: Tsn, stream: StreamId) -> bool {
        self.reconfiguration.as_ref().is_some_and(|own| {
            own.answers.deferred.iter().any(|deferred| deferred.precedes(tsn, stream))
        })
    }

    /// Input: DATA came. Performs the resets of the peer whose data is complete (section 5.2.2, steps
    /// E3 to E5).
    pub(crate) fn on_reset_data(&mut self) {
        if let Some(mut own) = self.reconfiguration.take() {
            self.perform_deferred_resets(&mut own);
            self.reconfiguration = Some(own);
        }
    }

    pub(super) fn perform_deferred_resets(&mut self, own: &mut Reconfiguration) {
        let Some(rx) = self.rx.as_ref().filter(|_| !own.answers.deferred.is_empty()) else {
            return;
        };
        let (reached, waiting) = core::mem::take(&mut own.answers.deferred)
            .into_iter()
            .partition(|deferred: &Deferred| rx.has_reached(deferred.last_tsn));
        own.answers.deferred = waiting;
        for Deferred { request, streams, .. } in reached {
            self.reset_inbound(&streams);
            own.answers.update(request, ReconfigResult::PERFORMED);
            let result = ReconfigResult::PERFORMED;
            let answer = Answer { request, result, next_tsns: None };
            self.push_control(Control::ReconfigureAnswers(Box::new([answer])));
        }
    }

    /// This side's streams are to begin again (section 5.2.3): its own request does it.
    fn on_incoming_reset(
        &mut self,
        own: &mut Reconfiguration,
        request: Rsn,
        streams: Streams,
    ) -> ReconfigResult {
        if !self.options.reconfiguration.reset_streams
            || streams.listed().len() > LISTED_LIMIT
            || self.state != State::Established
        {
            return ReconfigResult::DENIED;
        }
        if !streams.exist(self.outbound_streams()) {
            return ReconfigResult::WRONG_SSN;
        }
        if own.requests.is_resetting(&streams) {
            return ReconfigResult::NOTHING_TO_DO;
        }
        if own.requests.is_outstanding() || own.requests.is_answering() {
            return ReconfigResult::REQUEST_IN_PROGRESS;
        }
        own.requests.answer_with_reset(streams, request);
        let at_once = self.answers_at_once(own, request);
        if at_once { ReconfigResult::PERFORMED } else { ReconfigResult::IN_PROGRESS }
    }

    /// Everything is to begin again (section 5.2.4). Unlike there, what is outstanding is not given up:
    /// the peer is asked to wait until it has been acknowledged.
    fn on_ssn_tsn_reset(
        &mut self,
        now: Instant,
        own: &mut Reconfiguration,
        request: Rsn,
    ) -> Answer {
        let said = |result| Answer { request, result, next_tsns: None };
        let allowed =
            self.options.reconfiguration.reset_association && self.state == State::Established;
        let Some(rx) = self.rx.as_ref().filter(|_| allowed) else {
            return said(ReconfigResult::DENIED);
        };
        if own.requests.is_outstanding() {
            return said(ReconfigResult::REQUEST_IN_PROGRESS);
        }
        if !(self.queue.is_empty() && self.tx.is_settled()) {
            own.answers.clearing_until = Some(now + self.control_rto() * PATIENCE);
            return said(ReconfigResult::IN_PROGRESS);
        }
        // G1: half the space away, so that nothing old can be taken for new.
        let peer_tsn = rx.cumulative().advance(1 << 31).next();
        let own_tsn = self.tx.last_assigned_tsn().next();
        own.answers.clearing_until = None;
        own.answers.deferred.clear();
        own.release_due = true;
        self.begin_association_again(peer_tsn);
        let next_tsns = Some((own_tsn, peer_tsn));
        Answer { request, result: ReconfigResult::PERFORMED, next_tsns }
    }

    /// The peer wants to send on more streams (section 5.2.5).
    fn on_add_outgoing(
        &mut self,
        now: Instant,
        own: &mut Reconfiguration,
        count: u16,
    ) -> ReconfigResult {
        let asked_for = own.requests.asked_for_streams(count);
        let allowed = asked_for || self.options.reconfiguration.add_streams;
        let Some(rx) = self.rx.as_mut().filter(|_| allowed && count > 0) else {
            return ReconfigResult::DENIED;
        };
        if rx.inbound_streams().checked_add(count).is_none() {
            return ReconfigResult::DENIED;
        }
        rx.add_inbound(count);
        self.inbound_streams = rx.inbound_streams();
        own.requests.on_streams_added_by_peer(now, count);
        self.announce(Event::StreamsAdded { outgoing: 0, incoming: count });
        ReconfigResult::PERFORMED
    }

    /// This side is to send on more streams (section 5.2.6): its own request does it.
    fn on_add_incoming(&mut self, own: &mut Reconfiguration, count: u16) -> ReconfigResult {
        if own.requests.is_outstanding() {
            return ReconfigResult::REQUEST_IN_PROGRESS;
        }
        let (to_come, _) = own.requests.streams_to_come();
        let sum = self.outbound_streams().checked_add(to_come).and_then(|s| s.checked_add(count));
        let allowed = self.options.reconfiguration.add_streams && self.state == State::Established;
        if !allowed || count == 0 || sum.is_none() {
            return ReconfigResult::DENIED;
        }
        own.requests.want_streams(count, 0);
        ReconfigResult::PERFORMED
    }
}

/// Section 3.1: one parameter, or one of the pairs listed there.
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
