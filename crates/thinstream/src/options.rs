//! What can be chosen for an endpoint and for a message.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use base::RandomStream;
use io::Clock;
use sctp::{AssociationOptions, MemoryLimits, Ppid, Reliability};
use secure::{Identity, Trust};

use crate::tap::PacketTap;

/// The SCTP port of servers, and the UDP port of the encapsulation (RFC 6951, section 4), unless others
/// are chosen.
pub const DEFAULT_PORT: u16 = io::SCTP_OVER_UDP_PORT;

/// Silence after which a peer counts as dead, unless another span is chosen
/// ([`EndpointOptions::dead_after`]): QUIC stacks give up as late. A game that shows who is gone wants 5 to 10 s.
pub const DEAD_AFTER: Duration = Duration::from_secs(30);

/// Bytes of an association's messages that may wait to be sent or acknowledged, unless the endpoint's options say otherwise
/// ([`EndpointOptions::send_buffer`]).
pub const SEND_BUFFER: usize = 256 << 10;

/// What carries SCTP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Carrier {
    /// DTLS 1.3 in UDP datagrams (RFC 8261, RFC 9147): encrypted, and both ends prove their keys.
    #[default]
    Secure,
    /// UDP datagrams in plain (RFC 6951), for peers that have nothing else: **not encrypted**, and no key is proved.
    PlainUdp,
    /// IP packets of protocol 132 in plain, which need root or CAP_NET_RAW, and that the system's own SCTP is not
    /// loaded: **not encrypted**, and no key is proved. Linux only.
    PlainRawIp,
}

impl Carrier {
    /// Whether packets are encrypted and peers prove their keys.
    pub fn is_secure(self) -> bool {
        self == Carrier::Secure
    }
}

/// A new key, from the system's randomness. Its text ([`Identity::to_pem`]) is all there is to keep of it.
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

/// Addresses, carrier, limits and defaults of an endpoint.
pub struct EndpointOptions {
    /// What carries packets.
    pub carrier: Carrier,
    /// The key by which peers know this side; none makes a new one, which ends with the endpoint. Without meaning in plain.
    pub identity: Option<Identity>,
    /// Clients that may open associations, where this side listens: anybody by default, and
    /// [`Association::peer`](crate::Association::peer) says who it is. A client that is refused gets no answer;
    /// [`Endpoint::refused`](crate::Endpoint::refused) reports it. Without meaning in plain.
    pub clients: Trust,
    /// SCTP port of this side; none takes a random one of 49152 to 65535. Not the UDP port, which is that
    /// of the address bound.
    pub sctp_port: Option<u16>,
    /// Whether peers may open associations, which [`Endpoint::accept`](crate::Endpoint::accept) returns.
    pub listen: bool,
    /// Options of associations that peers open.
    pub accepted: AssociationOptions,
    /// Silence of a peer after which an association ends with [`Failure::Silent`](crate::Failure::Silent),
    /// unless its own options name another span ([`AssociationOptions::dead_after`], which says what it
    /// costs and what it survives); [`DEAD_AFTER`] by default. None: as RFC 9260 counts, which takes minutes.
    pub dead_after: Option<Duration>,
    /// Bytes of messages that may wait to be sent or acknowledged at most, in each association; its own options may say
    /// less. [`SEND_BUFFER`] by default: it takes one message of the largest size, and lets the sender of a thin stream know
    /// soon that the network does not keep up. One bulk flow of more than 20 Mbit/s with a round trip of 100 ms needs more.
    pub send_buffer: usize,
    /// Associations that may exist at once, those not accepted yet included; at least 1. When there are as many, one
    /// that a peer opened and that never carried a message, or was idle the longest, makes room for a new one
    /// ([`sctp::EndpointOptions::max_associations`]): it fails with [`Failure::OutOfResource`](sctp::Failure).
    pub max_associations: usize,
    /// Associations that peers at one host (an IPv4 address, or an IPv6 network of 64 bits) may have at once, at
    /// least 1: peers behind a NAT share one. None: an eighth of [`EndpointOptions::max_associations`], at
    /// least 64.
    pub max_per_peer: Option<usize>,
    /// Bytes that all associations together may hold, at least 1 MiB: what waits to be sent, to be acknowledged and to
    /// be received, and what the associations take themselves. Beyond it those that hold little go on, and those that
    /// hold much and get nowhere fail with [`Failure::OutOfResource`](sctp::Failure).
    pub memory: MemoryLimits,
    /// Parts of an endpoint that listens, 1 to [`EndpointOptions::MOST_SHARDS`]: each has associations of its own, with a socket,
    /// a lock and a task that the runtime may run beside the others, so that the endpoint uses as many cores. 1 by default. To
    /// its peers and to the application it is one endpoint. [`EndpointOptions::max_associations`] and [`EndpointOptions::max_per_peer`] hold for all
    /// shards together, where one makes room for a new one of the same shard; of [`EndpointOptions::memory`] each has an equal
    /// part, of 1 MiB at least. Verification tags have log2 of the number bits less of randomness.
    pub shards: NonZeroUsize,
    /// How long a state cookie is good (Valid.Cookie.Life).
    pub cookie_life: Duration,
    /// The clock to live by; none starts one. Endpoints that share a clock have comparable times.
    pub clock: Option<Clock>,
    /// Sees all packets, for captures: SCTP's, in plain.
    pub tap: Option<Box<dyn PacketTap>>,
}

impl EndpointOptions {
    /// Most [shards](EndpointOptions::shards) of an endpoint.
    pub const MOST_SHARDS: usize = 256;

    /// An endpoint that listens at SCTP port [`DEFAULT_PORT`].
    pub fn server() -> EndpointOptions {
        EndpointOptions { sctp_port: Some(DEFAULT_PORT), listen: true, ..EndpointOptions::client() }
    }

    /// An endpoint with a random SCTP port that accepts nothing.
    pub fn client() -> EndpointOptions {
        let defaults = sctp::EndpointOptions::default();
        EndpointOptions {
            carrier: Carrier::default(),
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
            .field("carrier", &self.carrier)
            .field("sctp_port", &self.sctp_port)
            .field("listen", &self.listen)
            .field("shards", &self.shards)
            .field("tap", &self.tap.is_some())
            .finish_non_exhaustive()
    }
}

/// How a message is to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// Payload protocol identifier, for the application at the other end.
    pub ppid: Ppid,
    /// Deliver it as soon as it arrives, whatever the order of its stream.
    pub unordered: bool,
    /// Ask the peer for a SACK without delay (RFC 7053).
    pub immediate: bool,
    /// When it may be given up, so that nothing stale is sent.
    pub reliability: Reliability,
    /// A number of the application's own, never sent: [`Association::abandoned`] tells it.
    ///
    /// [`Association::abandoned`]: crate::Association::abandoned
    pub context: u32,
}

impl SendOptions {
    /// The defaults, but without regard to order.
    pub fn unordered() -> SendOptions {
        SendOptions { unordered: true, ..SendOptions::default() }
    }

    /// The defaults, but given up when it is older than `lifetime`: a [`Duration`] or a
    /// [`time::Duration`](crate::time::Duration).
    pub fn expiring(lifetime: impl Into<base::Duration>) -> SendOptions {
        SendOptions {
            reliability: Reliability::Lifetime(lifetime.into()),
            ..SendOptions::default()
        }
    }
}
