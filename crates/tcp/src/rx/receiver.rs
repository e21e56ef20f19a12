//! The receiving side of one connection.

use core::ops::Range;

use base::{Duration, Instant};
use bytes::Bytes;
use smallvec::SmallVec;

use super::acknowledgement::{AckPolicy, Acknowledgement};
use super::autotune::Autotune;
use super::queue::Queue;
use super::reassembly::{PIECE_OVERHEAD, Reassembly};
use super::timestamps::RecentTimestamp;
use super::urgent::Urgent;
use super::window::Window;
use crate::wire::{MAX_SACK_BLOCKS, MAX_WINDOW_SCALE};

/// Pieces out of order for which there is room however small the buffer is.
const MIN_PIECES: u64 = 64;

/// Ranges to be told in SACK blocks.
pub type SackRanges = SmallVec<[Range<u64>; MAX_SACK_BLOCKS]>;

/// How a [`Receiver`] behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverOptions {
    /// Bytes that may wait for the application.
    pub buffer: u64,
    /// The buffer grows up to so many bytes while the application reads as fast as the peer sends; no more
    /// than [`ReceiverOptions::buffer`]: it does not grow.
    pub buffer_limit: u64,
    /// Bytes of data in a full-sized segment, as far as our MSS option allows.
    pub mss: u32,
    /// When to acknowledge.
    pub acknowledgement: AckPolicy,
    /// Duplicates are reported in the first SACK block (RFC 2883), where the peer takes SACK.
    pub duplicate_sack: bool,
    /// The urgent byte stays in the stream, as RFC 6093, section 3.4, recommends; else it is left out and
    /// read by [`Receiver::read_urgent`].
    pub urgent_inline: bool,
}

impl Default for ReceiverOptions {
    fn default() -> ReceiverOptions {
        ReceiverOptions {
            buffer: 256 << 10,
            buffer_limit: 0,
            mss: 1460,
            acknowledgement: AckPolicy::default(),
            duplicate_sack: true,
            urgent_inline: true,
        }
    }
}

impl ReceiverOptions {
    /// The window field of our SYN, which is never scaled (RFC 7323, section 2.2).
    pub fn syn_window(&self) -> u16 {
        u16::try_from(self.buffer).unwrap_or(u16::MAX)
    }

    /// The smallest shift count with which the largest buffer can be advertised (RFC 7323, section 2.3).
    pub fn window_scale(&self) -> u8 {
        let largest = self.buffer.max(self.buffer_limit);
        let fits = |scale: &u8| largest >> scale <= u64::from(u16::MAX);
        (0..MAX_WINDOW_SCALE).find(fits).unwrap_or(MAX_WINDOW_SCALE)
    }
}

/// A segment as far as the receiving side looks at it.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    /// Offset of the first byte of data: behind the SYN, if there is one.
    pub start: u64,
    /// The data.
    pub payload: Bytes,
    /// FIN follows the data.
    pub fin: bool,
    /// The urgent pointer, relative to `start`, if the segment has one.
    pub urgent: Option<u16>,
    /// The packet was marked *congestion experienced*.
    pub ce: bool,
    /// Time since this side sent the timestamp that the segment echoes, if it echoes one.
    pub round_trip: Option<Duration>,
}

/// What a segment was to the receiving side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It holds neither data nor FIN.
    #[default]
    Empty,
    /// It begins at RCV.NXT or before and ends after it.
    InOrder,
    /// It leaves a hole before it, and something of it is kept.
    OutOfOrder,
    /// All of it had come before.
    Duplicate,
    /// All of it lies outside the window, such as a probe of a closed one.
    OutsideWindow,
    /// Nothing of it could be kept without taking too much memory: as good as lost.
    Dropped,
}

/// What [`Receiver::on_segment`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// What the segment was.
    pub outcome: Outcome,
    /// Bytes that the application can read now and could not before.
    pub readable: u64,
    /// FIN has been reached: nothing more will come.
    pub finished: bool,
    /// Urgent data has been announced that had not been.
    pub urgent: bool,
}

