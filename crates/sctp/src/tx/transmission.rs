//! The sending side of an association: what is outstanding, what the peer's window allows, and the
//! DATA chunks of the next packet (RFC 9260, sections 6.1 to 6.3).
//!
//! The ledger of `recovery` decides; this room holds the chunks themselves and turns TSNs into units:
//! the unit of a TSN is the 64-bit number whose low half is the TSN.

use std::collections::VecDeque;
use std::sync::Arc;

use base::serial::unwrap_u32;
use base::{Duration, Instant};
use bytes::Bytes;
use recovery::{AckOutcome, AckView, GapRanges, Load, PathIndex, Recovery, RecoveryPolicy};

use super::send_queue::{Fragment, SendQueue};
use crate::wire::chunk::{Data, DataFlags, Sack};
use crate::wire::{PacketBuilder, Ppid, Ssn, StreamId, Tsn};

/// Units start here, so that an old TSN never falls below zero.
const UNIT_ORIGIN: u64 = 1 << 32;

/// Chunks for which an association keeps its memory while nothing is outstanding.
const IDLE_CAPACITY: usize = 2;

/// A DATA chunk that may have to be sent again.
#[derive(Clone, Debug)]
struct OutstandingChunk {
    payload: Bytes,
    ppid: Ppid,
    stream: StreamId,
    ssn: Ssn,
    flags: DataFlags,
}

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
    /// Chunks not acknowledged cumulatively, in TSN order.
    outstanding: VecDeque<OutstandingChunk>,
    outstanding_bytes: usize,
    /// Window that the peer last advertised, bytes.
    peer_a_rwnd: u32,
    queueing: QueueingDelay,
    /// Everything was acknowledged since the queue was last empty: nothing in it has to wait.
    released: bool,
    /// Path maximum DATA chunk size, the smallest of all paths.
    pmdcs: usize,
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
            outstanding: VecDeque::new(),
            outstanding_bytes: 0,
            peer_a_rwnd,
            queueing: QueueingDelay::default(),
            released: true,
            pmdcs: pmdcs as usize,
        }
    }

    /// The peer told its window in INIT or INIT ACK.
    pub(crate) fn set_peer_a_rwnd(&mut self, a_rwnd: u32) {
        self.peer_a_rwnd = a_rwnd;
    }

    /// The largest chunk that fits a packet on any path changed.
    pub(crate) fn set_fragment_size(&mut self, pmdcs: u64) {
        self.pmdcs = pmdcs as usize;
    }

    /// Bytes of the next chunk to be sent again on `path`, which may be more than fits a packet since the
    /// path MTU became smaller.
    pub(crate) fn next_again_size(&self, path: PathIndex) -> usize {
        self.recovery.next_again(path, 0).map_or(0, |(_, weight)| Data::OVERHEAD + weight as usize)
    }

    /// Lets go of everything outstanding; what is known and counted stays.
    pub(crate) fn discard(&mut self) {
        self.outstanding = VecDeque::new();
        self.outstanding_bytes = 0;
        self.recovery.discard();
    }

    /// Bytes of user data not acknowledged cumulatively.
    pub(crate) fn outstanding_bytes(&self) -> usize {
        self.outstanding_bytes
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
        queued_bytes: usize,
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
        let unsent = self.unsent_packets(queued_bytes);
        self.peer_a_rwnd = sack.a_rwnd;
        let outcome = self.recovery.on_ack(now, &view, unsent);
        self.release_acknowledged();
        Ok(outcome)
    }

    /// The peer acknowledged cumulatively by other means than a SACK: SHUTDOWN.
    pub(crate) fn on_cumulative_ack(
        &mut self,
        now: Instant,
        tsn: Tsn,
    ) -> Result<AckOutcome, SackError> {
        let cumulative = self.unit(tsn) + 1;
        if cumulative > self.recovery.ledger().next_unit() {
            return Err(SackError::BeyondSent);
        }
        // Section 3.3.8: that SHUTDOWN has no gap ack blocks does not take reported ones back.
        let gaps = self.recovery.ledger().gaps().clone();
        let view = AckView { cumulative, gaps: &gaps, duplicates: &[] };
        let outcome = self.recovery.on_ack(now, &view, 0);
        self.release_acknowledged();
        Ok(outcome)
    }

    /// Packets that the waiting data would fill, if the peer's window lets any of it go.
    fn unsent_packets(&self, queued_bytes: usize) -> u32 {
        let sendable = (queued_bytes as u64).min(self.peer_rwnd());
        u32::try_from(sendable.div_ceil(self.pmdcs.max(1) as u64)).unwrap_or(u32::MAX)
    }

    fn release_acknowledged(&mut self) {
        let ledger = self.recovery.ledger();
        let outstanding = (ledger.next_unit() - ledger.cumulative()) as usize;
        while self.outstanding.len() > outstanding {
            if let Some(chunk) = self.outstanding.pop_front() {
                self.outstanding_bytes -= chunk.payload.len();
            }
        }
        self.released |= ledger.flight_bytes() == 0;
        if self.outstanding.is_empty() {
            self.outstanding.shrink_to(IDLE_CAPACITY);
        }
    }

    /// The unit of a TSN near what is outstanding.
    fn unit(&self, tsn: Tsn) -> u64 {
        unwrap_u32(self.recovery.ledger().cumulative(), tsn.0)
    }

    // ---- sending -------------------------------------------------------------------------------

    /// Whether [`Transmission::fill`] would put anything into an empty packet. `takes_new`: new data goes
    /// on this path.
    pub(crate) fn may_fill(
        &mut self,
        now: Instant,
        path: PathIndex,
        takes_new: bool,
        queue: &SendQueue,
        no_delay: bool,
    ) -> bool {
        if self.recovery.next_again(path, 0).is_some() {
            return self.recovery.may_send(now, path, Load::Again);
        }
        if !takes_new {
            return false;
        }
        let full_packet = self.pmdcs.saturating_sub(Data::OVERHEAD);
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
            let Some(chunk) = self.chunk(unit) else { break };
            if packet.append(chunk).is_err() {
                break;
            }
            self.recovery.draft_again(now, path, unit, weight);
            (any, from) = (true, unit + 1);
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
        while let Some(waiting) = queue.peek_len() {
            let Some(room) =
                packet.remaining().checked_sub(Data::OVERHEAD).filter(|room| *room > 0)
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
            let Some(fragment) = queue.next_fragment(room) else { break };
            let last = queue.is_empty();
            self.released &= !last;
            self.append_new(now, path, packet, fragment, last);
            any = true;
        }
        any
    }

    /// Section 6.1, rule A: the peer's window has room for all that is in flight, in the packet being
    /// put together, and this; or there is nothing else, and this one chunk probes the window.
    fn window_allows(&self, length: usize) -> bool {
        let drafted = self.recovery.drafted_bytes();
        drafted + length as u64 <= self.peer_rwnd()
            || (drafted == 0 && self.recovery.ledger().flight_bytes() == 0)
    }

    /// Nagle's rule (RFC 896): less than a full packet that comes while data is in flight waits for more
    /// to bundle. What waits when everything is acknowledged goes, down to the last small packet.
    fn should_wait_for_more(&self, queue: &SendQueue, room: usize) -> bool {
        !self.released && self.recovery.ledger().flight_bytes() > 0 && queue.buffered() < room
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
        self.outstanding_bytes += weight;
        let flags = data_flags(&fragment, asks_for_sack);
        self.outstanding.push_back(OutstandingChunk {
            payload: fragment.payload,
            ppid: fragment.ppid,
            stream: fragment.stream,
            ssn: fragment.ssn,
            flags,
        });
        if let Some(chunk) = self.chunk(unit) {
            let fits = packet.append(chunk);
            debug_assert!(fits.is_ok(), "the fragment was cut to fit");
        }
    }

    /// The DATA chunk of a unit that is outstanding.
    fn chunk(&self, unit: u64) -> Option<Data<&Bytes>> {
        let index = unit.checked_sub(self.recovery.ledger().cumulative())?;
        let chunk = self.outstanding.get(usize::try_from(index).ok()?)?;
        Some(Data {
            tsn: Tsn(unit as u32),
            stream: chunk.stream,
            ssn: chunk.ssn,
            ppid: chunk.ppid,
            flags: chunk.flags,
            payload: &chunk.payload,
        })
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
        .with(flag(fragment.unordered, DataFlags::UNORDERED))
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
