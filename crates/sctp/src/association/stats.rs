//! The types of a snapshot of an association (modelled on SCTP_STATUS and SCTP_GET_ASSOC_STATS).

use core::net::SocketAddr;

use recovery::path_mtu::PathMtuState;
use recovery::{PathSnapshot, RecoveryStats};

use crate::paths::path::PathCounters;
use crate::switchover::PathState;
use crate::tx::partial_reliability::AbandonCounts;
use crate::tx::sender::QueueingDelay;

/// Counters of an association since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets sent on all paths.
    pub packets_sent: u64,
    /// Bytes of SCTP packets sent.
    pub bytes_sent: u64,
    /// Packets received with the right tag.
    pub packets_received: u64,
    /// Bytes of SCTP packets received with the right tag.
    pub bytes_received: u64,
    /// Messages that the application sent.
    pub messages_sent: u64,
    /// Messages that the application received.
    pub messages_received: u64,
    /// DATA and I-DATA chunks that arrived in a state that accepts them.
    pub data_chunks_received: u64,
    /// DATA chunks received that had been received before.
    pub duplicates_received: u64,
    /// Chunks dropped as malformed or invalid in the present state.
    pub chunks_dropped: u64,
    /// SACK chunks sent, alone or with data.
    pub sacks_sent: u64,
    /// SACK chunks received and processed.
    pub sacks_received: u64,
    /// Retransmissions of INIT and COOKIE ECHO.
    pub setup_retransmissions: u64,
}

/// Messages accepted for sending that the peer had not acknowledged when the association failed,
/// not counting those [abandoned](AbandonCounts) before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LeftBehind {
    /// Messages of which no byte was sent: they have certainly not arrived.
    pub unsent: u64,
    /// Messages sent in part or in full and not fully acknowledged: they may have arrived.
    pub unacknowledged: u64,
}

/// Snapshot of an association's state, for applications and research.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssociationStats {
    /// The state's name in RFC 9260.
    pub state: &'static str,
    /// Counters since the association was created.
    pub counters: Counters,
    /// Retransmissions by cause and order, timeouts, spurious retransmissions.
    pub recovery: RecoveryStats,
    /// Waiting times of messages before they were sent.
    pub queueing: QueueingDelay,
    /// Messages abandoned before and after part of them was sent.
    pub abandoned: AbandonCounts,
    /// Messages that had not arrived when the association failed; zero before, and after a
    /// shutdown.
    pub left_behind: LeftBehind,
    /// The peer's window minus the flight.
    pub peer_rwnd: u64,
    /// Bytes queued that were never sent.
    pub queued_bytes: usize,
    /// Bytes sent and not acknowledged cumulatively.
    pub outstanding_bytes: usize,
    /// Number of consecutive errors, which Association.Max.Retrans limits (RFC 9260, section 8.1).
    pub error_count: u8,
    /// Paths in the order of their creation.
    pub paths: Vec<PathStats>,
    /// Index of the primary path.
    pub primary_path: u8,
    /// Index of the path that new data takes.
    pub data_path: u8,
}

/// State and counters of a path at the time of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStats {
    /// Address of the peer at the path's other end.
    pub remote: SocketAddr,
    /// The local address; `None` while it is unknown.
    pub local: Option<SocketAddr>,
    /// Whether one of its addresses was removed: the path is not used any more, and its row is
    /// kept until another path needs one.
    pub removed: bool,
    /// Whether the state is [`PathState::Active`]: no evidence of a failure.
    pub active: bool,
    /// State of the path in detail.
    pub state: PathState,
    /// Whether the peer is confirmed to be at its address (RFC 9260, section 5.4).
    pub confirmed: bool,
    /// Counters since the path was added.
    pub counters: PathCounters,
    /// Bytes of redundant copies sent on it whose originals are not acknowledged yet.
    pub redundant_bytes: u64,
    /// Number of consecutive errors, which Path.Max.Retrans limits (RFC 9260, section 8.2).
    pub error_count: u8,
    /// Largest SCTP packet in bytes.
    pub max_packet: usize,
    /// State of path MTU discovery, if it is enabled.
    pub path_mtu_state: Option<PathMtuState>,
    /// Round-trip time, timeout, window, flight, thin or not, loss.
    pub recovery: PathSnapshot,
}
