//! A typed snapshot of an association, in the spirit of SCTP_STATUS and SCTP_GET_ASSOC_STATS.

use core::net::SocketAddr;

use recovery::path_mtu::PathMtuState;
use recovery::{PathSnapshot, RecoveryStats};

use super::Association;
use crate::paths::path::PathCounters;
use crate::switchover::PathState;
use crate::tx::partial_reliability::AbandonCounts;
use crate::tx::sender::QueueingDelay;

/// Counters of an association since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets that left, on any path.
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
    /// DATA and I-DATA chunks that arrived in a state that takes them.
    pub data_chunks_received: u64,
    /// DATA chunks received that had been received before.
    pub duplicates_received: u64,
    /// Chunks that were malformed or out of place and dropped.
    pub chunks_dropped: u64,
    /// SACK chunks that left.
    pub sacks_sent: u64,
    /// SACK chunks that arrived.
    pub sacks_received: u64,
    /// INIT and COOKIE ECHO chunks sent again.
    pub setup_retransmissions: u64,
}

/// Messages that an association had taken to send and that the peer had not acknowledged when it failed. Those
/// that were [given up](AbandonCounts) before are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LeftBehind {
    /// Messages of which no byte left: they have certainly not arrived.
    pub unsent: u64,
    /// Messages of which something left and not all was acknowledged: they may have arrived.
    pub unacknowledged: u64,
}

/// Everything an application or a researcher may want to know of an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssociationStats {
    /// The state's name as RFC 9260 spells it.
    pub state: &'static str,
    /// Counters since the beginning.
    pub counters: Counters,
    /// Retransmissions by cause and order, timeouts, spurious ones.
    pub recovery: RecoveryStats,
    /// How long messages waited before they were sent.
    pub queueing: QueueingDelay,
    /// Messages that were given up.
    pub abandoned: AbandonCounts,
    /// Messages that had not arrived when the association failed; none before, and none after a shutdown.
    pub left_behind: LeftBehind,
    /// The peer's window, less what is in flight.
    pub peer_rwnd: u64,
    /// Bytes that wait to be sent for the first time.
    pub queued_bytes: usize,
    /// Bytes sent and not acknowledged cumulatively.
    pub outstanding_bytes: usize,
    /// Errors in a row (Association.Max.Retrans).
    pub error_count: u8,
    /// Per path, in the order in which they came to be.
    pub paths: Vec<PathStats>,
    /// Index of the primary path.
    pub primary_path: u8,
    /// Index of the path that new data takes.
    pub data_path: u8,
}

/// A path of an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStats {
    /// The peer's address.
    pub remote: SocketAddr,
    /// The local address, once known.
    pub local: Option<SocketAddr>,
    /// Whether one of its addresses was taken away: nothing is sent there any more, and its row is kept
    /// until another path needs one.
    pub removed: bool,
    /// Whether it counts as working.
    pub active: bool,
    /// State of the path, more exactly.
    pub state: PathState,
    /// Whether the peer is known to be at its address (RFC 9260, section 5.4).
    pub confirmed: bool,
    /// Counters since the beginning.
    pub counters: PathCounters,
    /// Bytes of redundant copies sent on it whose originals are not acknowledged.
    pub redundant_bytes: u64,
    /// Errors in a row.
    pub error_count: u8,
    /// Bytes of an SCTP packet that fit.
    pub max_packet: usize,
    /// How far discovery of the path MTU is, where it is wanted.
    pub path_mtu_state: Option<PathMtuState>,
    /// Round-trip time, timeout, window, flight, thin or not, loss.
    pub recovery: PathSnapshot,
}

impl Association {
    /// What would be lost if the association ended now.
    pub(super) fn count_left_behind(&self) -> LeftBehind {
        let (unsent, unacknowledged) = self.tx.count_messages();
        let held = self.extensions.reconfiguration().map_or(0, |own| own.held_messages());
        LeftBehind { unsent: unsent + held, unacknowledged }
    }

    /// A snapshot of the association.
    pub fn stats(&self) -> AssociationStats {
        let recovery = self.tx.recovery();
        let paths = self.paths.all().map(|(id, path)| PathStats {
            remote: path.remote(),
            local: path.local(),
            removed: path.is_removed(),
            active: path.state() == PathState::Active,
            state: path.state(),
            confirmed: path.is_confirmed(),
            counters: path.counters(),
            redundant_bytes: recovery.ledger().redundant_bytes(id.number()),
            error_count: path.error_count(),
            max_packet: path.max_packet(),
            path_mtu_state: path.path_mtu_state(),
            recovery: recovery.snapshot(id.number()),
        });
        AssociationStats {
            state: self.state_name(),
            counters: self.counters,
            recovery: *recovery.stats(),
            queueing: self.tx.queueing(),
            abandoned: self.tx.abandon_counts(),
            left_behind: self.application.left_behind(),
            peer_rwnd: self.tx.peer_rwnd(),
            queued_bytes: self.tx.queue().buffered(),
            outstanding_bytes: self.tx.outstanding_bytes(),
            error_count: self.liveness.error_count(),
            paths: paths.collect(),
            primary_path: self.paths.primary().number(),
            data_path: self.paths.data().number(),
        }
    }
}
