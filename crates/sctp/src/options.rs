//! What an application may choose for an endpoint and for each association
//! (in the spirit of the socket options of RFC 6458).

use core::net::SocketAddr;
use std::sync::Arc;

use ::endpoint::memory::MemoryLimits;
use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::RtoPolicy;

use crate::authentication::AuthenticationOptions;
use crate::extensions::Extensions;
use crate::switchover::{PotentiallyFailed, SwitchoverPolicy};
use crate::tx::scheduler::Scheduler;
use crate::wire::Tsn;
use crate::zero_checksum::ErrorDetection;

/// The least a_rwnd of INIT and INIT ACK, in bytes.
const WINDOW_MIN: u32 = 1500;

/// Options of an association; the defaults are those of RFC 9260, section 16, where it names any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssociationOptions {
    /// Everything that decides when to resend what.
    pub policy: Arc<RecoveryPolicy>,
    /// Extensions of RFC 9260 that are offered to the peer; those that it knows too are used.
    pub extensions: Extensions,
    /// Outbound streams asked for.
    pub outbound_streams: u16,
    /// Inbound streams granted at most.
    pub inbound_streams: u16,
    /// Bytes that may wait for the application to read them; advertised as a_rwnd. At least 1500, whatever is asked for.
    pub receive_buffer: u32,
    /// Bytes of messages that may wait to be sent or acknowledged.
    pub send_buffer: usize,
    /// Largest message sent or accepted, bytes.
    pub max_message_size: usize,
    /// Which message goes next.
    pub scheduler: Scheduler,
    /// How long a message may wait before its first byte is sent; one that waits longer is dropped,
    /// and [`Event::Abandoned`](crate::Event::Abandoned) tells of it. None waits as long as it takes.
    pub max_queueing_delay: Option<Duration>,
    /// Bytes of an unfinished message from which on what has arrived is delivered before the rest, as
    /// messages that say [`Part::More`](crate::Part): then messages may be longer than the receive
    /// buffer. None delivers whole messages only (SCTP_PARTIAL_DELIVERY_POINT of RFC 6458, section
    /// 8.1.21).
    pub partial_delivery: Option<u32>,
    /// Path MTU: bytes of an IP packet.
    pub path_mtu: u16,
    /// Whether to find out, up to `path_mtu`, how large packets may be (RFC 8899). They are then not to be
    /// fragmented, and probes go out while the association lives. Without it, IP may fragment what is too
    /// large for a path.
    pub path_mtu_discovery: bool,
    /// What detects errors below SCTP, if anything does: packets without a checksum are then taken, and
    /// sent if the peer takes them (RFC 9653). Leave it none over plain UDP or IP.
    pub zero_checksum: Option<ErrorDetection>,
    /// Send small messages at once instead of waiting for the acknowledgement of earlier ones
    /// (SCTP_NODELAY).
    pub no_delay: bool,
    /// Bytes that a layer below SCTP adds to each packet, on every path; 128 at most are counted. DTLS, for example, adds a
    /// record's header and authentication tag.
    pub overhead_below: u16,
    /// Time between heartbeats on an idle path; none sends none.
    pub heartbeat_interval: Option<Duration>,
    /// Errors in a row after which a path is inactive (Path.Max.Retrans).
    pub path_max_retrans: u8,
    /// Errors in a row after which the association is given up (Association.Max.Retrans).
    pub association_max_retrans: u8,
    /// Silence of the peer after which the association ends with [`Failure::Silent`](crate::Failure::Silent),
    /// idle or not and whatever the counters above say. A peer that is silent for a twelfth of it is asked
    /// by HEARTBEATs on every path, whatever `heartbeat_interval` says: on an idle association those are
    /// packets of 32 bytes and their answers, about one each per twelfth. Outages up to eleven twelfths are
    /// survived, and up to nearly all of it where the association was not idle before. Never less than four
    /// round trips, each with four times its variation. None leaves it to the counters, as RFC 9260 does.
    pub dead_after: Option<Duration>,
    /// Chunks to be authenticated and keys, for where both sides agreed on
    /// [`Extensions::AUTHENTICATION`].
    pub authentication: Option<Arc<AuthenticationOptions>>,
    /// What the peer may ask for once both sides agreed on
    /// [`Extensions::STREAM_RECONFIGURATION`].
    pub reconfiguration: ReconfigurationPolicy,
    /// INITs or COOKIE ECHOs sent again at most (Max.Init.Retransmits).
    pub max_init_retransmits: u8,
    /// When data leaves a path for another one, where there are several.
    pub switchover: SwitchoverPolicy,
}

