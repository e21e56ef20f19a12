//! Reassembly of messages whose fragments have consecutive TSNs: DATA (RFC 9260, sections 6.6, 6.7
//! and 6.9).
//!
//! Data that arrives in the order of TSNs never touches a tree: a whole message goes straight to
//! the queue of those ready, a fragment to the one message under construction. Only chunks beyond a
//! missing TSN are *held*, in the order of their TSNs. Chunks of one message with consecutive TSNs
//! form a *run*; the first and the last chunk of a run know each other, so that a chunk joins its
//! neighbours, and a whole message is noticed, without a walk over the run. A whole message is
//! delivered from beyond the gap if it is unordered or the next of its stream; until
//! then its chunks stay held, so that they may be dropped if room is needed (section 6.2).

use std::collections::{BTreeMap, BTreeSet};

use ::endpoint::footprint;

use super::super::data::{Data, Fault, Skipped, Violation};
use super::super::inbox::Inbox;
use super::super::message::Message;
use super::revocable::Revocable;
use crate::wire::ids::StreamId;

/// A chunk beyond a missing TSN.
#[derive(Debug)]
struct Held {
    data: Data,
    /// The other end of the run; only valid at the ends of a run.
    other_end: u64,
}

/// The message under construction at the cumulative TSN ack point.
#[derive(Debug)]
struct Partial {
    message: Message,
    length: usize,
    /// TSN of the next fragment.
    next: u64,
    /// Whether parts of it have been delivered.
    delivered: bool,
}

/// Chunks of incomplete messages, or of messages that are not next in order.
#[derive(Debug, Default)]
pub(super) struct Consecutive {
    /// Chunks beyond a missing TSN, if there are any.
    beyond: Option<Box<Beyond>>,
    partial: Option<Box<Partial>>,
}

/// Chunks beyond a missing TSN.
#[derive(Debug, Default)]
struct Beyond {
    /// Chunks by TSN, all above the cumulative TSN ack point.
    held: BTreeMap<u64, Held>,
    /// Payload of these chunks in bytes.
    held_bytes: usize,
    /// Whole ordered messages among them: stream and first TSN.
    waiting: BTreeSet<(StreamId, u64)>,
}

impl Consecutive {
    /// The highest TSN that may be dropped.
    pub(super) fn highest_held(&self) -> Option<u64> {
        self.beyond.as_ref()?.held.last_key_value().map(|(tsn, _)| *tsn)
    }

    /// The chunks that may be dropped.
    #[inline]
    pub(super) fn revocable(&self) -> Revocable {
        let Some(beyond) = &self.beyond else { return Revocable::default() };
        let entry = size_of::<(u64, Held)>();
        Revocable {
            chunks: beyond.held.len(),
            bytes: beyond.held_bytes,
            cost: footprint::of_vec(1, size_of::<Beyond>())
                + footprint::of_tree(beyond.held.len(), entry),
        }
    }

