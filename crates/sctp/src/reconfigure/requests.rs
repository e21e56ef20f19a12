//! This side's requests (RFC 6525, sections 5.1 and 5.2.7): wishes of the application, one
//! outstanding chunk of one or two requests at a time, and its timer.

mod progress;

use std::collections::VecDeque;

use base::{Duration, Instant};
use smallvec::SmallVec;

use super::streams::Streams;
use crate::event::reconfiguration::{ReconfigurationRequest, ResetDirection};
use crate::tx::send_queue::{SendQueue, WaitingMessage};
use crate::tx::sender::Sender;
use crate::wire::chunk::{ReconfigParameter, ReconfigResult};
use crate::wire::{Rsn, StreamId, Tsn};

/// Most streams of one request, so that two lists fit the packets of every path.
const STREAMS_PER_REQUEST: usize = 120;

/// Outgoing streams to be reset once all earlier data is acknowledged.
#[derive(Debug)]
struct Drain {
    streams: Streams,
    /// The peer's request that this answers, if any.
    answers: Option<Rsn>,
    /// A queued message of the streams: while it is queued, no other needs to be searched for.
    waits_for: Option<WaitingMessage>,
    /// Once no message of the streams is queued: the unit after their last outstanding one.
    end: Option<u64>,
}

impl Drain {
    fn new(streams: Streams, answers: Option<Rsn>) -> Self {
        Drain { streams, answers, waits_for: None, end: None }
    }

    /// Whether no message of the streams is queued any more.
    fn is_idle(&mut self, queue: &SendQueue) -> bool {
        if queue.has_open_among(|stream| self.streams.contains(stream)) {
            return false;
        }
        if self.waits_for.is_none_or(|message| !queue.is_waiting(message)) {
            self.waits_for = match &self.streams {
                Streams::All => queue.find_waiting(),
                Streams::These(streams) => queue.find_waiting_on(streams),
            };
        }
        self.waits_for.is_none()
    }

    fn is_done(&self, cumulative: u64) -> bool {
        self.end.is_some_and(|end| end <= cumulative)
    }
}

#[derive(Clone, Debug)]
enum Request {
    OutgoingReset { response: Rsn, last_tsn: Tsn, streams: Streams },
    IncomingReset(Streams),
    SsnTsnReset,
    AddOutgoing(u16),
    AddIncoming(u16),
}

impl Request {
    /// The request as reported to the application.
    fn describe(self) -> ReconfigurationRequest {
        let reset = |direction, streams: Streams| ReconfigurationRequest::ResetStreams {
            direction,
            streams: streams.listed().into(),
        };
        match self {
            Request::OutgoingReset { streams, .. } => reset(ResetDirection::Outgoing, streams),
            Request::IncomingReset(streams) => reset(ResetDirection::Incoming, streams),
            Request::SsnTsnReset => ReconfigurationRequest::ResetAssociation,
            Request::AddOutgoing(count) => ReconfigurationRequest::AddOutgoing(count),
            Request::AddIncoming(count) => ReconfigurationRequest::AddIncoming(count),
        }
    }
}

#[derive(Debug)]
struct Numbered {
    number: Rsn,
    request: Request,
}

/// The outstanding requests, and the Re-configuration Timer (section 5.1.1).
#[derive(Debug)]
struct Outstanding {
    /// Unanswered requests: one or two.
    requests: SmallVec<[Numbered; 2]>,
    due: Instant,
    /// Number of consecutive expiries of the Re-configuration Timer.
    attempts: u8,
    /// Whether the peer is still executing the request: then the next expiry is no error (section
    /// 5.2.7).
    in_progress: bool,
    /// Whether DATA was refused since the request was last sent.
    refused_data: bool,
    /// Number of consecutive answers after refused DATA.
    refusals: u8,
}

