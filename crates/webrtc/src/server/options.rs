//! Options, counters and errors of a server.

use core::fmt;
use core::net::SocketAddr;

use base::Duration;
use sctp::{AssociationOptions, MemoryLimits};
use secure::{Role, Secrets, Settings, SettingsError, Versions};

use crate::peer::PeerOptions;
use crate::sdp::SdpError;

/// Addresses, options and bounds of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Addresses at which browsers reach the server, for the candidates of answers, the best
    /// first: those of its sockets, or of a NAT in front of them.
    pub addresses: Vec<SocketAddr>,
    /// End of DTLS that the server takes if an offer leaves the choice.
    pub role: Role,
    /// Versions and timers of the DTLS handshake.
    pub handshake: Settings,
    /// Source of the keys of DTLS.
    pub secrets: Secrets,
    /// SCTP port of this side, which descriptions name.
    pub port: u16,
    /// Whether offers of this side carry SCTP's INIT, and the answer to an offer with one does, so
    /// that the association is there once DTLS is open (SNAP, draft-hancke-tsvwg-snap). A peer
    /// that does not know it goes by packets.
    pub signalled_init: bool,
    /// Options of associations, including their recovery policy.
    pub association: AssociationOptions,
    /// Whether messages of peers are acknowledged at once ([`PeerOptions::acknowledge_at_once`]).
    pub acknowledge_at_once: bool,
    /// Bytes that the association of one peer may hold.
    pub memory: MemoryLimits,
    /// Most channels at a time with one peer.
    pub max_channels: usize,
    /// Bytes of unread messages and other events of one peer from which on its window closes.
    pub unread: usize,
    /// Most peers, in all and of one host.
    pub limits: ServerLimits,
}

impl ServerOptions {
    /// The defaults for a server at `addresses`: DTLS 1.3, or 1.2 for browsers without it; first
    /// retransmission of a handshake after 200 ms, and each one before the eighth at most a second
    /// after the previous one.
    pub fn new(addresses: Vec<SocketAddr>) -> ServerOptions {
        ServerOptions {
            addresses,
            role: Role::Server,
            handshake: Settings {
                versions: Versions::Either,
                first_retransmission: Duration::from_millis(200),
                linear_retransmissions: 4,
                ..Settings::default()
            },
            secrets: Secrets::System,
            port: 5000,
            signalled_init: true,
            association: PeerOptions::association(),
            acknowledge_at_once: true,
            memory: MemoryLimits::default(),
            max_channels: 1024,
            unread: 1 << 20,
            limits: ServerLimits::default(),
        }
    }
}

/// Bounds on the peers of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Most peers at a time.
    pub peers: usize,
    /// Peers among them whose offers came from one host (an IPv4 address, 64 bits of IPv6).
    pub per_host: usize,
    /// Peers among them that have not connected yet.
    pub waiting: usize,
    /// Peers among those whose offers came from one host (an IPv4 address, 64 bits of IPv6).
    pub waiting_per_host: usize,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits { peers: 1024, per_host: 256, waiting: 256, waiting_per_host: 16 }
    }
}

/// Counters of a server since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Offers that were answered, by this side or by the peer.
    pub accepted: u64,
    /// Datagrams that belong to no peer.
    pub ignored: u64,
}

/// Reason for which an offer got no answer, or an answer was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptError {
    /// The offer cannot be used.
    Offer(SdpError),
    /// The answer to an offer of this side cannot be used.
    Answer(SdpError),
    /// The answer does not fit the offer of this side; the text says what would be right.
    NotAnAnswer(&'static str),
    /// No such offer waits for an answer: it was answered, or its minute has passed.
    NoOffer,
    /// The peer is a lite ICE agent, like the server: neither would send checks.
    BothLite,
    /// The limit of peers is reached, or that of peers that have not connected yet.
    TooMany,
    /// The limit of this host's offers whose peers have not connected is reached.
    TooManyOfHost,
    /// The limit of this host's peers is reached.
    HostFull,
    /// The settings of DTLS are wrong.
    Settings(SettingsError),
}

impl AcceptError {
    /// Whether the offer itself is valid and may be accepted later.
    pub fn is_shortage(&self) -> bool {
        matches!(self, AcceptError::TooMany | AcceptError::TooManyOfHost | AcceptError::HostFull)
    }
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AcceptError::Offer(error) => write!(f, "the offer, {error}"),
            AcceptError::Answer(error) => write!(f, "the answer, {error}"),
            AcceptError::NotAnAnswer(expected) => write!(f, "the answer: expected {expected}"),
            AcceptError::NoOffer => {
                f.write_str("no such offer waits for an answer: it has one, or a minute has passed")
            }
            AcceptError::BothLite => {
                f.write_str("the peer has a=ice-lite: one of the sides has to be a full ICE agent")
            }
            AcceptError::TooMany => f.write_str("there are as many peers as there may be"),
            AcceptError::TooManyOfHost => {
                f.write_str("too many offers of this host wait for their peers to connect")
            }
            AcceptError::HostFull => f.write_str("this host has as many peers as it may"),
            AcceptError::Settings(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AcceptError {}
