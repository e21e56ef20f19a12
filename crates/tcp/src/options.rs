//! What an application may choose for an endpoint, for its listeners and for each connection.

use core::ops::RangeInclusive;
use std::sync::Arc;

use base::{Duration, IpService};
use recovery::RecoveryPolicy;

use crate::memory::MemoryLimits;
use crate::tx::{Nagle, WindowProbe};

/// Options of a connection. Those that are negotiated count until the connection is opened; the others
/// may change in its life ([`ConnectionMut::set_options`](crate::ConnectionMut::set_options)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// Everything that decides when to resend what, and when to acknowledge.
    pub policy: Arc<RecoveryPolicy>,
    /// Send small segments at once instead of waiting for the acknowledgement of earlier ones
    /// (RFC 9293, section 3.7.4; TCP_NODELAY).
    pub no_delay: bool,
    /// Which small segments wait if not.
    pub nagle: Nagle,
    /// The longest that data waits because [more](SendFlags::more) was announced.
    pub hold: Duration,
    /// What probes a window that the peer has closed.
    pub window_probe: WindowProbe,
    /// Bytes that may wait to be sent or acknowledged.
    pub send_buffer: usize,
    /// Bytes that may wait for the application to read them; what the window advertises.
    pub receive_buffer: usize,
    /// Bytes to which the receive buffer may grow by itself for a fast connection on a long path; no
    /// more than `receive_buffer` switches that off. The window's scale is chosen for it.
    pub receive_buffer_max: usize,
    /// Largest segment sent and asked for, bytes of payload without options (TCP_MAXSEG); none: what the
    /// path MTU gives (RFC 9293, section 3.7.1).
    pub max_segment: Option<u16>,
    /// Whether to offer the window scale option (RFC 7323, section 2).
    pub window_scaling: bool,
    /// The shift to offer, 14 at most (RFC 7323, section 2.3: a larger one counts as 14); none: the least that the
    /// receive buffer's maximum needs.
    pub window_shift: Option<u8>,
    /// Whether to offer timestamps (RFC 7323, section 3).
    pub timestamps: bool,
    /// Whether to offer selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: EcnMode,
    /// Whether a reset must carry the very number that is expected; others within the window are answered by
    /// a challenge ACK (RFC 5961, section 3). Without, any reset within the window counts.
    pub strict_resets: bool,
    /// Whether a SYN in mid-connection is answered by a challenge ACK (RFC 5961, section 4). Without, one
    /// within the window resets the connection.
    pub strict_syns: bool,
    /// ACKs to segments that are not acceptable, challenge ACKs among them, this many at once
    /// (RFC 5961, section 7).
    pub challenge_acks: u8,
    /// The time for which that number holds.
    pub challenge_ack_interval: Duration,
    /// Whether segments without timestamps are taken where these were agreed; RFC 7323, section 3.2, has them
    /// dropped.
    pub tolerate_missing_timestamps: bool,
    /// Probes of an idle connection; none sends none (RFC 9293, section 3.8.4).
    pub keep_alive: Option<KeepAlive>,
    /// Silence of the peer after which the connection ends with [`Failure::KeepAlive`](crate::Failure::KeepAlive),
    /// idle or not, whatever `retries` and `user_timeout` say. A peer that is silent for a third of it is probed, beside
    /// outstanding data too, each thirtieth ([`KeepAlive::within`]): on an idle connection a packet without data and its
    /// answer per third. Outages up to two thirds of it are survived, and up to nearly all of it where the connection
    /// was not idle before. Never less than four round trips, each with four times its variation. `keep_alive` has no
    /// effect beside it. None leaves a dead peer to `keep_alive`, `user_timeout` and `retries`.
    pub dead_after: Option<Duration>,
    /// How long data may stay unacknowledged before the connection is given up (RFC 9293, section 3.8.3;
    /// TCP_USER_TIMEOUT); none: `retries` decides alone.
    pub user_timeout: Option<Duration>,
    /// Whether to tell the peer the user timeout and, where none is chosen here, to heed the one it tells
    /// (RFC 5482).
    pub user_timeout_option: bool,
    /// What becomes of what was not sent at [`ConnectionMut::close`](crate::ConnectionMut::close) (SO_LINGER):
    /// none sends it in the background, zero resets the connection, another span resets it when that
    /// has passed.
    pub linger: Option<Duration>,
    /// Path MTU to begin with: bytes of an IP packet.
    pub path_mtu: u16,
    /// Whether segments are sent not to be fragmented, and ICMP and lost large segments may lower the
    /// path MTU (RFC 1191, RFC 8201, RFC 4821).
    pub path_mtu_discovery: bool,
    /// Differentiated services codepoint of what is sent, 0 to 63; may change at any time (RFC 9293, section 3.9.1.9).
    /// What answers for a connection after the application let go of it has 0.
    pub dscp: u8,
    /// Time to live or hop limit of what is sent, 1 to 255 (RFC 9293, section 3.9.2); 0 counts as 1.
    pub hop_limit: u8,
    /// Whether [`Event::SoftError`](crate::Event::SoftError) tells of what hinders a connection without ending it (RFC
    /// 9293, section 3.9.1.8).
    pub soft_errors: bool,
    /// Whether urgent data is delivered among the rest, as RFC 6093 wants; else its last byte is taken
    /// out of the stream (SO_OOBINLINE off).
    pub urgent_inline: bool,
    /// How long TIME-WAIT lasts: twice the maximum segment lifetime (RFC 9293, section 3.4.2).
    pub time_wait: Duration,
    /// How long a connection that the application let go of may wait for the peer's FIN; none: for ever.
    pub fin_wait_2: Option<Duration>,
    /// How long a connection that the application let go of may go without progress in what it still has to
    /// send: a peer that keeps its window closed would keep it for ever. None: as long as the peer answers.
    pub orphan_timeout: Option<Duration>,
    /// SYNs sent again at most by a side that opens (R2 for SYN of RFC 9293, section 3.8.3, which wants three
    /// minutes at least).
    pub syn_retries: u8,
    /// How long opening may take in all; none: `syn_retries` decides alone.
    pub syn_time_limit: Option<Duration>,
    /// SYNs sent again that still ask for ECN; then it might be why there is no answer (RFC 3168, section
    /// 6.1.1.1).
    pub ecn_syn_retries: u8,
    /// SYNs sent again by a side that opens that still have options beside the MSS; none: all.
    pub option_syn_retries: Option<u8>,
    /// SYNs sent again at most by a side that accepts.
    pub syn_ack_retries: u8,
    /// Expiries of the retransmission timer in a row after which the connection is given up (R2).
    pub retries: u8,
    /// Timeout of the first SYN; doubled each time (RFC 6298, section 2.1).
    pub syn_timeout: Duration,
    /// What is added to every timeout of a SYN but the first.
    pub syn_timeout_slack: Duration,
    /// Upper bound of the doubled timeout of SYNs.
    pub syn_timeout_max: Duration,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        ConnectionOptions {
            policy: Arc::new(RecoveryPolicy::tcp_default()),
            no_delay: false,
            nagle: Nagle::Minshall,
            hold: Duration::from_millis(200),
            window_probe: WindowProbe::NextByte,
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            receive_buffer_max: 0,
            max_segment: None,
            window_scaling: true,
            window_shift: None,
            timestamps: true,
            sack: true,
            ecn: EcnMode::Passive,
            strict_resets: true,
            strict_syns: true,
            challenge_acks: 5,
            challenge_ack_interval: Duration::from_secs(1),
            tolerate_missing_timestamps: false,
            keep_alive: None,
            dead_after: None,
            user_timeout: None,
            user_timeout_option: false,
            linger: None,
            path_mtu: 1500,
            path_mtu_discovery: true,
            dscp: 0,
            hop_limit: 64,
            soft_errors: true,
            urgent_inline: true,
            time_wait: Duration::from_secs(60),
            fin_wait_2: Some(Duration::from_secs(60)),
            orphan_timeout: Some(Duration::from_secs(300)),
            syn_retries: 7,
            syn_time_limit: None,
            ecn_syn_retries: 0,
            option_syn_retries: None,
            syn_ack_retries: 5,
            retries: 15,
            syn_timeout: Duration::from_secs(1),
            syn_timeout_slack: Duration::ZERO,
            syn_timeout_max: Duration::from_secs(60),
        }
    }
}

