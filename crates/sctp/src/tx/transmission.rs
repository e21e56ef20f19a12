//! The sending side of an association: what is outstanding, what the peer's window allows, and the
//! DATA chunks of the next packet (RFC 9260, sections 6.1 to 6.3).
//!
//! The ledger of `recovery` decides; this room holds the chunks themselves and turns TSNs into units:
//! the unit of a TSN is the 64-bit number whose low half is the TSN.

use std::sync::Arc;

use base::serial::unwrap_u32;
use base::{Duration, Instant};
use recovery::{AckOutcome, AckView, GapRanges, Load, PathIndex, Recovery, RecoveryPolicy};

use super::message::Fragment;
use super::outstanding::{Outstanding, OutstandingChunk};
use super::partial_reliability::{Abandonments, PartialReliability};
use super::send_options::Reliability;
use super::send_queue::SendQueue;
use crate::extensions::Extensions;
use crate::wire::chunk::{Data, DataFlags, IData, Sack};
use crate::wire::signing::Signer;
use crate::wire::{ChunkType, CommonHeader, DoesNotFit, PacketBuilder, StreamId, Tsn};

/// Units start here, so that an old TSN never falls below zero.
const UNIT_ORIGIN: u64 = 1 << 32;

/// How long messages waited before their first byte was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueingDelay {
    /// Messages that began to be sent.
    pub messages: u64,
    /// Their waiting times together.
    pub total: Duration,
    /// The longest.
    pub max: Duration,
}

/// Why a SACK cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SackError {
    /// It acknowledges what was never sent.
    BeyondSent,
    /// Its gap ack blocks are out of order, empty or beyond what was sent.
    BadGaps,
}

/// The sending side of an association.
#[derive(Debug)]
pub(crate) struct Transmission {
    pub(crate) recovery: Recovery,
    /// Chunks not acknowledged cumulatively.
    pub(super) outstanding: Outstanding,
    /// Messages that may be given up after they were sent, once there were any.
    pub(super) partial: Option<Box<PartialReliability>>,
    pub(super) abandonments: Option<Box<Abandonments>>,
    /// Window that the peer last advertised, bytes.
    peer_a_rwnd: u32,
    queueing: QueueingDelay,
    /// Path maximum DATA chunk size, the smallest of all paths.
    pub(super) pmdcs: usize,
    /// Messages travel in I-DATA.
    pub(super) interleaving: bool,
    /// Bytes of the AUTH chunk that user data needs before it (RFC 4895).
    auth_len: usize,
    /// Messages of which something was sent may be given up.
    gives_up: bool,
    /// This burst began with nothing in flight: Nagle's rule holds none of it back.
    flowing: bool,
}

impl Transmission {
    pub(crate) fn new(
        policy: Arc<RecoveryPolicy>,
        pmdcs: u64,
        initial_tsn: Tsn,
        peer_a_rwnd: u32,
    ) -> Self {
        let first_unit = first_unit(initial_tsn);
        Transmission {
            recovery: Recovery::new(policy, pmdcs, first_unit),
            outstanding: Outstanding::default(),
            partial: None,
            abandonments: None,
            peer_a_rwnd,
            queueing: QueueingDelay::default(),
            pmdcs: pmdcs as usize,
            interleaving: false,
            auth_len: 0,
            gives_up: false,
            flowing: false,
        }
    }

    /// Both sides agreed on these extensions, before anything was sent.
    pub(crate) fn set_extensions(&mut self, extensions: Extensions) {
        self.interleaving = extensions.contains(Extensions::INTERLEAVING);
        self.gives_up = extensions.contains(Extensions::PARTIAL_RELIABILITY);
    }

    /// From now on packets are signed so; to be told again after [`Transmission::set_extensions`].
    pub(crate) fn note_signer(&mut self, signer: Option<&Signer>) {
        self.auth_len = signer.map_or(0, |signer| signer.auth_len_before(self.chunk_type()));
    }

    /// The chunks that carry user data.
    fn chunk_type(&self) -> ChunkType {
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
        self.pmdcs = pmdcs as usize;
    }

    /// The largest chunk that fits a packet on any path.
    pub(crate) fn fragment_size(&self) -> usize {
        self.pmdcs
    }