impl Outstanding {
    fn new(requests: SmallVec<[Numbered; 2]>, due: Instant) -> Self {
        let (attempts, in_progress) = (0, false);
        Outstanding { requests, due, attempts, in_progress, refused_data: false, refusals: 0 }
    }

    /// The peer is still executing the request. If its data arrived between request and answer and
    /// was refused, the request is repeated later each time, so that its retransmissions cannot
    /// fall into that interval for ever.
    fn on_in_progress(&mut self, now: Instant, rto: Duration) {
        (self.in_progress, self.attempts) = (true, 0);
        self.refusals = match core::mem::take(&mut self.refused_data) {
            true => self.refusals.saturating_add(1),
            false => 0,
        };
        self.due = now + rto * (1 + u64::from(self.refusals));
    }
}

/// Facts that decide which requests may be sent.
struct Situation {
    /// The first unit that is not acknowledged cumulatively.
    cumulative: u64,
    /// Whether no data is queued or outstanding.
    settled: bool,
    last_tsn: Tsn,
    /// Number of the peer's last request.
    peer_request: Rsn,
}

#[derive(Debug)]
pub(super) struct Requests {
    next: Rsn,
    drains: VecDeque<Drain>,
    incoming: Option<Streams>,
    association: bool,
    add_outgoing: u16,
    add_incoming: u16,
    outstanding: Option<Outstanding>,
    /// A request for incoming streams, after which the peer added as many, of its own accord or
    /// because of the request, which is indistinguishable (section 5.2.5): the peer may never
    /// have received the request and its number.
    unconfirmed: Option<Numbered>,
    /// Requests to be repeated once the peer has received the unconfirmed one.
    postponed: Option<Outstanding>,
}

impl Requests {
    pub(super) fn new(first: Rsn) -> Self {
        Requests {
            next: first,
            drains: VecDeque::new(),
            incoming: None,
            association: false,
            add_outgoing: 0,
            add_incoming: 0,
            outstanding: None,
            unconfirmed: None,
            postponed: None,
        }
    }

    // ---- wishes --------------------------------------------------------------------------------

    /// Requests the reset of outgoing streams, except those that already wait for one.
    pub(super) fn want_outgoing_reset(&mut self, streams: Streams) {
        let mut left = Some(streams);
        for drain in &self.drains {
            left = left.and_then(|streams| streams.without(&drain.streams));
        }
        let Some(streams) = left else { return };
        if streams == Streams::All {
            self.drains.retain(|drain| drain.answers.is_some());
        }
        self.drains.push_back(Drain::new(streams, None));
    }

    /// Whether a reset that the peer requested waits for messages. It may request one at a time
    /// (section 5.1.1).
    pub(super) fn is_answering(&self) -> bool {
        self.drains.iter().any(|drain| drain.answers.is_some())
    }

    /// Resets outgoing streams at the peer's request.
    pub(super) fn answer_with_reset(&mut self, streams: Streams, request: Rsn) {
        let twice = |drain: &Drain| drain.answers.is_none() && streams.covers(&drain.streams);
        self.drains.retain(|drain| !twice(drain));
        self.drains.push_front(Drain::new(streams, Some(request)));
    }

    pub(super) fn want_incoming_reset(&mut self, streams: Streams) {
        self.incoming = Some(match self.incoming.take() {
            Some(Streams::These(others)) if streams != Streams::All => {
                Streams::new(streams.listed().iter().chain(&others).copied())
            }
            _ => streams,
        });
    }

    pub(super) fn want_association_reset(&mut self) {
        self.association = true;
    }

    /// Numbers of streams requested or to be requested: outgoing and incoming.
    pub(super) fn streams_to_come(&self) -> (u16, u16) {
        let mut to_come = (self.add_outgoing, self.add_incoming);
        let pending: Vec<&Request> = self.pending().map(|numbered| &numbered.request).collect();
        for request in pending {
            match request {
                Request::AddOutgoing(count) => to_come.0 += count,
                Request::AddIncoming(count) => to_come.1 += count,
                _ => {}
            }
        }
        to_come
    }

