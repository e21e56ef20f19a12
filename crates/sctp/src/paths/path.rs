//! A path of an association: its addresses, packet size and state.

use core::net::{IpAddr, SocketAddr};

use base::{Duration, Instant};
use recovery::path_mtu::PathMtuState;

use crate::options::{AssociationOptions, PathHeartbeats, PathOptions};
use crate::paths::mtu_discovery::PathMtuDiscovery;
use crate::paths::place::Place;
use crate::switchover::{PathHint, PathState, RttTrend};
use crate::wire::CommonHeader;

/// A local and a remote address, and the state of the path between them.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// The local address; `None` while it is unknown.
    local: Option<Place>,
    /// The peer's address; its port is that of the UDP encapsulation, 0 for raw IP.
    remote: Place,
    /// Largest SCTP packet within the path MTU, in bytes.
    max_packet: u16,
    /// Number of consecutive errors of the path.
    pub(super) error_count: u8,
    /// Bytes that a layer below adds to each packet.
    below: u8,
    pub(super) state: PathState,
    /// Whether the peer is confirmed to be at this address (RFC 9260, section 5.4). Only HEARTBEAT
    /// and its answer are sent to an unconfirmed one.
    pub(super) confirmed: bool,
    /// Whether the peer removed the address: the row is kept for another path, so that indices
    /// stay.
    pub(super) removed: bool,
    pub(super) heartbeat: Heartbeat,
    pub(super) counters: PathCounters,
    /// Consecutive expiries of the path's timers (T3-rtx, heartbeats), including those that do not
    /// count as errors.
    pub(super) expiries: u8,
    /// Whether a heartbeat sent after an expiry was not answered in time.
    pub(super) unanswered: bool,
    /// Whether data retransmitted since `expiries` left 0 had arrived before.
    pub(super) needless: bool,
    /// Whether a packet arrived on the path since `expiries` left 0.
    pub(super) heard: bool,
    /// External information of the application: [`PathHint::Down`], [`PathHint::Weak`] or none.
    pub(super) hint: Option<PathHint>,
    /// Trend of its round-trip times, if the policy uses it.
    pub(super) trend: Option<Box<RttTrend>>,
    /// Options of this path that override the association's.
    pub(super) options: Option<Box<PathOptions>>,
    /// Path MTU discovery, if it is enabled.
    pub(super) discovery: Option<Box<PathMtuDiscovery>>,
}

/// Counters of a path since the association began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PathCounters {
    /// HEARTBEAT chunks that left on the path.
    pub heartbeats_sent: u32,
    /// HEARTBEAT chunks for which a HEARTBEAT ACK arrived.
    pub heartbeats_acked: u32,
    /// Packets with DATA sent, including those with retransmissions only.
    pub data_packets_sent: u32,
    /// Packets sent with redundant copies only.
    pub copies_sent: u32,
    /// Bytes of SCTP packets received.
    pub bytes_received: u64,
}

/// Heartbeats of a path (RFC 9260, section 8.3).
#[derive(Clone, Debug, Default)]
pub(super) struct Heartbeat {
    /// Instant at which the next one is due, if the path stays idle.
    pub(super) due: Option<Instant>,
    /// The latest heartbeat, until its answer arrives or its timeout expires.
    pub(super) under_way: Option<Box<UnderWay>>,
    /// Consecutive unanswered heartbeats: each doubles the next timeout.
    pub(super) unanswered: u8,
    /// Instant of the latest data sent on the path.
    pub(super) data_sent_at: Instant,
}

/// A heartbeat that is not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    pub(super) nonce: u64,
    pub(super) sent_at: Instant,
    /// Instant at which it counts as lost; `None` once it does.
    pub(super) lost_at: Option<Instant>,
    /// Instant at which its absence is evidence, if an expiry caused it or one before it.
    pub(super) evidence_at: Option<Instant>,
}

const IPV4_HEADER: u16 = 20;
const IPV6_HEADER: u16 = 40;
const UDP_HEADER: u16 = 8;
/// Most bytes of a layer below that are counted, so that a packet keeps room for chunks.
const BELOW_MAX: u8 = 128;

/// SCTP packets are multiples of this many bytes (RFC 9260, section 3.2).
pub(super) const WORD: u16 = 4;

