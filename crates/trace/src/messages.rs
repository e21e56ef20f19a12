//! Writes of applications as a capture shows them: times at which new data left, and its length.
//!
//! Retransmissions and redundant copies are left out. SCTP says where a message begins and ends. Of
//! TCP, each packet is taken for a write, and those that leave at once behind a full one that was
//! not pushed for the rest of it: PSH says that there was nothing more to send (RFC 9293, section
//! 3.9.1.2). What a sender held back (Nagle, a full window) shows when it left, not when it was
//! written.
//!
//! A capture that was not taken at the sender lacks packets that were lost before it. Their data
//! was written no later than the data that follows.

use std::collections::{BTreeMap, BTreeSet};

use base::Duration;

use crate::observer::{ChunkSent, DataSent, Observer, StreamId};

/// Packets that leave within this time of each other leave at once.
const AT_ONCE: Duration = Duration::from_micros(500);
/// A packet of TCP with less than this is not full, whatever the others have.
const LEAST_FULL: u32 = 1000;
/// Chunks that may be missing in a row before it is taken for a jump of the numbers.
const MOST_MISSING: u64 = 10_000;

/// A message that an application wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Time of transmission, since the capture's first packet.
    pub at: Duration,
    /// Bytes of user data.
    pub size: u64,
}

/// Messages of one direction of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamMessages {
    /// Name of the stream, as in [`crate::report::StreamReport::id`].
    pub stream: String,
    /// Messages in the order in which they were written.
    pub messages: Vec<Message>,
}

/// Gathers the messages of streams while a capture is analysed.
#[derive(Clone, Debug)]
pub struct Messages {
    wanted: Option<BTreeSet<String>>,
    found: BTreeMap<StreamId, Gathered>,
    room: usize,
    left_out: u64,
}

impl Messages {
    /// Messages of the streams with these names (`3a`, or `3` for both directions), or of all; at
    /// most `most`.
    pub fn new(wanted: Option<BTreeSet<String>>, most: usize) -> Messages {
        Messages { wanted, found: BTreeMap::new(), room: most, left_out: 0 }
    }

    /// Packets that there was no room for.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The messages, in the order of the streams.
    pub fn finish(self) -> Vec<StreamMessages> {
        let named = |(stream, gathered): (StreamId, Gathered)| StreamMessages {
            stream: stream.to_string(),
            messages: gathered.finish(),
        };
        self.found.into_iter().map(named).collect()
    }

    fn wants(&self, stream: StreamId) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| {
            wanted.contains(&stream.to_string())
                || wanted.contains(&stream.connection().to_string())
        })
    }
}

impl Observer for Messages {
    fn on_data(&mut self, data: &DataSent) {
        if !self.found.contains_key(&data.stream) && !self.wants(data.stream) {
            return;
        }
        if self.room == 0 {
            self.left_out += 1;
            return;
        }
        let gathered = self.found.entry(data.stream).or_default();
        let before = gathered.pieces.len();
        gathered.on_data(data);
        self.room = self.room.saturating_sub(gathered.pieces.len() - before);
    }
}

/// Messages of one stream, while its packets are read.
#[derive(Clone, Debug, Default)]
struct Gathered {
    /// Pieces in the order of their numbers.
    pieces: Vec<Piece>,
    /// The number after the highest.
    next: Option<u64>,
    /// The most that a packet of TCP had, and the last one.
    largest: u32,
    last: Option<DataSent>,
    /// Chunks of SCTP that the capture did not show when they were due.
    missing: BTreeMap<u64, usize>,
}

/// A write of TCP, or a chunk of SCTP.
#[derive(Clone, Copy, Debug)]
struct Piece {
    at: Duration,
    /// 0 while it is not known.
    size: u64,
    chunk: ChunkSent,
}

/// Bounds of data for which the capture shows none.
const WHOLE: ChunkSent = ChunkSent { stream: 0, begins: true, ends: true };

impl Gathered {
    fn on_data(&mut self, data: &DataSent) {
        let missing = self.missing.remove(&data.start);
        if let Some(piece) = missing.and_then(|place| self.pieces.get_mut(place)) {
            piece.size = u64::from(data.bytes);
            piece.chunk = data.chunk.unwrap_or(WHOLE);
        }
        if !data.is_new {
            return;
        }
        let skipped = data.start.saturating_sub(self.next.unwrap_or(data.start));
        match data.chunk {
            None => self.on_bytes(data, skipped),
            Some(chunk) => {
                if skipped <= MOST_MISSING {
                    for number in data.start - skipped..data.start {
                        self.missing.insert(number, self.pieces.len());
                        self.push(data.at, 0, WHOLE);
                    }
                }
                self.push(data.at, u64::from(data.bytes), chunk);
            }
        }
        self.next = Some(data.end);
    }

    fn on_bytes(&mut self, data: &DataSent, skipped: u64) {
        if skipped > 0 {
            self.push(data.at, skipped, WHOLE);
        }
        let goes_on = skipped == 0
            && self.last.is_some_and(|last| {
                let is_full = last.bytes >= self.largest.max(LEAST_FULL) && !last.pushed;
                is_full && data.at.saturating_sub(last.at) <= AT_ONCE
            });
        self.largest = self.largest.max(data.bytes);
        self.last = Some(*data);
        let size = u64::from(data.bytes);
        match self.pieces.last_mut().filter(|_| goes_on) {
            Some(piece) => piece.size += size,
            None => self.push(data.at, size, WHOLE),
        }
    }

    fn push(&mut self, at: Duration, size: u64, chunk: ChunkSent) {
        self.pieces.push(Piece { at, size, chunk });
    }

    fn finish(mut self) -> Vec<Message> {
        self.pieces.retain(|piece| piece.size > 0);
        let mut latest = Duration::MAX;
        for piece in self.pieces.iter_mut().rev() {
            latest = latest.min(piece.at);
            piece.at = latest;
        }
        let mut messages: Vec<Message> = Vec::new();
        // Messages of which the end is to come, by their stream.
        let mut open: BTreeMap<u16, usize> = BTreeMap::new();
        for Piece { at, size, chunk } in self.pieces {
            let place = open.remove(&chunk.stream).filter(|_| !chunk.begins);
            let place = place.unwrap_or(messages.len());
            match messages.get_mut(place) {
                Some(message) => message.size += size,
                None => messages.push(Message { at, size }),
            }
            if !chunk.ends {
                open.insert(chunk.stream, place);
            }
        }
        messages
    }
}

#[cfg(test)]
mod tests;