    /// Bytes of the next chunk to be sent again on `path` and of the AUTH chunk before it, padded. They may
    /// be more than fits a packet since the path MTU became smaller.
    pub(crate) fn next_again_size(&self, path: PathIndex) -> usize {
        let next = self.recovery.next_again(path, 0);
        let chunk = |weight| (self.overhead() + weight as usize).next_multiple_of(4);
        next.map_or(0, |(_, weight)| self.auth_len + chunk(weight))
    }

    /// Bytes of the packet, were all that is outstanding in one: no packet with DATA is larger.
    pub(crate) fn outstanding_in_one_packet(&self) -> usize {
        let padding = 3;
        let beside = self.outstanding.len() * (self.overhead() + padding);
        CommonHeader::LENGTH + self.auth_len + beside + self.outstanding.bytes()
    }

    /// Lets go of everything outstanding; what is known and counted stays.
    pub(crate) fn discard(&mut self) {
        self.outstanding = Outstanding::default();
        self.partial = None;
        self.recovery.discard();
    }

    /// Bytes of user data not acknowledged cumulatively.
    pub(crate) fn outstanding_bytes(&self) -> usize {
        self.outstanding.bytes()
    }

    /// Messages whose last chunk was sent and not acknowledged cumulatively, but for those given up.
    pub(crate) fn ends_outstanding(&self) -> u64 {
        self.outstanding.ends()
    }

    /// Whether no more than a few chunks are outstanding.
    pub(crate) fn is_short(&self) -> bool {
        self.outstanding.len() <= 8
    }

