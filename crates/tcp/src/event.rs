//! Events of a connection for the application.

use core::fmt;

/// Identifies a listener of an endpoint. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub(crate) u32);

/// An event of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection that this side opened is established.
    Established,
    /// A connection that a peer opened is established:
    /// [`Endpoint::accept`](crate::Endpoint::accept) returns it.
    Incoming {
        /// Listener whose queue holds the connection.
        listener: ListenerId,
    },
    /// Data or the peer's FIN can be read.
    Readable,
    /// The send buffer, which was full, has room again.
    Writable,
    /// The peer announced urgent data (RFC 9293, section 3.8.5).
    Urgent,
    /// A soft error: the connection continues (RFC 9293, section 3.9.1.8). Reported unless
    /// [`ConnectionOptions::soft_errors`](crate::ConnectionOptions::soft_errors) is off.
    SoftError(SoftError),
    /// Both sides sent FIN, and all data was acknowledged.
    Closed,
    /// The connection ended before all data was delivered, for this reason.
    Failed(Failure),
}

/// A condition that hinders a connection without ending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftError {
    /// ICMP reported an unreachable port or protocol at the peer. This ends an attempt to open
    /// ([`Failure::NoListener`]), but not an established connection, since an attacker may forge it
    /// (RFC 5927, section 5.2).
    NoListener,
    /// ICMP reported that a segment did not reach the peer: no route, a host that is down, a header
    /// that a router rejects.
    Unreachable,
    /// The retransmission timer expired [`SoftError::R1`] times in a row without progress (R1 of
    /// RFC 9293, section 3.8.3).
    Retransmissions,
}

impl SoftError {
    /// R1: the number of retransmissions of a segment or SYN after which
    /// [`SoftError::Retransmissions`] is reported, at least three (RFC 9293, section 3.8.3).
    pub const R1: u8 = 3;
}

impl fmt::Display for SoftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SoftError::NoListener => "ICMP says that no process listens at the peer's address",
            SoftError::Unreachable => "ICMP says that the peer cannot be reached",
            SoftError::Retransmissions => "what is sent again and again is not acknowledged",
        })
    }
}

/// Reason for which a connection ended before all data was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer refused the connection with a reset.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer did not answer the SYN, or the SYN ACK.
    NoAnswer,
    /// ICMP reported an unreachable port or protocol at the peer.
    NoListener,
    /// The peer did not answer, and ICMP reported it as unreachable.
    Unreachable,
    /// The peer stopped acknowledging: the user timeout passed, or all retries failed.
    TimedOut,
    /// The peer stopped answering keep-alive probes
    /// ([`keep_alive`](crate::ConnectionOptions::keep_alive),
    /// [`dead_after`](crate::ConnectionOptions::dead_after)).
    KeepAlive,
    /// Data stayed unacknowledged for longer than the user timeout.
    UserTimeout,
    /// This side's application aborted, or closed with unread data or without lingering.
    Aborted,
    /// The connections together held more memory than the limit allows, and this one made no
    /// progress for a minute.
    NoMemory,
    /// The peer did not send FIN within the time allowed to a connection without an application.
    FinWait2,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Refused => "the peer refused the connection",
            Failure::Reset => "the peer reset the connection",
            Failure::NoAnswer => "the peer did not answer",
            Failure::NoListener => "no process listens at the peer's address",
            Failure::Unreachable => "the peer cannot be reached",
            Failure::TimedOut => "the peer stopped acknowledging",
            Failure::KeepAlive => "the peer stopped answering",
            Failure::UserTimeout => "data stayed unacknowledged for too long",
            Failure::Aborted => "aborted",
            Failure::NoMemory => "it held memory without progress while there was none left",
            Failure::FinWait2 => "the peer did not close its side in time",
        })
    }
}

impl core::error::Error for Failure {}
