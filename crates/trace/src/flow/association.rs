//! An SCTP association in a capture: turns chunks into calls of [`crate::sender::Sender`].

use core::net::SocketAddr;
use std::collections::BTreeMap;

use base::{Duration, Instant};
use bytes::BytesMut;
use sctp::wire::chunk::{Data, DataFlags, IData, Sack};
use sctp::wire::{Chunk, ChunkType, CommonHeader, Packet as SctpPacket, StreamId, Tsn};
use smallvec::SmallVec;

use super::{Direction, Observed};
use crate::packet::Packet;
use crate::receiver::Unit;
use crate::sender::{Acknowledgement, Kind, Parts, Piece, Sending};
use crate::serial::Unwrap;

/// Streams of a direction that are counted one by one.
const MOST_STREAMS: usize = 1024;
/// Most paths that are distinguished.
const MOST_PATHS: usize = 16;

/// State of a direction that only SCTP has.
#[derive(Clone, Debug, Default)]
pub(crate) struct SctpDirection {
    pub(crate) numbers: Unwrap,
    /// The last cumulative TSN ack that this side sent.
    acknowledged: Option<Tsn>,
    /// Time of its INIT or INIT ACK, if that was sent once.
    init_at: Option<Instant>,
    /// Time from its INIT to the INIT ACK, or from its INIT ACK to the COOKIE ECHO.
    pub(crate) handshake: Option<Duration>,
    pub(crate) counts: ChunkCounts,
    pub(crate) streams: BTreeMap<u16, StreamCounts>,
    /// Pairs of addresses between which its packets went.
    pub(crate) paths: SmallVec<[(SocketAddr, SocketAddr); 1]>,
}

/// Chunks of one side, counted by their types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ChunkCounts {
    /// Chunks of any type, bundled ones each counted.
    pub chunks: u64,
    /// DATA chunks, retransmitted ones included (RFC 9260, section 3.3.1).
    pub data: u64,
    /// I-DATA chunks, retransmitted ones included (RFC 8260, section 2.1).
    pub i_data: u64,
    /// DATA and I-DATA of unordered messages.
    pub unordered: u64,
    /// DATA and I-DATA with a part of a message only.
    pub fragments: u64,
    /// DATA and I-DATA that ask for an acknowledgement at once.
    pub immediate: u64,
    /// Packets with several DATA or I-DATA chunks.
    pub multi_chunk_packets: u64,
    /// SACK chunks (RFC 9260, section 3.3.4).
    pub sacks: u64,
    /// Packets with SACK and without DATA or I-DATA.
    pub pure_sacks: u64,
    /// SACK chunks with gap ack blocks.
    pub sacks_with_gaps: u64,
    /// The most gap ack blocks in one SACK.
    pub most_gap_blocks: u64,
    /// Duplicate TSNs that SACKs reported.
    pub duplicate_tsns: u64,
    /// HEARTBEAT chunks, without their answers (RFC 9260, section 3.3.5).
    pub heartbeats: u64,
    /// INIT and INIT ACK chunks.
    pub inits: u64,
    /// FORWARD-TSN (RFC 3758) and I-FORWARD-TSN chunks (RFC 8260).
    pub forward_tsns: u64,
    /// SHUTDOWN chunks, without SHUTDOWN ACK (RFC 9260, section 3.3.8).
    pub shutdowns: u64,
    /// ABORT chunks (RFC 9260, section 3.3.7).
    pub aborts: u64,
    /// Packets of which chunks could not be read, since they are malformed or were not captured
    /// wholly.
    pub incomplete_packets: u64,
}

/// Messages and chunks that one side sent on one SCTP stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct StreamCounts {
    /// Messages that were sent wholly.
    pub messages: u64,
    /// DATA and I-DATA chunks that were sent for the first time.
    pub chunks: u64,
    /// Bytes of user data in chunks that were sent for the first time.
    pub bytes: u64,
    /// DATA and I-DATA chunks that were retransmitted, copies not counted.
    pub retransmitted: u64,
    /// Chunks that rode along redundantly.
    pub redundant: u64,
}

/// An SCTP packet, perhaps cut.
#[derive(Debug)]
pub(crate) struct Captured {
    packet: SctpPacket,
    /// Captured bytes: the rest of the packet is unknown.
    bytes: usize,
}

