//! Bounds on the sessions of a host, notices and counters.

use core::net::SocketAddr;

use base::Duration;

use crate::dtls::Role;
use crate::sealer::{Failure, Peer};

/// Bounds on the state that peers can make a host keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most sessions in total; beyond them new clients get no answer.
    pub sessions: usize,
    /// Sessions that peers at one host (an IPv4 address, or an IPv6 network of 64 bits) began,
    /// including half-open ones. Further clients of the host get no answer.
    pub per_host: usize,
    /// Most handshakes in progress that peers began. One more ends the oldest.
    pub half_open: usize,
    /// Half-open handshakes of one host (an IPv4 address, or an IPv6 network of 64 bits). Further
    /// clients of the host get no answer.
    pub half_open_per_host: usize,
    /// Most bytes that a peer may send in a handshake that it began; more end the handshake.
    pub half_open_bytes: usize,
    /// Time from the cookie to the end of a handshake that a peer began, and to its first packet.
    pub half_open_time: Duration,
    /// Time without a packet from the peer after which an open session is closed. SCTP's
    /// heartbeats keep a session open as long as its association lives.
    pub idle: Duration,
    /// Silence of a server after which a client that continues to send sets up another session, or
    /// four round trips if that is longer: the server may have lost the session, or the client may
    /// be at another address. Doubled with each attempt until a packet of the server arrives, six
    /// times at most.
    pub renew: Duration,
}

impl Default for Limits {
    /// 16,384 sessions, 2,048 of one host; 512 handshakes, 64 of one host, each with 32 KiB and 15
    /// s; idle for two minutes; renewed after a second.
    fn default() -> Limits {
        Limits {
            sessions: 16_384,
            per_host: 2_048,
            half_open: 512,
            half_open_per_host: 64,
            half_open_bytes: 32 << 10,
            half_open_time: Duration::from_secs(15),
            idle: Duration::from_secs(120),
            renew: Duration::from_secs(1),
        }
    }
}

/// Change of a session that the application learns of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The peer at this address is authenticated, and packets pass.
    Opened {
        /// IP address and UDP port of the peer.
        remote: SocketAddr,
        /// Role of this side; the client began the session.
        role: Role,
        /// The peer's key, and the line to add to the known peers on first use.
        peer: Peer,
    },
    /// Either end has closed the session, or its idle time exceeded the limit.
    Closed {
        /// IP address and UDP port of the peer.
        remote: SocketAddr,
    },
    /// The session has failed; unfinished handshakes of peers are only counted.
    Failed {
        /// IP address and UDP port of the peer.
        remote: SocketAddr,
        /// Role of this side; the client began the session.
        role: Role,
        /// Reason for which the session cannot go on.
        failure: Failure,
        /// Whether the peer sent any datagram.
        answered: bool,
    },
}

/// Counters of the sessions of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionStats {
    /// Sessions whose handshake completed, in either role.
    pub opened: u64,
    /// Sessions that failed: rejected keys, unfinished handshakes of this side, protocol errors.
    pub failed: u64,
    /// Sessions set up again because the server was silent.
    pub renewed: u64,
    /// Sessions that moved to another port of the client's host.
    pub moved: u64,
    /// Cookies sent to addresses without a session.
    pub cookies_sent: u64,
    /// Datagrams from addresses without a session that are no ClientHello, have an invalid cookie,
    /// or arrived while no peer may begin a session.
    pub strangers_ignored: u64,
    /// Datagrams from addresses without a session that were dropped because of a limit.
    pub strangers_turned_away: u64,
    /// Unfinished handshakes that peers began, other than those with rejected keys.
    pub half_open_failed: u64,
    /// Handshakes that ended to make room for a newer one.
    pub half_open_dropped: u64,
    /// Packets of the machine that were encrypted.
    pub packets_sealed: u64,
    /// Packets of peers that were decrypted.
    pub packets_opened: u64,
    /// Bytes of all datagrams sent, including handshakes.
    pub bytes_sent: u64,
    /// Bytes of all datagrams of peers with a session.
    pub bytes_received: u64,
    /// Packets of the machine that were dropped because there was no open session with their host,
    /// or because of their length.
    pub packets_unsent: u64,
    /// ICMP messages without proof that their sender saw a datagram.
    pub icmp_ignored: u64,
}
