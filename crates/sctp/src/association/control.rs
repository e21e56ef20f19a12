//! Control chunks that wait to be sent, owning what they carry.

use bytes::Bytes;

use crate::address_reconfiguration::AsconfAnswer;
use crate::reconfigure::AnswerList;
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
    Heartbeat {
        path: u8,
        nonce: u64,
    },
    /// A HEARTBEAT padded to a packet of `size` bytes, which nothing else may ride in.
    Probe {
        path: u8,
        nonce: u64,
        size: u16,
    },
    HeartbeatAck {
        path: u8,
        info: Bytes,
    },
    Error(OwnedCause),
    /// The requests of this side that are under way (RFC 6525).
    Reconfigure,
    ReconfigureAnswers(AnswerList),
    /// The ASCONF under way (RFC 5061).
    ChangeAddress,
    AddressAnswer {
        path: u8,
        answer: Box<AsconfAnswer>,
    },
    Abort(OwnedCause),
    /// ABORT with the T bit: to a peer that offered no tag, so that its packet's is reflected.
    ReflectedAbort(OwnedCause),
}

impl Control {
    /// Whether the peer decides how many there are.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(
            self,
            Control::HeartbeatAck { .. }
                | Control::Error(_)
                | Control::ReconfigureAnswers(_)
                | Control::AddressAnswer { .. }
        )
    }

    /// The path that it must take; none takes the one that is used for control chunks.
    pub(crate) fn path(&self) -> Option<u8> {
        match self {
            Control::Heartbeat { path, .. }
            | Control::Probe { path, .. }
            | Control::HeartbeatAck { path, .. }
            | Control::AddressAnswer { path, .. } => Some(*path),
            _ => None,
        }
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
