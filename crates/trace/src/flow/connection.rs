//! A TCP connection in a capture: turns segments into calls of [`crate::sender`].

use base::{Duration, Instant};
use bytes::BytesMut;
use smallvec::SmallVec;
use tcp::wire::{Flags, HEADER_LENGTH, SackBlock, Segment, SeqNumber};

use super::{Direction, Observed};
use crate::packet::Packet;
use crate::sender::{Acknowledgement, Parts, Piece, Sending};
use crate::serial::Unwrap;

/// Bytes of the longest header.
const LONGEST_HEADER: usize = 60;

/// TCP's state of a direction beside its [`crate::sender::Sender`].
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpDirection {
    pub(crate) numbers: Unwrap,
    /// Number of the SYN, to distinguish a new connection from a repeated SYN.
    pub(crate) initial: Option<SeqNumber>,
    /// The last acknowledgement that this side sent, and the window in it.
    acknowledged: Option<(SeqNumber, u16)>,
    /// Position of its FIN, which is acknowledged like a byte but is none.
    fin_at: Option<u64>,
    /// Time at which its SYN was sent, if it was sent once.
    syn_at: Option<Instant>,
    pub(crate) syns: u64,
    pub(crate) fins: u64,
    pub(crate) resets: u64,
    pub(crate) pure_acks: u64,
    pub(crate) keep_alives: u64,
    /// Time from its SYN to the answer.
    pub(crate) handshake: Option<Duration>,
}

/// A segment without its data, of which the length is enough.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) segment: Segment,
    /// Bytes of data on the wire, captured or not.
    pub(crate) payload: u32,
}

/// Reads the header of a segment, whatever of its data was captured. None if it is not one.
pub(crate) fn parse(packet: &Packet<'_>, scratch: &mut BytesMut) -> Option<Captured> {
    let header = usize::from(packet.bytes.get(12)? >> 4) * 4;
    let bytes = packet.bytes.get(..header.clamp(HEADER_LENGTH, LONGEST_HEADER))?;
    scratch.clear();
    scratch.extend_from_slice(bytes);
    // Network cards write checksums after a capture was taken: it says nothing.
    let segment = Segment::parse_without_checksum(scratch.split().freeze()).ok()?;
    Some(Captured { segment, payload: packet.length.saturating_sub(header as u32) })
}

/// Whether a segment begins a connection again at the addresses of one that `opener` has been seen
/// in.
pub(crate) fn begins_anew(captured: &Captured, opener: &TcpDirection) -> bool {
    let Segment { flags, seq, .. } = captured.segment;
    let differs = opener.initial.map_or(opener.numbers.is_used(), |initial| initial != seq);
    flags.syn() && !flags.ack() && differs
}

/// Takes note of a segment from `from` to `to`.
pub(crate) fn on_segment(
    packet: &Packet<'_>,
    captured: &Captured,
    at: Instant,
    from: &mut Direction,
    to: &mut Direction,
    parts: &mut Parts,
) -> Observed {
    let flags = captured.segment.flags;
    let is_control = flags.intersects(Flags::SYN | Flags::FIN | Flags::RST);
    let tcp = &mut from.tcp;
    tcp.syns += u64::from(flags.syn());
    tcp.fins += u64::from(flags.fin());
    tcp.resets += u64::from(flags.rst());
    tcp.pure_acks += u64::from(captured.payload == 0 && flags.ack() && !is_control);
    let start = place_of(tcp, captured, at, from.sender.next());
    if flags.fin() {
        from.tcp.fin_at = Some(start + u64::from(captured.payload));
    }
    let mut observed = Observed { pushed: flags.contains(Flags::PSH), ..Observed::default() };
    if captured.payload > 0 && !flags.rst() {
        let is_probe = captured.payload == 1 && start + 1 == from.sender.next();
        if is_probe && !from.sender.is_waiting() {
            // A keep-alive's byte is no data (RFC 9293, section 3.8.4).
            from.tcp.keep_alives += 1;
        } else {
            let end = start + u64::from(captured.payload);
            let piece = Piece { start, end, bytes: captured.payload };
            let stamp = captured.segment.options.timestamps.map(|stamps| stamps.value);
            let sending = Sending {
                at,
                pieces: &[piece],
                frame_length: packet.frame_length,
                stamp,
                in_units: false,
            };
            observed.told = Some(from.sender.on_data(&sending, parts));
        }
    } else if captured.payload == 0 && !is_control && start + 1 == from.sender.next() {
        from.tcp.keep_alives += u64::from(!from.sender.is_waiting());
    }
    if flags.ack() {
        on_acknowledgement(captured, at, from, to, &mut observed);
    }
    observed
}

