//! Streams that begin again, more streams, an association that begins again (RFC 6525).
//!
//! [`requests`] has what this side asks of the peer, [`answers`] what the peer asks of this side,
//! [`held`] the messages that wait meanwhile. An association that never reconfigures has none of
//! this state.
//!
//! Messages accepted before a reset of their stream belong before it: they are sent, and acknowledged,
//! before the peer is asked. Those accepted later wait until it has answered.

mod answers;
mod held;
mod requests;
mod streams;

use core::fmt;

use base::Instant;

use self::answers::Answers;
pub(crate) use self::answers::{Answer, AnswerList};
use self::held::Held;
use self::requests::Requests;
use self::streams::Streams;
use crate::association::{Association, Control, State};
use crate::event::Event;
use crate::extensions::Extensions;
use crate::wire::chunk::{ReConfig, ReconfigParameter, ReconfigResult};
use crate::wire::{Rsn, StreamId};

/// Which streams begin again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResetDirection {
    /// Those on which this side sends.
    Outgoing,
    /// Those on which the peer sends.
    Incoming,
    /// Both.
    Both,
}

/// Something that one side asks of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReconfigurationRequest {
    /// Streams are to begin again at SSN 0.
    ResetStreams {
        /// On which side of the one that asked, never [`ResetDirection::Both`].
        direction: ResetDirection,
        /// Which; empty means all.
        streams: Box<[StreamId]>,
    },
    /// All streams and the TSNs are to begin again.
    ResetAssociation,
    /// The side that asked wants to send on more streams.
    AddOutgoing(u16),
    /// The side that asked wants the other to send on more streams.
    AddIncoming(u16),
}

/// What the peer may ask of this side (SCTP_ENABLE_STREAM_RESET: RFC 6525, section 6.3.1). What it may
/// not is denied. What this side asks of the peer is not limited by this, nor what the peer does in
/// answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReconfigurationPolicy {
    /// That streams begin again, which ends data channels (RFC 8831, section 6.7).
    pub reset_streams: bool,
    /// That the whole association begins again.
    pub reset_association: bool,
    /// That streams are added.
    pub add_streams: bool,
}

impl Default for ReconfigurationPolicy {
    /// Streams may be reset; the rest changes what an application negotiated, and is denied.
    fn default() -> Self {
        ReconfigurationPolicy { reset_streams: true, reset_association: false, add_streams: false }
    }
}

/// Why a reconfiguration cannot be asked for. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconfigureError {
    /// The association is unknown, not set up yet, or closing.
    NotEstablished,
    /// The two sides did not agree on [`Extensions::STREAM_RECONFIGURATION`].
    NotNegotiated,
    /// There is no such stream.
    NoSuchStream {
        /// The stream asked for.
        stream: StreamId,
        /// Streams that there are: 0 to this less one.
        streams: u16,
    },
    /// No streams to add, or more than 65535 in all.
    BadCount,
}

impl fmt::Display for ReconfigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReconfigureError::NotEstablished => f.write_str("the association is not established"),
            ReconfigureError::NotNegotiated => {
                f.write_str("the two sides did not agree on stream reconfiguration")
            }
            ReconfigureError::NoSuchStream { stream, streams } => {
                write!(f, "stream {} is not among the {streams} streams", stream.0)
            }
            ReconfigureError::BadCount => f.write_str("streams to add: 1 or more, 65535 in all"),
        }
    }
}

