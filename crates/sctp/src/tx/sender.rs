//! The sending side of an association: queued messages, outstanding chunks, and the peer's window
//! (RFC 9260, sections 6.1 to 6.3).
//!
//! The ledger of `recovery` decides; this module holds the chunks and converts TSNs to units: the
//! unit of a TSN is the 64-bit number whose low half is the TSN. [`packetizer`](super::packetizer)
//! fills packets, [`acknowledged`](super::acknowledged) processes acknowledgements.

use std::sync::Arc;

use base::Duration;
use base::serial::unwrap_u32;
use recovery::{Missing, PathId, Recovery, RecoveryPolicy, Silence};

use super::data_keys::DataKeys;
use super::outstanding::Outstanding;
use super::partial_reliability::{Abandonments, PartialReliability};
use super::send_queue::SendQueue;
use crate::extensions::Extensions;
use crate::wire::chunk::{Data, IData};
use crate::wire::signing::Signer;
use crate::wire::{ChunkType, CommonHeader, KeyId, StreamId, Tsn};

/// Origin of units, so that an old TSN never falls below zero.
const UNIT_ORIGIN: u64 = 1 << 32;

/// Waiting times of messages before their first byte was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueingDelay {
    /// Number of messages of which part was sent.
    pub messages: u64,
    /// Sum of the waiting times.
    pub total: Duration,
    /// Longest waiting time of one message.
    pub max: Duration,
}

/// The sending side of an association.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Messages that were not sent completely.
    pub(super) queue: SendQueue,
    pub(super) recovery: Recovery,
    /// Chunks that were sent and not acknowledged cumulatively.
    pub(super) outstanding: Outstanding,
    /// Messages that may be abandoned after part of them was sent, once there were any.
    pub(super) partial: Option<Box<PartialReliability>>,
    pub(super) abandonments: Option<Box<Abandonments>>,
    /// Window that the peer last advertised, bytes.
    pub(super) peer_a_rwnd: u32,
    pub(super) queueing: QueueingDelay,
    /// Path maximum DATA chunk size, the smallest of all paths.
    pub(super) pmdcs: u16,
    /// Whether messages are in I-DATA.
    pub(super) interleaving: bool,
    /// Bytes of the AUTH chunk that user data requires (RFC 4895).
    pub(super) auth_len: u16,
    /// The keys of that AUTH chunk.
    pub(super) keys: DataKeys,
    /// Whether partly sent messages may be abandoned.
    pub(super) gives_up: bool,
    /// Whether this burst began with nothing in flight, so that Nagle's rule does not hold it
    /// back.
    pub(super) flowing: bool,
}

impl Sender {
    pub(crate) fn new(
        queue: SendQueue,
        policy: Arc<RecoveryPolicy>,
        pmdcs: u64,
        initial_tsn: Tsn,
    ) -> Self {
        let first_unit = first_unit(initial_tsn);
        Sender {
            queue,
            recovery: Recovery::new(policy, Silence::Missing, pmdcs, first_unit),
            outstanding: Outstanding::default(),
            partial: None,
            abandonments: None,
            peer_a_rwnd: 0,
            queueing: QueueingDelay::default(),
            pmdcs: chunk_size(pmdcs),
            interleaving: false,
            auth_len: 0,
            keys: DataKeys::default(),
            gives_up: false,
            flowing: false,
        }
    }

    /// Messages that wait to be sent.
    #[inline]
    pub(crate) fn queue(&self) -> &SendQueue {
        &self.queue
    }

    /// Queued messages, to add, cut off or abandon some.
    #[inline]
    pub(crate) fn queue_mut(&mut self) -> &mut SendQueue {
        &mut self.queue
    }

    /// Loss recovery of the association, read only.
    #[inline]
    pub(crate) fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Loss recovery of the association, to change its policy or report events.
    #[inline]
    pub(crate) fn recovery_mut(&mut self) -> &mut Recovery {
        &mut self.recovery
    }