/// Place at which the data of a segment begin.
fn place_of(tcp: &mut TcpDirection, captured: &Captured, at: Instant, next: u64) -> u64 {
    let Segment { flags, seq, .. } = captured.segment;
    if flags.syn() {
        tcp.initial.get_or_insert(seq);
        tcp.syn_at = (tcp.syns == 1).then_some(at);
    }
    let place = tcp.numbers.unwrap(next, seq.0);
    place + u64::from(flags.syn())
}

fn on_acknowledgement(
    captured: &Captured,
    at: Instant,
    from: &mut Direction,
    to: &mut Direction,
    observed: &mut Observed,
) {
    let Segment { flags, ack, window, ref options, .. } = captured.segment;
    if flags.rst() || !to.tcp.numbers.is_used() {
        return;
    }
    if let (Some(syn_at), true, None) =
        (to.tcp.syn_at, ack_is_of_syn(&to.tcp, ack), to.tcp.handshake)
    {
        let round_trip = at.since(syn_at);
        to.tcp.handshake = Some(round_trip);
    }
    let cumulative = to.tcp.numbers.unwrap(to.sender.next(), ack.0);
    let cumulative = to.tcp.fin_at.map_or(cumulative, |fin_at| cumulative.min(fin_at));
    let mut blocks: SmallVec<[(u64, u64); 4]> = SmallVec::new();
    let mut duplicates: SmallVec<[(u64, u64); 1]> = SmallVec::new();
    sort_blocks(&options.sack, cumulative, &to.tcp.numbers, &mut blocks, &mut duplicates);
    let is_bare = captured.payload == 0 && !flags.intersects(Flags::SYN | Flags::FIN);
    let repeats = from.tcp.acknowledged == Some((ack, window));
    let acknowledgement = Acknowledgement {
        at,
        cumulative,
        blocks: &blocks,
        duplicates: &duplicates,
        is_repeated: is_bare && repeats && to.sender.is_waiting(),
        echo: options.timestamps.map(|stamps| stamps.echo),
    };
    from.tcp.acknowledged = Some((ack, window));
    // Numbers that were not sent, half the space away, acknowledge nothing.
    if cumulative <= to.sender.next() + u64::from(u32::MAX >> 2) && to.sender.next() > 0 {
        to.sender.on_acknowledgement(&acknowledgement, |range| observed.acknowledged.push(range));
    }
}

/// Whether `ack` is that of nothing but the SYN.
fn ack_is_of_syn(tcp: &TcpDirection, ack: SeqNumber) -> bool {
    tcp.initial.is_some_and(|initial| initial.next() == ack)
}

/// Tells the blocks that report what arrived from one that reports what arrived again: it stands
/// first and lies below the acknowledgement or in the second (RFC 2883, section 4).
fn sort_blocks(
    sack: &[SackBlock],
    cumulative: u64,
    numbers: &Unwrap,
    blocks: &mut SmallVec<[(u64, u64); 4]>,
    duplicates: &mut SmallVec<[(u64, u64); 1]>,
) {
    let mut read = sack.iter().map(|block| {
        let start = numbers.unwrap_near(cumulative, block.start.0);
        (start, start + u64::from(block.end.distance_from(block.start)))
    });
    let Some(first) = read.next() else { return };
    let second = read.next();
    let is_inside = second.is_some_and(|(start, end)| start <= first.0 && first.1 <= end);
    if first.1 <= cumulative || is_inside {
        duplicates.push(first);
    } else {
        blocks.push(first);
    }
    blocks.extend(second);
    blocks.extend(read);
    blocks.retain(|(start, end)| *start > cumulative && end > start);
}
