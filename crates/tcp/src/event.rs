//! What the application should know of a connection.

use core::fmt;

/// Names a listener of an endpoint. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub(crate) u32);

/// Something happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection that this side opened is established.
    Established,
    /// A connection that a peer opened is established: [`Endpoint::accept`](crate::Endpoint::accept)
    /// gives it.
    Incoming {
        /// Listener whose queue holds the connection.
        listener: ListenerId,
    },
    /// Data, or the peer's FIN, waits to be read.
    Readable,
    /// The send buffer, full before, has room again.
    Writable,
    /// The peer announced urgent data (RFC 9293, section 3.8.5).
    Urgent,
    /// Something hinders the connection, which goes on (RFC 9293, section 3.9.1.8); told unless
    /// [`ConnectionOptions::soft_errors`](crate::ConnectionOptions::soft_errors) is off.
    SoftError(SoftError),
    /// Both sides finished and everything was acknowledged.
    Closed,
    /// The connection is gone.
    Failed(Failure),
}

/// What hinders a connection that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftError {
    /// ICMP reported an unreachable port or protocol at the peer. An attempt to open ends with that
    /// ([`Failure::NobodyThere`]); an established connection does not, since a stranger may say it (RFC 5927,
    /// section 5.2).
    NobodyThere,
    /// ICMP said that a segment did not reach the peer: no route, a host that is down, a header that a router refuses.
    Unreachable,
    /// The retransmission timer expired [`SoftError::R1`] times in a row without progress (R1 of RFC 9293, section
    /// 3.8.3).
    Retransmissions,
}

impl SoftError {
    /// Retransmissions of a segment, or of a SYN, after which the application hears of
    /// [`SoftError::Retransmissions`]: R1, three at least (RFC 9293, section 3.8.3).
    pub const R1: u8 = 3;
}

impl fmt::Display for SoftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SoftError::NobodyThere => "ICMP says that no process listens at the peer's address",
            SoftError::Unreachable => "ICMP says that the peer cannot be reached",
            SoftError::Retransmissions => "what is sent again and again is not acknowledged",
        })
    }
}

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer refused the connection with a reset.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer did not answer the SYN, or not the SYN ACK.
    NoAnswer,
    /// ICMP reported an unreachable port or protocol at the peer.
    NobodyThere,
    /// The peer did not answer, and ICMP said that it cannot be reached.
    Unreachable,
    /// The peer stopped acknowledging.
    TimedOut,
    /// The peer stopped answering keep-alive probes ([`keep_alive`](crate::ConnectionOptions::keep_alive),
    /// [`dead_after`](crate::ConnectionOptions::dead_after)).
    KeepAlive,
    /// Data stayed unacknowledged for as long as the user timeout allows.
    UserTimeout,
    /// This side's application aborted, or closed with unread data or without lingering.
    Aborted,
    /// All connections together held as much as they may, and this one made no progress for a minute.
    NoMemory,
    /// The peer did not finish in the time that a connection without application is given.
    FinWait2,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Refused => "the peer refused the connection",
            Failure::Reset => "the peer reset the connection",
            Failure::NoAnswer => "the peer did not answer",
            Failure::NobodyThere => "no process listens at the peer's address",
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
