//! The receiving side of one connection: what arrives.

mod answering;
mod memory;
mod reading;
mod warm;

use core::ops::Range;

use base::{Duration, Instant};
use bytes::Bytes;

pub use self::answering::{AckFields, SackRanges};
use super::acknowledgement::Acknowledgement;
use super::arrival::{Arrival, Incoming, Outcome, ReceiverStats};
use super::autotune::Autotune;
use super::options::ReceiverOptions;
use super::queue::{Queue, not_much_more};
use super::reassembly::{PIECE_OVERHEAD, Reassembly};
use super::timestamps::RecentTimestamp;
use super::urgent::Urgent;
use super::window::Window;
use crate::memory::MemoryState;

/// Least number of pieces out of order that have room, however small the buffer is.
const MIN_PIECES: u64 = 64;

/// The receiving side of one connection, from the peer's SYN on.
#[derive(Debug)]
pub struct Receiver {
    /// Data that the application has not read; its end is RCV.NXT, apart from FIN.
    queue: Queue,
    /// Data received out of order; `None` without holes.
    behind: Option<Box<Reassembly>>,
    window: Window,
    acknowledgement: Acknowledgement,
    last_ack_sent: u64,
    /// Offset of FIN, once it arrived.
    fin: Option<u64>,
    /// Whether FIN has been reached.
    finished: bool,
    /// Whether the last packet was marked *congestion experienced*.
    ce: bool,
    duplicate_sack: bool,
    urgent_inline: bool,
    /// Whether arriving data is discarded, since the application does not read.
    discards: bool,
    /// Range that arrived twice, to be reported in the next segment (RFC 2883).
    duplicate: Option<Box<Range<u64>>>,
    timestamp: Option<RecentTimestamp>,
    urgent: Option<Box<Urgent>>,
    autotune: Option<Box<Autotune>>,
    /// State of the memory budget.
    memory: MemoryState,
    stats: ReceiverStats,
}

impl Receiver {
    /// A receiver that waits for the byte at `first_offset`, the one after the peer's SYN.
    ///
    /// The peer may send the bytes that [`ReceiverOptions::syn_window`] allows from there on.
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
            memory: MemoryState::Ease,
            stats: ReceiverStats::default(),
        }
    }

    /// The next byte expected in order (RCV.NXT), unwrapped.
    pub fn rcv_nxt(&self) -> u64 {
        self.queue.end() + u64::from(self.finished)
    }

    /// Offset after the last byte that the peer was ever allowed to send: RCV.NXT + RCV.WND.
    pub fn window_edge(&self) -> u64 {
        self.window.edge().max(self.rcv_nxt())
    }

    /// Whether a segment that takes `start..end` of the sequence space, SYN and FIN included, may
    /// be processed (RFC 9293, section 3.10.7.4, first check).
    ///
    /// In addition to that section's table, a segment that begins at RCV.NXT passes a closed
    /// window: as the section allows, its acknowledgement counts, and so does a bare FIN, but
    /// not its data. The acknowledgement of an empty segment at the right edge counts too: a
    /// peer that has filled the window with data that was lost can send no other segment
    /// (docs/exceptions.md).
    pub fn is_acceptable(&self, start: u64, end: u64) -> bool {
        let (next, edge) = (self.rcv_nxt(), self.window_edge());
        if start == end || edge == next {
            return start == next || (start > next && start < edge + u64::from(start == end));
        }
        start < edge && end > next
    }

    /// Processes a segment, whether [acceptable](Receiver::is_acceptable) or not.
    ///
    /// Makes an acknowledgement due whenever the segment holds data or FIN.
    pub fn on_segment(&mut self, now: Instant, segment: Incoming) -> Arrival {
        let urgent = segment.urgent.is_some_and(|pointer| self.on_urgent(segment.start, pointer));
        if segment.payload.is_empty() && !segment.fin {
            return Arrival { urgent, ..Arrival::default() };
        }
        let before = (self.queue.end(), self.finished);
        let marked = core::mem::replace(&mut self.ce, segment.ce) != segment.ce;
        // Acknowledged data arrived again: the peer may have retransmitted it needlessly, and
        // learns so from the reported duplicate.
        let repeated = segment.start < self.last_ack_sent;
        let hurried = marked || repeated || self.behind.is_some();
        let (length, round_trip) = (segment.payload.len() as u64, segment.round_trip);
        let outcome = self.accept(segment);
        self.stats.count(outcome);
        if outcome == Outcome::InOrder && !hurried && !self.finished {
            let unacknowledged = self.rcv_nxt() - self.last_ack_sent;
            self.acknowledgement.on_in_order(now, length, unacknowledged, self.window.mss());
        } else {
            // At once: a segment out of order, a duplicate, or one that fills a hole (RFC 5681,
            // section 4.2); one outside the window (RFC 9293, section 3.10.7.4); FIN,
            // which nothing follows; a change of the congestion mark, so that the
            // sender learns of it in time.
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

    /// Accepts a segment's data, without deciding when to acknowledge.
    fn accept(&mut self, Incoming { start, mut payload, fin, .. }: Incoming) -> Outcome {
        let whole = payload.len();
        let data_end = start + whole as u64;
        let next = self.rcv_nxt();
        // Data after FIN or beyond the window does not count.
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
        let kept = self.memory_edge();
        if end > kept {
            self.stats.count_dropped(true);
        }
        if start >= kept && !is_bare_fin {
            return Outcome::Dropped;
        }
        if start < next {
            // FIN may be the only new part.
            let old = (next - start).min(payload.len() as u64);
            self.note_duplicate(start..start + old);
            payload = payload.slice(old as usize..);
        }
        let start = start.max(next);
        let is_news = fin && self.note_fin(data_end, edge);
        let stop = edge.min(self.fin.unwrap_or(u64::MAX)).min(kept);
        payload.truncate(stop.saturating_sub(start) as usize);
        payload = not_much_more(payload, whole);
        let outcome = if start == next {
            self.accept_in_order(payload);
            Outcome::InOrder
        } else {
            self.accept_behind(start, payload, is_news)
        };
        self.reach_fin();
        outcome
    }

    /// FIN is at `offset`; returns whether it is new. The first FIN counts, if no data lies after
    /// it. SACK blocks do not include it, since they report data (RFC 2018, section 3).
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
        // The window bounds the payload, and the overhead of holes is bounded by the same amount.
        let window = self.window.capacity().max(self.window_edge() - self.rcv_nxt());
        let limit = window + window.max(MIN_PIECES * PIECE_OVERHEAD);
        let limit = self.behind_limit(limit);
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
            // No data follows FIN, and duplicates before it are irrelevant now.
            self.behind = None;
            self.duplicate = None;
        }
    }

    /// Records duplicate bytes for the next acknowledgement (RFC 2883, section 4), which can report
    /// one run: the first since the last acknowledgement, and runs that touch it.
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

    /// `echo`: a round-trip time by timestamps, measured while the peer had enough data not to wait
    /// for its application.
    fn tune(&mut self, now: Instant, echo: Option<Duration>) {
        let Some(autotune) = self.autotune.as_deref_mut() else { return };
        if let Some(sample) = echo {
            autotune.on_echo(sample);
        }
        let (next, read) = (self.queue.end(), self.queue.start());
        let capacity = self.window.capacity();
        let grown = autotune.on_data(now, next, read, self.window.edge(), capacity);
        if let Some(grown) = grown.filter(|_| self.memory == MemoryState::Ease) {
            self.window.set_capacity(grown);
        }
    }
}

#[cfg(test)]
mod tests;