/// What a segment that leaves says of the receiving side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckFields {
    /// RCV.NXT.
    pub ack: u64,
    /// The window field, scaled.
    pub window: u16,
    /// SACK blocks, a duplicate first (RFC 2883), then that of the latest segment (RFC 2018, section 4).
    pub sack: SackRanges,
}

/// Counts of segments with data or FIN that did not simply continue what had come. They stop at the largest
/// number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Behind a hole.
    pub out_of_order: u32,
    /// Everything in them had come before.
    pub duplicates: u32,
    /// Outside the window.
    pub outside_window: u32,
    /// Something of them was dropped for want of memory.
    pub dropped: u32,
}

impl ReceiverStats {
    fn count(&mut self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::OutOfOrder => &mut self.out_of_order,
            Outcome::Duplicate => &mut self.duplicates,
            Outcome::OutsideWindow => &mut self.outside_window,
            // What was dropped is counted where it was.
            Outcome::Empty | Outcome::InOrder | Outcome::Dropped => return,
        };
        *counter = counter.saturating_add(1);
    }

    fn count_dropped(&mut self, dropped: bool) {
        self.dropped = self.dropped.saturating_add(dropped.into());
    }
}

/// The receiving side of one connection, from the peer's SYN on.
#[derive(Debug)]
pub struct Receiver {
    /// What the application has not read; its end is RCV.NXT, but for FIN.
    queue: Queue,
    /// What came out of order; there while there are holes.
    behind: Option<Box<Reassembly>>,
    window: Window,
    acknowledgement: Acknowledgement,
    last_ack_sent: u64,
    /// Where FIN stands, once it came.
    fin: Option<u64>,
    /// FIN has been reached.
    finished: bool,
    /// The last packet was marked *congestion experienced*.
    ce: bool,
    duplicate_sack: bool,
    urgent_inline: bool,
    /// What arrives is thrown away: nobody reads.
    discards: bool,
    /// The duplicate to be reported.
    duplicate: Option<Box<Range<u64>>>,
    timestamp: Option<RecentTimestamp>,
    urgent: Option<Box<Urgent>>,
    autotune: Option<Box<Autotune>>,
    stats: ReceiverStats,
}

impl Receiver {
    /// A receiver that waits for the byte at `first_offset`, the one after the peer's SYN.
    ///
    /// The peer may send what [`ReceiverOptions::syn_window`] allows from there on.
    pub fn new(options: &ReceiverOptions, first_offset: u64) -> Receiver {
        let window = Window::new(options.buffer, options.mss, first_offset);
        let autotune = (options.buffer_limit > options.buffer)
            .then(|| Box::new(Autotune::new(options.buffer, options.buffer_limit)));
        Receiver {
            queue: Queue::new(first_offset),
            behind: None,
            window,
            acknowledgement: Acknowledgement::new(options.acknowledgement),
            last_ack_sent: first_offset,
            fin: None,
            finished: false,
            ce: false,
            duplicate_sack: options.duplicate_sack,
            urgent_inline: options.urgent_inline,
            discards: false,
            duplicate: None,
            timestamp: None,
            urgent: None,
            autotune,
            stats: ReceiverStats::default(),
        }
    }

    /// RCV.NXT.
    pub fn rcv_nxt(&self) -> u64 {
        self.queue.end() + u64::from(self.finished)
    }

    /// Offset behind the last byte that the peer was ever allowed to send: RCV.NXT + RCV.WND.
    pub fn window_edge(&self) -> u64 {
        self.window.edge().max(self.rcv_nxt())
    }

