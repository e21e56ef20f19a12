//! Options of a message to send, and the errors of sending (modelled on RFC 6458 and RFC 7496).

use core::fmt;

use base::{Duration, Instant};
use bytes::Bytes;

use crate::wire::ids::{KeyId, StreamId};

/// Reliability of a message: when it may be abandoned (RFC 7496; RFC 3758, section 4).
///
/// A queued message may be abandoned whatever the peer supports. A partly sent one may only be
/// abandoned if both sides agreed on [partial reliability](crate::Extensions::PARTIAL_RELIABILITY);
/// otherwise it is retransmitted until it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reliability {
    /// Never: retransmitted until it arrives.
    #[default]
    Full,
    /// After this time since its acceptance it is neither sent nor retransmitted
    /// (SCTP_PR_SCTP_TTL).
    Lifetime(Duration),
    /// Most retransmissions of the message; 0 means sent once (SCTP_PR_SCTP_RTX).
    Retransmissions(u32),
    /// Importance of a message that is retransmitted as with [`Reliability::Full`], until the send
    /// buffer is full: then it makes room for more important messages (SCTP_PR_SCTP_PRIO). A
    /// smaller number is more important, and a message of any other kind counts as 0.
    Priority(u32),
}

impl Reliability {
    /// Importance of a message when the buffer is full: a smaller number is more important.
    pub(crate) fn priority(self) -> u32 {
        match self {
            Reliability::Priority(priority) => priority,
            _ => 0,
        }
    }

    /// Instant at which a queued message accepted at `queued_at` expires, and the limit that causes
    /// it.
    pub(crate) fn deadline(
        self,
        queued_at: Instant,
        max_queueing_delay: Option<Duration>,
    ) -> Option<(Instant, AbandonReason)> {
        let queueing =
            max_queueing_delay.map(|delay| (queued_at + delay, AbandonReason::QueueingDelay));
        let lifetime = match self {
            Reliability::Lifetime(lifetime) => {
                Some((queued_at + lifetime, AbandonReason::Lifetime))
            }
            _ => None,
        };
        lifetime.into_iter().chain(queueing).min_by_key(|(at, _)| *at)
    }
}

/// Options of a message to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// Whether to deliver it as soon as it arrives, regardless of the order of its stream.
    pub unordered: bool,
    /// Whether to request an immediate SACK (RFC 7053): the I bit, on the last fragment.
    pub immediate: bool,
    /// Condition under which it may be abandoned.
    pub reliability: Reliability,
    /// A number of the application's own, never sent: [`Abandoned`] returns it.
    pub context: u32,
    /// The shared key that authenticates the message, if the peer requires authenticated user data
    /// (SCTP_AUTHINFO of RFC 6458, section 5.3.8); `None`: the key that is active when a
    /// packet leaves.
    pub key: Option<KeyId>,
}

/// A part of a message that several calls pass piece by piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// Bytes of the message, at least one.
    pub payload: Bytes,
    /// Whether the message is complete with this part.
    pub end_of_record: bool,
}

/// Reason for which a message was abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbandonReason {
    /// The message was queued or retransmitted for longer than [`Reliability::Lifetime`].
    Lifetime,
    /// The message was queued for longer than
    /// [`AssociationOptions::max_queueing_delay`](crate::AssociationOptions::max_queueing_delay).
    QueueingDelay,
    /// The number of [`Reliability::Retransmissions`] was exhausted.
    Retransmissions,
    /// The message made room for a more important one ([`Reliability::Priority`]).
    Priority,
    /// The application abandoned the message.
    Application,
}

/// An abandoned message (SCTP_SEND_FAILED_EVENT of RFC 6458, section 6.1.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned {
    /// Outbound stream of the message.
    pub stream: StreamId,
    /// The [`SendOptions::context`] with which the message was sent.
    pub context: u32,
    /// Reason why it was abandoned.
    pub reason: AbandonReason,
    /// Whether part of it was sent: the peer may have received it nevertheless.
    pub sent: bool,
}

/// Reason for which a message was not accepted. No part of it was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The association has no such outbound stream.
    NoSuchStream {
        /// The stream given by the caller.
        stream: StreamId,
        /// Number of outbound streams: 0 to this less one exist.
        streams: u16,
    },
    /// The message is empty, which SCTP cannot carry, and neither can it carry an empty last part.
    Empty,
    /// The message exceeds the maximum size.
    TooLarge {
        /// Length of the message in bytes.
        length: usize,
        /// Longest message that the association sends, in bytes.
        maximum: usize,
    },
    /// The buffer is full, or this part would begin a message on a stream that is being reset: try
    /// again after [`Event::Writable`](crate::Event::Writable).
    BufferFull,
    /// A message sent in parts is incomplete on this stream.
    MessageOpen,
    /// The message of this part was abandoned. Its last part is refused too, which ends it.
    Abandoned,
    /// The association has no such shared key.
    NoSuchKey(KeyId),
    /// The association is closing, over, or unknown.
    Closed,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::NoSuchStream { stream, streams } => {
                write!(f, "stream {} is not among the {streams} outbound streams", stream.0)
            }
            SendError::Empty => f.write_str("a message needs at least one byte"),
            SendError::TooLarge { length, maximum } => {
                write!(f, "a message of {length} bytes is longer than the {maximum} allowed")
            }
            SendError::BufferFull => f.write_str("the send buffer is full"),
            SendError::MessageOpen => {
                f.write_str("a message sent in parts is not complete on this stream")
            }
            SendError::Abandoned => f.write_str("the message was abandoned"),
            SendError::NoSuchKey(key) => write!(f, "there is no shared key {}", key.0),
            SendError::Closed => f.write_str("the association does not take messages any more"),
        }
    }
}

impl std::error::Error for SendError {}