impl AssociationOptions {
    /// The window that INIT and INIT ACK offer: no less than RFC 9260, section 3.3.2, demands.
    pub(crate) fn offered_window(&self) -> u32 {
        self.receive_buffer.max(WINDOW_MIN)
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

/// Options of one path that replace those of the association (SCTP_PEER_ADDR_PARAMS of RFC 6458,
/// section 8.1.12, and SCTP_RTOINFO, per path). The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathOptions {
    /// Errors in a row after which the path is inactive (Path.Max.Retrans).
    pub path_max_retrans: Option<u8>,
    /// What makes it potentially failed.
    pub potentially_failed: Option<PotentiallyFailed>,
    /// Heartbeats while it is idle.
    pub heartbeats: PathHeartbeats,
    /// Path MTU: bytes of an IP packet.
    pub path_mtu: Option<u16>,
    /// From its round-trip times to its retransmission timeout, gains and bounds.
    pub rto: Option<RtoPolicy>,
}

/// Heartbeats of one path while it is idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathHeartbeats {
    /// As the association's options say.
    #[default]
    AsAssociation,
    /// None.
    Off,
    /// At this interval.
    Every(Duration),
}

/// The part of all associations that peers at one host may have, unless it is said, and the least that they may.
const PER_PEER_PART: usize = 8;
const LEAST_PER_PEER: usize = 64;

/// Port, limits and defaults of an endpoint and of the associations that it accepts.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// SCTP port: those of associations it opens and those it accepts. 0 is no port.
    pub port: u16,
    /// Whether it accepts associations.
    pub listen: bool,
    /// How long a state cookie is good (Valid.Cookie.Life).
    pub cookie_life: Duration,
    /// Associations that may exist at once, both those that it opens and those that it accepts. Once there are as
    /// many, one that a peer wants to open takes the place of one that a peer opened and that never carried user
    /// data, or else was idle the longest, from the host that has the most; it is aborted with the cause Out of Resource.
    /// It must have been idle for 30 s; or for 1 s if its host has more associations than the newcomer's would have; or
    /// for no time if that has 64 times as many. Without such a one the newcomer is refused, likewise. At least 1.
    pub max_associations: usize,
    /// Associations that peers at one host may have at once: at one IPv4 address, or in one IPv6 network of 64 bits.
    /// Further ones are refused with the cause Out of Resource, unless that is as many as may exist at all: then one of
    /// its own makes room, as said there. Behind a NAT, many peers share one address: give
    /// this as many as you expect there. None: an eighth of [`EndpointOptions::max_associations`], at least 64. At
    /// least 1.
    pub max_per_peer: Option<usize>,
    /// Bytes that all associations together may hold.
    pub memory: MemoryLimits,
    /// Local addresses to send from and to name to peers in INIT and INIT ACK (RFC 9260, section 5.1.2),
    /// in the order in which they are paired with the peer's. Their ports are those of the UDP
    /// encapsulation, 0 for raw IP. Empty: none is named, and the driver chooses.
    pub addresses: Vec<SocketAddr>,
    /// Options of associations that peers open.
    pub accepted: AssociationOptions,
    /// The first TSN of every association, for replays and tests such as of numbers that wrap; none
    /// draws one for each, as it should be: one that strangers can guess is half of a forged packet.
    pub initial_tsn: Option<Tsn>,
}

impl EndpointOptions {
    /// Associations that peers at one host may have at once, at most
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
        }
    }
}

/// What the peer may ask of this side (SCTP_ENABLE_STREAM_RESET: RFC 6525, section 6.3.1). What it may
/// not is denied. What this side asks of the peer is not limited by this, nor what the peer does in
/// answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReconfigurationPolicy {
    /// Whether streams may begin again, which ends data channels (RFC 8831, section 6.7).
    pub reset_streams: bool,
    /// Whether the whole association may begin again.
    pub reset_association: bool,
    /// Whether streams may be added.
    pub add_streams: bool,
}

impl Default for ReconfigurationPolicy {
    /// Streams may be reset; the rest changes what an application negotiated, and is denied.
    fn default() -> Self {
        ReconfigurationPolicy { reset_streams: true, reset_association: false, add_streams: false }
    }
}