    /// Whether a segment that takes `start..end` of the sequence space, SYN and FIN included, may be
    /// processed (RFC 9293, section 3.10.7.4, first check).
    ///
    /// Beside what the table there allows, a segment that begins at RCV.NXT passes a closed window: what it
    /// acknowledges counts, as that section allows, and so does a bare FIN; data in it does not. So does what
    /// an empty segment acknowledges that stands at the right edge itself: a peer that has filled the
    /// window with data that was lost can send no other (docs/exceptions.md).
    pub fn is_acceptable(&self, start: u64, end: u64) -> bool {
        let (next, edge) = (self.rcv_nxt(), self.window_edge());
        if start == end || edge == next {
            return start == next || (start > next && start < edge + u64::from(start == end));
        }
        start < edge && end > next
    }

    /// A segment that [`Receiver::is_acceptable`] came, or one of which that was not asked.
    ///
    /// Makes an acknowledgement due whenever the segment holds data or FIN.
    pub fn on_segment(&mut self, now: Instant, segment: Incoming) -> Arrival {
        let urgent = segment.urgent.is_some_and(|pointer| self.on_urgent(segment.start, pointer));
        if segment.payload.is_empty() && !segment.fin {
            return Arrival { urgent, ..Arrival::default() };
        }
        let before = (self.queue.end(), self.finished);
        let marked = core::mem::replace(&mut self.ce, segment.ce) != segment.ce;
        // What had been acknowledged came again: the peer may have taken it for lost without need, and
        // learns of it by the duplicate that is reported.
        let repeated = segment.start < self.last_ack_sent;
        let hurried = marked || repeated || self.behind.is_some();
        let (length, round_trip) = (segment.payload.len() as u64, segment.round_trip);
        let outcome = self.accept(segment);
        self.stats.count(outcome);
        if outcome == Outcome::InOrder && !hurried && !self.finished {
            let unacknowledged = self.rcv_nxt() - self.last_ack_sent;
            self.acknowledgement.on_in_order(now, length, unacknowledged, self.window.mss());
        } else {
            // Out of order, a duplicate, or it fills a hole: at once (RFC 5681, section 4.2). Outside the
            // window: at once (RFC 9293, section 3.10.7.4). FIN: at once, nothing will follow. A change of
            // congestion marks: at once, so that the sender hears of it while it matters.
            self.acknowledgement.request(now);
        }
        let mut readable = self.queue.end() - before.0;
        if self.discards {
            self.queue.clear();
            readable = 0;
        }
        self.tune(now, round_trip.filter(|_| length >= self.acknowledgement.full_sized().into()));
        Arrival { outcome, readable, finished: self.finished && !before.1, urgent }
    }

    /// Sorts a segment in; everything but when to acknowledge.
    fn accept(&mut self, Incoming { start, mut payload, fin, .. }: Incoming) -> Outcome {
        let data_end = start + payload.len() as u64;
        let next = self.rcv_nxt();
        // Nothing counts behind FIN, or beyond the window.
        let edge = self.window_edge().min(self.fin.map_or(u64::MAX, |fin| fin + 1));
        let end = data_end + u64::from(fin);
        if end <= next {
            self.note_duplicate(start..data_end);
            return Outcome::Duplicate;
        }
        let is_bare_fin = start == data_end && start == next;
        if self.finished || (start >= edge && !is_bare_fin) {
            return Outcome::OutsideWindow;
        }
        if start < next {
            // FIN may be all that is new.
            let old = (next - start).min(payload.len() as u64);
            self.note_duplicate(start..start + old);
            payload = payload.slice(old as usize..);
        }
        let start = start.max(next);
        let is_news = fin && self.note_fin(data_end, edge);
        let stop = edge.min(self.fin.unwrap_or(u64::MAX));
        payload.truncate(stop.saturating_sub(start) as usize);
        let outcome = if start == next {
            self.accept_in_order(payload);
            Outcome::InOrder
        } else {
            self.accept_behind(start, payload, is_news)
        };
        self.reach_fin();
        outcome
    }

