//! Fragments to messages, messages in their order (RFC 9260, sections 6.6, 6.7 and 6.9).
//!
//! What arrives in the order of TSNs never touches a tree: a whole message goes straight to the
//! queue of those ready, a fragment to the one message under construction. Only chunks beyond a
//! missing TSN are *held*, in the order of their TSNs. Chunks of one message with consecutive TSNs
//! form a *run*; the first and the last chunk of a run know each other, so that a chunk joins its
//! neighbours, and a whole message is noticed, without walking over the run. A whole message is
//! delivered from beyond the gap when it is unordered or the next of its stream; until then its
//! chunks stay held, which also leaves them to be dropped if room is needed (section 6.2).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use super::message::Message;
use super::stream::InboundStreams;
use crate::wire::ids::{Ppid, Ssn, StreamId, Tsn};

/// Room that a chunk takes beside its payload. Without it, a buffer's worth of one-byte chunks
/// would take a hundred times the buffer.
pub(crate) const CHUNK_OVERHEAD: usize = 96;

/// Payloads up to this length are copied when they are kept: each is a slice of its datagram, and
/// ten bytes of payload would hold on to all of it. Longer ones are worth the datagram, and copying
/// them would cost more.
const SMALL_PAYLOAD: usize = 256;

/// Messages that may wait for the application before small ones are copied as above. One that
/// reads what each datagram brought never pays for a copy.
const UNREAD_UNCOPIED: usize = 16;

/// Messages for which an idle queue keeps its memory.
const IDLE_CAPACITY: usize = 1;

/// A DATA chunk as the receiving side needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Data {
    /// Its TSN.
    pub(crate) tsn: Tsn,
    /// The stream of its message.
    pub(crate) stream: StreamId,
    /// Number of its message in the stream.
    pub(crate) ssn: Ssn,
    /// What its sender says it carries.
    pub(crate) ppid: Ppid,
    /// B bit: the first fragment of its message.
    pub(crate) beginning: bool,
    /// E bit: the last fragment of its message.
    pub(crate) ending: bool,
    /// U bit: its message has no place in the order of the stream.
    pub(crate) unordered: bool,
    /// I bit: its sender asks for a SACK without delay (RFC 7053).
    pub(crate) immediate: bool,
    /// Its payload is a small part of the packet that it is a slice of.
    pub(crate) sparse: bool,
    /// User data.
    pub(crate) payload: Bytes,
}

/// How a peer broke the rules of fragmentation and order. The association is aborted with the
/// cause Protocol Violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// A first fragment where the message before it has not ended.
    UnfinishedMessage,
    /// A middle or last fragment where no message has begun.
    OrphanFragment,
    /// Consecutive fragments of one message name different streams, SSNs or orders.
    MixedFragments,
    /// An ordered message that is not the next of its stream although no earlier TSN is missing.
    SsnOutOfSequence,
}

impl Violation {
    /// One line for the additional information of the error cause.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Violation::UnfinishedMessage => "DATA begins a message before the last one ended",
            Violation::OrphanFragment => "DATA continues a message that never began",
            Violation::MixedFragments => "fragments of one message differ in stream, SSN or U bit",
            Violation::SsnOutOfSequence => "SSN is out of sequence although no TSN is missing",
        }
    }
}

/// Why a chunk cannot become part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The peer broke a rule.
    Violation(Violation),
    /// Its message is longer than this side takes.
    MessageTooLarge,
}

impl From<Violation> for Fault {
    fn from(violation: Violation) -> Fault {
        Fault::Violation(violation)
    }
}

/// A chunk beyond a missing TSN.
#[derive(Debug)]
struct Held {
    data: Data,
    /// The other end of the run. Kept only at the ends of a run: in between it is stale.
    other_end: u64,
}

/// The message under construction at the cumulative TSN ack point.
#[derive(Debug)]
struct Partial {
    message: Message,
    length: usize,
    /// TSN of the fragment that comes next.
    next: u64,
}

/// Chunks and messages on their way from the wire to the application.
#[derive(Debug)]
pub(crate) struct Reassembly {
    streams: InboundStreams,
    max_message: usize,
    /// By TSN; all above the cumulative TSN ack point.
    held: BTreeMap<u64, Held>,
    /// Whole ordered messages among those held: stream and first TSN.
    waiting: BTreeSet<(StreamId, u64)>,
    partial: Option<Box<Partial>>,
    ready: VecDeque<Message>,
    bytes: usize,
    chunks: usize,
}

