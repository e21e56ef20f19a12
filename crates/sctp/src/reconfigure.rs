//! Stream reconfiguration: reset streams, added streams, a reset association (RFC 6525).
//!
//! Three states, each with a file of the methods that change it together with the others: this
//! side's requests ([`requests`], `requests/progress`), the answers to the peer's ([`answers`],
//! [`peer_requests`]), the messages that wait meanwhile ([`held`], [`holding`]). An association
//! that never reconfigures has none of them.
//!
//! Messages accepted before a reset of their stream belong before it: they are sent and
//! acknowledged before the request leaves. Later ones wait for the peer's answer.

pub(crate) mod answers;
pub(crate) mod error;
pub(crate) mod held;
mod holding;
mod peer_requests;
mod requests;
mod streams;

use base::{Duration, Instant};

use self::answers::{AnswerList, Answers};
use self::error::ReconfigureError;
use self::held::Held;
use self::requests::Requests;
use self::streams::Streams;
use crate::event::reconfiguration::{ReconfigurationEvent, ReconfigurationRequest, ResetDirection};
use crate::options::ReconfigurationPolicy;
use crate::rx::data::Fault;
use crate::rx::receiver::Receiver;
use crate::tx::sender::Sender;
use crate::wire::chunk::{ReConfig, ReconfigParameter, ReconfigResult};
use crate::wire::{Rsn, StreamId, Tsn};

/// State of an association once either side has requested a reconfiguration.
#[derive(Debug)]
pub(crate) struct Reconfiguration {
    requests: Requests,
    answers: Answers,
    held: Held,
    /// Whether held messages may be released.
    release_due: bool,
    /// Whether a part of a message was refused because it would have had to wait.
    part_waits: bool,
}

impl Reconfiguration {
    /// Section 5.1.1: request numbers start with the initial TSN of the requesting side.
    pub(crate) fn new(own: Tsn, peer: Tsn) -> Self {
        Reconfiguration {
            requests: Requests::new(Rsn(own.0)),
            answers: Answers::new(Rsn(peer.0)),
            held: Held::default(),
            release_due: false,
            part_waits: false,
        }
    }

    /// Whether a new message on `stream` must wait.
    #[inline(never)]
    pub(crate) fn holds(&self, stream: StreamId) -> bool {
        self.requests.hold(stream) || self.answers.hold() || self.held.resets(stream)
    }

    /// The chunk with the outstanding requests.
    pub(crate) fn request_chunk(
        &self,
    ) -> ReConfig<impl Iterator<Item = ReconfigParameter<'_, impl Iterator<Item = StreamId> + Clone>>>
    {
        ReConfig { parameters: self.requests.parameters() }
    }

    /// Earliest expiry of a held message.
    #[inline(never)]
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.held.next_expiry()
    }

    /// Earliest deadline of this side's requests and of the answers to the peer's.
    #[inline(never)]
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.requests.deadline().into_iter().chain(self.answers.deadline()).min()
    }
}

/// The state that a reconfiguration reads and changes.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The streams of this side.
    pub(crate) tx: &'a mut Sender,
    /// The streams of the peer.
    pub(crate) rx: &'a mut Receiver,
    /// Requests of the peer that are granted.
    pub(crate) policy: ReconfigurationPolicy,
    /// Whether the association is ESTABLISHED: otherwise no new request is sent.
    pub(crate) is_established: bool,
    /// The timeout of control chunks.
    pub(crate) rto: Duration,
    /// Actions for the association, in order.
    pub(crate) actions: Vec<Action>,
}

impl Context<'_> {
    fn announce(&mut self, event: ReconfigurationEvent) {
        self.actions.push(Action::Announce(event));
    }

    /// A request of this side did not have the desired effect.
    fn announce_refusal(&mut self, request: ReconfigurationRequest, result: ReconfigResult) {
        self.announce(ReconfigurationEvent::Refused { request, result });
    }

    /// Restarts both sides: the peer with `peer_tsn`, this side with its next TSN.
    fn begin_association_again(&mut self, peer_tsn: Tsn) {
        if let Err(fault) = self.rx.restart_at(peer_tsn) {
            self.actions.push(Action::Fault(fault, peer_tsn));
        }
        self.tx.queue_mut().reset_all_streams();
        let local_tsn = self.tx.last_assigned_tsn().next();
        self.announce(ReconfigurationEvent::AssociationReset { local_tsn, peer_tsn });
    }
}

/// Action for the association that follows from a reconfiguration.
#[derive(Debug)]
pub(crate) enum Action {
    /// Send the outstanding RE-CONFIG chunk, once more if it was sent before.
    Request,
    /// Send these answers to the peer's requests.
    Answer(AnswerList),
    /// Report this event to the application.
    Announce(ReconfigurationEvent),
    /// The peer answered at this instant, on the path of control chunks.
    Alive(Instant),
    /// Count a chunk, or a part of it, as dropped.
    Dropped,
    /// The chunk combines parameters that must not be combined.
    BadCombination,
    /// The received data of streams, up to this TSN, is faulty.
    Fault(Fault, Tsn),
    /// Abort the association with a Protocol Violation cause of this text.
    Violation(&'static str),
    /// Tell the application that it may send again.
    Writable,
}

impl Reconfiguration {
    // ---- the application's calls ---------------------------------------------------------------

    /// Requests the reset of streams; an empty list means all. The numbers of streams are
    /// `outbound` and `inbound`.
    ///
    /// # Errors
    /// [`ReconfigureError::NoSuchStream`]; nothing is changed in that case.
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

    /// Requests the reset of all streams and TSNs.
    pub(crate) fn reset_association(&mut self) {
        if !self.held.take_association_reset() {
            self.requests.want_association_reset();
        }
    }

    /// Requests additional streams in either direction.
    ///
    /// # Errors
    /// [`ReconfigureError::BadCount`]; nothing is changed in that case.
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

    /// Makes progress where possible: performs the peer's resets whose data has arrived, sends
    /// requests, and releases held messages.
    pub(crate) fn advance(&mut self, now: Instant, context: &mut Context<'_>) {
        self.expire(now, context.tx);
        self.perform_deferred_resets(context);
        self.release_held(context);
        self.send_requests(now, context);
    }

    /// Whether requests of this side are outstanding.
    pub(crate) fn is_asking(&self) -> bool {
        self.requests.is_outstanding()
    }

    /// Runs the timer; returns whether the Re-configuration Timer expired.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        let expired = self.requests.expire(now);
        self.release_due |= self.answers.expire(now);
        expired
    }

    /// The association shuts down: requests that were not sent are dropped.
    pub(crate) fn end(&mut self, context: &mut Context<'_>) {
        self.requests.forget_wishes();
        self.held.forget_resets();
        self.answers.forget_waiting();
        self.release_due = true;
        self.release_held(context);
    }
}
