//! Options of endpoints and of messages.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use base::RandomStream;
use io::Clock;
use sctp::{AssociationOptions, MemoryLimits, Ppid, Reliability};
use secure::{Identity, Trust};

use crate::tap::PacketTap;

/// The SCTP port of servers, and the UDP port of the encapsulation (RFC 6951, section 4), unless
/// others are chosen.
pub const DEFAULT_PORT: u16 = io::SCTP_OVER_UDP_PORT;

/// Default of [`EndpointOptions::dead_after`], the silence after which a peer counts as dead; QUIC
/// stacks use the same time. Games that show who has left set 5 to 10 s.
pub const DEAD_AFTER: Duration = Duration::from_secs(30);

/// Bytes of an association's messages that may wait to be sent or acknowledged, unless the
/// endpoint's options say otherwise ([`EndpointOptions::send_buffer`]).
pub const SEND_BUFFER: usize = 256 << 10;

/// Protocol that carries SCTP packets between hosts, with or without DTLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encapsulation {
    /// DTLS 1.3 in UDP datagrams (RFC 8261, RFC 9147): encrypted, and both ends prove their keys.
    #[default]
    Secure,
    /// UDP datagrams without DTLS (RFC 6951), for peers that lack it: **not encrypted**, and no key
    /// is proved.
    PlainUdp,
    /// Unencrypted IP packets of protocol 132; they need root or CAP_NET_RAW, and the system's own
    /// SCTP must not be loaded: **not encrypted**, and no key is proved. Linux only.
    PlainRawIp,
}

impl Encapsulation {
    /// Whether packets are encrypted and peers prove their keys.
    pub fn is_secure(self) -> bool {
        self == Encapsulation::Secure
    }
}

/// A new key, from the system's randomness. To keep the key, store its text ([`Identity::to_pem`]).
pub fn new_identity() -> Identity {
    Identity::generate(&mut RandomStream::from_secret(secret()))
}

/// 256 bits that cannot be guessed: for keys, tags, TSNs and cookies.
#[expect(clippy::expect_used, reason = "a system without randomness cannot keep any secret")]
pub(crate) fn secret() -> [u8; 32] {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).expect("the system has no randomness");
    seed
}

/// Addresses, encapsulation, limits and defaults of an endpoint.
pub struct EndpointOptions {
    /// Encapsulation of SCTP packets: DTLS in UDP unless chosen otherwise.
    pub encapsulation: Encapsulation,
    /// The key by which peers identify this side; none makes a new one for the life of the
    /// endpoint. Ignored without encryption.
    pub identity: Option<Identity>,
    /// Clients that may open associations, where this side listens: any client by default;
    /// [`Association::peer`](crate::Association::peer) identifies it. A refused client gets no
    /// answer; [`Endpoint::refused`](crate::Endpoint::refused) reports it. Ignored without
    /// encryption.
    pub clients: Trust,
    /// SCTP port of this side; none takes a random one of 49152 to 65535. Not the UDP port, which
    /// is that of the address bound.
    pub sctp_port: Option<u16>,
    /// Whether peers may open associations; [`Endpoint::accept`](crate::Endpoint::accept) returns
    /// them.
    pub listen: bool,
    /// Options of associations that peers open.
    pub accepted: AssociationOptions,
    /// Silence of a peer after which an association ends with
    /// [`Failure::Silent`](crate::Failure::Silent), unless its own options set another time
    /// ([`AssociationOptions::dead_after`], which describes cost and effect); [`DEAD_AFTER`] by
    /// default. None: the error counters of RFC 9260, which take minutes.
    pub dead_after: Option<Duration>,
    /// Most bytes of messages that may wait to be sent or acknowledged in each association; an
    /// association's own options may set less. [`SEND_BUFFER`] by default: it holds one message of
    /// the largest size, and lets the sender of a thin stream notice early that the network does
    /// not keep up. One bulk flow of more than 20 Mbit/s with a round trip of 100 ms needs more.
    pub send_buffer: usize,
    /// Most associations at a time, including those not accepted yet; at least 1. At the limit, an
    /// association that a peer opened and that never carried a message, or had the longest idle
    /// time, makes room for a new one ([`sctp::EndpointOptions::max_associations`]): it fails with
    /// [`Failure::OutOfResource`](sctp::Failure).
    pub max_associations: usize,
    /// Most associations at a time with peers at one host (an IPv4 address, or an IPv6 network of
    /// 64 bits), at least 1: peers behind a NAT share one. None: an eighth of
    /// [`EndpointOptions::max_associations`], at least 64.
    pub max_per_peer: Option<usize>,
    /// Bytes that all associations together may hold, at least 1 MiB: data that waits to be sent,
    /// acknowledged or received, and the associations themselves. Beyond it associations that hold
    /// little go on, and those that hold much without progress fail with
    /// [`Failure::OutOfResource`](sctp::Failure).
    pub memory: MemoryLimits,
    /// Parts of an endpoint that listens, 1 to [`EndpointOptions::MOST_SHARDS`]: each has
    /// associations of its own, with a socket, a lock and a task that the runtime may run
    /// beside the others, so that the endpoint uses as many cores. 1 by default. To
    /// its peers and to the application it is one endpoint. [`EndpointOptions::max_associations`]
    /// and [`EndpointOptions::max_per_peer`] hold for all shards together, where one makes
    /// room for a new one of the same shard; of [`EndpointOptions::memory`] each has an equal
    /// part, of 1 MiB at least. Verification tags have log2 of the number bits less of randomness.
    pub shards: NonZeroUsize,
    /// Lifetime of a state cookie (Valid.Cookie.Life).
    pub cookie_life: Duration,
    /// The endpoint's clock; none starts a new one. Times of endpoints that share a clock are
    /// comparable.
    pub clock: Option<Clock>,
    /// Observer of all SCTP packets, unencrypted, for captures.
    pub tap: Option<Box<dyn PacketTap>>,
}