    /// Sets the extensions that both sides agreed on, before any data was sent.
    pub(crate) fn set_extensions(&mut self, extensions: Extensions) {
        self.interleaving = extensions.contains(Extensions::INTERLEAVING);
        self.gives_up = extensions.contains(Extensions::PARTIAL_RELIABILITY);
        self.queue.set_interleaving(self.interleaving);
    }

    /// Sets the signer of packets; must be repeated after [`Sender::set_extensions`].
    pub(crate) fn note_signer(&mut self, signer: Option<&Signer>) {
        let auth_len = signer.map_or(0, |signer| signer.auth_len_before(self.chunk_type()));
        self.auth_len = u16::try_from(auth_len).unwrap_or(u16::MAX);
        self.keys.set_active(signer.filter(|_| auth_len > 0).map(|signer| signer.key));
    }

    /// Whether queued or outstanding user data uses this key.
    pub(crate) fn names_key(&self, key: KeyId) -> bool {
        self.queue.names_key(key) || self.keys.names(key)
    }

    /// Type of the chunks with user data.
    pub(super) fn chunk_type(&self) -> ChunkType {
        if self.interleaving { ChunkType::I_DATA } else { ChunkType::DATA }
    }

    /// Bytes of a chunk besides its payload and padding.
    pub(super) fn overhead(&self) -> usize {
        if self.interleaving { IData::OVERHEAD } else { Data::OVERHEAD }
    }

    /// Sets the peer's window from INIT or INIT ACK.
    pub(crate) fn set_peer_a_rwnd(&mut self, a_rwnd: u32) {
        self.peer_a_rwnd = a_rwnd;
    }

    /// Sets the largest chunk that fits a packet on any path.
    pub(crate) fn set_fragment_size(&mut self, pmdcs: u64) {
        self.pmdcs = chunk_size(pmdcs);
    }

    /// The largest chunk that fits a packet on any path.
    pub(crate) fn fragment_size(&self) -> usize {
        self.pmdcs.into()
    }

    /// Bytes of the next retransmission on `path` with its AUTH chunk, padded. They may exceed a
    /// packet if the path MTU has fallen.
    pub(crate) fn next_again_size(&self, path: PathId) -> usize {
        let next = self.recovery.next_again(path, 0);
        let chunk = |weight| (self.overhead() + weight as usize).next_multiple_of(4);
        next.map_or(0, |(_, weight)| usize::from(self.auth_len) + chunk(weight))
    }

    /// Bytes of a packet with all outstanding data, an upper bound for every packet with DATA.
    pub(crate) fn outstanding_in_one_packet(&self) -> usize {
        self.size_of(self.outstanding.len(), self.outstanding.bytes())
    }

    /// Bytes of a missing packet, with each chunk padded.
    pub(crate) fn packet_size(&self, packet: Missing) -> usize {
        self.size_of(packet.units.into(), packet.bytes as usize)
    }

    /// Bytes of a packet with `chunks` chunks and `bytes` bytes of data.
    fn size_of(&self, chunks: usize, bytes: usize) -> usize {
        let padding = 3;
        let beside = chunks * (self.overhead() + padding);
        CommonHeader::LENGTH + usize::from(self.auth_len) + beside + bytes
    }

    /// Stops sending; measurements and counters stay.
    pub(crate) fn stop(&mut self) {
        self.discard();
        self.queue.clear();
    }

    /// Discards all outstanding data; measurements and counters stay.
    fn discard(&mut self) {
        self.outstanding = Outstanding::default();
        self.keys.forget_all();
        self.partial = None;
        self.recovery.discard();
    }

    /// Bytes of messages queued or not acknowledged cumulatively.
    pub(crate) fn held_bytes(&self) -> usize {
        self.queue.buffered() + self.outstanding.bytes()
    }

    /// Bytes of user data not acknowledged cumulatively.
    pub(crate) fn outstanding_bytes(&self) -> usize {
        self.outstanding.bytes()
    }