impl ConnectionOptions {
    /// What IP headers ask of the network.
    pub(crate) fn service(&self) -> IpService {
        IpService { dscp: self.dscp & 0x3f, hop_limit: self.hop_limit.max(1) }
    }
}

/// Explicit congestion notification (RFC 3168, section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EcnMode {
    /// Neither asked for nor granted.
    Off,
    /// Granted to a peer that asks for it.
    #[default]
    Passive,
    /// Asked for, too.
    Active,
}

/// Keep-alive (RFC 9293, section 3.8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Probes without an answer after which the connection is given up.
    pub probes: u8,
}

impl Default for KeepAlive {
    /// Two hours, as the RFC demands at least; then Linux's nine probes each 75 s.
    fn default() -> Self {
        KeepAlive { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 }
    }
}

impl KeepAlive {
    /// Probes that find a peer dead once it has been silent for `span`: after a third of it, then each thirtieth. All
    /// twenty are lost of a living peer behind 30 % of loss each way once in 700,000 silences.
    pub fn within(span: Duration) -> KeepAlive {
        KeepAlive { idle: span / 3, interval: span / 30, probes: 20 }
    }
}

/// How data is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SendFlags {
    /// More follows: a segment that is not full may wait (MSG_MORE, TCP_CORK).
    pub more: bool,
    /// The urgent pointer points behind the last of these bytes (RFC 6093).
    pub urgent: bool,
}