impl EndpointOptions {
    /// Largest value of [`EndpointOptions::shards`]; it costs each verification tag eight bits of
    /// randomness.
    pub const MOST_SHARDS: usize = 256;

    /// An endpoint that listens at SCTP port [`DEFAULT_PORT`].
    pub fn server() -> EndpointOptions {
        EndpointOptions { sctp_port: Some(DEFAULT_PORT), listen: true, ..EndpointOptions::client() }
    }

    /// An endpoint with a random SCTP port that accepts nothing.
    pub fn client() -> EndpointOptions {
        let defaults = sctp::EndpointOptions::default();
        EndpointOptions {
            encapsulation: Encapsulation::default(),
            identity: None,
            clients: Trust::Any,
            sctp_port: None,
            listen: false,
            accepted: defaults.accepted,
            dead_after: Some(DEAD_AFTER),
            send_buffer: SEND_BUFFER,
            max_associations: defaults.max_associations,
            max_per_peer: defaults.max_per_peer,
            memory: defaults.memory,
            shards: NonZeroUsize::MIN,
            cookie_life: defaults.cookie_life.into(),
            clock: None,
            tap: None,
        }
    }
}

impl fmt::Debug for EndpointOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointOptions")
            .field("encapsulation", &self.encapsulation)
            .field("sctp_port", &self.sctp_port)
            .field("listen", &self.listen)
            .field("shards", &self.shards)
            .field("tap", &self.tap.is_some())
            .finish_non_exhaustive()
    }
}

/// Order, reliability and identifiers of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// Payload protocol identifier, for the application at the other end.
    pub ppid: Ppid,
    /// Whether the peer delivers the message as soon as it arrives, without regard to the order of
    /// its stream.
    pub unordered: bool,
    /// Whether to ask the peer for a SACK without delay (I bit, RFC 7053).
    pub immediate: bool,
    /// Condition under which the message may be abandoned, so that no stale data is sent.
    pub reliability: Reliability,
    /// A number of the application, which is not sent; the notice of [`Association::abandoned`]
    /// contains it.
    ///
    /// [`Association::abandoned`]: crate::Association::abandoned
    pub context: u32,
}

impl SendOptions {
    /// Default options, but unordered: the message does not wait for earlier ones.
    pub fn unordered() -> SendOptions {
        SendOptions { unordered: true, ..SendOptions::default() }
    }

    /// The defaults, but abandoned once the message is older than `lifetime`: a [`Duration`] or a
    /// [`time::Duration`](crate::time::Duration).
    pub fn expiring(lifetime: impl Into<base::Duration>) -> SendOptions {
        SendOptions {
            reliability: Reliability::Lifetime(lifetime.into()),
            ..SendOptions::default()
        }
    }
}
