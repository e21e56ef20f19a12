//! A typed snapshot of a connection, in the spirit of TCP_INFO.

use base::{Duration, Instant};
use recovery::{PathSnapshot, RecoveryStats};

use super::{Connection, State};
use crate::rx::ReceiverStats;

/// Counters of a connection since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Segments sent, with data or without, retransmissions included.
    pub segments_sent: u64,
    /// Segments with data sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Bytes of data sent for the first time.
    pub bytes_sent: u64,
    /// Bytes of data sent again, redundant copies not included.
    pub bytes_retransmitted: u64,
    /// Segments that arrived for this connection.
    pub segments_received: u64,
    /// Segments with data that arrived.
    pub data_segments_received: u64,
    /// Bytes that arrived in order, without duplicates.
    pub bytes_received: u64,
    /// Bytes that the peer acknowledged.
    pub bytes_acked: u64,
    /// Segments dropped as unacceptable: outside the window, too old by their timestamp, out of
    /// place.
    pub unacceptable: u64,
    /// Challenge ACKs sent (RFC 5961).
    pub challenge_acks: u64,
    /// Retransmissions of this side's SYN.
    pub syn_retransmissions: u64,
    /// Keep-alive probes sent (RFC 9293, section 3.8.4).
    pub keep_alive_probes: u64,
    /// Segments that arrived with the CE codepoint (RFC 3168).
    pub congestion_experienced: u64,
    /// Times that the path MTU was lowered.
    pub path_mtu_reductions: u64,
}

/// Counters that a connection keeps itself: narrow where events are rare, since every idle
/// connection has them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NarrowCounters {
    pub(super) segments_sent: u64,
    pub(super) data_segments_sent: u64,
    pub(super) segments_received: u64,
    pub(super) data_segments_received: u64,
    pub(super) bytes_received: u64,
    pub(super) unacceptable: u32,
    pub(super) congestion_experienced: u32,
    pub(super) challenge_acks: u32,
    pub(super) keep_alive_probes: u32,
    pub(super) syn_retransmissions: u16,
    pub(super) path_mtu_reductions: u16,
}

/// Snapshot of a connection's state, for applications and research.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionInfo {
    /// State by the names of RFC 9293, section 3.3.2.
    pub state: State,
    /// Counters since the connection was created.
    pub counters: Counters,
    /// Retransmissions by cause and order, timeouts, spurious retransmissions.
    pub recovery: RecoveryStats,
    /// Round-trip time, timeout, window, flight.
    pub path: PathSnapshot,
    /// Whether timestamps are used (RFC 7323).
    pub timestamps: bool,
    /// Whether selective acknowledgements are used (RFC 2018).
    pub sack: bool,
    /// Shifts of the peer's and of this side's window, if scaling is used (RFC 7323).
    pub window_scale: Option<(u8, u8)>,
    /// Whether congestion notification is used (RFC 3168).
    pub ecn: bool,
    /// Largest segment sent: bytes of payload, with the usual options deducted.
    pub send_mss: u32,
    /// MSS option of this side.
    pub advertised_mss: u16,
    /// Path MTU in use: bytes of an IP packet.
    pub path_mtu: u16,
    /// The peer's window: bytes from SND.UNA on.
    pub send_window: u64,
    /// The last advertised window, in bytes from RCV.NXT on.
    pub receive_window: u64,
    /// Bytes queued that were never sent (SIOCOUTQNSD).
    pub unsent_bytes: u64,
    /// Bytes sent and not acknowledged.
    pub unacked_bytes: u64,
    /// Bytes in order that the application can read (SIOCINQ).
    pub readable_bytes: u64,
    /// Expiries of the retransmission timer since the last progress.
    pub consecutive_timeouts: u32,
    /// Unanswered window or keep-alive probes.
    pub unanswered_probes: u32,
    /// Time since data was last sent, or since the beginning.
    pub since_data_sent: Duration,
    /// Time since data last arrived, or since the beginning.
    pub since_data_received: Duration,
    /// Time since the last acknowledgement, or since the beginning.
    pub since_ack_received: Duration,
    /// Round-trip time estimated by the receiving side, only if the receive buffer may grow.
    pub receive_round_trip: Option<Duration>,
    /// Counts of segments that did not continue the data in order.
    pub receiving: ReceiverStats,
}

impl Connection {
    /// Counters since the connection was created.
    pub fn counters(&self) -> Counters {
        let (tx, own) = (self.tx.counters(), &self.tally);
        Counters {
            segments_sent: own.segments_sent,
            data_segments_sent: own.data_segments_sent,
            bytes_sent: tx.bytes_sent,
            bytes_retransmitted: tx.bytes_retransmitted,
            segments_received: own.segments_received,
            data_segments_received: own.data_segments_received,
            bytes_received: own.bytes_received,
            bytes_acked: tx.bytes_acked,
            unacceptable: own.unacceptable.into(),
            challenge_acks: own.challenge_acks.into(),
            syn_retransmissions: own.syn_retransmissions.into(),
            keep_alive_probes: own.keep_alive_probes.into(),
            congestion_experienced: own.congestion_experienced.into(),
            path_mtu_reductions: own.path_mtu_reductions.into(),
        }
    }

    /// A snapshot at `now`. Negotiated values are defaults until the peer's SYN arrives.
    pub fn info(&self, now: Instant) -> ConnectionInfo {
        let tx = &self.tx;
        let window = self.rx.window_edge().saturating_sub(self.rx.rcv_nxt());
        let since = |at: Instant| now.since(at);
        ConnectionInfo {
            state: self.state,
            counters: self.counters(),
            recovery: *tx.recovery().stats(),
            path: tx.snapshot(),
            timestamps: self.negotiated.timestamps,
            sack: self.negotiated.sack,
            window_scale: self.negotiated.window_scale,
            ecn: self.negotiated.ecn,
            send_mss: u32::from(self.send_mss()),
            advertised_mss: self.advertised_mss(),
            path_mtu: self.path_mtu.get(),
            send_window: tx.snd_wnd(),
            receive_window: window,
            unsent_bytes: tx.unsent_bytes(),
            unacked_bytes: tx.unacked_bytes(),
            readable_bytes: self.rx.readable(),
            consecutive_timeouts: u32::from(tx.timeouts()),
            unanswered_probes: u32::from(tx.unanswered_probes().max(self.silence.probes())),
            since_data_sent: since(self.data_sent_at),
            since_data_received: since(self.data_received_at),
            since_ack_received: since(self.silence.since()),
            receive_round_trip: self.rx.round_trip(),
            receiving: self.rx.stats(),
        }
    }
}
