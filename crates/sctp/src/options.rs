//! Options of an endpoint and of each association (modelled on the socket options of RFC 6458).

use core::net::SocketAddr;
use std::sync::Arc;

use ::endpoint::memory::MemoryLimits;
use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::RtoPolicy;

use crate::authentication::AuthenticationOptions;
use crate::extensions::Extensions;
use crate::shard::Shard;
use crate::switchover::{PotentiallyFailed, SwitchoverPolicy};
use crate::tx::scheduler::Scheduler;
use crate::wire::Tsn;
use crate::zero_checksum::ErrorDetection;

/// The least a_rwnd of INIT and INIT ACK, in bytes.
const WINDOW_MIN: u32 = 1500;

/// Options of an association; the defaults are those of RFC 9260, section 16, if it gives any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssociationOptions {
    /// Recovery policy: every decision about what to retransmit and when.
    pub policy: Arc<RecoveryPolicy>,
    /// Extensions of RFC 9260 that are offered to the peer; those that it supports too are used.
    pub extensions: Extensions,
    /// Number of outbound streams requested; at least 1.
    pub outbound_streams: u16,
    /// Most streams on which the peer may send, at least 1; fewer are used if it asks for fewer.
    pub inbound_streams: u16,
    /// Most bytes waiting for the application to read them, advertised as a_rwnd; at least 1500.
    pub receive_buffer: u32,
    /// Most bytes of messages waiting to be sent or acknowledged.
    pub send_buffer: usize,
    /// Largest message sent or accepted, in bytes.
    pub max_message_size: usize,
    /// Order in which messages of different streams are sent.
    pub scheduler: Scheduler,
    /// Longest wait of a message before its first byte is sent; a message that waits longer is
    /// abandoned and reported by [`Event::Abandoned`](crate::Event::Abandoned). `None`:
    /// unlimited.
    pub max_queueing_delay: Option<Duration>,
    /// Number of received bytes of an incomplete message from which on they are delivered as
    /// [`Part::More`](crate::Part), so that messages may be longer than the receive buffer.
    /// `None`: only complete messages are delivered (SCTP_PARTIAL_DELIVERY_POINT of RFC 6458,
    /// section 8.1.21).
    pub partial_delivery: Option<u32>,
    /// Path MTU: bytes of an IP packet.
    pub path_mtu: u16,
    /// Whether to discover the path MTU, up to `path_mtu` (RFC 8899). Packets are then sent with
    /// fragmentation forbidden, and probes are sent during the whole association. If off, IP
    /// may fragment packets that are too large for a path.
    pub path_mtu_discovery: bool,
    /// Error detection below SCTP, if any: packets without a checksum are then accepted, and sent
    /// if the peer accepts them (RFC 9653). Must be `None` over plain UDP or IP.
    pub zero_checksum: Option<ErrorDetection>,
    /// Whether to send small messages at once instead of waiting for the acknowledgement of
    /// earlier ones (SCTP_NODELAY).
    pub no_delay: bool,
    /// Bytes that a layer below SCTP adds to each packet, on every path, at most 128: for DTLS, a
    /// record's header and authentication tag.
    pub overhead_below: u16,
    /// Interval of heartbeats on an idle path; `None`: no heartbeats.
    pub heartbeat_interval: Option<Duration>,
    /// Consecutive errors after which a path is inactive (Path.Max.Retrans).
    pub path_max_retrans: u8,
    /// Consecutive errors after which the association fails (Association.Max.Retrans).
    pub association_max_retrans: u8,
    /// Silence of the peer after which the association ends with
    /// [`Failure::Silent`](crate::Failure::Silent), idle or not and whatever the counters
    /// above say. After a twelfth of it HEARTBEATs are sent on every path,
    /// whatever `heartbeat_interval` says: an idle association exchanges packets of 32 bytes and
    /// their answers, about one each per twelfth. Outages of up to eleven twelfths are
    /// survived, and of nearly all of it if the association was not idle before. Never less
    /// than four round trips, each with four times its variation. `None`: only the counters
    /// count, as in RFC 9260.
    pub dead_after: Option<Duration>,
    /// Chunks to be authenticated, and keys, in effect if both sides agree on
    /// [`Extensions::AUTHENTICATION`].
    pub authentication: Option<Arc<AuthenticationOptions>>,
    /// Requests of the peer that are granted, if both sides agree on
    /// [`Extensions::STREAM_RECONFIGURATION`].
    pub reconfiguration: ReconfigurationPolicy,
    /// Most retransmissions of INIT or COOKIE ECHO (Max.Init.Retransmits).
    pub max_init_retransmits: u8,
    /// Conditions under which data leaves a path for another one, with several paths.
    pub switchover: SwitchoverPolicy,
}

impl AssociationOptions {
    /// The window in INIT and INIT ACK: at least RFC 9260's minimum (section 3.3.2).
    pub(crate) fn offered_window(&self) -> u32 {
        self.receive_buffer.max(WINDOW_MIN)
    }

    /// Outbound and inbound streams in INIT and INIT ACK: one each at least, since INIT without a
    /// stream is refused (RFC 9260, section 3.3.2).
    pub(crate) fn offered_streams(&self) -> (u16, u16) {
        (self.outbound_streams.max(1), self.inbound_streams.max(1))
    }
}

