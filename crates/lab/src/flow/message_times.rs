//! Times of each message, from due to delivered.

mod resends;

use std::collections::{BTreeMap, VecDeque};

use base::{Duration, Instant};
use recovery::Cause;

use self::resends::Resends;
use super::spans::Span;
use crate::observed::{Delivery, Needless};
use crate::workload::DueMessage;

/// Messages on their way. Memory grows with these messages and a few retransmissions.
#[derive(Debug, Default)]
pub struct MessageTimes {
    /// Index of the first message in `messages`.
    base: u64,
    messages: VecDeque<Note>,
    /// Messages of which no part was sent, per stream.
    unsent: BTreeMap<u16, VecDeque<u64>>,
    /// First unit of each message that has begun to leave (TCP: that was accepted), in order.
    begins: VecDeque<(u64, u64)>,
    /// The unit after the highest that left.
    sent_to: u64,
    /// The unit after the last accepted one; TCP only.
    accepted_to: u64,
    arrived: Coverage,
    resends: Resends,
}

#[derive(Clone, Copy, Debug)]
struct Note {
    size: usize,
    due: Instant,
    accepted: Instant,
    sent: Instant,
    /// Units; the end is 0 while it is not known.
    start: u64,
    end: u64,
    arrived: Option<Instant>,
    retransmissions: u32,
    media: Duration,
    done: bool,
}

impl MessageTimes {
    /// Number of messages sent and not delivered yet.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether no message is on its way.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The unit after the highest that left.
    pub fn sent_to(&self) -> u64 {
        self.sent_to
    }

    /// The transport accepted a whole message, to be sent on `stream`. Messages come in order of
    /// their index.
    pub fn on_accepted(&mut self, now: Instant, message: DueMessage, stream: u16) {
        if self.messages.is_empty() {
            self.base = message.index;
        }
        self.unsent.entry(stream).or_default().push_back(message.index);
        self.push(now, message, 0, 0);
    }

    /// A byte-stream transport accepted a whole message: its units are known at once.
    pub fn on_accepted_bytes(&mut self, now: Instant, message: DueMessage) {
        if self.messages.is_empty() {
            self.base = message.index;
        }
        let start = self.accepted_to;
        self.accepted_to += message.size as u64;
        self.begins.push_back((start, message.index));
        self.push(now, message, start, self.accepted_to);
    }

    fn push(&mut self, now: Instant, message: DueMessage, start: u64, end: u64) {
        let DueMessage { size, due, media, .. } = message;
        self.messages.push_back(Note {
            size,
            due,
            accepted: now,
            sent: Instant::FAR_FUTURE,
            start,
            end,
            arrived: None,
            retransmissions: 0,
            media,
            done: false,
        });
    }

    /// Data leaves in an SCTP packet.
    pub fn on_chunk_sent(&mut self, now: Instant, span: Span) {
        if span.end <= self.sent_to {
            return;
        }
        self.sent_to = span.end;
        if span.begins
            && let Some(index) = self.unsent.get_mut(&span.stream).and_then(VecDeque::pop_front)
        {
            self.begins.push_back((span.start, index));
            if let Some(note) = self.get_mut(index) {
                note.start = span.start;
            }
        }
        let Some(index) = self.message_of(span.start) else { return };
        if let Some(note) = self.get_mut(index) {
            note.end = span.end;
            note.sent = now;
        }
    }

    /// Data leaves in a TCP segment.
    pub fn on_bytes_sent(&mut self, now: Instant, span: Span) {
        let from = self.sent_to;
        if span.end <= from {
            return;
        }
        self.sent_to = span.end;
        self.for_each_overlapping(from, span.end, |note| {
            if note.end <= span.end {
                note.sent = now;
            }
        });
    }

    /// Recovery sends a unit again.
    pub fn on_resent(&mut self, now: Instant, unit: u64, cause: Cause, order: u8) {
        self.resends.add(unit, Needless { cause, order, sent: now });
    }

    /// The messages that a retransmission of units `start..end` carries were sent once more.
    pub fn on_retransmission(&mut self, start: u64, end: u64) {
        self.for_each_overlapping(start, end, |note| note.retransmissions += 1);
    }

    /// Data arrived. Returns the retransmission if it was needless.
    pub fn on_arrived(&mut self, now: Instant, span: Span) -> Option<Needless> {
        if self.arrived.contains(span.start, span.end) {
            return self.resends.on_again(now, span.start);
        }
        if self.resends.may_have(span.start)
            && let Some(index) = self.message_of(span.start)
            && let Some(first) = self.get_mut(index).map(|note| note.sent.min(now))
        {
            self.resends.on_first(now, span.start, first);
        }
        self.arrived.add(span.start, span.end);
        let (start, end) = (span.start, span.end);
        let MessageTimes { arrived, messages, begins, base, resends, .. } = self;
        for_each_overlapping(messages, begins, *base, start, end, |note| {
            if note.arrived.is_none() && note.end > 0 && arrived.contains(note.start, note.end) {
                note.arrived = Some(now);
                if note.retransmissions == 0 && note.sent <= now {
                    resends.on_way(now.since(note.sent));
                }
            }
        });
        None
    }