    /// Allocated bytes of the message under construction, without payload.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.partial.as_ref().map_or(0, |partial| {
            footprint::of_vec(1, size_of::<Partial>()) + partial.message.payload.memory()
        })
    }

    /// Accepts the chunk that follows the cumulative TSN ack point.
    pub(super) fn take_in_order(
        &mut self,
        inbox: &mut Inbox,
        tsn: u64,
        data: Data,
    ) -> Result<(), Fault> {
        inbox.charge_for(&data);
        self.append(inbox, tsn, data)
    }

    /// Accepts the held chunks that the cumulative TSN ack point has reached. None belongs to a
    /// message that still waits: its predecessor, reached before, has delivered it. (If the
    /// peer abandoned the predecessor, the message does not wait any more.)
    pub(super) fn take_reached(&mut self, inbox: &mut Inbox, cumulative: u64) -> Result<(), Fault> {
        while let Some(beyond) = &mut self.beyond
            && let Some((tsn, data)) = beyond.take_reached(cumulative)
        {
            self.append(inbox, tsn, data)?;
        }
        self.forget_beyond();
        Ok(())
    }

    /// Accepts a chunk beyond a missing TSN.
    pub(super) fn hold(&mut self, inbox: &mut Inbox, tsn: u64, data: Data) -> Result<(), Fault> {
        let held = self.beyond.get_or_insert_default().hold(inbox, tsn, data);
        self.forget_beyond();
        held
    }

    /// Drops the held chunk with the highest TSN, and returns the TSN.
    pub(super) fn drop_highest(&mut self, inbox: &mut Inbox) -> Option<u64> {
        let dropped = self.beyond.as_mut()?.drop_highest(inbox);
        self.forget_beyond();
        dropped
    }

    /// The peer abandoned what is missing up to TSN `to` (RFC 3758, section 3.6). A run of held
    /// chunks below it is a whole message, which nothing delays any more, or one that will
    /// never be complete.
    pub(super) fn skip(
        &mut self,
        inbox: &mut Inbox,
        to: u64,
        skipped: impl Iterator<Item = Skipped>,
    ) -> Result<(), Fault> {
        // Its next fragment is missing, otherwise it would be here.
        if let Some(partial) = self.partial.take() {
            partial.abandon(inbox);
        }
        if let Some(beyond) = &mut self.beyond {
            beyond.skip(inbox, to)?;
        }
        for Skipped { stream, mid, .. } in skipped {
            if inbox.streams.contains(stream) {
                inbox.streams.skip(stream, mid);
                self.deliver_waiting(inbox, stream)?;
            }
        }
        self.forget_beyond();
        Ok(())
    }

    /// Delivers the held messages of `stream` that are next in order.
    pub(super) fn deliver_waiting(
        &mut self,
        inbox: &mut Inbox,
        stream: StreamId,
    ) -> Result<(), Fault> {
        self.beyond.as_mut().map_or(Ok(()), |beyond| beyond.deliver_waiting(inbox, stream))
    }

    /// Delivers the held messages of all streams that are next in order.
    pub(super) fn deliver_all_waiting(&mut self, inbox: &mut Inbox) -> Result<(), Fault> {
        self.beyond.as_mut().map_or(Ok(()), |beyond| beyond.deliver_all_waiting(inbox))
    }

    /// Frees memory if no chunk is held.
    fn forget_beyond(&mut self) {
        self.beyond.take_if(|beyond| beyond.held.is_empty());
    }

    /// Delivers the received part of the message under construction, if it is next in order.
    pub(super) fn deliver_part(&mut self, inbox: &mut Inbox) {
        let Some(partial) = &mut self.partial else { return };
        let message = &mut partial.message;
        let deliverable =
            message.unordered || inbox.streams.expected(message.stream) == message.mid;
        if deliverable && !message.payload.is_empty() {
            partial.delivered = true;
            inbox.push(message.take_part());
        }
    }

    /// Adds the next chunk in the order of TSNs to the message under construction.
    fn append(&mut self, inbox: &mut Inbox, tsn: u64, mut data: Data) -> Result<(), Fault> {
        let Some(mut partial) = self.partial.take() else {
            return self.begin(inbox, tsn, data);
        };
        if let Some(violation) = partial.refuses(tsn, &data) {
            inbox.tolerate(violation)?;
            partial.abandon(inbox);
            return self.begin(inbox, tsn, data);
        }
        partial.length += data.payload.len();
        partial.next = tsn + 1;
        if inbox.is_too_large(partial.length) {
            return Err(Fault::MessageTooLarge);
        }
        data.detach();
        let ending = data.ending;
        partial.message.payload.push(data.payload);
        if ending {
            return self.deliver_in_order(inbox, partial.message);
        }
        self.keep(inbox, partial);
        Ok(())
    }

    /// Begins a message with its first chunk, which may be its last.
    fn begin(&mut self, inbox: &mut Inbox, tsn: u64, mut data: Data) -> Result<(), Fault> {
        let length = data.payload.len();
        if !data.beginning {
            inbox.tolerate(Violation::OrphanFragment)?;
            inbox.release(length);
            return Ok(());
        }
        if inbox.is_too_large(length) {
            return Err(Fault::MessageTooLarge);
        }
        if data.ending {
            return self.deliver_in_order(inbox, data.into_message());
        }
        data.detach();
        let message = data.into_message();
        let partial = Partial { message, length, next: tsn + 1, delivered: false };
        self.keep(inbox, Box::new(partial));
        Ok(())
    }

    /// Keeps a message under construction.
    fn keep(&mut self, inbox: &mut Inbox, partial: Box<Partial>) {
        let wanted =
            inbox.partial_delivery.is_some() && inbox.wants_part(partial.message.payload.len());
        self.partial = Some(partial);
        if wanted {
            self.deliver_part(inbox);
        }
    }

    /// Delivers a message without a missing TSN before it. If it is ordered, it is the next of its
    /// stream, since its predecessors have lower TSNs or were abandoned.
    fn deliver_in_order(&mut self, inbox: &mut Inbox, message: Message) -> Result<(), Fault> {
        let (stream, unordered) = (message.stream, message.unordered);
        if !unordered && !inbox.streams.take_next(stream, message.mid) {
            inbox.tolerate(Violation::SsnOutOfSequence)?;
            inbox.streams.skip(stream, message.mid);
        }
        inbox.push(message);
        if unordered { Ok(()) } else { self.deliver_waiting(inbox, stream) }
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.beyond.as_ref().map_or(0, |beyond| beyond.held.len())
    }
}

