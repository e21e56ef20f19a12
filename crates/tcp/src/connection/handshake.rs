//! The opening of a connection: SYNs, negotiation, and the SYN timer (RFC 9293, section 3.5; RFC
//! 7323, 2018, 3168; RFC 6298, section 5).

use std::sync::Arc;

use base::{Duration, Instant};
use bytes::Bytes;

use crate::event::Failure;
use crate::event::ListenerId;
use crate::options::{ConnectionOptions, EcnMode, SendFlags};
use crate::wire::{Flags, MAX_WINDOW_SCALE, Options, Segment, Timestamps, UserTimeout};

/// Default MSS of a peer without the option (RFC 9293, section 3.7.1: 536 and 1220).
pub(crate) const DEFAULT_MSS: [u16; 2] = [536, 1220];

/// Bytes of the IP header, of IPv4 and of IPv6.
pub(super) const IP_HEADERS: [u16; 2] = [20, 40];

/// Bytes of IP and TCP headers without options.
pub(crate) fn headers(is_ipv6: bool) -> u16 {
    IP_HEADERS[usize::from(is_ipv6)] + 20
}

/// Content of the peer's SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerSyn {
    /// Largest segment that the peer accepts.
    pub(crate) mss: u16,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack: bool,
    /// TSval of the SYN, if it had the timestamps option (RFC 7323).
    pub(crate) timestamp: Option<u32>,
    /// The SYN's window in bytes, which is never scaled.
    pub(crate) window: u16,
    /// Whether the SYN asked for ECN, or granted it.
    pub(crate) ecn: bool,
    /// The peer's user timeout, if the SYN had the option (RFC 5482).
    pub(crate) user_timeout: Option<Duration>,
}

impl PeerSyn {
    /// Parses a SYN or SYN ACK.
    pub(crate) fn read(segment: &Segment, is_ipv6: bool) -> PeerSyn {
        let options = &segment.options;
        let ecn = segment.flags.without(Flags::from_bits(!0x00c0));
        // ECN-setup SYN: ECE and CWR; ECN-setup SYN ACK: ECE alone (RFC 3168, section 6.1.1).
        let setup = if segment.flags.ack() { Flags::ECE } else { Flags::ECE | Flags::CWR };
        PeerSyn {
            mss: options.mss.unwrap_or(DEFAULT_MSS[usize::from(is_ipv6)]),
            window_scale: options.window_scale.map(|shift| shift.min(MAX_WINDOW_SCALE)),
            sack: options.sack_permitted,
            timestamp: options.timestamps.map(|stamps| stamps.value),
            window: segment.window,
            ecn: ecn == setup,
            user_timeout: options.user_timeout.map(UserTimeout::duration),
        }
    }
}

/// Options that both sides agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Negotiated {
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    /// Whether segments may be sent as markable and echoed marks count: all SYNs and SYN ACKs
    /// agree on it, whichever of them arrived (RFC 3168, section 6.1.1).
    pub(crate) ecn: bool,
    /// Whether marks are echoed: one of this side's SYNs or SYN ACKs negotiated ECN, so that the
    /// peer may rely on it.
    pub(crate) ecn_echo: bool,
    /// Shifts of the peer's and of this side's window.
    pub(crate) window_scale: Option<(u8, u8)>,
}

impl Negotiated {
    /// Options in force after the peer's SYN, which offers them or, as an answer to this side's
    /// SYN, grants them. `asked`: which of this side's SYNs asked for ECN.
    pub(crate) fn of(
        options: &ConnectionOptions,
        own_shift: u8,
        peer: &PeerSyn,
        asked: Option<EcnAsked>,
    ) -> Negotiated {
        let willing = options.ecn != EcnMode::Off;
        let (all, any) = asked.map_or((willing, willing), |asked| (asked.by_all, asked.by_any));
        Negotiated {
            timestamps: options.timestamps && peer.timestamp.is_some(),
            sack: options.sack && peer.sack,
            ecn: all && peer.ecn,
            ecn_echo: any && peer.ecn,
            window_scale: peer
                .window_scale
                .filter(|_| options.window_scaling)
                .map(|shift| (shift, own_shift)),
        }
    }
}

/// The SYNs of this side that asked for ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EcnAsked {
    /// Whether all SYNs sent asked.
    pub(crate) by_all: bool,
    /// Whether at least one SYN sent asked.
    pub(crate) by_any: bool,
}

impl EcnAsked {
    /// State before the first SYN.
    const NONE: EcnAsked = EcnAsked { by_all: true, by_any: false };

    /// A SYN was sent; `asks`: it asked for ECN.
    pub(crate) fn on_sent(&mut self, asks: bool) {
        self.by_all &= asks;
        self.by_any |= asks;
    }
}

/// The user timeout option for the peer (RFC 5482, section 3).
pub(crate) fn user_timeout_option(options: &ConnectionOptions) -> Option<UserTimeout> {
    let told = options.user_timeout.filter(|_| options.user_timeout_option);
    told.map(UserTimeout::from_duration)
}

