//! The sending side of an association: messages that wait, what is outstanding, what the peer's window allows
//! (RFC 9260, sections 6.1 to 6.3).
//!
//! The ledger of `recovery` decides; this room holds the chunks themselves and turns TSNs into units:
//! the unit of a TSN is the 64-bit number whose low half is the TSN. [`packetizer`](super::packetizer) fills packets,
//! [`acknowledged`](super::acknowledged) takes in what arrived of them.

use std::sync::Arc;

use base::Duration;
use base::serial::unwrap_u32;
use recovery::{Missing, Recovery, RecoveryPolicy, Silence};

use super::data_keys::DataKeys;
use super::outstanding::Outstanding;
use super::partial_reliability::{Abandonments, PartialReliability};
use super::send_queue::SendQueue;
use crate::extensions::Extensions;
use crate::path_id::PathId;
use crate::wire::chunk::{Data, IData};
use crate::wire::signing::Signer;
use crate::wire::{ChunkType, CommonHeader, KeyId, StreamId, Tsn};

/// Units start here, so that an old TSN never falls below zero.
const UNIT_ORIGIN: u64 = 1 << 32;

/// How long messages waited before their first byte was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueingDelay {
    /// Messages that began to be sent.
    pub messages: u64,
    /// Sum of the waiting times.
    pub total: Duration,
    /// The longest.
    pub max: Duration,
}

/// The sending side of an association.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Messages that wait.
    pub(super) queue: SendQueue,
    pub(super) recovery: Recovery,
    /// Chunks not acknowledged cumulatively.
    pub(super) outstanding: Outstanding,
    /// Messages that may be given up after they were sent, once there were any.
    pub(super) partial: Option<Box<PartialReliability>>,
    pub(super) abandonments: Option<Box<Abandonments>>,
    /// Window that the peer last advertised, bytes.
    pub(super) peer_a_rwnd: u32,
    pub(super) queueing: QueueingDelay,
    /// Path maximum DATA chunk size, the smallest of all paths.
    pub(super) pmdcs: u16,
    /// Messages travel in I-DATA.
    pub(super) interleaving: bool,
    /// Bytes of the AUTH chunk that user data needs before it (RFC 4895).
    pub(super) auth_len: u16,
    /// The keys of that AUTH chunk.
    pub(super) keys: DataKeys,
    /// Messages of which something was sent may be given up.
    pub(super) gives_up: bool,
    /// This burst began with nothing in flight: Nagle's rule holds none of it back.
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

    /// Messages that wait to be sent, to be queued or dropped.
    #[inline]
    pub(crate) fn queue_mut(&mut self) -> &mut SendQueue {
        &mut self.queue
    }

    /// The ledger and what is known of the paths.
    #[inline]
    pub(crate) fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The ledger and what is known of the paths, to be told of what happened.
    #[inline]
    pub(crate) fn recovery_mut(&mut self) -> &mut Recovery {
        &mut self.recovery
    }

    /// Both sides agreed on these extensions, before anything was sent.
    pub(crate) fn set_extensions(&mut self, extensions: Extensions) {
        self.interleaving = extensions.contains(Extensions::INTERLEAVING);
        self.gives_up = extensions.contains(Extensions::PARTIAL_RELIABILITY);
        self.queue.set_interleaving(self.interleaving);
    }

    /// From now on packets are signed so; to be told again after [`Sender::set_extensions`].
    pub(crate) fn note_signer(&mut self, signer: Option<&Signer>) {
        let auth_len = signer.map_or(0, |signer| signer.auth_len_before(self.chunk_type()));
        self.auth_len = u16::try_from(auth_len).unwrap_or(u16::MAX);
        self.keys.set_active(signer.filter(|_| auth_len > 0).map(|signer| signer.key));
    }

    /// Whether user data that waits or is outstanding names this key.
    pub(crate) fn names_key(&self, key: KeyId) -> bool {
        self.queue.names_key(key) || self.keys.names(key)
    }

    /// The chunks that carry user data.
    pub(super) fn chunk_type(&self) -> ChunkType {
        if self.interleaving { ChunkType::I_DATA } else { ChunkType::DATA }
    }

    /// Bytes that a chunk takes beside its payload and padding.
    pub(super) fn overhead(&self) -> usize {
        if self.interleaving { IData::OVERHEAD } else { Data::OVERHEAD }
    }

    /// The peer told its window in INIT or INIT ACK.
    pub(crate) fn set_peer_a_rwnd(&mut self, a_rwnd: u32) {
        self.peer_a_rwnd = a_rwnd;
    }

    /// The largest chunk that fits a packet on any path changed.
    pub(crate) fn set_fragment_size(&mut self, pmdcs: u64) {
        self.pmdcs = chunk_size(pmdcs);
    }

    /// The largest chunk that fits a packet on any path.
    pub(crate) fn fragment_size(&self) -> usize {
        self.pmdcs.into()
    }

    /// Bytes of the next chunk to be sent again on `path` and of the AUTH chunk before it, padded. They may
    /// be more than fits a packet since the path MTU became smaller.
    pub(crate) fn next_again_size(&self, path: PathId) -> usize {
        let next = self.recovery.next_again(path.number(), 0);
        let chunk = |weight| (self.overhead() + weight as usize).next_multiple_of(4);
        next.map_or(0, |(_, weight)| usize::from(self.auth_len) + chunk(weight))
    }

    /// Bytes of the packet, were all that is outstanding in one: no packet with DATA is larger.
    pub(crate) fn outstanding_in_one_packet(&self) -> usize {
        self.size_of(self.outstanding.len(), self.outstanding.bytes())
    }

    /// Bytes of a packet that is missing, each chunk padded.
    pub(crate) fn packet_size(&self, packet: Missing) -> usize {
        self.size_of(packet.units.into(), packet.bytes as usize)
    }

    /// Bytes of a packet with as many chunks, which have this many bytes of data.
    fn size_of(&self, chunks: usize, bytes: usize) -> usize {
        let padding = 3;
        let beside = chunks * (self.overhead() + padding);
        CommonHeader::LENGTH + usize::from(self.auth_len) + beside + bytes
    }

    /// Nothing is sent any more; what is known and counted stays.
    pub(crate) fn stop(&mut self) {
        self.discard();
        self.queue.clear();
    }

    /// Lets go of everything outstanding; what is known and counted stays.
    fn discard(&mut self) {
        self.outstanding = Outstanding::default();
        self.keys.forget_all();
        self.partial = None;
        self.recovery.discard();
    }

    /// Bytes of messages that wait or are not acknowledged cumulatively.
    pub(crate) fn held_bytes(&self) -> usize {
        self.queue.buffered() + self.outstanding.bytes()
    }

    /// Bytes of user data not acknowledged cumulatively.
    pub(crate) fn outstanding_bytes(&self) -> usize {
        self.outstanding.bytes()
    }

    /// Messages of which nothing was sent, and those of which something was and not all is acknowledged, but for those
    /// given up.
    pub(crate) fn count_messages(&self) -> (u64, u64) {
        let (unsent, begun) = self.queue.count_messages();
        // A message that was begun and whose end waits is counted once: as what is left of it.
        (unsent, self.outstanding.ends() + begun)
    }

    /// Messages that wait, and chunks that are not acknowledged cumulatively.
    #[inline]
    pub(crate) fn entries(&self) -> usize {
        self.queue.messages() + self.outstanding.len()
    }

    /// Bytes that what waits and is outstanding takes, with what is known of it.
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

    /// Whether nothing waits, and everything sent was acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.is_acknowledged()
    }

    /// How long messages waited before they were sent.
    pub(crate) fn queueing(&self) -> QueueingDelay {
        self.queueing
    }

    /// The peer's window, less what is on its way (section 6.2.1).
    pub(crate) fn peer_rwnd(&self) -> u64 {
        u64::from(self.peer_a_rwnd).saturating_sub(self.recovery.ledger().flight_bytes())
    }

    /// Whether the peer last said that it has no room at all.
    pub(crate) fn is_window_closed(&self) -> bool {
        self.peer_a_rwnd == 0
    }

    /// Packets that the waiting data would fill, if the peer's window lets any of it go.
    pub(crate) fn unsent_packets(&self) -> u32 {
        let sendable = (self.queue.buffered() as u64).min(self.peer_rwnd());
        u32::try_from(sendable.div_ceil(self.pmdcs.max(1).into())).unwrap_or(u32::MAX)
    }

    /// An input arrived: a new burst may begin.
    pub(crate) fn begin_burst(&mut self) {
        self.recovery.begin_burst();
        self.flowing = false;
    }

    /// The unit of a TSN near what is outstanding.
    pub(super) fn unit(&self, tsn: Tsn) -> u64 {
        unwrap_u32(self.recovery.ledger().cumulative(), tsn.0)
    }
}