impl Path {
    /// A working path, confirmed or not.
    pub(crate) fn new(
        remote: SocketAddr,
        local: Option<SocketAddr>,
        options: &AssociationOptions,
        confirmed: bool,
    ) -> Self {
        let below = u8::try_from(options.overhead_below).unwrap_or(BELOW_MAX).min(BELOW_MAX);
        Path {
            local: local.map(Place::from),
            remote: remote.into(),
            max_packet: max_packet(remote, below, options.path_mtu),
            below,
            error_count: 0,
            state: PathState::Active,
            confirmed,
            removed: false,
            heartbeat: Heartbeat::default(),
            counters: PathCounters::default(),
            expiries: 0,
            unanswered: false,
            needless: false,
            heard: false,
            hint: None,
            trend: None,
            options: None,
            discovery: None,
        }
    }

    /// The peer's address; its port is that of the UDP encapsulation, 0 for raw IP.
    #[inline]
    pub(crate) fn remote(&self) -> SocketAddr {
        self.remote.into()
    }

    /// The port of the UDP encapsulation at the peer, 0 for raw IP.
    pub(super) fn remote_port(&self) -> u16 {
        self.remote.port
    }

    /// A packet came from another port of the peer's address. Returns whether the encapsulation
    /// began or ended.
    #[cold]
    pub(super) fn move_to_port(&mut self, now: Instant, port: u16) -> bool {
        let encapsulation_changed = (self.remote.port == 0) != (port == 0);
        self.set_remote_port(port);
        if !self.confirmed {
            // INIT lists addresses without ports: the HEARTBEAT in flight was sent to a port
            // without a listener.
            self.heartbeat.end_wait();
            self.heartbeat.due = Some(now);
        }
        encapsulation_changed
    }

    /// Changes the port of the peer's address.
    pub(super) fn set_remote_port(&mut self, port: u16) {
        self.remote.port = port;
    }

    /// The local address; `None` while it is unknown.
    #[inline]
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        self.local.map(SocketAddr::from)
    }

    /// Whether the local address in use is known.
    pub(super) fn has_local(&self) -> bool {
        self.local.is_some()
    }

    /// Fixes the address from which packets of the path leave; `None` leaves it to the driver.
    pub(super) fn set_local(&mut self, local: Option<SocketAddr>) {
        self.local = local.map(Place::from);
    }

    /// Whether the path begins at this local address.
    pub(super) fn is_from(&self, local: SocketAddr) -> bool {
        self.local == Some(local.into())
    }

    /// Whether one of its addresses was removed.
    pub(crate) fn is_removed(&self) -> bool {
        self.removed
    }

    /// Whether the peer is confirmed to be at its address (RFC 9260, section 5.4).
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// State of the path, by the present evidence.
    pub(crate) fn state(&self) -> PathState {
        self.state
    }

    /// Number of consecutive errors, which Path.Max.Retrans limits.
    pub(crate) fn error_count(&self) -> u8 {
        self.error_count
    }

    /// Counters since the association began.
    pub(crate) fn counters(&self) -> PathCounters {
        self.counters
    }

    /// State of path MTU discovery, if it is enabled.
    pub(crate) fn path_mtu_state(&self) -> Option<PathMtuState> {
        self.discovery.as_ref().map(|discovery| discovery.state())
    }

    /// Path.Max.Retrans in force: the path's own setting, or else the association's.
    pub(super) fn max_retrans(&self, options: &AssociationOptions) -> u8 {
        let own = self.options.as_ref().and_then(|own| own.path_max_retrans);
        own.unwrap_or(options.path_max_retrans)
    }

    /// Interval of heartbeats while it is idle; `None`: no heartbeats.
    pub(super) fn heartbeat_interval(&self, options: &AssociationOptions) -> Option<Duration> {
        match self.options.as_ref().map(|own| own.heartbeats) {
            None | Some(PathHeartbeats::AsAssociation) => options.heartbeat_interval,
            Some(PathHeartbeats::Off) => None,
            Some(PathHeartbeats::Every(interval)) => Some(interval),
        }
    }

    /// Whether the path is in use and its remote address has this IP.
    pub(crate) fn leads_to(&self, address: IpAddr) -> bool {
        !self.removed && self.remote.ip == address
    }

    /// Applies a changed path MTU, in bytes of an IP packet.
    pub(crate) fn set_path_mtu(&mut self, path_mtu: u16) {
        self.max_packet = self.packet_within(path_mtu);
        if let Some(discovery) = &mut self.discovery {
            discovery.set_max(self.max_packet);
            self.max_packet = discovery.size();
        }
    }

    /// Largest SCTP packet in an IP packet of `path_mtu` bytes on this path, in bytes.
    pub(super) fn packet_within(&self, path_mtu: u16) -> u16 {
        max_packet(self.remote(), self.below, path_mtu)
    }

    /// Bytes of the headers around an SCTP packet on this path.
    pub(super) fn headers(&self) -> u16 {
        headers(self.remote()) + u16::from(self.below)
    }

    /// Largest SCTP packet within the path MTU, in bytes.
    pub(crate) fn max_packet(&self) -> usize {
        usize::from(self.max_packet)
    }

    /// Path maximum DATA chunk size (PMDCS), header included.
    pub(crate) fn pmdcs(&self) -> u64 {
        (self.max_packet() - CommonHeader::LENGTH) as u64
    }

    /// The expected round-trip time while it rises; `None` otherwise.
    pub(crate) fn rising(&self) -> Option<Duration> {
        self.trend.as_ref().and_then(|trend| trend.rising())
    }

    /// Whether anything speaks against the path, which an answer of the peer refutes.
    #[inline]
    pub(crate) fn is_doubted(&self) -> bool {
        let charged = self.error_count > 0 || self.expiries > 0 || self.unanswered;
        charged || self.state != PathState::Active
    }

    /// Whether it works and may carry more than heartbeats.
    pub(crate) fn is_usable(&self) -> bool {
        self.confirmed && self.state == PathState::Active
    }
}

