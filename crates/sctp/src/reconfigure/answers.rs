//! The order of the peer's requests, the answers given to them, and its resets that wait for data
//! (RFC 6525, section 5.2).

use base::Instant;

use super::streams::Streams;
use crate::wire::chunk::{ReconfigParameter, ReconfigResult};
use crate::wire::{Rsn, StreamId, Tsn};

/// Most resets of the peer that wait for its data. It may request one at a time, but some peers
/// have several outstanding.
const DEFERRED_LIMIT: usize = 8;

/// Largest distance of an early request that is explained by reordering.
const OVERTAKING: u32 = 16;

/// Most consecutive requests ahead of a missing one that are answered with a request to wait; later
/// ones are answered as having wrong numbers. The peer may remember another association.
const EARLY_LIMIT: u8 = 64;

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
    pub(super) fn new(request: Rsn, result: ReconfigResult) -> Answer {
        Answer { request, result, next_tsns: None }
    }

    /// A reset of the association was performed: `next_tsns` are those of this side and of the
    /// peer.
    pub(super) fn association_reset(request: Rsn, next_tsns: (Tsn, Tsn)) -> Answer {
        let result = ReconfigResult::PERFORMED;
        Answer { request, result, next_tsns: Some(next_tsns) }
    }

    /// Whether the answer asks the peer to repeat the request later.
    pub(super) fn is_in_progress(&self) -> bool {
        self.result == ReconfigResult::IN_PROGRESS
    }

    /// The answer in its wire form.
    pub(crate) fn parameter(&self) -> ReconfigParameter<'static, core::iter::Empty<StreamId>> {
        let Answer { request, result, next_tsns } = *self;
        ReconfigParameter::Response { response: request, result, next_tsns }
    }
}

/// A reset by the peer, which may wait for earlier data (section 5.2.2, step E2).
#[derive(Debug)]
pub(super) struct Deferred {
    pub(super) request: Rsn,
    pub(super) last_tsn: Tsn,
    pub(super) streams: Streams,
}

impl Deferred {
    /// Whether DATA belongs after this reset.
    fn precedes(&self, tsn: Tsn, stream: StreamId) -> bool {
        tsn.is_after(self.last_tsn) && self.streams.contains(stream)
    }
}

/// Position of a request among the peer's, by its number.
pub(super) enum RequestOrder {
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
    /// Consecutive requests of the peer that came too early.
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

    /// Replaces the answer to a request that was postponed.
    pub(super) fn replace(&mut self, answer: Answer) {
        for given in self.given.iter_mut().flatten().filter(|given| given.request == answer.request)
        {
            *given = answer;
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

    /// Holds the messages of all streams until `until`, since the peer wants to reset the
    /// association.
    pub(super) fn hold_until(&mut self, until: Instant) {
        self.clearing_until = Some(until);
    }

    /// Ends the holding of messages for the peer's requests.
    pub(super) fn forget_waiting(&mut self) {
        self.clearing_until = None;
    }

    /// The association was reset: no message is held for it, and no earlier reset waits for data.
    pub(super) fn begin_again(&mut self) {
        self.forget_waiting();
        self.deferred.clear();
    }

    /// Whether another reset may wait for data.
    pub(super) fn may_defer(&self) -> bool {
        self.deferred.len() < DEFERRED_LIMIT
    }

    /// Stores a reset that waits for data.
    pub(super) fn defer(&mut self, reset: Deferred) {
        self.deferred.push(reset);
    }

    /// Whether DATA belongs after a reset that waits for earlier data.
    pub(super) fn is_ahead_of_reset(&self, tsn: Tsn, stream: StreamId) -> bool {
        self.deferred.iter().any(|deferred| deferred.precedes(tsn, stream))
    }

    /// Removes and returns the resets whose last TSN has been reached.
    pub(super) fn take_reached(&mut self, has_reached: impl Fn(Tsn) -> bool) -> Vec<Deferred> {
        self.deferred.extract_if(.., |deferred| has_reached(deferred.last_tsn)).collect()
    }

    /// The position of a request among the peer's; early ones are counted.
    pub(super) fn order_of(&mut self, request: Rsn) -> RequestOrder {
        if request == self.expected {
            return RequestOrder::Next;
        }
        match self.given.iter().flatten().find(|answer| answer.request == request) {
            Some(answer) => RequestOrder::Repeated(*answer),
            // A peer with several outstanding requests (against section 5.1.1) repeats them all if
            // told that they are in progress; told that the number is bad it would give
            // up.
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
    pub(super) fn give(&mut self, answer: Answer) {
        self.expected = self.expected.next();
        self.early = 0;
        self.given = [Some(answer), self.given[0]];
    }
}