    /// The message that begins with this unit was delivered.
    pub fn on_message_delivered(&mut self, now: Instant, unit: u64) -> Option<Delivery> {
        let index = self.message_of(unit)?;
        self.deliver(now, index)
    }

    /// The next message in the order of the sender was delivered.
    pub fn on_next_delivered(&mut self, now: Instant) -> Option<Delivery> {
        self.deliver(now, self.base)
    }

    /// Units of this span that have arrived before.
    pub fn arrived_of(&self, span: Span) -> u64 {
        self.arrived.count(span.start, span.end)
    }

    /// The next message that is complete now that all bytes before `end` were delivered.
    pub fn poll_delivered(&mut self, now: Instant, end: u64) -> Option<Delivery> {
        let first = self.messages.front().filter(|note| note.end <= end && note.end > 0)?;
        debug_assert!(!first.done);
        self.deliver(now, self.base)
    }

    fn deliver(&mut self, now: Instant, index: u64) -> Option<Delivery> {
        let note = self.get_mut(index).filter(|note| !note.done)?;
        note.done = true;
        let Note { size, due, accepted, sent, arrived, retransmissions, media, .. } = *note;
        while self.messages.front().is_some_and(|note| note.done) {
            self.messages.pop_front();
            self.base += 1;
        }
        while self.begins.front().is_some_and(|(_, index)| *index < self.base) {
            self.begins.pop_front();
        }
        let arrived = arrived.unwrap_or(now);
        Some(Delivery {
            index,
            size,
            due,
            accepted,
            sent: sent.min(arrived),
            arrived,
            delivered: now,
            retransmissions,
            media,
        })
    }

    /// Times at which the messages that have not been delivered were due.
    pub fn undelivered(&self) -> impl Iterator<Item = Instant> {
        self.messages.iter().filter(|note| !note.done).map(|note| note.due)
    }

    fn get_mut(&mut self, index: u64) -> Option<&mut Note> {
        self.messages.get_mut(index.checked_sub(self.base)? as usize)
    }

    fn message_of(&self, unit: u64) -> Option<u64> {
        let after = self.begins.partition_point(|(start, _)| *start <= unit);
        self.begins.get(after.checked_sub(1)?).map(|(_, index)| *index)
    }

    fn for_each_overlapping(&mut self, start: u64, end: u64, act: impl FnMut(&mut Note)) {
        let MessageTimes { messages, begins, base, .. } = self;
        for_each_overlapping(messages, begins, *base, start, end, act);
    }
}

/// Calls `act` with each message that has units in `start..end`.
fn for_each_overlapping(
    messages: &mut VecDeque<Note>,
    begins: &VecDeque<(u64, u64)>,
    base: u64,
    start: u64,
    end: u64,
    mut act: impl FnMut(&mut Note),
) {
    let after = begins.partition_point(|(begin, _)| *begin <= start);
    for (begin, index) in begins.range(after.saturating_sub(1)..) {
        if *begin >= end {
            break;
        }
        let place = index.checked_sub(base).map(|place| place as usize);
        if let Some(note) = place.and_then(|place| messages.get_mut(place))
            && note.end > start
        {
            act(note);
        }
    }
}

/// The set of units that have arrived.
#[derive(Debug, Default)]
struct Coverage {
    /// All units before this one have arrived.
    through: u64,
    /// Ranges beyond, by their start, not touching each other.
    beyond: BTreeMap<u64, u64>,
}

impl Coverage {
    fn contains(&self, start: u64, end: u64) -> bool {
        let range = self.beyond.range(..=start).next_back();
        end <= self.through || range.is_some_and(|(_, range_end)| *range_end >= end)
    }

    /// Number of units of a span that have arrived.
    fn count(&self, start: u64, end: u64) -> u64 {
        let overlap = |from: u64, to: u64| to.min(end).saturating_sub(from.max(start));
        let first = self.beyond.range(..=start).next_back();
        let rest = self.beyond.range(start.saturating_add(1)..end.max(start.saturating_add(1)));
        let beyond = first.into_iter().chain(rest).map(|(from, to)| overlap(*from, *to));
        overlap(0, self.through) + beyond.sum::<u64>()
    }

    fn add(&mut self, start: u64, end: u64) {
        let (mut start, mut end) = (start, end);
        if start <= self.through {
            self.through = self.through.max(end);
            while let Some(entry) = self.beyond.first_entry()
                && *entry.key() <= self.through
            {
                self.through = self.through.max(entry.remove());
            }
            return;
        }
        if let Some((from, to)) = self.beyond.range(..=start).next_back()
            && *to >= start
        {
            (start, end) = (*from, end.max(*to));
        }
        while let Some((from, to)) = self.beyond.range(start..=end).next() {
            let (from, to) = (*from, *to);
            self.beyond.remove(&from);
            end = end.max(to);
        }
        self.beyond.insert(start, end);
    }
}

#[cfg(test)]
mod tests;