impl Reassembly {
    /// Nothing received yet; messages longer than `max_message` bytes are a fault.
    pub(crate) fn new(streams: InboundStreams, max_message: usize) -> Reassembly {
        Reassembly {
            streams,
            max_message,
            held: BTreeMap::new(),
            waiting: BTreeSet::new(),
            partial: None,
            ready: VecDeque::new(),
            bytes: 0,
            chunks: 0,
        }
    }

    /// The inbound streams.
    pub(crate) fn streams(&self) -> &InboundStreams {
        &self.streams
    }

    /// Bytes of payload that are kept, delivered or not, until the application takes them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the kept chunks take from the receive buffer.
    pub(crate) fn charge(&self) -> usize {
        self.bytes + self.chunks * CHUNK_OVERHEAD
    }

    /// Whether a message waits for the application.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The highest TSN that can be dropped again.
    pub(crate) fn highest_held(&self) -> Option<u64> {
        self.held.last_key_value().map(|(tsn, _)| *tsn)
    }

    /// The application takes the next message.
    pub(crate) fn receive(&mut self) -> Option<Message> {
        let message = self.ready.pop_front()?;
        self.bytes -= message.payload.len();
        self.chunks -= message.payload.parts().len();
        if self.ready.is_empty() {
            self.ready.shrink_to(IDLE_CAPACITY);
        }
        Some(message)
    }

    /// Takes the chunk that follows the cumulative TSN ack point.
    pub(crate) fn take_in_order(&mut self, tsn: u64, mut data: Data) -> Result<(), Fault> {
        if self.ready.len() >= UNREAD_UNCOPIED {
            data.detach();
        }
        self.charge_for(&data);
        self.append(tsn, data)
    }

    /// Takes the held chunks that the cumulative TSN ack point has reached. None of them is of a
    /// message that waits: its predecessor, reached before, has taken it along.
    pub(crate) fn take_reached(&mut self, cumulative: u64) -> Result<(), Fault> {
        while let Some(first) = self.held.first_entry().filter(|entry| *entry.key() <= cumulative) {
            let (tsn, Held { data, .. }) = first.remove_entry();
            self.append(tsn, data)?;
        }
        Ok(())
    }

    /// Takes a chunk beyond a missing TSN.
    pub(crate) fn hold(&mut self, tsn: u64, mut data: Data) -> Result<(), Fault> {
        let first = match self.held.get(&(tsn - 1)) {
            Some(before) if same_message(&before.data, &data)? => before.other_end,
            _ => tsn,
        };
        let last = match self.held.get(&(tsn + 1)) {
            Some(after) if same_message(&data, &after.data)? => after.other_end,
            _ => tsn,
        };
        self.charge_for(&data);
        let (stream, ssn, unordered) = (data.stream, data.ssn, data.unordered);
        let may_leave = unordered || self.streams.expected(stream) == ssn;
        if data.beginning && data.ending && may_leave {
            self.deliver(single(data));
            return self.deliver_waiting(stream);
        }
        data.detach();
        self.held.insert(tsn, Held { data, other_end: tsn });
        self.link(first, last);
        let begun = self.held.get(&first).is_some_and(|held| held.data.beginning);
        let ended = self.held.get(&last).is_some_and(|held| held.data.ending);
        if !(begun && ended) {
            return Ok(());
        }
        if !may_leave {
            self.waiting.insert((stream, first));
            return Ok(());
        }
        self.deliver_run(first, last)?;
        self.deliver_waiting(stream)
    }

    /// Drops the held chunk with the highest TSN and answers which it was.
    pub(crate) fn drop_highest(&mut self) -> Option<u64> {
        let (tsn, Held { data, other_end: first }) = self.held.pop_last()?;
        self.bytes -= data.payload.len();
        self.chunks -= 1;
        self.waiting.remove(&(data.stream, first));
        if first < tsn {
            self.link(first, tsn - 1);
        }
        Some(tsn)
    }

    /// Adds the next chunk in the order of TSNs to the message under construction.
    fn append(&mut self, tsn: u64, mut data: Data) -> Result<(), Fault> {
        let Some(mut partial) = self.partial.take() else {
            return self.begin(tsn, data);
        };
        // The next fragment has the next TSN: what came in between was of another message.
        if data.beginning || partial.next != tsn {
            return Err(Violation::UnfinishedMessage.into());
        }
        let message = &mut partial.message;
        let same_place = message.unordered || message.ssn == data.ssn;
        if message.stream != data.stream || message.unordered != data.unordered || !same_place {
            return Err(Violation::MixedFragments.into());
        }
        partial.length += data.payload.len();
        partial.next = tsn + 1;
        if partial.length > self.max_message {
            return Err(Fault::MessageTooLarge);
        }
        data.detach();
        message.payload.push(data.payload);
        if data.ending {
            return self.deliver_in_turn(partial.message);
        }
        self.partial = Some(partial);
        Ok(())
    }