/// The options of a SYN, or of a SYN ACK that answers `peer`.
pub(crate) fn syn_options(
    options: &ConnectionOptions,
    mss: u16,
    own_shift: u8,
    timestamp: u32,
    peer: Option<&PeerSyn>,
) -> Options {
    let offered = |own: bool, peers: fn(&PeerSyn) -> bool| own && peer.is_none_or(peers);
    let timestamps = offered(options.timestamps, |peer| peer.timestamp.is_some());
    let scaling = offered(options.window_scaling, |peer| peer.window_scale.is_some());
    Options {
        mss: Some(mss),
        window_scale: scaling.then_some(own_shift),
        sack_permitted: offered(options.sack, |peer| peer.sack),
        timestamps: timestamps.then(|| Timestamps {
            value: timestamp,
            echo: peer.and_then(|peer| peer.timestamp).unwrap_or(0),
        }),
        user_timeout: user_timeout_option(options),
        ..Options::default()
    }
}

/// State of a connection until it is established.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// The initial options: an offer does not change.
    pub(crate) offered: Arc<ConnectionOptions>,
    /// The listener that accepted it, if a peer opened it.
    pub(crate) listener: Option<ListenerId>,
    /// Content of the peer's SYN, once it arrived.
    pub(crate) peer: Option<PeerSyn>,
    /// Whether a SYN must be sent now.
    pub(crate) wants_send: bool,
    /// Deadline of the SYN timer, once a SYN was sent.
    pub(crate) due: Option<Instant>,
    timeout: Duration,
    /// Deadline by which the connection must be established; `None` if there is none.
    pub(crate) ends_at: Option<Instant>,
    /// Number of this side's SYNs sent.
    pub(crate) sent: u8,
    /// Time at which the latest SYN was sent.
    pub(crate) sent_at: Instant,
    /// Whether the SYNs sent asked for ECN.
    pub(crate) ecn_asked: EcnAsked,
    /// Data that the application has sent so far.
    pub(crate) queued: Vec<(Bytes, SendFlags)>,
    pub(crate) queued_bytes: usize,
    /// Whether the application was refused data.
    pub(crate) was_full: bool,
    /// Whether the application has finished its direction.
    pub(crate) finish: bool,
    /// Text of the peer's SYN, and whether FIN follows it, to be delivered once the connection is
    /// established.
    pub(crate) early: Option<(Bytes, bool)>,
    /// Failure that ICMP reported, for the case that no answer comes.
    pub(crate) hint: Option<Failure>,
    /// Number of expiries of the SYN timer.
    pub(crate) expiries: u8,
}

impl Handshake {
    pub(crate) fn new(listener: Option<ListenerId>, offered: Arc<ConnectionOptions>) -> Handshake {
        let (syn, first) = (offered.syn_timeout, offered.policy.backoff.first_setup);
        Handshake {
            timeout: first.filter(|_| listener.is_none()).map_or(syn, |first| first.min(syn)),
            offered,
            listener,
            peer: None,
            wants_send: true,
            due: None,
            ends_at: None,
            sent: 0,
            sent_at: Instant::ZERO,
            ecn_asked: EcnAsked::NONE,
            queued: Vec::new(),
            queued_bytes: 0,
            was_full: false,
            finish: false,
            early: None,
            hint: None,
            expiries: 0,
        }
    }

    /// A SYN was sent. Each timeout is twice the previous one (RFC 6298, section 5.5), except for
    /// the number of this side's own SYNs that the policy's `linear_setup` names.
    pub(crate) fn on_sent(&mut self, now: Instant, options: &ConnectionOptions) {
        if self.sent == 0 {
            self.ends_at = options.syn_time_limit.map(|limit| now + limit);
        }
        self.wants_send = false;
        self.sent = self.sent.saturating_add(1);
        self.sent_at = now;
        // A SYN ACK sent in answer to a repeated SYN leaves the timer unchanged.
        if self.due.is_none() {
            let slack = if self.expiries == 0 { Duration::ZERO } else { options.syn_timeout_slack };
            self.due = Some(now + self.timeout.min(options.syn_timeout_max) + slack);
            let level = match self.expiries >= self.linear_timeouts(options) {
                true => options.syn_timeout_max,
                false => options.syn_timeout,
            };
            self.timeout = (self.timeout * 2).min(level.max(self.timeout));
        }
    }

    /// Expiries at which the timeout does not double: none for a SYN ACK, whose peer repeats its
    /// SYN itself.
    pub(crate) fn linear_timeouts(&self, options: &ConnectionOptions) -> u8 {
        if self.listener.is_none() { options.policy.backoff.linear_setup } else { 0 }
    }

    /// Earliest deadline of the handshake.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        Instant::earliest(&[self.due, self.ends_at])
    }

    /// Whether the timer expired by `now`; if so, counts it.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        let expired = self.due.is_some_and(|due| due <= now);
        if expired {
            self.due = None;
            self.expiries = self.expiries.saturating_add(1);
        }
        expired
    }
}