/// A chunk with user data.
#[derive(Clone, Copy, Debug)]
struct UserData {
    tsn: Tsn,
    stream: StreamId,
    flags: DataFlags,
    bytes: u32,
}

/// Reads a packet. None if it is not one.
pub(crate) fn parse(packet: &Packet<'_>, scratch: &mut BytesMut) -> Option<Captured> {
    scratch.clear();
    scratch.extend_from_slice(packet.bytes);
    // A chunk whose data were not captured wholly has its length nevertheless; zeros are no chunk.
    let missing = (packet.length as usize).saturating_sub(packet.bytes.len());
    scratch.resize(scratch.len() + missing.min(usize::from(u16::MAX)), 0);
    let read = SctpPacket::parse_captured(scratch.split().freeze()).ok()?;
    Some(Captured { packet: read, bytes: packet.bytes.len() })
}

impl Captured {
    pub(crate) fn header(&self) -> CommonHeader {
        self.packet.header()
    }

    /// Walks the chunks of which the fixed fields were captured; ends at one that cannot be read,
    /// and returns whether there was none.
    fn chunks(&self, mut visit: impl FnMut(Chunk<'_>)) -> bool {
        const FIXED: usize = 20;
        let mut end = CommonHeader::LENGTH;
        for (raw, chunk) in self.packet.raw_chunks().zip(self.packet.chunks()) {
            let (Ok(raw), Ok(chunk)) = (raw, chunk) else { return false };
            if end + raw.bytes.len().min(FIXED) > self.bytes {
                return false;
            }
            end += raw.bytes.len().next_multiple_of(4);
            visit(chunk);
        }
        true
    }

    /// The tag that an INIT or INIT ACK asks for, and whether it is INIT.
    pub(crate) fn initiate_tag(&self) -> Option<(u32, bool)> {
        match self.packet.chunks().next()?.ok()? {
            Chunk::Init(init) => Some((init.initiate_tag.0, true)),
            Chunk::InitAck(init) => Some((init.0.initiate_tag.0, false)),
            _ => None,
        }
    }

    /// Whether it ends the association: it begins with ABORT or SHUTDOWN COMPLETE.
    pub(crate) fn is_last(&self) -> bool {
        let first = self.packet.raw_chunks().next().and_then(Result::ok);
        first.is_some_and(|chunk| {
            matches!(chunk.chunk_type, ChunkType::ABORT | ChunkType::SHUTDOWN_COMPLETE)
        })
    }

    /// The pieces of user data in it, as numbers of `numbers` near `next`.
    pub(crate) fn pieces(&self, numbers: &Unwrap, next: u64) -> SmallVec<[Piece; 4]> {
        let mut pieces: SmallVec<[Piece; 4]> = SmallVec::new();
        self.chunks(|chunk| {
            let data = match chunk {
                Chunk::Data(data) => UserData::of_data(&data),
                Chunk::IData(data) => UserData::of_i_data(&data),
                _ => return,
            };
            let start = numbers.unwrap_near(next, data.tsn.0);
            pieces.push(Piece { start, end: start + 1, bytes: data.bytes });
        });
        pieces.sort_unstable_by_key(|piece| piece.start);
        pieces.dedup_by_key(|piece| piece.start);
        pieces
    }
}

/// Notes a packet from `from` to `to`. `units` becomes its user data as the receiver sees them.
pub(crate) fn on_packet(
    packet: &Packet<'_>,
    captured: &Captured,
    at: Instant,
    ends: (SocketAddr, SocketAddr),
    (from, to): (&mut Direction, &mut Direction),
    parts: &mut Parts,
    units: &mut Vec<Unit>,
) -> Observed {
    units.clear();
    let mut data: SmallVec<[UserData; 4]> = SmallVec::new();
    let sctp = from.sctp.get_or_insert_default();
    sctp.note_path(ends);
    let mut observed = Observed::default();
    let mut sacks = 0;
    let is_complete = captured.chunks(|chunk| {
        let sctp = from.sctp.get_or_insert_default();
        sctp.count(&chunk);
        match chunk {
            Chunk::Data(chunk) => data.push(UserData::of_data(&chunk)),
            Chunk::IData(chunk) => data.push(UserData::of_i_data(&chunk)),
            Chunk::Sack(sack) => {
                sacks += 1;
                on_sack(&sack, at, sctp, to, &mut observed);
            }
            Chunk::Shutdown(shutdown) => {
                on_cumulative(shutdown.cumulative_tsn_ack, at, to, &mut observed);
            }
            Chunk::Init(init) => sctp.begin_handshake(at, init.initial_tsn),
            Chunk::InitAck(init) => {
                sctp.begin_handshake(at, init.0.initial_tsn);
                to.sctp.get_or_insert_default().end_handshake(at);
            }
            Chunk::CookieEcho(_) => to.sctp.get_or_insert_default().end_handshake(at),
            _ => {}
        }
    });
    let counts = &mut from.sctp.get_or_insert_default().counts;
    counts.incomplete_packets += u64::from(!is_complete);
    counts.multi_chunk_packets += u64::from(data.len() > 1);
    counts.pure_sacks += u64::from(sacks > 0 && data.is_empty());
    if !data.is_empty() {
        on_data(packet, data, at, from, parts, units, &mut observed);
    }
    observed
}

fn on_data(
    packet: &Packet<'_>,
    data: SmallVec<[UserData; 4]>,
    at: Instant,
    from: &mut Direction,
    parts: &mut Parts,
    units: &mut Vec<Unit>,
    observed: &mut Observed,
) {
    let sctp = from.sctp.get_or_insert_default();
    let next = from.sender.next();
    let mut numbered: SmallVec<[(u64, UserData); 4]> =
        data.into_iter().map(|chunk| (sctp.numbers.unwrap(next, chunk.tsn.0), chunk)).collect();
    // Honest senders send them in this order, each once.
    numbered.sort_by_key(|(start, _)| *start);
    numbered.dedup_by_key(|(start, _)| *start);
    let mut pieces: SmallVec<[Piece; 4]> = SmallVec::new();
    for (start, chunk) in &numbered {
        let start = *start;
        pieces.push(Piece { start, end: start + 1, bytes: chunk.bytes });
        units.push(chunk.unit(start));
    }
    let frame_length = packet.frame_length;
    let sending = Sending { at, pieces: &pieces, frame_length, stamp: None, in_units: true };
    observed.told = Some(from.sender.on_data(&sending, parts));
    let sctp = from.sctp.get_or_insert_default();
    for ((_, chunk), part) in numbered.iter().zip(parts.iter()) {
        sctp.count_stream(chunk, part.kind);
    }
}

fn on_sack(
    sack: &Sack<'_>,
    at: Instant,
    from: &mut SctpDirection,
    to: &mut Direction,
    observed: &mut Observed,
) {
    let repeats = from.acknowledged == Some(sack.cumulative_tsn_ack);
    from.acknowledged = Some(sack.cumulative_tsn_ack);
    let Some(theirs) = to.sctp.as_deref() else { return };
    if to.sender.next() == 0 || !sack.has_ascending_blocks() {
        return;
    }
    let numbers = theirs.numbers;
    let cumulative = numbers.unwrap_near(to.sender.next(), sack.cumulative_tsn_ack.0) + 1;
    let offset = |offset: u16| cumulative - 1 + u64::from(offset);
    let blocks: SmallVec<[(u64, u64); 4]> =
        sack.gap_ack_blocks().map(|block| (offset(block.start), offset(block.end) + 1)).collect();
    let duplicates: SmallVec<[(u64, u64); 4]> = sack
        .duplicate_tsns()
        .map(|tsn| numbers.unwrap_near(cumulative, tsn.0))
        .map(|tsn| (tsn, tsn + 1))
        .collect();
    let acknowledgement = Acknowledgement {
        at,
        cumulative,
        blocks: &blocks,
        duplicates: &duplicates,
        is_repeated: repeats && !blocks.is_empty() && to.sender.is_waiting(),
        echo: None,
    };
    if cumulative <= to.sender.next() + u64::from(u32::MAX >> 2) {
        to.sender.on_acknowledgement(&acknowledgement, |range| observed.acknowledged.push(range));
    }
}

/// A SHUTDOWN acknowledges as a SACK without blocks does (RFC 9260, section 9.2).
fn on_cumulative(tsn: Tsn, at: Instant, to: &mut Direction, observed: &mut Observed) {
    let Some(theirs) = to.sctp.as_deref() else { return };
    let next = to.sender.next();
    let cumulative = theirs.numbers.unwrap_near(next, tsn.0) + 1;
    if next > 0 && cumulative <= next {
        let acknowledgement = Acknowledgement {
            at,
            cumulative,
            blocks: &[],
            duplicates: &[],
            is_repeated: false,
            echo: None,
        };
        to.sender.on_acknowledgement(&acknowledgement, |range| observed.acknowledged.push(range));
    }
}

impl UserData {
    fn of_data(chunk: &Data) -> UserData {
        let bytes = u32::try_from(chunk.payload.len()).unwrap_or(u32::MAX);
        UserData { tsn: chunk.tsn, stream: chunk.stream, flags: chunk.flags, bytes }
    }