    /// Bytes that what is outstanding takes, with what is known of it.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let partial = self.partial.as_ref().map_or(0, |partial| partial.memory());
        let news = self.abandonments.as_ref().map_or(0, |news| news.memory());
        self.outstanding.memory() + self.recovery.ledger().memory() + partial + news
    }

    /// Whether everything sent was acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.outstanding.is_empty()
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

    // ---- acknowledgements ----------------------------------------------------------------------

    /// Takes a SACK in.
    pub(crate) fn on_sack(
        &mut self,
        now: Instant,
        sack: &Sack<'_>,
        queue: &mut SendQueue,
    ) -> Result<AckOutcome, SackError> {
        let cumulative = self.unit(sack.cumulative_tsn_ack) + 1;
        let ledger = self.recovery.ledger();
        if cumulative < ledger.cumulative() {
            return Ok(AckOutcome::default());
        }
        let next_unit = ledger.next_unit();
        if cumulative > next_unit {
            return Err(SackError::BeyondSent);
        }
        let gaps = gap_ranges(sack, cumulative, next_unit)?;
        let duplicates: smallvec::SmallVec<[u64; 8]> =
            sack.duplicate_tsns().map(|tsn| self.unit(tsn)).collect();
        let view = AckView { cumulative, gaps: &gaps, duplicates: &duplicates };
        let unsent = self.unsent_packets(queue.buffered());
        self.peer_a_rwnd = sack.a_rwnd;
        let outcome = self.recovery.on_ack(now, &view, unsent);
        self.on_acknowledged(now, outcome, queue);
        Ok(outcome)
    }

    /// The peer acknowledged cumulatively by other means than a SACK: SHUTDOWN.
    pub(crate) fn on_cumulative_ack(
        &mut self,
        now: Instant,
        tsn: Tsn,
        queue: &mut SendQueue,
    ) -> Result<AckOutcome, SackError> {
        let cumulative = self.unit(tsn) + 1;
        if cumulative > self.recovery.ledger().next_unit() {
            return Err(SackError::BeyondSent);
        }
        // Section 3.3.8: that SHUTDOWN has no gap ack blocks does not take reported ones back.
        let gaps = self.recovery.ledger().gaps().clone();
        let view = AckView { cumulative, gaps: &gaps, duplicates: &[] };
        let outcome = self.recovery.on_ack(now, &view, 0);
        self.on_acknowledged(now, outcome, queue);
        Ok(outcome)
    }

    fn on_acknowledged(&mut self, now: Instant, outcome: AckOutcome, queue: &mut SendQueue) {
        self.release_acknowledged();
        if self.partial.is_some() {
            self.give_up_missing(now, queue);
            self.on_forward_acked(now, outcome.advanced);
            self.update_forward_timer(now);
        }
    }

    /// A retransmission timer expired.
    pub(crate) fn on_timeout(&mut self, now: Instant, queue: &mut SendQueue) {
        if self.partial.is_some() {
            for path in 0..self.recovery.path_count() {
                self.give_up_lost(now, path, queue, usize::MAX);
            }
            self.on_forward_lost();
        }
    }

    /// Packets that the waiting data would fill, if the peer's window lets any of it go.
    pub(crate) fn unsent_packets(&self, queued_bytes: usize) -> u32 {
        let sendable = (queued_bytes as u64).min(self.peer_rwnd());
        u32::try_from(sendable.div_ceil(self.pmdcs.max(1) as u64)).unwrap_or(u32::MAX)
    }

    fn release_acknowledged(&mut self) {
        let ledger = self.recovery.ledger();
        let outstanding = (ledger.next_unit() - ledger.cumulative()) as usize;
        while self.outstanding.len() > outstanding
            && let Some(chunk) = self.outstanding.pop()
        {
            self.release_partial(&chunk);
        }
    }

    /// The unit of a TSN near what is outstanding.
    fn unit(&self, tsn: Tsn) -> u64 {
        unwrap_u32(self.recovery.ledger().cumulative(), tsn.0)
    }

    // ---- sending -------------------------------------------------------------------------------

    /// An input arrived: a new burst may begin.
    pub(crate) fn begin_burst(&mut self) {
        self.recovery.begin_burst();
        self.flowing = false;
    }

    /// Whether [`Transmission::fill`] would put anything into an empty packet. `takes_new`: new data goes
    /// on this path.
    pub(crate) fn may_fill(
        &mut self,
        now: Instant,
        path: PathIndex,
        takes_new: bool,
        queue: &mut SendQueue,
        no_delay: bool,
    ) -> bool {
        self.give_up_before(now, path, takes_new, queue);
        if self.recovery.next_again(path, 0).is_some() {
            return self.recovery.may_send(now, path, Load::Again);
        }
        if !takes_new {
            return false;
        }
        let full_packet = self.pmdcs.saturating_sub(self.overhead() + self.auth_len);
        let Some(waiting) = queue.peek_len() else { return false };
        self.window_allows(waiting.min(full_packet))
            && (no_delay || !self.should_wait_for_more(queue, full_packet))
            && self.recovery.may_send(now, path, Load::New)
    }

    /// Fills the packet for `path` with DATA: retransmissions first, then new data, as far as the
    /// packet, the congestion window and the peer's window allow. True if there was any. `takes_new`: new
    /// data goes on this path.
    pub(crate) fn fill(
        &mut self,
        now: Instant,
        path: PathIndex,
        takes_new: bool,
        packet: &mut PacketBuilder<'_>,
        queue: &mut SendQueue,
        no_delay: bool,
    ) -> bool {
        let again = self.fill_again(now, path, packet);
        // Section 6.1, rule C: what is marked for retransmission goes before new data.
        let new = takes_new
            && self.recovery.next_again(path, 0).is_none()
            && self.fill_new(now, path, packet, queue, no_delay, again);
        if again || new {
            self.recovery.on_sent(now, path);
        }
        again || new
    }

    fn fill_again(
        &mut self,
        now: Instant,
        path: PathIndex,
        packet: &mut PacketBuilder<'_>,
    ) -> bool {
        let (mut any, mut from) = (false, 0);
        while let Some((unit, weight)) = self.recovery.next_again(path, from) {
            if !any && !self.recovery.may_send(now, path, Load::Again) {
                break;
            }
            if self.append_chunk(packet, unit).is_err() {
                break;
            }
            self.recovery.draft_again(now, path, unit, weight);
            (any, from) = (true, unit + 1);
        }
        if any {
            self.append_bundle_behind(path, packet, from);
        }
        any
    }

    fn fill_new(
        &mut self,
        now: Instant,
        path: PathIndex,
        packet: &mut PacketBuilder<'_>,
        queue: &mut SendQueue,
        no_delay: bool,
        follows_data: bool,
    ) -> bool {
        let mut any = false;
        let idle = self.recovery.ledger().flight_bytes() == 0;
        while let Some(waiting) = queue.peek_len() {
            let Some(room) =
                self.remaining(packet).checked_sub(self.overhead()).filter(|room| *room > 0)
            else {
                break;
            };
            // A message is cut only at the start of a packet, where it would not fit any other.
            if (any || follows_data) && waiting > room {
                break;
            }
            let length = waiting.min(room);
            if !self.window_allows(length)
                || (!any && !self.recovery.may_send(now, path, Load::New))
                || (!any && !no_delay && self.should_wait_for_more(queue, room))
            {
                break;
            }
            if !any && !follows_data {
                self.append_bundle(path, packet, length);
            }
            let Some(fragment) = queue.next_fragment(room) else { break };
            let last = queue.is_empty();
            self.append_new(now, path, packet, fragment, last);
            any = true;
        }
        if any {
            queue.on_packet_end();
        }
        self.flowing |= any && idle;
        any
    }

    /// Appends copies of chunks in flight on `path`, as the policy says, before a new chunk of `length` bytes:
    /// the order of their TSNs (section 6.10), and no change of the wire. The receiver drops what it has.
    fn append_bundle(&mut self, path: PathIndex, packet: &mut PacketBuilder<'_>, length: usize) {
        if self.recovery.policy().redundancy.bundling.is_none() {
            return;
        }
        let cost = self.cost_of_copies();
        let room = (self.remaining(packet) as u32).saturating_sub(cost(length as u32));
        let next = self.recovery.ledger().next_unit();
        let bundle = self.recovery.bundle_before(path, next, length as u32, room, cost);
        for (unit, _) in bundle.iter().rev() {
            self.append_along(path, packet, *unit);
        }
    }

    /// Appends copies of chunks in flight on `path`, as the policy says, behind chunks that are sent again, the
    /// last of which is the one before unit `from`.
    fn append_bundle_behind(&mut self, path: PathIndex, packet: &mut PacketBuilder<'_>, from: u64) {
        let (bytes, room) = (self.recovery.drafted_bytes() as u32, self.remaining(packet) as u32);
        let cost = self.cost_of_copies();
        for (unit, _) in self.recovery.bundle_behind(path, from, bytes, room, cost) {
            self.append_along(path, packet, unit);
        }
    }

    fn append_along(&mut self, path: PathIndex, packet: &mut PacketBuilder<'_>, unit: u64) {
        if self.append_chunk(packet, unit).is_ok() {
            self.recovery.draft_along(path, unit);
        }
    }

    /// Bytes that the packet has left for chunks of user data.
    fn remaining(&self, packet: &PacketBuilder<'_>) -> usize {
        packet.remaining_for(self.chunk_type())
    }

    /// Bytes of a packet that a copy takes whose payload has so many.
    fn cost_of_copies(&self) -> impl Fn(u32) -> u32 + use<> {
        let overhead = self.overhead() as u32;
        move |weight| (weight + overhead).next_multiple_of(4)
    }

    /// Section 6.1, rule A: the peer's window has room for all that is in flight, in the packet being
    /// put together, and this; or there is nothing else, and this one chunk probes the window.
    fn window_allows(&self, length: usize) -> bool {
        let drafted = self.recovery.drafted_bytes();
        drafted + length as u64 <= self.peer_rwnd()
            || (drafted == 0 && self.recovery.ledger().flight_bytes() == 0)
    }

    /// Nagle's rule (RFC 9260, section 6.1): with data in flight, less than a full packet waits for more
    /// to bundle. Not what goes with the first after a pause, nor the rest of a message that was begun.
    fn should_wait_for_more(&self, queue: &SendQueue, room: usize) -> bool {
        !self.flowing
            && queue.buffered() < room
            && self.recovery.ledger().flight_bytes() > 0
            && !queue.finishes_next()
    }

    fn append_new(
        &mut self,
        now: Instant,
        path: PathIndex,
        packet: &mut PacketBuilder<'_>,
        fragment: Fragment,
        last: bool,
    ) {
        if fragment.beginning {
            let waited = now.since(fragment.queued_at);
            self.queueing.messages += 1;
            self.queueing.total += waited;
            self.queueing.max = self.queueing.max.max(waited);
        }
        let weight = fragment.payload.len();
        let unit = self.recovery.draft_new(path, 1, weight as u32);
        let asks_for_sack = self.recovery.asks_for_ack(path, last);
        let flags = data_flags(&fragment, asks_for_sack);
        let partial =
            self.gives_up && (fragment.reliability != Reliability::Full || fragment.in_parts);
        if partial {
            self.register_partial(unit, &fragment);
        }
        self.outstanding.push(OutstandingChunk::new(fragment, flags, partial));
        let fits = self.append_chunk(packet, unit);
        debug_assert!(fits.is_ok(), "the fragment was cut to fit");
    }

    /// Appends a copy of a unit in flight on another path to the packet for `path`, if the packet and the
    /// congestion window there have room. False if not.
    pub(crate) fn append_copy(
        &mut self,
        path: PathIndex,
        unit: u64,
        packet: &mut PacketBuilder<'_>,
    ) -> bool {
        let index = unit.checked_sub(self.recovery.ledger().cumulative());
        let Some(chunk) = index.and_then(|index| self.outstanding.get(index)) else { return false };
        let weight = chunk.payload_len();
        let fits = (weight + self.overhead()).next_multiple_of(4) <= self.remaining(packet);
        if !fits || !self.recovery.may_copy(path, weight as u64) {
            return false;
        }
        self.recovery.send_copy(path, unit) && self.append_chunk(packet, unit).is_ok()
    }

    /// Appends the chunk of a unit that is outstanding.
    fn append_chunk(&self, packet: &mut PacketBuilder<'_>, unit: u64) -> Result<(), DoesNotFit> {
        let index = unit.checked_sub(self.recovery.ledger().cumulative()).ok_or(DoesNotFit)?;
        let chunk = self.outstanding.get(index).ok_or(DoesNotFit)?;
        let tsn = Tsn(unit as u32);
        if self.interleaving {
            packet.append(chunk.i_data(tsn))
        } else {
            packet.append(chunk.data(tsn))
        }
    }
}

