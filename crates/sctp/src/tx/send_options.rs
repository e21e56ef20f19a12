//! How a message is to be sent, and why one is refused (in the spirit of RFC 6458 and RFC 7496).

use core::fmt;

use base::{Duration, Instant};
use bytes::Bytes;

use crate::wire::ids::{KeyId, StreamId};

/// How hard the transport tries before it gives a message up (RFC 7496; RFC 3758, section 4).
///
/// A message that still waits is given up whatever the peer knows. Once a part of it was sent, it
/// can only be given up if both sides agreed on
/// [partial reliability](crate::Extensions::PARTIAL_RELIABILITY); else it is sent until it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reliability {
    /// Until it arrives.
    #[default]
    Full,
    /// For this long after it was accepted: not sent for the first time nor again after that
    /// (SCTP_PR_SCTP_TTL).
    Lifetime(Duration),
    /// Number of times that the message is sent again at most; 0 means sent once (SCTP_PR_SCTP_RTX).
    Retransmissions(u32),
    /// As [`Reliability::Full`], until the send buffer is full: then it makes room for messages
    /// that are more important (SCTP_PR_SCTP_PRIO). A smaller number is more important, and a
    /// message of any other kind counts as 0.
    Priority(u32),
}

impl Reliability {
    /// How important a message is when the buffer is full: the smaller, the more.
    pub(crate) fn priority(self) -> u32 {
        match self {
            Reliability::Priority(priority) => priority,
            _ => 0,
        }
    }

    /// When a message that was accepted at `queued_at` and still waits expires, and by which limit.
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

/// How a message is to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// Deliver it as soon as it arrives, whatever the order of its stream.
    pub unordered: bool,
    /// Ask the peer for a SACK without delay (RFC 7053): the I bit, on the last fragment.
    pub immediate: bool,
    /// When it may be given up.
    pub reliability: Reliability,
    /// A number of the application's own, never sent: [`Abandoned`] tells it.
    pub context: u32,
    /// The shared key that authenticates the message where the peer wants user data authenticated (SCTP_AUTHINFO of RFC
    /// 6458, section 5.3.8); without one, the key that is active when a packet leaves.
    pub key: Option<KeyId>,
}

/// One of several calls that hand over a message piece by piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// Bytes of the message, at least one.
    pub payload: Bytes,
    /// The message ends with it.
    pub end_of_record: bool,
}

/// Why a message was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbandonReason {
    /// The message waited or was retransmitted for longer than [`Reliability::Lifetime`].
    Lifetime,
    /// The message waited longer than
    /// [`AssociationOptions::max_queueing_delay`](crate::AssociationOptions::max_queueing_delay).
    QueueingDelay,
    /// [`Reliability::Retransmissions`] was used up.
    Retransmissions,
    /// The message made room for a message that is more important ([`Reliability::Priority`]).
    Priority,
    /// The application gave it up.
    Application,
}

/// A message that was given up (SCTP_SEND_FAILED_EVENT of RFC 6458, section 6.1.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned {
    /// Stream of the message.
    pub stream: StreamId,
    /// The message's [`SendOptions::context`].
    pub context: u32,
    /// Why.
    pub reason: AbandonReason,
    /// Whether a part of it was sent: the peer may have received it all the same.
    pub sent: bool,
}

/// Why a message was not accepted. Nothing of it was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The association has no such outbound stream.
    NoSuchStream {
        /// The stream asked for.
        stream: StreamId,
        /// Streams that there are: 0 to this less one.
        streams: u16,
    },
    /// The message has no bytes: SCTP cannot carry that. Nor can it carry an empty last part.
    Empty,
    /// The message is longer than a message may be.
    TooLarge {
        /// Length of the message in bytes.
        length: usize,
        /// The longest allowed.
        maximum: usize,
    },
    /// The buffer is full, or this part would begin a message on a stream that is being reset: try again
    /// when [`Event::Writable`](crate::Event::Writable) says so.
    BufferFull,
    /// A message that is sent in parts is not complete on this stream.
    MessageOpen,
    /// The message of which this is a part was given up. The part that ends it is refused too, and
    /// with it the matter is closed.
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
            SendError::Abandoned => f.write_str("the message was given up"),
            SendError::NoSuchKey(key) => write!(f, "there is no shared key {}", key.0),
            SendError::Closed => f.write_str("the association does not take messages any more"),
        }
    }
}

impl std::error::Error for SendError {}