impl Beyond {
    /// Removes and returns the first chunk if the cumulative TSN ack point has reached it.
    fn take_reached(&mut self, cumulative: u64) -> Option<(u64, Data)> {
        let first = self.held.first_entry().filter(|entry| *entry.key() <= cumulative)?;
        let (tsn, Held { data, .. }) = first.remove_entry();
        self.held_bytes -= data.payload.len();
        self.waiting.remove(&(data.stream, tsn));
        Some((tsn, data))
    }

    fn hold(&mut self, inbox: &mut Inbox, tsn: u64, mut data: Data) -> Result<(), Fault> {
        let first = match self.held.get(&(tsn - 1)) {
            Some(before) if same_message(inbox, &before.data, &data)? => before.other_end,
            _ => tsn,
        };
        let last = match self.held.get(&(tsn + 1)) {
            Some(after) if same_message(inbox, &data, &after.data)? => after.other_end,
            _ => tsn,
        };
        inbox.charge_for(&data);
        let (stream, mid, unordered) = (data.stream, data.mid, data.unordered);
        let may_leave = unordered || inbox.streams.expected(stream) == mid;
        if data.beginning && data.ending && may_leave {
            deliver(inbox, data.into_message());
            return self.deliver_waiting(inbox, stream);
        }
        data.detach();
        self.held_bytes += data.payload.len();
        self.held.insert(tsn, Held { data, other_end: tsn });
        self.link(first, last);
        if !self.is_whole(first, last) {
            return Ok(());
        }
        if !may_leave {
            self.waiting.insert((stream, first));
            return Ok(());
        }
        self.deliver_run(inbox, first, last)?;
        self.deliver_waiting(inbox, stream)
    }

    fn drop_highest(&mut self, inbox: &mut Inbox) -> Option<u64> {
        let (tsn, Held { data, other_end: first }) = self.held.pop_last()?;
        inbox.release(data.payload.len());
        self.held_bytes -= data.payload.len();
        self.waiting.remove(&(data.stream, first));
        if first < tsn {
            self.link(first, tsn - 1);
        }
        Some(tsn)
    }

    /// The peer abandoned what is missing up to TSN `to`.
    fn skip(&mut self, inbox: &mut Inbox, to: u64) -> Result<(), Fault> {
        while let Some((&first, held)) = self.held.first_key_value().filter(|held| *held.0 <= to) {
            let (last, stream) = (held.other_end, held.data.stream);
            if self.is_whole(first, last) {
                self.waiting.remove(&(stream, first));
                self.deliver_run(inbox, first, last)?;
                self.deliver_waiting(inbox, stream)?;
                continue;
            }
            for tsn in first..=last {
                if let Some(Held { data, .. }) = self.held.remove(&tsn) {
                    inbox.release(data.payload.len());
                    self.held_bytes -= data.payload.len();
                }
            }
        }
        Ok(())
    }