    /// Starts a message with its first chunk, which may be its last.
    fn begin(&mut self, tsn: u64, mut data: Data) -> Result<(), Fault> {
        if !data.beginning {
            return Err(Violation::OrphanFragment.into());
        }
        let length = data.payload.len();
        if length > self.max_message {
            return Err(Fault::MessageTooLarge);
        }
        if data.ending {
            return self.deliver_in_turn(single(data));
        }
        data.detach();
        self.partial = Some(Box::new(Partial { message: single(data), length, next: tsn + 1 }));
        Ok(())
    }

    /// Delivers a message with no TSN missing before it. If it is ordered it is the next of its
    /// stream, since its predecessors have lower TSNs.
    fn deliver_in_turn(&mut self, message: Message) -> Result<(), Fault> {
        let (stream, unordered) = (message.stream, message.unordered);
        if !unordered && !self.streams.take_turn(stream, message.ssn) {
            return Err(Violation::SsnOutOfSequence.into());
        }
        self.ready.push_back(message);
        if unordered { Ok(()) } else { self.deliver_waiting(stream) }
    }

    /// Delivers the held messages of `stream` whose turn has come.
    fn deliver_waiting(&mut self, stream: StreamId) -> Result<(), Fault> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let of_stream = (stream, 0)..=(stream, u64::MAX);
        while let Some(&(_, first)) = self.waiting.range(of_stream.clone()).next() {
            let Some(held) = self.held.get(&first) else { return Ok(()) };
            if held.data.ssn != self.streams.expected(stream) {
                return Ok(());
            }
            let last = held.other_end;
            self.waiting.remove(&(stream, first));
            self.deliver_run(first, last)?;
        }
        Ok(())
    }

    /// Delivers the held chunks `first..=last`, a whole message whose turn it is.
    fn deliver_run(&mut self, first: u64, last: u64) -> Result<(), Fault> {
        let Some(Held { data, .. }) = self.held.remove(&first) else { return Ok(()) };
        let mut message = single(data);
        let mut length = message.payload.len();
        for tsn in first + 1..=last {
            let Some(Held { data, .. }) = self.held.remove(&tsn) else { break };
            length += data.payload.len();
            message.payload.push(data.payload);
        }
        if length > self.max_message {
            return Err(Fault::MessageTooLarge);
        }
        self.deliver(message);
        Ok(())
    }

    /// Delivers a message from beyond a missing TSN whose turn it is.
    fn deliver(&mut self, message: Message) {
        if !message.unordered {
            self.streams.take_turn(message.stream, message.ssn);
        }
        self.ready.push_back(message);
    }

    /// Makes `first` and `last` the two ends of one run.
    fn link(&mut self, first: u64, last: u64) {
        for (end, other) in [(first, last), (last, first)] {
            if let Some(held) = self.held.get_mut(&end) {
                held.other_end = other;
            }
        }
    }

    fn charge_for(&mut self, data: &Data) {
        self.bytes += data.payload.len();
        self.chunks += 1;
    }
}

/// Whether `after`, the chunk with the next TSN, continues the message of `before`.
fn same_message(before: &Data, after: &Data) -> Result<bool, Violation> {
    match (before.ending, after.beginning) {
        (true, true) => return Ok(false),
        (false, true) => return Err(Violation::UnfinishedMessage),
        (true, false) => return Err(Violation::OrphanFragment),
        (false, false) => {}
    }
    // Section 6.6: a receiver ignores the SSN of unordered data.
    let same_place = before.unordered || before.ssn == after.ssn;
    if before.stream == after.stream && before.unordered == after.unordered && same_place {
        Ok(true)
    } else {
        Err(Violation::MixedFragments)
    }
}

/// A message of the payload of one chunk.
fn single(data: Data) -> Message {
    let Data { tsn, stream, ssn, ppid, unordered, payload, .. } = data;
    Message { stream, ppid, unordered, ssn, tsn, payload: payload.into() }
}

impl Data {
    /// Lets go of the datagram around a payload that is not worth it.
    fn detach(&mut self) {
        if self.sparse || self.payload.len() <= SMALL_PAYLOAD {
            self.payload = Bytes::copy_from_slice(&self.payload);
            self.sparse = false;
        }
    }
}

#[cfg(test)]
mod tests;