/// Largest SCTP packet in an IP packet of `path_mtu` bytes towards `remote`, in bytes, after
/// `below` bytes of a layer below; a multiple of 4.
fn max_packet(remote: SocketAddr, below: u8, path_mtu: u16) -> u16 {
    // RFC 9260 expects no path below 576 bytes; less leaves no room for an INIT ACK with its
    // cookie.
    (path_mtu.max(576) - headers(remote) - u16::from(below)) / WORD * WORD
}

/// Bytes of the headers before an SCTP packet towards `remote`.
fn headers(remote: SocketAddr) -> u16 {
    let ip = if remote.is_ipv4() { IPV4_HEADER } else { IPV6_HEADER };
    let udp = if remote.port() == 0 { 0 } else { UDP_HEADER };
    ip + udp
}

impl Heartbeat {
    /// Data was sent at `now`: the path is not idle.
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        self.data_sent_at = now;
    }

    /// Arms the timer for `interval` and the timeout after `now`, jittered by `random`
    /// to between a half and one and a half timeouts.
    pub(crate) fn arm(&mut self, now: Instant, interval: Duration, rto: Duration, random: u32) {
        let jitter = rto.scale(u64::from(random), u64::from(u32::MAX));
        self.due = Some(now + interval + rto / 2 + jitter);
    }

    /// Instant of the next heartbeat, or of the timeout of the one under way.
    pub(crate) fn next(&self) -> Option<Instant> {
        match &self.under_way {
            None => self.due,
            Some(asked) => Instant::earliest(&[self.due, asked.lost_at, asked.evidence_at]),
        }
    }

    /// Instant at which the one in flight counts as lost.
    pub(super) fn lost_at(&self) -> Option<Instant> {
        self.under_way.as_ref()?.lost_at
    }

    /// Ends the wait for the one in flight.
    pub(super) fn end_wait(&mut self) {
        if let Some(asked) = &mut self.under_way {
            asked.lost_at = None;
        }
    }

    /// Whether the absence of an answer to the one in flight is evidence at `now`.
    pub(super) fn is_evidence(&self, now: Instant) -> bool {
        let evidence_at = self.under_way.as_ref().and_then(|asked| asked.evidence_at);
        evidence_at.is_some_and(|at| at <= now)
    }

    /// Sets the instant at which the absence of an answer is evidence; `None`: never.
    pub(super) fn set_evidence_at(&mut self, at: Option<Instant>) {
        if let Some(asked) = &mut self.under_way {
            asked.evidence_at = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_a_packet_depends_on_ip_version_and_encapsulation() {
        let size = |address: &str, mtu| max_packet(address.parse().unwrap(), 0, mtu);
        assert_eq!(size("10.0.0.1:0", 1500), 1480);
        assert_eq!(size("10.0.0.1:9899", 1500), 1472);
        assert_eq!(size("[::1]:9899", 1500), 1452);
        assert_eq!(size("10.0.0.1:9899", 0), 548);
        assert_eq!(max_packet("10.0.0.1:9899".parse().unwrap(), 22, 1500), 1448);
    }
}