    fn deliver_waiting(&mut self, inbox: &mut Inbox, stream: StreamId) -> Result<(), Fault> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let of_stream = (stream, 0)..=(stream, u64::MAX);
        while let Some(&(_, first)) = self.waiting.range(of_stream.clone()).next() {
            let Some(held) = self.held.get(&first) else { return Ok(()) };
            if held.data.mid != inbox.streams.expected(stream) {
                return Ok(());
            }
            let last = held.other_end;
            self.waiting.remove(&(stream, first));
            self.deliver_run(inbox, first, last)?;
        }
        Ok(())
    }

    fn deliver_all_waiting(&mut self, inbox: &mut Inbox) -> Result<(), Fault> {
        let mut next = self.waiting.first().map(|(stream, _)| *stream);
        while let Some(stream) = next {
            self.deliver_waiting(inbox, stream)?;
            next = self.waiting.range((stream, u64::MAX)..).next().map(|(stream, _)| *stream);
        }
        Ok(())
    }

    /// Delivers the held chunks `first..=last`, a whole message that is next in order.
    fn deliver_run(&mut self, inbox: &mut Inbox, first: u64, last: u64) -> Result<(), Fault> {
        let Some(Held { data, .. }) = self.held.remove(&first) else { return Ok(()) };
        let mut message = data.into_message();
        let mut length = message.payload.len();
        for tsn in first + 1..=last {
            let Some(Held { data, .. }) = self.held.remove(&tsn) else { break };
            length += data.payload.len();
            message.payload.push(data.payload);
        }
        self.held_bytes -= length;
        if inbox.is_too_large(length) {
            return Err(Fault::MessageTooLarge);
        }
        deliver(inbox, message);
        Ok(())
    }

    /// Whether the run `first..=last` is a whole message.
    fn is_whole(&self, first: u64, last: u64) -> bool {
        self.held.get(&first).is_some_and(|held| held.data.beginning)
            && self.held.get(&last).is_some_and(|held| held.data.ending)
    }

    /// Makes `first` and `last` the two ends of one run.
    fn link(&mut self, first: u64, last: u64) {
        for (end, other) in [(first, last), (last, first)] {
            if let Some(held) = self.held.get_mut(&end) {
                held.other_end = other;
            }
        }
    }
}

impl Partial {
    /// Reason for which chunk `data` cannot be the next of this message; `None` if it can.
    fn refuses(&self, tsn: u64, data: &Data) -> Option<Violation> {
        // The next fragment has the next TSN: anything in between belongs to another message.
        if data.beginning || self.next != tsn {
            return Some(Violation::UnfinishedMessage);
        }
        let message = &self.message;
        let same_place = message.unordered || message.mid == data.mid;
        let same = message.stream == data.stream && message.unordered == data.unordered;
        (!same || !same_place).then_some(Violation::MixedFragments)
    }

    /// The rest of the message will never arrive.
    fn abandon(&self, inbox: &mut Inbox) {
        inbox.release_all(&self.message.payload);
        if self.delivered {
            inbox.push(self.message.abandoned());
        }
    }
}

/// Delivers a message from beyond a missing TSN that is next in order.
fn deliver(inbox: &mut Inbox, message: Message) {
    if !message.unordered {
        inbox.streams.skip(message.stream, message.mid);
    }
    inbox.push(message);
}

/// Whether `after`, the chunk with the next TSN, continues the message of `before`.
fn same_message(inbox: &Inbox, before: &Data, after: &Data) -> Result<bool, Fault> {
    let violation = match (before.ending, after.beginning) {
        (true, true) => return Ok(false),
        (false, true) => Violation::UnfinishedMessage,
        (true, false) => Violation::OrphanFragment,
        (false, false) => {
            // RFC 9260, section 6.6: a receiver ignores the SSN of unordered data.
            let same_place = before.unordered || before.mid == after.mid;
            let same = before.stream == after.stream && before.unordered == after.unordered;
            if same && same_place {
                return Ok(true);
            }
            Violation::MixedFragments
        }
    };
    inbox.tolerate(violation).map(|()| false)
}

#[cfg(test)]
mod tests;
