//! Options of an endpoint, of its listeners and of each connection.

use core::ops::RangeInclusive;
use std::sync::Arc;

use base::{Duration, IpService};
use recovery::RecoveryPolicy;

use crate::memory::MemoryLimits;
use crate::tx::{Nagle, WindowProbe};

/// Options of a connection. Negotiated options take effect when the connection is opened; the
/// others may change at
/// any time ([`ConnectionMut::set_options`](crate::ConnectionMut::set_options)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// Recovery policy: every decision about what to retransmit and when, and when to acknowledge.
    pub policy: Arc<RecoveryPolicy>,
    /// Send small segments at once instead of waiting for the acknowledgement of earlier ones
    /// (RFC 9293, section 3.7.4; TCP_NODELAY).
    pub no_delay: bool,
    /// The small segments that wait if `no_delay` is off.
    pub nagle: Nagle,
    /// Longest time for which data waits because [more](SendFlags::more) was announced.
    pub hold: Duration,
    /// Content of a probe of a window that the peer has closed.
    pub window_probe: WindowProbe,
    /// Most bytes waiting to be sent or acknowledged.
    pub send_buffer: usize,
    /// Most bytes waiting for the application to read them, which the window advertises.
    pub receive_buffer: usize,
    /// Bytes to which the receive buffer may grow for a fast connection on a long path; a value of
    /// at most `receive_buffer` disables growth. It determines the window scale.
    pub receive_buffer_max: usize,
    /// Largest segment sent and asked for, in bytes of payload without options (TCP_MAXSEG);
    /// `None`: derived from the path MTU (RFC 9293, section 3.7.1).
    pub max_segment: Option<u16>,
    /// Whether to offer the window scale option (RFC 7323, section 2).
    pub window_scaling: bool,
    /// The offered shift, at most 14 (RFC 7323, section 2.3: a larger one counts as 14); `None`:
    /// the smallest that suffices for the largest receive buffer.
    pub window_shift: Option<u8>,
    /// Whether to offer timestamps (RFC 7323, section 3).
    pub timestamps: bool,
    /// Whether to offer selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: EcnMode,
    /// Whether a reset must carry exactly the expected number, others within the window being
    /// answered by a challenge ACK (RFC 5961, section 3). If off, any reset within the window
    /// counts.
    pub strict_resets: bool,
    /// Whether a SYN in mid-connection is answered by a challenge ACK (RFC 5961, section 4). If
    /// off, a SYN within the window resets the connection.
    pub strict_syns: bool,
    /// Most ACKs in answer to unacceptable segments, challenge ACKs included, per
    /// `challenge_ack_interval` (RFC 5961, section 7).
    pub challenge_acks: u8,
    /// Interval in which at most `challenge_acks` are sent.
    pub challenge_ack_interval: Duration,
    /// Whether segments without timestamps are accepted after timestamps were negotiated; RFC
    /// 7323, section 3.2, requires that they are dropped.
    pub tolerate_missing_timestamps: bool,
    /// Probes of an idle connection (RFC 9293, section 3.8.4); `None`: no probes.
    pub keep_alive: Option<KeepAlive>,
    /// Silence of the peer after which the connection ends with
    /// [`Failure::KeepAlive`](crate::Failure::KeepAlive), idle or not, whatever `retries` and
    /// `user_timeout` say. After a third of it the peer is probed at intervals of a thirtieth
    /// ([`KeepAlive::within`]), even while data is outstanding: an idle connection exchanges one
    /// packet without data and its answer per third. Outages of up to two thirds of it are
    /// survived, and of nearly all of it if the connection was not idle before. Never less
    /// than four round trips, each with four times its variation. `keep_alive` has no effect
    /// beside it. `None` leaves the detection of a dead peer to `keep_alive`, `user_timeout`
    /// and `retries`.
    pub dead_after: Option<Duration>,
    /// Longest time for which data may stay unacknowledged before the connection fails (RFC 9293,
    /// section 3.8.3; TCP_USER_TIMEOUT); `None`: only `retries` limits it.
    pub user_timeout: Option<Duration>,
    /// Whether to send the user timeout to the peer, and to adopt the peer's if none is set here
    /// (RFC 5482).
    pub user_timeout_option: bool,
    /// Treatment of unsent data at [`ConnectionMut::close`](crate::ConnectionMut::close)
    /// (SO_LINGER): `None` sends it in the background, zero resets the connection, any other
    /// duration resets it once that has passed.
    pub linger: Option<Duration>,
    /// Initial path MTU: bytes of an IP packet.
    pub path_mtu: u16,
    /// Whether segments are sent with fragmentation forbidden, and ICMP and lost large segments
    /// may lower the path MTU (RFC 1191, RFC 8201, RFC 4821).
    pub path_mtu_discovery: bool,
    /// Differentiated services codepoint of sent segments, 0 to 63; may change at any time (RFC
    /// 9293, section 3.9.1.9). Answers for a connection that the application has released have
    /// 0.
    pub dscp: u8,
    /// Time to live or hop limit of sent segments, 1 to 255 (RFC 9293, section 3.9.2); 0 counts as
    /// 1.
    pub hop_limit: u8,
    /// Whether [`Event::SoftError`](crate::Event::SoftError) reports conditions that hinder a
    /// connection without ending it (RFC 9293, section 3.9.1.8).
    pub soft_errors: bool,
    /// Whether urgent data is delivered in the stream, as RFC 6093 recommends; otherwise its last
    /// byte is removed from the stream (SO_OOBINLINE off).
    pub urgent_inline: bool,
    /// Duration of TIME-WAIT: twice the maximum segment lifetime (RFC 9293, section 3.4.2).
    pub time_wait: Duration,
    /// Longest wait of a released connection for the peer's FIN; `None`: unlimited.
    pub fin_wait_2: Option<Duration>,
    /// Longest time without progress of a released connection that still has data to send: a peer
    /// that keeps its window closed would otherwise keep it for ever. `None`: as long as the
    /// peer answers.
    pub orphan_timeout: Option<Duration>,
    /// Most retransmissions of the SYN of a side that opens (R2 for SYN of RFC 9293, section
    /// 3.8.3, which requires at least three minutes).
    pub syn_retries: u8,
    /// Longest duration of opening; `None`: only `syn_retries` limits it.
    pub syn_time_limit: Option<Duration>,
    /// Number of SYN retransmissions that still ask for ECN, which might be the reason for the
    /// missing answer (RFC 3168, section 6.1.1.1).
    pub ecn_syn_retries: u8,
    /// Number of SYN retransmissions by a side that opens that still carry options besides the
    /// MSS; `None`: all.
    pub option_syn_retries: Option<u8>,
    /// Most retransmissions of a SYN ACK.
    pub syn_ack_retries: u8,
    /// Consecutive expiries of the retransmission timer after which the connection fails (R2).
    pub retries: u8,
    /// Timeout of the first SYN; doubled each time (RFC 6298, section 2.1).
    pub syn_timeout: Duration,
    /// Addition to every timeout of a SYN except the first.
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
    /// The IP header fields that the options determine.
    pub(crate) fn service(&self) -> IpService {
        IpService { dscp: self.dscp & 0x3f, hop_limit: self.hop_limit.max(1) }
    }
}

