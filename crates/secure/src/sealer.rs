//! The interface of an encrypted session on one path.

use core::fmt;

use base::{Duration, Instant};
use bytes::Bytes;

use crate::fingerprint::Fingerprint;
use crate::trust::Refusal;

/// An authenticated peer: it proved to hold the key of its certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Fingerprint of the certificate whose key the peer proved to hold.
    pub fingerprint: Fingerprint,
    /// Certificate that the peer sent, in DER.
    pub certificate: Bytes,
    /// On first use: the line to append to the known peers, without a line break.
    pub line_to_add: Option<String>,
}

/// Progress of a session, from the handshake to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The handshake is in progress; no packet is opened or sealed.
    Handshaking,
    /// Both ends are authenticated and packets pass.
    Open(Peer),
    /// One of the ends has closed the session.
    Closed,
    /// The session ended without a close. The peer is not notified.
    Failed(Failure),
}

/// Reason for which a session failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer's key is not one that this side accepts.
    Refused(Refusal),
    /// The handshake did not finish within this time of its first packet, or within its
    /// retransmissions.
    TimedOut(Duration),
    /// For two seconds ICMP reported for every datagram that no socket listens at the peer's
    /// address.
    NoListener,
    /// The peer, or an attacker on the path, broke the protocol; the text is the DTLS crate's.
    Protocol(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(refusal) => refusal.fmt(f),
            Failure::TimedOut(after) => {
                let seconds = after.as_secs_f64();
                write!(
                    f,
                    "the peer did not finish the handshake within {seconds} s: it is away, or refuses this key"
                )
            }
            Failure::NoListener => f.write_str("no socket listens at the peer's address"),
            Failure::Protocol(reason) => write!(f, "the peer broke DTLS: {reason}"),
        }
    }
}

impl core::error::Error for Failure {}

/// Reason for which a packet was not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSealed {
    /// The session is not [`State::Open`].
    NotOpen,
    /// The packet is longer than a record's plaintext may be.
    TooLong {
        /// Most bytes of plaintext in a record.
        limit: usize,
    },
}

impl fmt::Display for NotSealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotSealed::NotOpen => f.write_str("the session is not open"),
            NotSealed::TooLong { limit } => write!(f, "a record takes {limit} bytes at most"),
        }
    }
}

impl core::error::Error for NotSealed {}

/// An encrypted session of one path, sans-IO.
///
/// After each input its owner drains [`Sealer::poll_transmit`] and [`Sealer::poll_opened`], then
/// looks at [`Sealer::state`] and sleeps until [`Sealer::poll_timeout`]. Time never goes back. No
/// input may panic or make memory grow without bound.
pub trait Sealer {
    /// Input: a datagram arrived on the path. Bad ones are dropped.
    fn handle_datagram(&mut self, now: Instant, datagram: &[u8]);

    /// Input: the time is now `now`. Has no effect when nothing is due.
    fn handle_timeout(&mut self, now: Instant);

    /// Output: the next datagram to send.
    fn poll_transmit(&mut self) -> Option<Bytes>;

    /// Output: the next packet of the peer, authentic and opened; none before [`State::Open`].
    fn poll_opened(&mut self) -> Option<Bytes>;

    /// Output: when to call [`Sealer::handle_timeout`] next.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Seals a packet into one datagram, which [`Sealer::poll_transmit`] returns.
    fn seal(&mut self, now: Instant, packet: &[u8]) -> Result<(), NotSealed>;

    /// Closes the session, and notifies the peer if the session was open.
    fn close(&mut self, now: Instant);

    /// Progress of the session; final once closed or failed.
    fn state(&self) -> &State;
}
