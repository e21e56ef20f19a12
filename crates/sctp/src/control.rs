//! Queue of control chunks to send, which own their contents.

use std::collections::VecDeque;

use ::endpoint::footprint::of_vec;
use bytes::Bytes;
use recovery::PathId;

use crate::address_reconfiguration::answers::AsconfAnswer;
use crate::paths::heartbeat::Asked;
use crate::paths::mtu::Probe;
use crate::reconfigure::answers::AnswerList;
use crate::wire::cause::MissingParameters;
use crate::wire::signing::HmacId;
use crate::wire::{Cause, CauseCode, StreamId, Tsn};

/// A control chunk to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Init,
    CookieEcho,
    CookieAck,
    Shutdown,
    ShutdownAck,
    ShutdownComplete,
    Heartbeat(Asked),
    /// A HEARTBEAT padded to a given packet size, alone in its packet.
    Probe(Probe),
    HeartbeatAck {
        path: PathId,
        info: Bytes,
    },
    Error(OwnedCause),
    /// This side's outstanding requests (RFC 6525).
    Reconfigure,
    ReconfigureAnswers(AnswerList),
    /// The outstanding ASCONF (RFC 5061).
    ChangeAddress,
    AddressAnswer {
        path: PathId,
        answer: Box<AsconfAnswer>,
    },
    Abort(OwnedCause),
    /// ABORT with the T bit: reflects the tag of a packet from a peer that offered no tag.
    ReflectedAbort(OwnedCause),
}

impl Control {
    /// Approximate bytes of an answer in its packet; 0 if the chunk is not an answer.
    fn answer_len(&self) -> usize {
        const HEADERS: usize = 8;
        /// A Re-configuration Response with both TSNs.
        const RESPONSE: usize = 20;
        /// The longest answer to ASCONF.
        const ADDRESS_ANSWER: usize = 600;
        match self {
            Control::HeartbeatAck { info, .. } => (HEADERS + info.len()).next_multiple_of(4),
            Control::Error(
                OwnedCause::UnrecognizedChunkType(part) | OwnedCause::UnrecognizedParameters(part),
            ) => (HEADERS + part.len()).next_multiple_of(4),
            Control::Error(_) => 2 * HEADERS,
            Control::ReconfigureAnswers(answers) => HEADERS + RESPONSE * answers.len(),
            Control::AddressAnswer { .. } => ADDRESS_ANSWER,
            _ => 0,
        }
    }

    /// The path that the chunk must take; `None` for the usual path of control chunks.
    pub(crate) fn path(&self) -> Option<PathId> {
        match self {
            Control::Heartbeat(asked) => Some(asked.path),
            Control::Probe(probe) => Some(probe.heartbeat.path),
            Control::HeartbeatAck { path, .. } | Control::AddressAnswer { path, .. } => Some(*path),
            _ => None,
        }
    }

    /// Whether the chunk must be alone in its packet. From a new address only ASCONF may leave.
    pub(crate) fn travels_alone(&self) -> bool {
        matches!(
            self,
            Control::Init | Control::ShutdownComplete | Control::Probe(_) | Control::ChangeAddress
        )
    }

    /// Whether the chunk ends the association, so that nothing may follow it.
    pub(crate) fn is_abort(&self) -> bool {
        matches!(self, Control::Abort(_) | Control::ReflectedAbort(_))
    }
}

/// Most queued control chunks; further answers to a peer are dropped.
const LIMIT: usize = 32;

/// Queue of an association's control chunks, in order.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "one word while there are none")]
pub(crate) struct Controls(Option<Box<VecDeque<Control>>>);

impl Controls {
    fn list(&mut self) -> &mut VecDeque<Control> {
        self.0.get_or_insert_default()
    }

    fn iter(&self) -> impl Iterator<Item = &Control> {
        self.0.iter().flat_map(|list| list.iter())
    }

    /// Appends a chunk that is not an answer.
    pub(crate) fn push(&mut self, control: Control) {
        self.list().push_back(control);
    }

    /// Appends an answer, unless the queue has too many. RFC 9260, section 12.4: the answers to one
    /// packet fit one packet, which has `room` bytes for chunks; a single answer may be longer.
    pub(crate) fn push_answer(&mut self, room: usize, answer: Control) {
        let waiting: usize = self.iter().map(Control::answer_len).sum();
        let fits = waiting == 0 || waiting + answer.answer_len() <= room;
        if self.iter().count() < LIMIT && fits {
            self.list().push_back(answer);
        }
    }