/// Explicit congestion notification (RFC 3168, section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EcnMode {
    /// ECN is neither requested nor granted.
    Off,
    /// ECN is granted to a peer that requests it.
    #[default]
    Passive,
    /// ECN is requested as well.
    Active,
}

/// Keep-alive (RFC 9293, section 3.8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe.
    pub idle: Duration,
    /// Time from one unanswered probe to the next.
    pub interval: Duration,
    /// Unanswered probes after which the connection fails.
    pub probes: u8,
}

impl Default for KeepAlive {
    /// Two hours, the minimum of the RFC; then nine probes at 75 s, as in Linux.
    fn default() -> Self {
        KeepAlive { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 }
    }
}

impl KeepAlive {
    /// Probes that find a peer dead after a silence of `span`: the first after a third of it, then
    /// one per thirtieth. With 30 % of loss each way, all twenty probes of a living peer are
    /// lost once in 700,000 silences.
    pub fn within(span: Duration) -> KeepAlive {
        KeepAlive { idle: span / 3, interval: span / 30, probes: 20 }
    }
}

/// Options of one call to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SendFlags {
    /// More data follows: a segment that is not full may wait (MSG_MORE, TCP_CORK).
    pub more: bool,
    /// The urgent pointer points after the last of these bytes (RFC 6093).
    pub urgent: bool,
}

/// Limits of a listener, and options of the connections that it accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// Most established connections waiting to be accepted.
    pub backlog: usize,
    /// Options of connections that peers open.
    pub accepted: ConnectionOptions,
}

impl Default for ListenOptions {
    fn default() -> Self {
        ListenOptions { backlog: 128, accepted: ConnectionOptions::default() }
    }
}

/// Condition under which a SYN is answered without storing state (RFC 4987, section 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SynCookies {
    /// Never: SYNs beyond the backlog are dropped.
    Off,
    /// Only while the backlog is full.
    #[default]
    WhenFull,
    /// Always, except for a connection that is reopened from TIME-WAIT.
    Always,
}

/// Limits and defaults of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointOptions {
    /// Maximum number of connections, not counting TIME-WAIT.
    pub max_connections: usize,
    /// Limits on the bytes that all connections together hold.
    pub memory: MemoryLimits,
    /// Maximum number of half-open connections of all listeners.
    pub syn_backlog: usize,
    /// Treatment of a SYN beyond that number.
    pub syn_cookies: SynCookies,
    /// Maximum number of connections in TIME-WAIT; beyond it the oldest ends.
    pub max_time_wait: usize,
    /// Most resets per second to one host for segments without a connection.
    pub resets_per_second: u32,
    /// Whether other endpoints have connections at the same addresses: a segment that belongs to
    /// no connection here and opens none waits for
    /// [`Endpoint::take_stray`](crate::Endpoint::take_stray) instead of being refused.
    pub hands_over: bool,
    /// Ephemeral ports (RFC 6056, section 3.2).
    pub ephemeral_ports: RangeInclusive<u16>,
    /// The initial sequence number of every connection, for replays and for tests such as of
    /// wrapping numbers; `None`, the secure value, computes it by RFC 6528: a number that an
    /// attacker can guess is half of a forged segment.
    pub initial_sequence: Option<u32>,
    /// The timestamp clock's offset in every connection, for replays and tests; `None`: derived
    /// from a key.
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
            hands_over: false,
            ephemeral_ports: 49_152..=65_535,
            initial_sequence: None,
            timestamp_offset: None,
        }
    }
}