/// Options of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// Established connections that may wait to be accepted.
    pub backlog: usize,
    /// Options of connections that peers open.
    pub accepted: ConnectionOptions,
}

impl Default for ListenOptions {
    fn default() -> Self {
        ListenOptions { backlog: 128, accepted: ConnectionOptions::default() }
    }
}

/// When a SYN is answered without keeping anything of it (RFC 4987, section 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SynCookies {
    /// Never: SYNs beyond the backlog are dropped.
    Off,
    /// When the backlog is full.
    #[default]
    WhenFull,
    /// Always, but for a connection that is opened anew in TIME-WAIT.
    Always,
}

/// Limits and defaults of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointOptions {
    /// Connections that may exist at once, TIME-WAIT not counted.
    pub max_connections: usize,
    /// Bytes that all connections together may hold.
    pub memory: MemoryLimits,
    /// Connections of all listeners that may be half open.
    pub syn_backlog: usize,
    /// What happens to a SYN when they are.
    pub syn_cookies: SynCookies,
    /// Connections in TIME-WAIT that may be remembered; the oldest gives way.
    pub max_time_wait: usize,
    /// Resets a second to one host for segments that belong to no connection.
    pub resets_per_second: u32,
    /// Ephemeral ports (RFC 6056, section 3.2).
    pub ephemeral_ports: RangeInclusive<u16>,
    /// The initial sequence number of every connection, for replays and tests such as of numbers that wrap;
    /// none computes it as RFC 6528 says, as it should be: one that strangers can guess is half of a
    /// forged segment.
    pub initial_sequence: Option<u32>,
    /// The timestamp clock's offset in every connection, likewise.
    pub timestamp_offset: Option<u32>,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        EndpointOptions {
            max_connections: 65_536,
            memory: MemoryLimits::default(),
            syn_backlog: 1024,
            syn_cookies: SynCookies::WhenFull,
            max_time_wait: 65_536,
            resets_per_second: 1000,
            ephemeral_ports: 49_152..=65_535,
            initial_sequence: None,
            timestamp_offset: None,
        }
    }
}
