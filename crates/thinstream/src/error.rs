//! Error types, one for each kind of call.

mod kinds;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sctp::wire::CauseCode;
use sctp::{Failure, StreamId};
use secure::{Fingerprint, Refusal};

/// Reason for which an association ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssociationError {
    /// Either side shut the association down, and all data sent before has arrived.
    #[error("the association was shut down")]
    Closed,
    /// The association failed: the peer aborted it or does not answer, or this side aborted it.
    #[error("the association failed: {0}")]
    Failed(Failure),
    /// The peer lost its state and set the association up again; data in flight is lost. A
    /// listening endpoint accepts the new association as another one, from which earlier messages
    /// that were not received can be received first.
    #[error("the peer restarted")]
    Restarted,
    /// The application closed or dropped this side's endpoint.
    #[error("the endpoint was closed")]
    EndpointClosed,
    /// The endpoint's socket failed, for this reason of the system.
    #[error("the socket failed: {0}")]
    Socket(Arc<str>),
    /// No encrypted session with the peer could be set up.
    #[error("no encrypted session: {0}")]
    Session(SessionError),
}

/// Reason for which no encrypted session with a peer could be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The peer's key is not one that is trusted.
    #[error(transparent)]
    Untrusted(Refusal),
    /// Nothing came from the peer.
    #[error("the peer does not answer")]
    NoAnswer,
    /// ICMP reports that no socket listens at the peer's address.
    #[error("no socket listens there")]
    NoListener,
    /// The peer answered, and did not finish the handshake: it may refuse this side's key.
    #[error(
        "the peer did not finish the handshake within {after:?}: it is away, or refuses this key"
    )]
    TimedOut {
        /// Time since the first packet of the handshake.
        after: Duration,
    },
    /// The peer broke the protocol, or DTLS cannot work with the times of the policy.
    #[error("{0}")]
    Broken(String),
}

