//! Options and events of a peer.

use core::fmt;
use std::sync::Arc;

use base::RandomStream;
use layers::data_channel::{ChannelEvent, DataChannelsOptions, DtlsRole};
use recovery::RecoveryPolicy;
use sctp::{AssociationOptions, ErrorDetection, Extensions, MemoryLimits};
use secure::{Context, Failure, Randomness, Secrets};

/// The SCTP port of data channels, by convention.
const PORT: u16 = 5000;

/// Bytes of an IP packet of SCTP, for which its address here counts 28 bytes of headers: with a
/// record of DTLS around it (37 bytes) and IPv6 below (48 bytes), 1,257 bytes. RFC 8831, section 5,
/// assumes that 1,280 bytes pass everywhere.
const PATH_MTU: u16 = 1200;

/// Identity, timeouts and bounds of one peer and its association.
#[derive(Clone, Debug)]
pub struct PeerOptions {
    /// Identity and settings of DTLS.
    pub context: Context,
    /// Source of the keys of DTLS.
    pub secrets: Secrets,
    /// SCTP port of this side.
    pub port: u16,
    /// SCTP port of the peer (its `a=sctp-port`).
    pub peer_port: u16,
    /// Options of the association, including its recovery policy.
    pub association: AssociationOptions,
    /// Whether each packet with messages is acknowledged at once, regardless of the policy: the
    /// stacks of browsers include a delay in the measured round trip, and wait that much longer
    /// before they retransmit a lost message.
    pub acknowledge_at_once: bool,
    /// Bytes that the association may hold.
    pub memory: MemoryLimits,
    /// Most channels at a time, opened by either side.
    pub max_channels: usize,
    /// Bytes of the longest message that the peer accepts (its `a=max-message-size`); none: no
    /// limit.
    pub peer_max_message: Option<u64>,
    /// Bytes of the peer's offer or answer: to an address that has not proved that it receives,
    /// three times the bytes may be sent that came from there and in the description.
    pub description: usize,
    /// Bytes of unread messages and other events from which on no more are taken from the
    /// association, so that its window tells the peer.
    pub unread: usize,
}

impl PeerOptions {
    /// The defaults, with a context of DTLS that requires no cookies
    /// ([`Context::without_cookies`]).
    pub fn new(context: Context) -> PeerOptions {
        PeerOptions {
            context,
            secrets: Secrets::System,
            port: PORT,
            peer_port: PORT,
            association: PeerOptions::association(),
            acknowledge_at_once: true,
            memory: MemoryLimits::default(),
            max_channels: 1024,
            peer_max_message: Some(64 << 10),
            description: 0,
            unread: 1 << 20,
        }
    }

    /// Options of an association below data channels: as many streams as there are identifiers (RFC
    /// 8831, section 6.2), interleaving, no checksums inside of DTLS (RFC 9653), and room for a
    /// record around each packet.
    pub fn association() -> AssociationOptions {
        AssociationOptions {
            extensions: Extensions::default() | Extensions::INTERLEAVING,
            outbound_streams: u16::MAX,
            inbound_streams: u16::MAX,
            zero_checksum: Some(ErrorDetection::Dtls),
            path_mtu: PATH_MTU,
            ..AssociationOptions::default()
        }
    }

    /// The policy of a peer: with its acknowledgements unchanged, or with none delayed.
    pub(super) fn acknowledging(&self, policy: Arc<RecoveryPolicy>) -> Arc<RecoveryPolicy> {
        if !self.acknowledge_at_once || policy.acknowledgement.delay.is_none() {
            return policy;
        }
        let mut policy = Arc::unwrap_or_clone(policy);
        policy.acknowledgement.delay = None;
        Arc::new(policy)
    }

    /// The endpoint of SCTP, and where the keys of DTLS come from. Equal streams make equal
    /// endpoints.
    pub(super) fn endpoint(&self, mut random: RandomStream) -> (Randomness, sctp::Endpoint) {
        let randomness = match self.secrets {
            Secrets::System => Randomness::System,
            Secrets::Seeded => Randomness::Seeded(random.next_u64()),
        };
        let options = sctp::EndpointOptions {
            port: self.port,
            listen: true,
            max_associations: 1,
            accepted: self.association.clone(),
            memory: self.memory,
            ..sctp::EndpointOptions::default()
        };
        (randomness, sctp::Endpoint::new(options, random))
    }

    /// Limits of the data channels: no message exceeds what either side accepts.
    pub(super) fn channels(&self, role: DtlsRole) -> DataChannelsOptions {
        let own = self.association.max_message_size;
        let theirs = self.peer_max_message.map_or(own, |most| usize::try_from(most).unwrap_or(own));
        DataChannelsOptions {
            max_channels: self.max_channels,
            max_message: own.min(theirs),
            ..DataChannelsOptions::new(role)
        }
    }
}

/// Event of a session: set-up, events of its channels, its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerEvent {
    /// The association is set up: channels open, and messages can be sent.
    Connected,
    /// A channel opened or closed, a message arrived, or another event of a channel.
    Channel(ChannelEvent),
    /// The session has ended; no event follows.
    Ended(Ended),
}

/// Reason for which a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Either side closed the session in order.
    Closed,
    /// The association failed; a browser that closes its connection aborts the association.
    Association(sctp::Failure),
    /// The DTLS session failed, in the handshake or later.
    Dtls(Failure),
    /// The peer's consent has expired after 30 s (RFC 7675): its page or its network is gone.
    Unreachable,
    /// The association was not set up within a minute.
    NotInTime,
    /// While the application did not read, the peer did more than can be kept: it reset streams
    /// again and again.
    Flooded,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Closed => f.write_str("closed"),
            Ended::Association(failure) => failure.fmt(f),
            Ended::Dtls(failure) => failure.fmt(f),
            Ended::Unreachable => f.write_str("the peer has not been heard for 30 s"),
            Ended::Flooded => {
                f.write_str("the peer reset streams more often than the application read")
            }
            Ended::NotInTime => f.write_str("the peer did not connect within a minute"),
        }
    }
}