    /// FIN stands at `offset`; answers whether that is news. The first one counts, if no data lies behind
    /// it. SACK blocks do not tell of it: they are about data (RFC 2018, section 3).
    fn note_fin(&mut self, offset: u64, edge: u64) -> bool {
        let received = self.behind.as_ref().and_then(|behind| behind.end());
        let is_last = offset >= received.unwrap_or(0).max(self.queue.end());
        let counts = self.fin.is_none() && is_last && offset <= edge;
        if counts {
            self.fin = Some(offset);
        }
        counts
    }

    fn accept_in_order(&mut self, payload: Bytes) {
        let Some(behind) = self.behind.as_deref_mut() else {
            self.queue.push(payload);
            return;
        };
        let duplicate = behind.fill(&mut self.queue, payload);
        if behind.is_empty() {
            self.behind = None;
        }
        if let Some(duplicate) = duplicate {
            self.note_duplicate(duplicate);
        }
    }

    fn accept_behind(&mut self, start: u64, payload: Bytes, new_fin: bool) -> Outcome {
        // The payload itself is bounded by the window; what holes cost beside it, by as much again.
        let window = self.window.capacity().max(self.window_edge() - self.rcv_nxt());
        let limit = window + window.max(MIN_PIECES * PIECE_OVERHEAD);
        let behind = self.behind.get_or_insert_default();
        let inserted = behind.insert(start, &payload, limit);
        if behind.is_empty() {
            self.behind = None;
        }
        if let Some(duplicate) = inserted.duplicate {
            self.note_duplicate(duplicate);
        }
        self.stats.count_dropped(inserted.dropped);
        if inserted.new > 0 || new_fin {
            Outcome::OutOfOrder
        } else if inserted.dropped {
            Outcome::Dropped
        } else {
            Outcome::Duplicate
        }
    }

    fn reach_fin(&mut self) {
        if self.fin == Some(self.queue.end()) && !self.finished {
            self.finished = true;
            // Nothing lies behind FIN, and what came twice before it is of no interest any more.
            self.behind = None;
            self.duplicate = None;
        }
    }

    /// Bytes that came once more: the next acknowledgement reports them (RFC 2883, section 4). It can tell
    /// of one run: of the first since the last acknowledgement, and of what touches it.
    fn note_duplicate(&mut self, range: Range<u64>) {
        if !self.duplicate_sack || range.is_empty() {
            return;
        }
        match self.duplicate.as_deref_mut() {
            None => self.duplicate = Some(Box::new(range)),
            Some(known) if range.start <= known.end && known.start <= range.end => {
                *known = known.start.min(range.start)..known.end.max(range.end);
            }
            Some(_) => {}
        }
    }

    /// `echo`: a round-trip time by timestamps, where the peer had enough to send that it did not wait
    /// for its application in between.
    fn tune(&mut self, now: Instant, echo: Option<Duration>) {
        let Some(autotune) = self.autotune.as_deref_mut() else { return };
        if let Some(sample) = echo {
            autotune.on_echo(sample);
        }
        let (next, read) = (self.queue.end(), self.queue.start());
        let capacity = self.window.capacity();
        if let Some(grown) = autotune.on_data(now, next, read, self.window.edge(), capacity) {
            self.window.set_capacity(grown);
        }
    }
}

/// What the application asks.
impl Receiver {
    /// Takes up to `limit` bytes that lie together in memory; none when none wait. Never reads across the
    /// end of urgent data, so that the application sees where it is.
    pub fn read(&mut self, limit: u64) -> Option<Bytes> {
        self.skip_urgent_byte();
        let to_mark = self.to_mark().filter(|bytes| *bytes > 0).unwrap_or(u64::MAX);
        let bytes = self.queue.pop(limit.min(to_mark));
        self.forget_mark();
        bytes
    }

    /// Bytes that [`Receiver::read`] can take, in all.
    pub fn readable(&self) -> u64 {
        let skipped = self.urgent.as_ref().is_some_and(|urgent| {
            let waits = self.queue.start()..self.queue.end();
            !self.urgent_inline && waits.contains(&urgent.mark)
        });
        self.queue.len() - u64::from(skipped)
    }