    /// Appends a chunk, unless an equal one is queued.
    pub(crate) fn push_once(&mut self, control: Control) {
        if !self.contains(&control) {
            self.push(control);
        }
    }

    /// Inserts a chunk at the front.
    pub(crate) fn push_first(&mut self, control: Control) {
        self.list().push_front(control);
    }

    /// Inserts a chunk at the front, unless an equal one is queued.
    pub(crate) fn push_first_once(&mut self, control: Control) {
        if !self.contains(&control) {
            self.push_first(control);
        }
    }

    /// Replaces the queue by this chunk, if any, as the last.
    pub(crate) fn end_with(&mut self, control: Option<Control>) {
        self.0 = control.map(|control| Box::new(VecDeque::from([control])));
    }

    /// Drops all chunks except those that end the association.
    pub(crate) fn keep_final_words(&mut self) {
        self.retain(|control| control.is_abort() || *control == Control::ShutdownComplete);
    }

    /// Drops chunks for which `keeps` returns false.
    pub(crate) fn retain(&mut self, keeps: impl FnMut(&Control) -> bool) {
        if let Some(list) = &mut self.0 {
            list.retain(keeps);
        }
    }

    /// The chunk to be sent next.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Control> {
        // Most packets carry data only, and several questions about the first chunk precede each.
        self.0.as_deref().and_then(front)
    }

    /// Removes and returns the first chunk.
    pub(crate) fn take_first(&mut self) -> Option<Control> {
        self.0.as_mut()?.pop_front()
    }

    /// Whether an equal chunk is queued.
    pub(crate) fn contains(&self, control: &Control) -> bool {
        self.iter().any(|other| other == control)
    }

    /// Whether the queue is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|list| list.is_empty())
    }

    /// Frees memory if the queue is empty.
    pub(crate) fn shrink(&mut self) {
        if self.is_empty() {
            self.0 = None;
        }
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |list| {
            of_vec(1, size_of::<VecDeque<Control>>())
                + of_vec(list.capacity(), size_of::<Control>())
        })
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.iter().count()
    }
}

#[cold]
#[inline(never)]
fn front(list: &VecDeque<Control>) -> Option<&Control> {
    list.front()
}

/// An error cause with its own copy of the contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnedCause {
    InvalidStreamIdentifier(StreamId),
    MissingStateCookie,
    UnresolvableAddress(Bytes),
    UnrecognizedChunkType(Bytes),
    UnrecognizedParameters(Bytes),
    NoUserData(Tsn),
    CookieReceivedWhileShuttingDown,
    InvalidMandatoryParameter,
    OutOfResource,
    RestartWithNewAddresses(Bytes),
    UserInitiatedAbort(Bytes),
    ProtocolViolation(&'static str),
    UnsupportedHmacIdentifier(HmacId),
    IllegalAsconfAck,
}

impl OwnedCause {
    /// The cause in its wire form.
    pub(crate) fn as_cause(&self) -> Cause<'_> {
        match self {
            OwnedCause::InvalidStreamIdentifier(stream) => Cause::InvalidStreamIdentifier(*stream),
            OwnedCause::MissingStateCookie => {
                Cause::MissingMandatoryParameter(MissingParameters::STATE_COOKIE)
            }
            OwnedCause::UnresolvableAddress(parameter) => Cause::UnresolvableAddress(parameter),
            OwnedCause::UnrecognizedChunkType(chunk) => Cause::UnrecognizedChunkType(chunk),
            OwnedCause::UnrecognizedParameters(all) => Cause::UnrecognizedParameters(all),
            OwnedCause::NoUserData(tsn) => Cause::NoUserData(*tsn),
            OwnedCause::CookieReceivedWhileShuttingDown => Cause::CookieReceivedWhileShuttingDown,
            OwnedCause::InvalidMandatoryParameter => Cause::InvalidMandatoryParameter,
            OwnedCause::OutOfResource => Cause::OutOfResource,
            OwnedCause::RestartWithNewAddresses(all) => Cause::RestartWithNewAddresses(all),
            OwnedCause::UserInitiatedAbort(reason) => Cause::UserInitiatedAbort(reason),
            OwnedCause::UnsupportedHmacIdentifier(id) => Cause::UnsupportedHmacIdentifier(*id),
            OwnedCause::IllegalAsconfAck => {
                Cause::Unrecognized { code: CauseCode::ILLEGAL_ASCONF_ACK, value: &[] }
            }
            OwnedCause::ProtocolViolation(what) => Cause::ProtocolViolation(what.as_bytes()),
        }
    }
}