impl Default for AssociationOptions {
    fn default() -> Self {
        AssociationOptions {
            policy: Arc::new(RecoveryPolicy::sctp_default()),
            extensions: Extensions::default(),
            outbound_streams: 16,
            inbound_streams: 2048,
            receive_buffer: 1 << 20,
            send_buffer: 1 << 20,
            max_message_size: 256 << 10,
            scheduler: Scheduler::FirstCome,
            max_queueing_delay: None,
            partial_delivery: None,
            path_mtu: 1500,
            path_mtu_discovery: false,
            zero_checksum: None,
            overhead_below: 0,
            no_delay: true,
            heartbeat_interval: Some(Duration::from_secs(30)),
            path_max_retrans: 5,
            association_max_retrans: 10,
            dead_after: None,
            authentication: None,
            reconfiguration: ReconfigurationPolicy::default(),
            max_init_retransmits: 8,
            switchover: SwitchoverPolicy::default(),
        }
    }
}

/// Options of one path that override those of the association (SCTP_PEER_ADDR_PARAMS of RFC 6458,
/// section 8.1.12, and SCTP_RTOINFO, per path). The default overrides nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathOptions {
    /// Consecutive errors after which the path is inactive (Path.Max.Retrans).
    pub path_max_retrans: Option<u8>,
    /// Condition under which it is potentially failed.
    pub potentially_failed: Option<PotentiallyFailed>,
    /// Heartbeats while it is idle.
    pub heartbeats: PathHeartbeats,
    /// Path MTU: bytes of an IP packet.
    pub path_mtu: Option<u16>,
    /// The RTO policy: gains and bounds.
    pub rto: Option<RtoPolicy>,
}

/// Heartbeats of one path while it is idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathHeartbeats {
    /// The path has the association's interval.
    #[default]
    AsAssociation,
    /// The path is never probed by heartbeats.
    Off,
    /// Heartbeats on an idle path at this interval.
    Every(Duration),
}

/// Divisor of `max_associations` that gives the default of `max_per_peer`, and its minimum.
const PER_PEER_PART: usize = 8;
const LEAST_PER_PEER: usize = 64;

/// Port, limits and defaults of an endpoint and of the associations that it accepts.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// SCTP port of all associations of the endpoint, other than 0.
    pub port: u16,
    /// Whether the endpoint accepts associations.
    pub listen: bool,
    /// Validity of a state cookie (Valid.Cookie.Life).
    pub cookie_life: Duration,
    /// Maximum number of associations, opened and accepted. At the maximum, a new association of a
    /// peer replaces one that a peer opened, of the host with the most associations: one that
    /// never carried user data, or else the one that was idle the longest; it is aborted with
    /// the cause Out of Resource. It must have been idle for 30 s; or for 1 s if its host has
    /// more associations than the newcomer's would have; or for no time if its host has 64
    /// times as many. If there is none, the newcomer is refused with the same cause. At least 1.
    pub max_associations: usize,
    /// Maximum number of associations with peers at one host: at one IPv4 address, or in one IPv6
    /// network of 64 bits. Further ones are refused with the cause Out of Resource, unless the
    /// limit equals `max_associations`: then one of the host's own makes room as described
    /// there. Peers behind one NAT share an address: set it to the number expected there.
    /// `None`: an eighth of [`EndpointOptions::max_associations`], at least 64. At least 1.
    pub max_per_peer: Option<usize>,
    /// Limits on the bytes that all associations together hold.
    pub memory: MemoryLimits,
    /// Local addresses to send from and to list in INIT and INIT ACK (RFC 9260, section 5.1.2), in
    /// the order in which they are paired with the peer's. Their ports are those of the UDP
    /// encapsulation, 0 for raw IP. If empty, none is listed, and the driver chooses.
    pub addresses: Vec<SocketAddr>,
    /// Options of associations that peers open.
    pub accepted: AssociationOptions,
    /// The first TSN of every association, for replays and for tests such as of wrapping numbers;
    /// `None`, the secure value, draws one for each: a number that an attacker can guess is
    /// half of a forged packet.
    pub initial_tsn: Option<Tsn>,
    /// Place of this endpoint among several that share an address and SCTP port; by default there
    /// is one.
    pub shard: Shard,
}

impl EndpointOptions {
    /// Maximum number of associations with peers at one host, at most
    /// [`EndpointOptions::max_associations`].
    pub fn per_peer(&self) -> usize {
        let usual = (self.max_associations / PER_PEER_PART).max(LEAST_PER_PEER);
        self.max_per_peer.unwrap_or(usual).min(self.max_associations)
    }
}

impl Default for EndpointOptions {
    fn default() -> Self {
        EndpointOptions {
            port: 9899,
            listen: false,
            cookie_life: Duration::from_secs(60),
            max_associations: 65_536,
            max_per_peer: None,
            memory: MemoryLimits::default(),
            addresses: Vec::new(),
            accepted: AssociationOptions::default(),
            initial_tsn: None,
            shard: Shard::default(),
        }
    }
}

/// Requests of the peer that are granted (SCTP_ENABLE_STREAM_RESET: RFC 6525, section 6.3.1);
/// others are denied. It limits neither this side's own requests nor the peer's response to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReconfigurationPolicy {
    /// Whether streams may be reset, which closes data channels (RFC 8831, section 6.7).
    pub reset_streams: bool,
    /// Whether the whole association may be reset.
    pub reset_association: bool,
    /// Whether streams may be added.
    pub add_streams: bool,
}

impl Default for ReconfigurationPolicy {
    /// Streams may be reset; other requests change negotiated values, and are denied.
    fn default() -> Self {
        ReconfigurationPolicy { reset_streams: true, reset_association: false, add_streams: false }
    }
}
