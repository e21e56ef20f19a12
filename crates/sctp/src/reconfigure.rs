//! Streams that begin again, more streams, an association that begins again (RFC 6525).
//!
//! [`requests`] has what this side asks of the peer, [`answers`] what the peer asks of this side,
//! [`held`] the messages that wait meanwhile. An association that never reconfigures has none of
//! this state.
//!
//! Messages accepted before a reset of their stream belong before it: they are sent, and acknowledged,
//! before the peer is asked. Those accepted later wait until it has answered.

pub(crate) mod answers;
pub(crate) mod error;
pub(crate) mod held;
mod requests;
mod streams;

use base::{Duration, Instant};

use self::answers::{AnswerList, Answers};
use self::error::ReconfigureError;
use self::held::Held;
use self::requests::Requests;
use self::streams::Streams;
use crate::event::Event;
use crate::event::streams::{ReconfigurationRequest, ResetDirection};
use crate::options::ReconfigurationPolicy;
use crate::rx::data::Fault;
use crate::rx::receiver::Receiver;
use crate::tx::sender::Sender;
use crate::wire::chunk::{ReConfig, ReconfigParameter, ReconfigResult};
use crate::wire::{Rsn, StreamId, Tsn};

/// What an association keeps once either side asked the other for a reconfiguration.
#[derive(Debug)]
pub(crate) struct Reconfiguration {
    requests: Requests,
    answers: Answers,
    held: Held,
    /// Messages may have to wait no more.
    release_due: bool,
    /// A part of a message was refused because it would have had to wait.
    part_waits: bool,
}

impl Reconfiguration {
    /// Section 5.1.1: numbers of requests begin with the initial TSN of the side that asks.
    pub(crate) fn new(own: Tsn, peer: Tsn) -> Self {
        Reconfiguration {
            requests: Requests::new(Rsn(own.0)),
            answers: Answers::new(Rsn(peer.0)),
            held: Held::default(),
            release_due: false,
            part_waits: false,
        }
    }

    /// Whether a new message on `stream` has to wait.
    pub(crate) fn holds(&self, stream: StreamId) -> bool {
        self.requests.hold(stream) || self.answers.hold() || self.held.resets(stream)
    }

    /// The requests under way, to be written.
    pub(crate) fn request_chunk(
        &self,
    ) -> ReConfig<impl Iterator<Item = ReconfigParameter<'_, impl Iterator<Item = StreamId> + Clone>>>
    {
        ReConfig { parameters: self.requests.parameters() }
    }

    /// When a message that waits for a reset expires.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.held.next_expiry()
    }

    /// When this machine wants to be called.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.requests.deadline().into_iter().chain(self.answers.deadline()).min()
    }
}

/// What a reconfiguration is about, and what it draws on.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The streams on which this side sends.
    pub(crate) tx: &'a mut Sender,
    /// The streams on which the peer sends.
    pub(crate) rx: &'a mut Receiver,
    /// What the peer may ask.
    pub(crate) policy: ReconfigurationPolicy,
    /// Whether the association is ESTABLISHED: else nothing new is asked for.
    pub(crate) is_established: bool,
    /// The timeout of control chunks.
    pub(crate) rto: Duration,
    /// What follows for the association, in this order.
    pub(crate) actions: Vec<Action>,
}

impl Context<'_> {
    fn announce(&mut self, event: Event) {
        self.actions.push(Action::Announce(event));
    }

    /// A request did not have the effect that this side wished.
    fn announce_refusal(&mut self, request: ReconfigurationRequest, result: ReconfigResult) {
        self.announce(Event::ReconfigurationRefused { request, result });
    }
}

/// What follows from a reconfiguration for the association.
#[derive(Debug)]
pub(crate) enum Action {
    /// The requests under way are to be written.
    Request,
    /// The peer's requests are to be answered.
    Answer(AnswerList),
    /// The application is to be told.
    Announce(Event),
    /// The peer answered, at this time, where control chunks go.
    Alive(Instant),
    /// A chunk, or a part of it, was dropped.
    Dropped,
    /// Parameters stand together that must not.
    BadCombination,
    /// What was received of streams, up to this TSN, cannot be right.
    Fault(Fault, Tsn),
    /// The association cannot go on.
    Violation(&'static str),
    /// The application may try to send again what was refused.
    Writable,
}

impl Reconfiguration {
    // ---- the application's calls ---------------------------------------------------------------

    /// Lets streams begin again; none listed means all. There are as many `outbound` and `inbound` ones.
    ///
    /// # Errors
    /// [`ReconfigureError::NoSuchStream`]; nothing is changed then.
    pub(crate) fn reset_streams(
        &mut self,
        direction: ResetDirection,
        streams: &[StreamId],
        (outbound, inbound): (u16, u16),
    ) -> Result<(), ReconfigureError> {
        let outgoing = direction != ResetDirection::Incoming;
        let incoming = direction != ResetDirection::Outgoing;
        let limits = [(outgoing, outbound), (incoming, inbound)];
        for (_, limit) in limits.into_iter().filter(|(concerned, _)| *concerned) {
            if let Some(stream) = streams.iter().find(|stream| stream.0 >= limit) {
                return Err(ReconfigureError::NoSuchStream { stream: *stream, streams: limit });
            }
        }
        let streams = Streams::new(streams.iter().copied());
        if outgoing && !self.held.take_reset(&streams) {
            self.requests.want_outgoing_reset(streams.clone());
        }
        if incoming {
            self.requests.want_incoming_reset(streams);
        }
        Ok(())
    }

    /// Lets all streams and the TSNs begin again.
    pub(crate) fn reset_association(&mut self) {
        if !self.held.take_association_reset() {
            self.requests.want_association_reset();
        }
    }

    /// Adds streams in either direction to those that there are.
    ///
    /// # Errors
    /// [`ReconfigureError::BadCount`]; nothing is changed then.
    pub(crate) fn add_streams(
        &mut self,
        (outgoing, incoming): (u16, u16),
        (outbound, inbound): (u16, u16),
    ) -> Result<(), ReconfigureError> {
        let (more_outgoing, more_incoming) = self.requests.streams_to_come();
        let fits = |have: u16, to_come: u16, more: u16| {
            have.checked_add(to_come).and_then(|sum| sum.checked_add(more)).is_some()
        };
        if (outgoing == 0 && incoming == 0)
            || !fits(outbound, more_outgoing, outgoing)
            || !fits(inbound, more_incoming, incoming)
        {
            return Err(ReconfigureError::BadCount);
        }
        self.requests.want_streams(outgoing, incoming);
        Ok(())
    }

    // ---- progress ------------------------------------------------------------------------------

    /// Does what has become possible: peer's resets whose data have come, requests that may go,
    /// messages that need not wait any more.
    pub(crate) fn advance(&mut self, now: Instant, context: &mut Context<'_>) {
        self.expire(now, context.tx);
        self.perform_deferred_resets(context);
        self.release_held(context);
        self.send_requests(now, context);
    }

    /// Whether requests of this side wait for their answer.
    pub(crate) fn is_asking(&self) -> bool {
        self.requests.is_outstanding()
    }

    /// Input: time has come. True if the Re-configuration Timer expired.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        let expired = self.requests.expire(now);
        self.release_due |= self.answers.expire(now);
        expired
    }

    /// The association shuts down: what was not asked yet is not asked any more.
    pub(crate) fn end(&mut self, context: &mut Context<'_>) {
        self.requests.forget_wishes();
        self.held.forget_resets();
        self.answers.forget_waiting();
        self.release_due = true;
        self.release_held(context);
    }
}