    fn of_i_data(chunk: &IData) -> UserData {
        let bytes = u32::try_from(chunk.payload.len()).unwrap_or(u32::MAX);
        UserData { tsn: chunk.tsn, stream: chunk.stream, flags: chunk.flags, bytes }
    }

    fn unit(&self, start: u64) -> Unit {
        Unit {
            start,
            stream: self.stream.0,
            begins: self.flags.contains(DataFlags::BEGINNING),
            ends: self.flags.contains(DataFlags::ENDING),
            is_ordered: !self.flags.contains(DataFlags::UNORDERED),
        }
    }
}

impl SctpDirection {
    /// This side sends INIT or INIT ACK, which was counted.
    fn begin_handshake(&mut self, at: Instant, initial_tsn: Tsn) {
        self.numbers.unwrap(0, initial_tsn.0);
        self.init_at = (self.counts.inits == 1).then_some(at);
    }

    /// The other side answers it.
    fn end_handshake(&mut self, at: Instant) {
        if let (Some(init_at), None) = (self.init_at, self.handshake) {
            self.handshake = Some(at.since(init_at));
        }
    }

    fn note_path(&mut self, ends: (SocketAddr, SocketAddr)) {
        if !self.paths.contains(&ends) && self.paths.len() < MOST_PATHS {
            self.paths.push(ends);
        }
    }