    /// Whether the peer's FIN has been reached and everything before it has been read.
    pub fn is_finished(&self) -> bool {
        self.finished && self.readable() == 0
    }

    /// Throws away what waits and what will come: nobody reads any more. Both count as read, so that the
    /// window stays open.
    pub fn discard(&mut self) {
        self.discards = true;
        self.queue.clear();
    }

    /// The urgent byte, where it is out of band and has come; only once.
    pub fn read_urgent(&mut self) -> Option<u8> {
        let urgent = self.urgent.as_deref_mut().filter(|urgent| !urgent.taken)?;
        if self.urgent_inline {
            return None;
        }
        let byte = urgent.byte.or_else(|| self.queue.byte(urgent.mark))?;
        urgent.taken = true;
        if urgent.mark < self.queue.start() {
            self.urgent = None;
        }
        Some(byte)
    }

    /// Bytes to read before the last byte of urgent data; 0: it is the next (or, out of band, stands
    /// here). None: no urgent data is ahead.
    pub fn to_mark(&self) -> Option<u64> {
        self.urgent.as_ref()?.mark.checked_sub(self.queue.start())
    }

    /// Counts of segments that did not simply continue what had come.
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// Bytes that arrived behind a hole.
    pub fn behind_holes(&self) -> u64 {
        self.behind.as_ref().map_or(0, |behind| behind.bytes())
    }

    /// Bytes that may wait for the application.
    pub fn buffer(&self) -> u64 {
        self.window.capacity()
    }

    /// Changes the buffer. A smaller one takes back nothing of the window that the peer was given; the same
    /// as before takes back nothing of what it has grown to.
    pub fn set_buffer(&mut self, bytes: u64) {
        if self.autotune.as_deref_mut().is_none_or(|autotune| autotune.choose(bytes)) {
            self.window.set_capacity(bytes);
        }
    }

    /// Whether the urgent byte stays in the stream, from now on.
    pub fn set_urgent_inline(&mut self, inline: bool) {
        self.urgent_inline = inline;
    }

    /// Out of band, the byte at the mark is not part of the stream.
    fn skip_urgent_byte(&mut self) {
        if self.urgent_inline || self.to_mark() != Some(0) {
            return;
        }
        if let (Some(urgent), Some(byte)) = (self.urgent.as_deref_mut(), self.queue.pop(1)) {
            urgent.byte = byte.first().copied();
            self.forget_mark();
        }
    }

    /// A mark that has been passed says nothing any more, unless its byte waits to be asked for.
    fn forget_mark(&mut self) {
        let start = self.queue.start();
        let inline = self.urgent_inline;
        self.urgent.take_if(|urgent| urgent.mark < start && (inline || urgent.taken));
    }

    /// An urgent pointer came; answers whether it is news (RFC 9293, section 3.10.7.4, sixth check).
    fn on_urgent(&mut self, start: u64, pointer: u16) -> bool {
        let Some(mark) = Urgent::mark(start, pointer) else { return false };
        let known = self.urgent.as_ref().map(|urgent| urgent.mark);
        if self.finished || mark < self.queue.start() || known.is_some_and(|known| known >= mark) {
            return false;
        }
        self.urgent = Some(Box::new(Urgent::new(mark)));
        true
    }
}

/// Acknowledgements and what goes with them.
impl Receiver {
    /// Whether an acknowledgement must be sent at `now`.
    pub fn wants_ack(&self, now: Instant) -> bool {
        self.ack_due().is_some_and(|due| due <= now)
    }

    /// When the acknowledgement that waits must be sent; none when nothing waits.
    pub fn ack_due(&self) -> Option<Instant> {
        self.acknowledgement.due()
    }