    /// Requests additional streams; the totals are known to be below 65536.
    pub(super) fn want_streams(&mut self, outgoing: u16, incoming: u16) {
        self.add_outgoing += outgoing;
        self.add_incoming += incoming;
    }

    /// Drops requests that were not sent.
    pub(super) fn forget_wishes(&mut self) {
        let (outstanding, postponed) = (self.outstanding.take(), self.postponed.take());
        let unconfirmed = self.unconfirmed.take();
        *self = Requests { outstanding, unconfirmed, postponed, ..Requests::new(self.next) };
    }

    // ---- queries -------------------------------------------------------------------------------

    /// Requests without an answer, those that the peer postponed included.
    fn pending(&self) -> impl Iterator<Item = &Numbered> {
        let sent = self.outstanding.iter().chain(&self.postponed);
        sent.flat_map(|outstanding| &outstanding.requests)
    }

    /// Whether a request of this side is outstanding.
    pub(super) fn is_outstanding(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Whether a request is outstanding that the peer may answer with a request of its own, or that
    /// leaves none to follow: any but a reset of outgoing streams. If both sides deferred their
    /// answers until then, they would wait for each other.
    pub(super) fn may_await_the_peers(&self) -> bool {
        let resets_outgoing =
            |numbered: &Numbered| matches!(numbered.request, Request::OutgoingReset { .. });
        self.outstanding
            .as_ref()
            .is_some_and(|outstanding| !outstanding.requests.iter().all(resets_outgoing))
    }

    /// Whether a new message on `stream` must be held.
    pub(super) fn hold(&self, stream: StreamId) -> bool {
        let held_by = |Numbered { request, .. }: &Numbered| match request {
            Request::OutgoingReset { streams, .. } => streams.contains(stream),
            Request::SsnTsnReset => true,
            _ => false,
        };
        self.association
            || self.drains.iter().any(|drain| drain.streams.contains(stream))
            || self.pending().any(held_by)
    }

    /// Whether a reset of all these outgoing streams is outstanding.
    pub(super) fn is_resetting(&self, asked: &Streams) -> bool {
        self.pending().any(|Numbered { request, .. }| match request {
            Request::OutgoingReset { streams, .. } => streams.covers(asked),
            _ => false,
        })
    }

    /// Whether this reset by the peer was requested by this side.
    pub(super) fn asked_for_reset(&self, performed: &Streams) -> bool {
        self.pending().any(|numbered| numbered.request.is_satisfied_by_reset(performed))
    }

    /// Whether this side requested that the peer adds `count` streams.
    pub(super) fn asked_for_streams(&self, count: u16) -> bool {
        self.pending().any(|numbered| numbered.request.is_satisfied_by_streams(count))
    }

    /// Whether the peer may have reset the association, without this side knowing yet, when DATA
    /// arrived. A peer that last asked to wait may have received a copy of the request since,
    /// which the network delayed or duplicated, after all its data was acknowledged: earlier
    /// data is then not after a hole. DATA that `opens_a_gap` may have overtaken the answer.
    fn may_be_reset_by_peer(&mut self, opens_a_gap: bool) -> bool {
        let resets = |numbered: &Numbered| matches!(numbered.request, Request::SsnTsnReset);
        let Some(outstanding) = &mut self.outstanding else { return false };
        if !outstanding.requests.iter().any(resets) {
            return false;
        }
        outstanding.refused_data |= !outstanding.in_progress;
        !outstanding.in_progress || opens_a_gap
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.outstanding.as_ref().map(|outstanding| outstanding.due)
    }

    /// Whether the Re-configuration Timer has expired at `now`.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        self.deadline().is_some_and(|due| due <= now)
    }