/// For the reset of streams (RFC 6525).
impl Transmission {
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
        debug_assert!(self.is_settled(), "something is outstanding");
        let next_unit = self.recovery.ledger().next_unit();
        let ahead = tsn.0.wrapping_sub(next_unit as u32);
        self.discard();
        self.recovery.restart_at(next_unit + u64::from(ahead));
    }
}

/// The unit of the first DATA chunk, whose TSN is `initial_tsn`.
pub(crate) fn first_unit(initial_tsn: Tsn) -> u64 {
    UNIT_ORIGIN + u64::from(initial_tsn.0)
}

/// The flags of a fragment's DATA chunk. `asks_for_sack`: the policy wants every packet answered.
fn data_flags(fragment: &Fragment, asks_for_sack: bool) -> DataFlags {
    let flag = |set: bool, flag| if set { flag } else { DataFlags::default() };
    flag(fragment.beginning, DataFlags::BEGINNING)
        .with(flag(fragment.ending, DataFlags::ENDING))
        .with(flag(fragment.message.unordered, DataFlags::UNORDERED))
        .with(flag(fragment.immediate || asks_for_sack, DataFlags::IMMEDIATE))
}

/// The units that a SACK's gap ack blocks report, verified against what was sent.
fn gap_ranges(sack: &Sack<'_>, cumulative: u64, next_unit: u64) -> Result<GapRanges, SackError> {
    let mut ranges = GapRanges::new();
    for block in sack.gap_ack_blocks() {
        // Offset 0 is the cumulative TSN ack itself: known already, and no reason to drop the rest.
        let (first, last) = (block.start.max(1), block.end);
        if block.start == 0 && last == 0 {
            continue;
        }
        let range = cumulative - 1 + u64::from(first)..cumulative + u64::from(last);
        let lowest = ranges.last().map_or(cumulative, |before| before.end);
        if range.is_empty() || range.start < lowest || range.end > next_unit {
            return Err(SackError::BadGaps);
        }
        match ranges.last_mut() {
            // Blocks that touch are one, whoever cut them.
            Some(before) if before.end == range.start => before.end = range.end,
            _ => ranges.push(range),
        }
    }
    Ok(ranges)
}