/// Reason for which an association could not be set up.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    /// The peer refused with an ABORT.
    #[error("{remote} refuses the association{}", cause(*.code, .reason))]
    Refused {
        /// Address of the peer that refused.
        remote: SocketAddr,
        /// Code of the first cause (RFC 9260, section 3.3.10), 0 if it gave none.
        code: u16,
        /// Reason of a user-initiated abort.
        reason: Bytes,
    },
    /// ICMP reports that no socket listens at the peer's address: over UDP of every INIT for two
    /// seconds, so that a server that is about to start is found.
    #[error("no endpoint listens at {remote}")]
    NoListener {
        /// Address at which no socket listens.
        remote: SocketAddr,
    },
    /// Nothing says by which key the peer is known ([`PeerAddress::trust`](crate::PeerAddress)).
    #[error(
        "nothing says which key the peer at {remote} has: a Trust goes with its address, or PlainUdp does without encryption"
    )]
    NoTrust {
        /// Address of the peer whose key is unknown.
        remote: SocketAddr,
    },
    /// The peer's key is not the one that is trusted: another host may have answered.
    #[error("{remote} is not trusted: {reason}")]
    Untrusted {
        /// Address of the host that presented the key.
        remote: SocketAddr,
        /// Difference of its key, [`Refusal::presented`], from what is trusted.
        reason: Refusal,
    },
    /// The peer answered, and did not finish the encrypted session's handshake in time.
    #[error(
        "{remote} did not finish the handshake within {after:?}: it is away, or refuses this key"
    )]
    HandshakeTimeout {
        /// Address of the peer that did not finish.
        remote: SocketAddr,
        /// Time since the first packet of the handshake.
        after: Duration,
    },
    /// The peer violated DTLS, or the policy's times do not allow it to work.
    #[error("no encrypted session with {remote}: {reason}")]
    Handshake {
        /// Address of the peer.
        remote: SocketAddr,
        /// The violation, in words, without the address.
        reason: String,
    },
    /// The peer proved its key, and answered nothing after that: because it refuses this side's
    /// key, of which it says nothing, or because it, or the network, is too busy.
    #[error(
        "{remote} proved its key and answers no more: it is too busy, or does not accept this side's key{}",
        text(&.own.map_or(String::new(), |own| own.to_string()))
    )]
    NotAccepted {
        /// Address of the peer that proved its key.
        remote: SocketAddr,
        /// This side's key, as the peer would have to know it.
        own: Option<Fingerprint>,
    },
    /// A key was asked for, and unencrypted packets prove none.
    #[error("packets in plain prove no key: the trust in {remote} goes with Encapsulation::Secure")]
    NotSecure {
        /// Address of the peer whose trust was given.
        remote: SocketAddr,
    },
    /// The options omit SCTP's checksum, and unencrypted packets have no other protection.
    #[error("packets in plain need a checksum: zero_checksum goes with encryption alone")]
    ChecksumNeeded,
    /// The peer opened the association, and only the peer can set it up again.
    #[error("this side accepted the association: the peer has to set it up again")]
    NotOpenedHere,
    /// The peer answered none of the INITs.
    #[error("{remote} does not answer{}", text(.hint.as_deref().unwrap_or("")))]
    NoAnswer {
        /// Address to which the INITs were sent.
        remote: SocketAddr,
        /// The system's error on sending, if there was one.
        hint: Option<String>,
    },
    /// This endpoint has an association to that address and SCTP port already.
    #[error("there is an association to {0} already; another one needs another endpoint")]
    Exists(SocketAddr),
    /// The endpoint has as many associations as it may.
    #[error("the endpoint has as many associations as it may")]
    TooMany,
    /// The time of [`connect_timeout`](crate::Association::connect_timeout) has passed.
    #[error("{peer} has not answered within {after:?}")]
    TimedOut {
        /// The peer, as it was named.
        peer: String,
        /// Time allowed by the caller.
        after: Duration,
    },
    /// The addresses of the peer's name could not be found.
    #[error("cannot find the address of \"{host}\": {reason}")]
    Lookup {
        /// The name and its port.
        host: String,
        /// Error of the system's resolver.
        reason: String,
    },
    /// A call that does not wait was given a name, which would have to be looked up.
    #[error("{host} has to be looked up first: connect does it, open takes addresses")]
    NotLookedUp {
        /// The name and its port.
        host: String,
    },
    /// No address of the peer is given, or none of its name that this side's sockets reach.
    #[error("the peer has no address")]
    NoAddress,
    /// The policy sets a field that has no effect on SCTP, or its values do not go together.
    #[error("the policy: {0}")]
    Policy(#[from] recovery::policy::FieldError),
    /// SCTP port 0 is no port.
    #[error("SCTP port 0 is no port")]
    ZeroPort,
    /// The socket could not be opened, for calls that open one.
    #[error("{0}")]
    Bind(Arc<io::BindError>),
    /// The association ended for another reason before it was set up.
    #[error(transparent)]
    Ended(#[from] AssociationError),
}

/// ` (User-Initiated Abort: text)`, or nothing.
fn cause(code: u16, reason: &[u8]) -> String {
    match code {
        0 => String::new(),
        _ => {
            let (name, reason) = (CauseCode(code), String::from_utf8_lossy(reason));
            format!(" ({name}{})", text(&reason))
        }
    }
}

/// `text` after a colon, or nothing if it is empty.
fn text(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// Reason for which a message was not sent, not even in part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The association has no such outbound stream.
    #[error("stream {} is not among the {streams} outbound streams", stream.0)]
    NoSuchStream {
        /// The stream given by the caller.
        stream: StreamId,
        /// Streams that there are: 0 to this less one.
        streams: u16,
    },
    /// The message is empty: SCTP cannot carry that.
    #[error("a message needs at least one byte")]
    Empty,
    /// The message is longer than the association's limit on messages.
    #[error("a message of {length} bytes is longer than the {maximum} allowed")]
    TooLarge {
        /// Length of the message in bytes.
        length: usize,
        /// Longest message that this association sends, in bytes.
        maximum: usize,
    },
    /// The association is being shut down.
    #[error("the association is being shut down")]
    ShuttingDown,
    /// The association ended before, for this reason.
    #[error(transparent)]
    Ended(#[from] AssociationError),
}

/// Reason for which a message was not sent at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrySendError {
    /// The send buffer is full: try again later, or wait with `send`.
    #[error("the send buffer is full")]
    Full,
    /// The message cannot be sent at all.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// Reason for which an address cannot be added, removed or made primary. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The endpoint has no socket at that address:
    /// [`Endpoint::bind_all`](crate::Endpoint::bind_all) opens one for each address.
    #[error("the endpoint has no socket at {0}")]
    NoSocket(IpAddr),
    /// The association or its extensions do not allow the change.
    #[error(transparent)]
    Refused(sctp::AddressError),
}

/// Reason for which an endpoint accepts no associations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The endpoint was opened without [`listen`](crate::EndpointOptions::listen).
    #[error("the endpoint does not listen")]
    NotListening,
    /// The application closed the endpoint, which accepts no more.
    #[error("the endpoint was closed")]
    Closed,
    /// The endpoint's socket failed, for this reason of the system.
    #[error("the socket failed: {0}")]
    Socket(Arc<str>),
}