    /// An acknowledgement is due for a reason that the receiving side does not know.
    pub fn request_ack(&mut self, now: Instant) {
        self.acknowledgement.request(now);
    }

    /// Whether the window has opened so far, since the application read, that the peer should hear of it
    /// without delay.
    pub fn window_update_due(&self) -> bool {
        !self.finished && self.window.update_due(self.rcv_nxt(), self.queue.len())
    }

    /// Whether there is anything that SACK blocks would tell.
    pub fn has_sack(&self) -> bool {
        self.duplicate.is_some() || self.behind.is_some()
    }

    /// What a segment with ACK that leaves now says, with room for so many SACK blocks (0 where the peer
    /// takes none). The segment counts as sent.
    pub fn acknowledge(&mut self, max_sack_blocks: usize) -> AckFields {
        let ack = self.rcv_nxt();
        let duplicate = self.duplicate.take();
        let sack = self.sack_ranges(max_sack_blocks, duplicate.as_deref());
        self.last_ack_sent = ack;
        self.acknowledgement.on_sent();
        AckFields { ack, window: self.window.advertise(ack, self.queue.len()), sack }
    }

    /// The duplicate, then what lies behind holes.
    fn sack_ranges(&self, room: usize, duplicate: Option<&Range<u64>>) -> SackRanges {
        let mut ranges: SackRanges = duplicate.into_iter().take(room).cloned().collect();
        if let Some(behind) = &self.behind {
            behind.report(room - ranges.len(), |range| ranges.push(range));
        }
        ranges
    }

    /// When to acknowledge, from now on.
    pub fn set_ack_policy(&mut self, policy: AckPolicy) {
        self.acknowledgement.set_policy(policy);
    }

    /// Window scaling is agreed: from now on the window field is shifted by so many bits (at most 14).
    pub fn set_window_scale(&mut self, scale: u8) {
        self.window.set_scale(scale);
    }

    /// The round-trip time of the handshake: the buffer grows only if the window holds up the peer.
    pub fn set_round_trip(&mut self, round_trip: Duration) {
        if let Some(autotune) = self.autotune.as_deref_mut() {
            autotune.set_round_trip(round_trip);
        }
    }

    /// The round-trip time as the receiving side sees it: by the timestamps that full-sized segments echo,
    /// or by the time that a window takes. Estimated only where the buffer may grow.
    pub fn round_trip(&self) -> Option<Duration> {
        self.autotune.as_ref()?.round_trip()
    }

    /// The last acknowledgment number sent.
    pub fn last_ack_sent(&self) -> u64 {
        self.last_ack_sent
    }
}

/// Timestamps (RFC 7323).
impl Receiver {
    /// Timestamps are agreed; the peer's SYN carried `value`.
    pub fn enable_timestamps(&mut self, now: Instant, value: u32) {
        self.timestamp = Some(RecentTimestamp::new(now, value));
    }

    /// TS.Recent, for TSecr; none where timestamps are not agreed.
    pub fn timestamp_to_echo(&self) -> Option<u32> {
        self.timestamp.as_ref().map(RecentTimestamp::value)
    }

    /// PAWS: whether a segment with TSval `value` is an old duplicate, to be answered by an acknowledgement
    /// and dropped (RFC 7323, section 5.3, rule R1). Not to be asked of segments with RST (section 5.2).
    pub fn is_old_timestamp(&self, now: Instant, value: u32) -> bool {
        self.timestamp.as_ref().is_some_and(|recent| recent.is_old(now, value))
    }

    /// A segment that begins at `start` (its SYN, if there is one) and is acceptable carried TSval `value`.
    /// To be called before [`Receiver::on_segment`].
    pub fn on_timestamp(&mut self, now: Instant, start: u64, value: u32) {
        let last_ack_sent = self.last_ack_sent;
        if let Some(recent) = &mut self.timestamp {
            recent.on_segment(now, start, value, last_ack_sent);
        }
    }
}

#[cfg(test)]
mod tests;