    fn count(&mut self, chunk: &Chunk<'_>) {
        let counts = &mut self.counts;
        counts.chunks += 1;
        let mut count_data = |flags: DataFlags| {
            counts.unordered += u64::from(flags.contains(DataFlags::UNORDERED));
            counts.fragments += u64::from(!flags.contains(DataFlags::WHOLE));
            counts.immediate += u64::from(flags.contains(DataFlags::IMMEDIATE));
        };
        match chunk {
            Chunk::Data(data) => {
                count_data(data.flags);
                counts.data += 1;
            }
            Chunk::IData(data) => {
                count_data(data.flags);
                counts.i_data += 1;
            }
            Chunk::Sack(sack) => {
                let blocks = sack.gap_ack_blocks().len() as u64;
                counts.sacks += 1;
                counts.sacks_with_gaps += u64::from(blocks > 0);
                counts.most_gap_blocks = counts.most_gap_blocks.max(blocks);
                counts.duplicate_tsns += sack.duplicate_tsns().len() as u64;
            }
            Chunk::Heartbeat(_) => counts.heartbeats += 1,
            Chunk::Init(_) | Chunk::InitAck(_) => counts.inits += 1,
            Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_) => counts.forward_tsns += 1,
            Chunk::Shutdown(_) => counts.shutdowns += 1,
            Chunk::Abort(_) => counts.aborts += 1,
            _ => {}
        }
    }

    fn count_stream(&mut self, chunk: &UserData, kind: Kind) {
        let stream = chunk.stream.0;
        if self.streams.len() >= MOST_STREAMS && !self.streams.contains_key(&stream) {
            return;
        }
        let counts = self.streams.entry(stream).or_default();
        match kind {
            Kind::New => {
                counts.chunks += 1;
                counts.bytes += u64::from(chunk.bytes);
                counts.messages += u64::from(chunk.flags.contains(DataFlags::ENDING));
            }
            Kind::Again => counts.retransmitted += 1,
            Kind::Along => counts.redundant += 1,
        }
    }
}

/// The highest TSN that a packet says is to be skipped, as a number of `from`'s.
pub(crate) fn skipped(captured: &Captured, from: &Direction) -> Option<u64> {
    let numbers = from.sctp.as_deref()?.numbers;
    let mut highest = None;
    captured.chunks(|chunk| {
        let tsn = match chunk {
            Chunk::ForwardTsn(skip) => skip.new_cumulative_tsn,
            Chunk::IForwardTsn(skip) => skip.new_cumulative_tsn,
            _ => return,
        };
        highest = highest.max(Some(numbers.unwrap_near(from.sender.next(), tsn.0)));
    });
    highest
}