    /// The outstanding requests as parameters.
    pub(super) fn parameters(
        &self,
    ) -> impl Iterator<Item = ReconfigParameter<'_, impl Iterator<Item = StreamId> + Clone>> {
        let sent = self.outstanding.iter().flat_map(|outstanding| &outstanding.requests);
        sent.map(|Numbered { number, request }| {
            let request_number = *number;
            match request {
                Request::OutgoingReset { response, last_tsn, streams } => {
                    ReconfigParameter::OutgoingReset {
                        request: request_number,
                        response: *response,
                        last_tsn: *last_tsn,
                        streams: streams.listed().iter().copied(),
                    }
                }
                Request::IncomingReset(streams) => ReconfigParameter::IncomingReset {
                    request: request_number,
                    streams: streams.listed().iter().copied(),
                },
                Request::SsnTsnReset => ReconfigParameter::SsnTsnReset { request: request_number },
                Request::AddOutgoing(count) => {
                    ReconfigParameter::AddOutgoing { request: request_number, count: *count }
                }
                Request::AddIncoming(count) => {
                    ReconfigParameter::AddIncoming { request: request_number, count: *count }
                }
            }
        })
    }

    // ---- progress ------------------------------------------------------------------------------

    /// Records streams of which no message is queued any more.
    fn note_drained(&mut self, tx: &Sender) {
        for drain in self.drains.iter_mut().filter(|drain| drain.end.is_none()) {
            if drain.is_idle(tx.queue()) {
                let last = tx.last_unit_of(|stream| drain.streams.contains(stream));
                drain.end = Some(last.map_or(0, |unit| unit + 1));
            }
        }
    }

    /// Whether the reset in answer to the peer's `request` can be sent at once.
    fn can_answer(&self, request: Rsn, cumulative: u64) -> bool {
        let mut drains = self.drains.iter();
        self.outstanding.is_none()
            && drains.any(|d| d.answers == Some(request) && d.is_done(cumulative))
    }

    /// The next one or two requests that may be combined (section 3.1), and the peer's request that
    /// they answer.
    fn take_next(&mut self, at: &Situation) -> (SmallVec<[Request; 2]>, Option<Rsn>) {
        let done = |drain: &Drain| drain.is_done(at.cumulative);
        let answer = self.drains.iter().position(|drain| drain.answers.is_some() && done(drain));
        if let Some(Drain { streams, answers: Some(response), .. }) =
            answer.and_then(|index| self.drains.remove(index))
        {
            let request = Request::OutgoingReset { response, last_tsn: at.last_tsn, streams };
            return (SmallVec::from_iter([request]), Some(response));
        }
        let mut requests = SmallVec::new();
        let (response, last_tsn) = (at.peer_request, at.last_tsn);
        if let Some(streams) = self.take_drained(at.cumulative) {
            requests.push(Request::OutgoingReset { response, last_tsn, streams });
        }
        if requests.len() == 1 || self.drains.is_empty() {
            requests.extend(self.take_incoming().map(Request::IncomingReset));
        }
        if requests.is_empty() {
            let (outgoing, incoming) =
                (core::mem::take(&mut self.add_outgoing), core::mem::take(&mut self.add_incoming));
            requests.extend((outgoing > 0).then_some(Request::AddOutgoing(outgoing)));
            requests.extend((incoming > 0).then_some(Request::AddIncoming(incoming)));
        }
        if requests.is_empty() && self.drains.is_empty() && self.association && at.settled {
            self.association = false;
            requests.push(Request::SsnTsnReset);
        }
        (requests, None)
    }

    /// Streams that may be reset now, as many as fit one request.
    fn take_drained(&mut self, cumulative: u64) -> Option<Streams> {
        let ready = |drain: &Drain| drain.answers.is_none() && drain.is_done(cumulative);
        if self.drains.iter().any(|drain| ready(drain) && drain.streams == Streams::All) {
            self.drains.retain(|drain| drain.answers.is_some());
            return Some(Streams::All);
        }
        let mut taken: Vec<StreamId> = Vec::new();
        for drain in self.drains.iter_mut().filter(|drain| ready(drain)) {
            let room = STREAMS_PER_REQUEST - taken.len();
            let (now, later) =
                drain.streams.listed().split_at(drain.streams.listed().len().min(room));
            taken.extend_from_slice(now);
            drain.streams = Streams::These(later.into());
        }
        let empty = |drain: &Drain| drain.streams == Streams::These(Box::default());
        self.drains.retain(|drain| !empty(drain));
        (!taken.is_empty()).then(|| Streams::new(taken))
    }

    /// Incoming streams to be reset, as many as fit one request.
    fn take_incoming(&mut self) -> Option<Streams> {
        match self.incoming.take()? {
            Streams::These(streams) if streams.len() > STREAMS_PER_REQUEST => {
                let (now, later) = streams.split_at(STREAMS_PER_REQUEST);
                self.incoming = Some(Streams::These(later.into()));
                Some(Streams::These(now.into()))
            }
            streams => Some(streams),
        }
    }

    /// Numbers requests and stores them until they are answered.
    fn send(&mut self, requests: SmallVec<[Request; 2]>, due: Instant) {
        let numbered = requests.into_iter().map(|request| {
            let number = self.next;
            self.next = number.next();
            Numbered { number, request }
        });
        let requests = numbered.collect();
        self.outstanding = Some(Outstanding::new(requests, due));
    }

    /// Removes the request for which `by` holds; a postponed chunk then becomes outstanding.
    fn answered(&mut self, now: Instant, by: impl Fn(&Numbered) -> bool) -> Option<Numbered> {
        let outstanding = self.outstanding.as_mut()?;
        let index = outstanding.requests.iter().position(by)?;
        let numbered = outstanding.requests.remove(index);
        if outstanding.requests.is_empty() {
            self.outstanding = self.postponed.take().map(|postponed| Outstanding {
                due: now,
                in_progress: true,
                ..postponed
            });
        }
        Some(numbered)
    }

    /// The peer's reset of its own streams answers the request that it names (section 5.2.2, step
    /// E1).
    pub(super) fn on_reset_by_peer(&mut self, now: Instant, performed: &Streams, response: Rsn) {
        let _ = self.answered(now, |numbered| {
            numbered.number == response && numbered.request.is_satisfied_by_reset(performed)
        });
    }

    /// The peer's request for more streams of its own answers this side's request for them.
    pub(super) fn on_streams_added_by_peer(&mut self, now: Instant, count: u16) {
        let as_many = |numbered: &Numbered| numbered.request.is_satisfied_by_streams(count);
        if let Some(numbered) = self.answered(now, as_many) {
            self.unconfirmed = Some(numbered);
        }
    }

    /// Whether the answer to a request shows that the peer waits for the unconfirmed one before it,
    /// which is then sent first. Any other answer shows that the peer has received it.
    fn reveals_a_gap(&mut self, now: Instant, response: Rsn, result: ReconfigResult) -> bool {
        let later = |before: &mut Numbered| response.is_after(before.number);
        let Some(numbered) = self.unconfirmed.take_if(later) else { return false };
        let early = [ReconfigResult::IN_PROGRESS, ReconfigResult::BAD_SEQUENCE_NUMBER];
        if !early.contains(&result) || self.postponed.is_some() {
            return false;
        }
        self.postponed = self.outstanding.take();
        let requests = SmallVec::from_iter([numbered]);
        let outstanding = Outstanding { in_progress: true, ..Outstanding::new(requests, now) };
        self.outstanding = Some(outstanding);
        true
    }
}

impl Request {
    fn is_satisfied_by_reset(&self, performed: &Streams) -> bool {
        matches!(self, Request::IncomingReset(asked) if performed.covers(asked))
    }

    fn is_satisfied_by_streams(&self, count: u16) -> bool {
        matches!(self, Request::AddIncoming(asked) if *asked == count)
    }
}