/// For the reset of streams (RFC 6525).
impl Sender {
    /// The TSN given to the newest chunk: the sender's last assigned TSN.
    pub(crate) fn last_assigned_tsn(&self) -> Tsn {
        Tsn((self.recovery.ledger().next_unit() - 1) as u32)
    }

    /// The unit after which everything sent so far on the streams that are `wanted` is acknowledged.
    pub(crate) fn last_unit_of(&self, wanted: impl Fn(StreamId) -> bool) -> Option<u64> {
        Some(self.recovery.ledger().cumulative() + self.outstanding.last_of(wanted)?)
    }

    /// The next chunk gets TSN `tsn`, and a new count of units begins; only while nothing is
    /// outstanding.
    pub(crate) fn restart_at(&mut self, tsn: Tsn) {
        debug_assert!(self.is_acknowledged(), "something is outstanding");
        let next_unit = self.recovery.ledger().next_unit();
        let ahead = tsn.0.wrapping_sub(next_unit as u32);
        self.discard();
        self.recovery.restart_at(next_unit + u64::from(ahead));
    }
}

/// No packet, and so no chunk, is longer than 16 bits tell.
fn chunk_size(pmdcs: u64) -> u16 {
    u16::try_from(pmdcs).unwrap_or(u16::MAX)
}

/// The unit of the first DATA chunk, whose TSN is `initial_tsn`.
pub(crate) fn first_unit(initial_tsn: Tsn) -> u64 {
    UNIT_ORIGIN + u64::from(initial_tsn.0)
}
