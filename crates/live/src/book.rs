//! The messages of a flow that a packet carries, for units of any protocol.

use std::collections::{BTreeMap, VecDeque};

use base::Instant;
use lab::MessageSource;
use lab::flow::{Numbering, Span};

/// The messages of one flow, by their units: DATA chunks of SCTP, bytes of TCP.
#[derive(Debug)]
pub(crate) struct Book {
    numbering: Numbering,
    /// The messages in the order in which they are sent, for the sizes that TCP does not show.
    source: MessageSource,
    /// First unit of each message, in order; the place is the number of the message.
    begins: Vec<u64>,
    /// The byte after the last message that was drawn for `begins`.
    drawn: u64,
    /// The unit after the highest that was sent.
    sent_to: u64,
    /// Number of times that each message was sent, of those that left at least once.
    copies: BTreeMap<u64, u32>,
}

/// A message in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// Number of the message in its flow, from 0.
    pub(crate) message: u64,
    /// Number of the transmission; the first is 1.
    pub(crate) copy: u32,
}

impl Book {
    pub(crate) fn new(numbering: Numbering, source: MessageSource) -> Book {
        Book {
            numbering,
            source,
            begins: Vec::new(),
            drawn: 0,
            sent_to: 0,
            copies: BTreeMap::new(),
        }
    }

    /// The unit after the highest that was sent: numbers of 32 bits are close to it.
    pub(crate) fn sent_to(&self) -> u64 {
        self.sent_to
    }

    /// The messages of a packet with these units, which leaves now.
    pub(crate) fn transmissions(&mut self, spans: &[Span]) -> Vec<Transmission> {
        let mut found: Vec<Transmission> = Vec::new();
        for span in spans {
            if self.numbering == Numbering::Sctp && span.start >= self.sent_to && span.begins {
                self.begins.push(span.start);
            }
            self.sent_to = self.sent_to.max(span.end);
            self.draw_to(span.end);
            for message in self.messages_of(*span) {
                if found.iter().all(|one| one.message != message) {
                    let copy = self.copies.entry(message).or_insert(0);
                    *copy += 1;
                    found.push(Transmission { message, copy: *copy });
                }
            }
        }
        found
    }

    /// Draws messages of TCP until the bytes before `end` are known.
    fn draw_to(&mut self, end: u64) {
        while self.numbering == Numbering::Tcp && self.drawn < end {
            let Some(message) = self.source.poll_message(Instant::FAR_FUTURE) else { return };
            self.begins.push(self.drawn);
            self.drawn += message.size as u64;
        }
    }

    fn messages_of(&self, span: Span) -> core::ops::Range<u64> {
        let first = self.begins.partition_point(|begin| *begin <= span.start).saturating_sub(1);
        let after = self.begins.partition_point(|begin| *begin < span.end);
        first as u64..after as u64
    }
}

/// Times at which the messages of a flow are due, as they come.
#[derive(Debug)]
pub(crate) struct Due {
    source: MessageSource,
    waiting: VecDeque<(u64, Instant)>,
}

impl Due {
    pub(crate) fn new(source: MessageSource) -> Due {
        Due { source, waiting: VecDeque::new() }
    }

    /// Messages that have become due by `now` since the last call, each with its time.
    pub(crate) fn until(&mut self, now: Instant) -> impl Iterator<Item = (u64, Instant)> + '_ {
        while let Some(message) = self.source.poll_message(now) {
            self.waiting.push_back((message.index, message.due));
        }
        self.waiting.drain(..)
    }
}