impl core::error::Error for ReconfigureError {}

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
    fn new(own: Rsn, peer: Rsn) -> Self {
        Reconfiguration {
            requests: Requests::new(own),
            answers: Answers::new(peer),
            held: Held::default(),
            release_due: false,
            part_waits: false,
        }
    }

    /// Whether a new message on `stream` has to wait.
    fn holds(&self, stream: StreamId) -> bool {
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

impl Association {
    // ---- the application's calls ---------------------------------------------------------------

    /// Lets streams begin again; none listed means all.
    pub(crate) fn reset_streams(
        &mut self,
        now: Instant,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigureError> {
        self.check_reconfigurable()?;
        let outgoing = direction != ResetDirection::Incoming;
        let incoming = direction != ResetDirection::Outgoing;
        let limits = [(outgoing, self.outbound_streams()), (incoming, self.inbound_streams())];
        for (_, limit) in limits.into_iter().filter(|(concerned, _)| *concerned) {
            if let Some(stream) = streams.iter().find(|stream| stream.0 >= limit) {
                return Err(ReconfigureError::NoSuchStream { stream: *stream, streams: limit });
            }
        }
        let streams = Streams::new(streams.iter().copied());
        let own = self.reconfiguration();
        if outgoing && !own.held.take_reset(&streams) {
            own.requests.want_outgoing_reset(streams.clone());
        }
        if incoming {
            own.requests.want_incoming_reset(streams);
        }
        self.advance_reconfiguration(now);
        Ok(())
    }

    /// Lets all streams and the TSNs begin again.
    pub(crate) fn reset_association(&mut self, now: Instant) -> Result<(), ReconfigureError> {
        self.check_reconfigurable()?;
        let own = self.reconfiguration();
        if !own.held.take_association_reset() {
            own.requests.want_association_reset();
        }
        self.advance_reconfiguration(now);
        Ok(())
    }

    /// Adds streams in either direction.
    pub(crate) fn add_streams(
        &mut self,
        now: Instant,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), ReconfigureError> {
        self.check_reconfigurable()?;
        let (outbound, inbound) = (self.outbound_streams(), self.inbound_streams());
        let requests = &mut self.reconfiguration().requests;
        let (more_outgoing, more_incoming) = requests.streams_to_come();
        let fits = |have: u16, to_come: u16, more: u16| {
            have.checked_add(to_come).and_then(|sum| sum.checked_add(more)).is_some()
        };
        if (outgoing == 0 && incoming == 0)
            || !fits(outbound, more_outgoing, outgoing)
            || !fits(inbound, more_incoming, incoming)
        {
            return Err(ReconfigureError::BadCount);
        }
        requests.want_streams(outgoing, incoming);
        self.advance_reconfiguration(now);
        Ok(())
    }

    /// Section 5.1.1: only in ESTABLISHED.
    fn check_reconfigurable(&self) -> Result<(), ReconfigureError> {
        if self.state != State::Established {
            return Err(ReconfigureError::NotEstablished);
        }
        if !self.extensions.contains(Extensions::STREAM_RECONFIGURATION) {
            return Err(ReconfigureError::NotNegotiated);
        }
        Ok(())
    }

    fn reconfiguration(&mut self) -> &mut Reconfiguration {
        let (own, peer) = (Rsn(self.local_initial_tsn.0), Rsn(self.peer_initial_tsn.0));
        self.reconfiguration.get_or_insert_with(|| Box::new(Reconfiguration::new(own, peer)))
    }

    // ---- progress ------------------------------------------------------------------------------

    /// Does what has become possible: peer's resets whose data have come, requests that may go,
    /// messages that need not wait any more.
    pub(crate) fn advance_reconfiguration(&mut self, now: Instant) {
        self.expire_held(now);
        let Some(mut own) = self.reconfiguration.take() else { return };
        self.perform_deferred_resets(&mut own);
        self.release_held(&mut own);
        self.send_requests(now, &mut own);
        if !own.requests.is_outstanding() {
            // Answered before it was written: there is nothing left to write.
            self.control.retain(|control| *control != Control::Reconfigure);
        }
        self.reconfiguration = Some(own);
    }

    /// Input: time has come.
    pub(crate) fn handle_reconfiguration_timer(&mut self, now: Instant) {
        let Some(mut own) = self.reconfiguration.take() else { return };
        let expired = own.requests.expire(now);
        own.release_due |= own.answers.expire(now);
        self.reconfiguration = Some(own);
        if expired {
            self.on_request_timeout(now);
        }
        self.advance_reconfiguration(now);
    }

    /// The association shuts down: what was not asked yet is not asked any more.
    pub(crate) fn end_reconfiguration(&mut self) {
        if let Some(mut own) = self.reconfiguration.take() {
            own.requests.forget_wishes();
            own.held.forget_resets();
            own.answers.forget_waiting();
            own.release_due = true;
            self.release_held(&mut own);
            self.reconfiguration = Some(own);
        }
    }

    /// A request did not have the effect that this side wished.
    fn announce_refusal(&mut self, request: ReconfigurationRequest, result: ReconfigResult) {
        self.announce(Event::ReconfigurationRefused { request, result });
    }
}
