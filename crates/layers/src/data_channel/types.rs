//! Options and events of data channels.

use core::fmt;

use base::Duration;
use bytes::Bytes;

use sctp::{Ppid, StreamId};

/// Bytes that are no such message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DcepError {
    /// A message that is shorter than its fields say.
    TooShort,
    /// A message of a type that does not exist.
    UnknownMessage(u8),
    /// A channel of a type that does not exist.
    UnknownChannelType(u8),
    /// Label or protocol is not UTF-8.
    NotText,
    /// Label and protocol are longer than this side takes.
    NameTooLong,
}

impl fmt::Display for DcepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DcepError::TooShort => f.write_str("shorter than its fields say"),
            DcepError::UnknownMessage(number) => write!(f, "of unknown type {number:#04x}"),
            DcepError::UnknownChannelType(number) => {
                write!(f, "a channel of unknown type {number:#04x}")
            }
            DcepError::NotText => f.write_str("label or protocol is not UTF-8"),
            DcepError::NameTooLong => f.write_str("label and protocol are too long"),
        }
    }
}

impl core::error::Error for DcepError {}

/// This side of the DTLS connection: the client opens channels with even identifiers, the
/// server with odd ones (RFC 8832, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DtlsRole {
    /// The client, with even identifiers.
    Client,
    /// The server, with odd identifiers (RFC 8832, section 6).
    Server,
}

/// Effort with which a channel tries to deliver a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ChannelReliability {
    /// The channel retransmits a message until it arrives.
    #[default]
    Full,
    /// The channel retransmits a message at most this often.
    Retransmissions(u32),
    /// The channel retransmits a message for this time, in whole milliseconds.
    Lifetime(Duration),
}

/// Properties of a channel, known to both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelOptions {
    /// The application's name for it, not necessarily unique.
    pub label: String,
    /// A subprotocol registered with IANA, or nothing.
    pub protocol: String,
    /// Below normal, normal, high and extra high are 128, 256, 512 and 1024 (RFC 8831, section
    /// 6.4).
    pub priority: u16,
    /// Whether messages are delivered in the order of sending.
    pub ordered: bool,
    /// Condition under which a message is abandoned.
    pub reliability: ChannelReliability,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        ChannelOptions {
            label: String::new(),
            protocol: String::new(),
            priority: 256,
            ordered: true,
            reliability: ChannelReliability::Full,
        }
    }
}

/// Options common to all channels of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataChannelsOptions {
    /// Side of the DTLS connection.
    pub role: DtlsRole,
    /// Identifiers from 0 to this less one may be used: as many as the association has streams in
    /// both directions, 65535 at most.
    pub streams: u16,
    /// Channels that may exist at once, opened by either side.
    pub max_channels: usize,
    /// Bytes that label and protocol of a channel of the peer may have together.
    pub max_name: usize,
    /// Longest message sent, bytes: no more than the association's and the peer's (its
    /// `a=max-message-size`).
    pub max_message: usize,
    /// Bytes that may wait for the association to take them.
    pub buffer: usize,
}

impl DataChannelsOptions {
    /// Limits that suit a browser: messages of 256 KiB, 1024 channels, a buffer of 1 MiB.
    pub fn new(role: DtlsRole) -> Self {
        DataChannelsOptions {
            role,
            streams: u16::MAX,
            max_channels: 1024,
            max_name: 1024,
            max_message: 256 << 10,
            buffer: 1 << 20,
        }
    }
}

/// Whether a message is text or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// UTF-8, which the layer does not verify.
    Text,
    /// Bytes, passed on as they are.
    Binary,
}

/// A change in the life of a channel (opening, closing), a message that arrived, or room for more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelEvent {
    /// The peer opened a channel; messages may be sent.
    Opened {
        /// Identifier of the channel, its SCTP stream (RFC 8832, section 6).
        id: StreamId,
        /// Label, protocol, priority and reliability, as the peer's OPEN says.
        options: ChannelOptions,
    },
    /// The peer answered the opening of a channel.
    Confirmed {
        /// Identifier of the channel, its SCTP stream (RFC 8832, section 6).
        id: StreamId,
    },
    /// A message of the peer arrived whole.
    Message {
        /// Identifier of the channel, its SCTP stream (RFC 8832, section 6).
        id: StreamId,
        /// Text or bytes, by the payload protocol identifier.
        kind: MessageKind,
        /// Content as the peer sent it; may be empty.
        payload: Bytes,
    },
    /// The peer closes the channel, or this side does since the peer broke the protocol: nothing
    /// can be sent any more.
    Closing {
        /// Identifier of the channel, its SCTP stream (RFC 8832, section 6).
        id: StreamId,
        /// The peer's fault, if it committed one.
        fault: Option<ChannelFault>,
    },
    /// The buffered amount of the channel fell to the threshold that
    /// [`DataChannels::set_low_threshold`](super::DataChannels::set_low_threshold) set, or below.
    BufferedLow {
        /// Identifier of the channel, its SCTP stream (RFC 8832, section 6).
        id: StreamId,
    },
    /// The channel is gone in both directions; its identifier may be used again, unless the peer
    /// does not let streams be reset.
    Closed {
        /// Identifier of the channel, its SCTP stream (RFC 8832, section 6).
        id: StreamId,
    },
}

/// Fault of a peer, after which the channel is closed (RFC 8831, section 6.6; RFC 8832, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelFault {
    /// The peer opened a channel with an identifier of this side's kind.
    WrongParity,
    /// The peer opened a channel that was open.
    OpenedTwice,
    /// The peer sent what is no message of the establishment protocol.
    Dcep(DcepError),
    /// The peer sent a message of a kind that channels do not carry.
    UnknownPpid(Ppid),
    /// The peer opened a channel on which this side has no stream to answer.
    NoStream,
}

/// Reason for which a channel was not opened or a message not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelError {
    /// There are as many channels as there may be, or no identifier is free.
    TooMany,
    /// The identifier is in use, or beyond the streams of the association.
    Unusable(StreamId),
    /// Label or protocol has more than 65535 bytes.
    NameTooLong,
    /// There is no such channel, or it is closing.
    NotOpen(StreamId),
    /// The message is too long.
    TooLarge {
        /// Bytes of the message that was to be sent.
        length: usize,
        /// Most bytes allowed: [`DataChannelsOptions::max_message`].
        maximum: usize,
    },
    /// The buffer of unsent messages is full. Send again once the association has taken some.
    BufferFull,
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChannelError::TooMany => f.write_str("no further channel can be opened"),
            ChannelError::Unusable(id) => write!(f, "identifier {} cannot be used", id.0),
            ChannelError::NameTooLong => {
                f.write_str("label and protocol have at most 65535 bytes each")
            }
            ChannelError::NotOpen(id) => write!(f, "channel {} is not open", id.0),
            ChannelError::TooLarge { length, maximum } => {
                write!(f, "a message of {length} bytes is longer than the {maximum} allowed")
            }
            ChannelError::BufferFull => f.write_str("as much waits to be sent as may"),
        }
    }
}

impl core::error::Error for ChannelError {}