    /// Numbers of messages of which nothing was sent, and of those partly sent or not fully
    /// acknowledged, without abandoned ones.
    pub(crate) fn count_messages(&self) -> (u64, u64) {
        let (unsent, begun) = self.queue.count_messages();
        // A partly sent message is counted once, by its unsent rest.
        (unsent, self.outstanding.ends() + begun)
    }

    /// Number of queued messages plus outstanding chunks.
    #[inline]
    pub(crate) fn entries(&self) -> usize {
        self.queue.messages() + self.outstanding.len()
    }

    /// Memory of queued and outstanding data with its state, in bytes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let partial = self.partial.as_ref().map_or(0, |partial| partial.memory());
        let news = self.abandonments.as_ref().map_or(0, |news| news.memory());
        self.queue.memory()
            + self.outstanding.memory()
            + self.recovery.ledger().memory()
            + self.keys.memory()
            + partial
            + news
    }

    /// Whether everything sent was acknowledged.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.outstanding.is_empty()
    }

    /// Whether no data waits to be sent or retransmitted, and no partly sent message may be
    /// abandoned.
    #[inline]
    pub(crate) fn has_nothing_to_send(&self) -> bool {
        self.queue.peek_len().is_none()
            && self.partial.is_none()
            && !self.recovery.ledger().has_lost()
    }

    /// Whether no message is queued, and all sent data was acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.is_acknowledged()
    }

    /// Waiting times of messages before they were sent.
    pub(crate) fn queueing(&self) -> QueueingDelay {
        self.queueing
    }

    /// The peer's window minus the flight (section 6.2.1).
    pub(crate) fn peer_rwnd(&self) -> u64 {
        u64::from(self.peer_a_rwnd).saturating_sub(self.recovery.ledger().flight_bytes())
    }

    /// Whether the peer last advertised a window of 0.
    pub(crate) fn is_window_closed(&self) -> bool {
        self.peer_a_rwnd == 0
    }

    /// Number of packets that unsent data would fill, if the peer's window allows any.
    pub(crate) fn unsent_packets(&self) -> u32 {
        let sendable = (self.queue.buffered() as u64).min(self.peer_rwnd());
        u32::try_from(sendable.div_ceil(self.pmdcs.max(1).into())).unwrap_or(u32::MAX)
    }

    /// An input arrived: a new burst begins.
    pub(crate) fn begin_burst(&mut self) {
        self.recovery.begin_burst();
        self.flowing = false;
    }

    /// The unit of a TSN near the outstanding data.
    pub(super) fn unit(&self, tsn: Tsn) -> u64 {
        unwrap_u32(self.recovery.ledger().cumulative(), tsn.0)
    }
}

/// Support of stream reconfiguration (RFC 6525).
impl Sender {
    /// The TSN of the newest chunk: the sender's last assigned TSN.
    pub(crate) fn last_assigned_tsn(&self) -> Tsn {
        Tsn((self.recovery.ledger().next_unit() - 1) as u32)
    }

    /// The unit after which everything sent so far on the `wanted` streams is acknowledged.
    pub(crate) fn last_unit_of(&self, wanted: impl Fn(StreamId) -> bool) -> Option<u64> {
        Some(self.recovery.ledger().cumulative() + self.outstanding.last_of(wanted)?)
    }

    /// Makes `tsn` the next TSN, with a new origin of units. Nothing may be outstanding.
    pub(crate) fn restart_at(&mut self, tsn: Tsn) {
        debug_assert!(self.is_acknowledged(), "something is outstanding");
        let next_unit = self.recovery.ledger().next_unit();
        let ahead = tsn.0.wrapping_sub(next_unit as u32);
        self.discard();
        self.recovery.restart_at(next_unit + u64::from(ahead));
    }
}

/// A packet, hence a chunk, is no longer than 16 bits can express.
fn chunk_size(pmdcs: u64) -> u16 {
    u16::try_from(pmdcs).unwrap_or(u16::MAX)
}

/// The unit of the first DATA chunk, whose TSN is `initial_tsn`.
pub(crate) fn first_unit(initial_tsn: Tsn) -> u64 {
    UNIT_ORIGIN + u64::from(initial_tsn.0)
}
