//! Control chunks that wait to be sent, owning what they carry.

use std::collections::VecDeque;

use ::endpoint::footprint::of_vec;
use bytes::Bytes;

use crate::address_reconfiguration::answers::AsconfAnswer;
use crate::path_id::PathId;
use crate::paths::heartbeat::Asked;
use crate::paths::mtu::Probe;
use crate::reconfigure::answers::AnswerList;
use crate::wire::cause::MissingParameters;
use crate::wire::signing::HmacId;
use crate::wire::{Cause, CauseCode, StreamId, Tsn};

/// A control chunk that waits to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Init,
    CookieEcho,
    CookieAck,
    Shutdown,
    ShutdownAck,
    ShutdownComplete,
    Heartbeat(Asked),
    /// A HEARTBEAT padded to a packet of a size, which nothing else may ride in.
    Probe(Probe),
    HeartbeatAck {
        path: PathId,
        info: Bytes,
    },
    Error(OwnedCause),
    /// The requests of this side that are under way (RFC 6525).
    Reconfigure,
    ReconfigureAnswers(AnswerList),
    /// The ASCONF under way (RFC 5061).
    ChangeAddress,
    AddressAnswer {
        path: PathId,
        answer: Box<AsconfAnswer>,
    },
    Abort(OwnedCause),
    /// ABORT with the T bit: to a peer that offered no tag, so that its packet's is reflected.
    ReflectedAbort(OwnedCause),
}

impl Control {
    /// Bytes of an answer in its packet, or a little more; 0 for what is no answer.
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

    /// The path that it must take; none takes the one that is used for control chunks.
    pub(crate) fn path(&self) -> Option<PathId> {
        match self {
            Control::Heartbeat(asked) => Some(asked.path),
            Control::Probe(probe) => Some(probe.heartbeat.path),
            Control::HeartbeatAck { path, .. } | Control::AddressAnswer { path, .. } => Some(*path),
            _ => None,
        }
    }

    /// Whether nothing may stand before it in its packet, nor behind it. From a new address nothing but ASCONF may
    /// leave.
    pub(crate) fn travels_alone(&self) -> bool {
        matches!(
            self,
            Control::Init | Control::ShutdownComplete | Control::Probe(_) | Control::ChangeAddress
        )
    }

    /// Whether it ends the association, so that nothing may follow it.
    pub(crate) fn is_abort(&self) -> bool {
        matches!(self, Control::Abort(_) | Control::ReflectedAbort(_))
    }
}

/// Control chunks that may wait at once; a peer that provokes more gets no answer to the rest.
const LIMIT: usize = 32;

/// The control chunks of an association that wait to be sent, in their order.
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

    /// Queues a chunk of this side's own accord behind all others.
    pub(crate) fn push(&mut self, control: Control) {
        self.list().push_back(control);
    }

    /// Queues an answer, unless the peer provoked too many already. RFC 9260, section 12.4: the answers to one packet fit
    /// one packet, which has `room` for chunks. One alone may be longer than that.
    pub(crate) fn push_answer(&mut self, room: usize, answer: Control) {
        let waiting: usize = self.iter().map(Control::answer_len).sum();
        let fits = waiting == 0 || waiting + answer.answer_len() <= room;
        if self.iter().count() < LIMIT && fits {
            self.list().push_back(answer);
        }
    }

    /// Queues a chunk behind all others, if none like it waits.
    pub(crate) fn push_once(&mut self, control: Control) {
        if !self.contains(&control) {
            self.push(control);
        }
    }

    /// Queues a chunk before all others.
    pub(crate) fn push_first(&mut self, control: Control) {
        self.list().push_front(control);
    }

    /// Queues a chunk before all others, if none like it waits.
    pub(crate) fn push_first_once(&mut self, control: Control) {
        if !self.contains(&control) {
            self.push_first(control);
        }
    }

    /// Nothing is to be sent any more but this.
    pub(crate) fn end_with(&mut self, control: Option<Control>) {
        self.0 = control.map(|control| Box::new(VecDeque::from([control])));
    }

    /// Drops all but what ends the association.
    pub(crate) fn keep_final_words(&mut self) {
        self.retain(|control| control.is_abort() || *control == Control::ShutdownComplete);
    }

    /// Drops those that are not to be kept.
    pub(crate) fn retain(&mut self, keeps: impl FnMut(&Control) -> bool) {
        if let Some(list) = &mut self.0 {
            list.retain(keeps);
        }
    }

    /// The chunk whose turn it is.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Control> {
        self.0.as_ref()?.front()
    }

    /// Takes the chunk whose turn it is.
    pub(crate) fn take_first(&mut self) -> Option<Control> {
        self.0.as_mut()?.pop_front()
    }

    /// Whether one like this waits.
    pub(crate) fn contains(&self, control: &Control) -> bool {
        self.iter().any(|other| other == control)
    }

    /// Whether none waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|list| list.is_empty())
    }

    /// Gives the memory back where none waits.
    pub(crate) fn shrink(&mut self) {
        if self.is_empty() {
            self.0 = None;
        }
    }

    /// Bytes that they take from the allocator.
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

/// An error cause that outlives the packet that gave rise to it.
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
    /// The cause as it is written.
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
