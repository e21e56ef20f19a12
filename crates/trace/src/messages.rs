//! What applications wrote, as far as a capture shows it: when new data left, and how much.
//!
//! Retransmissions and redundant copies are left out. SCTP says where a message begins and ends. Of TCP, each
//! packet is taken for a write, and those that leave at once behind a full one for the rest of it. What a sender
//! held back (Nagle, a full window) shows when it left, not when it was written.
//!
//! A capture that was not taken at the sender misses what was lost before it. That was written no later than what
//! follows it.

use std::collections::{BTreeMap, BTreeSet};

use base::Duration;

use crate::observer::{DataSent, Observer, StreamId};

/// Packets that leave within this time of each other leave at once.
const AT_ONCE: Duration = Duration::from_micros(500);
/// A packet of TCP with less than this is not full, whatever the others have.
const LEAST_FULL: u32 = 1000;
/// Chunks that may be missing in a row before it is taken for a jump of the numbers.
const MOST_MISSING: u64 = 10_000;

/// Something that an application wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it left, since the capture's first packet.
    pub at: Duration,
    /// Bytes.
    pub size: u64,
}

/// What one direction of a connection carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamMessages {
    /// As in [`crate::report::StreamReport::id`].
    pub stream: String,
    /// In the order in which they were written.
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
    /// Of the streams with these names (`3a`, or `3` for both directions), or of all; so many at most.
    pub fn new(wanted: Option<BTreeSet<String>>, most: usize) -> Messages {
        Messages { wanted, found: BTreeMap::new(), room: most, left_out: 0 }
    }

    /// Packets that there was no room for.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// What was found, in the order of the streams.
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
        let before = gathered.messages.len();
        gathered.on_data(data);
        self.room = self.room.saturating_sub(gathered.messages.len() - before);
    }
}

/// The messages of one stream.
#[derive(Clone, Debug, Default)]
struct Gathered {
    /// In the order of their numbers; of size 0 while it is not known.
    messages: Vec<Message>,
    /// The number after the highest.
    next: Option<u64>,
    /// Of TCP: the most that a packet had, and the last one.
    largest: u32,
    last: Option<(Duration, u32)>,
    /// Of SCTP: messages of which the end is to come, by their stream.
    open: BTreeMap<u16, usize>,
    /// Of SCTP: chunks that the capture did not show when they were due.
    missing: BTreeMap<u64, usize>,
}

impl Gathered {
    fn on_data(&mut self, data: &DataSent) {
        if let Some(place) = self.missing.remove(&data.start) {
            self.grow(place, data.bytes);
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
                        self.missing.insert(number, self.messages.len());
                        self.push(data.at, 0);
                    }
                }
                match self.open.get(&chunk.stream).copied().filter(|_| !chunk.begins) {
                    Some(place) => self.grow(place, data.bytes),
                    None => {
                        self.open.insert(chunk.stream, self.messages.len());
                        self.push(data.at, u64::from(data.bytes));
                    }
                }
                if chunk.ends {
                    self.open.remove(&chunk.stream);
                }
            }
        }
        self.next = Some(data.end);
    }

    fn on_bytes(&mut self, data: &DataSent, skipped: u64) {
        if skipped > 0 {
            self.push(data.at, skipped);
        }
        let goes_on = skipped == 0
            && self.last.is_some_and(|(at, bytes)| {
                bytes >= self.largest.max(LEAST_FULL) && data.at.saturating_sub(at) <= AT_ONCE
            });
        self.largest = self.largest.max(data.bytes);
        self.last = Some((data.at, data.bytes));
        match goes_on {
            true => self.grow(self.messages.len().saturating_sub(1), data.bytes),
            false => self.push(data.at, u64::from(data.bytes)),
        }
    }

    fn push(&mut self, at: Duration, size: u64) {
        self.messages.push(Message { at, size });
    }

    fn grow(&mut self, place: usize, bytes: u32) {
        if let Some(message) = self.messages.get_mut(place) {
            message.size += u64::from(bytes);
        }
    }

    fn finish(mut self) -> Vec<Message> {
        self.messages.retain(|message| message.size > 0);
        let mut latest = Duration::MAX;
        for message in self.messages.iter_mut().rev() {
            latest = latest.min(message.at);
            message.at = latest;
        }
        self.messages
    }
}

#[cfg(test)]
mod tests;
