//! Reassembly of messages whose fragments may alternate with those of others: I-DATA (RFC 8260,
//! section 2).
//!
//! A fragment identifies its message by stream, U bit and MID, and its position by FSN, so that any
//! number of messages can be under construction. All fragments are in one tree, those of a message
//! side by side in their order. A message is complete when the last fragment is known and the
//! number of fragments matches its FSN, without a walk over them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::RangeInclusive;

use ::endpoint::footprint;
use bytes::Bytes;

use super::super::data::{Data, Fault, Skipped, Violation};
use super::super::inbox::Inbox;
use super::super::message::{Message, Part, Payload};
use super::revocable::Revocable;
use crate::wire::ids::{Mid, Ppid, StreamId, Tsn};

/// Distance in messages of a stream after which no fragment of an older one is expected.
const LATEST: u32 = 1 << 30;

/// Identity of a message. Ordered and unordered ones are numbered separately (section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    stream: StreamId,
    unordered: bool,
    mid: u32,
}

/// A fragment that waits for those before it.
#[derive(Debug)]
struct Fragment {
    tsn: u64,
    payload: Bytes,
}

/// A message of which fragments arrived and are not delivered.
#[derive(Debug, Default)]
struct Assembly {
    /// Payload protocol identifier of its first fragment.
    ppid: Ppid,
    /// TSN of its first fragment.
    tsn: Tsn,
    /// Number of fragments that arrived, delivered or not.
    count: u32,
    /// FSN of the last fragment, once it is known.
    last: Option<u32>,
    /// FSN of the first undelivered fragment.
    delivered: u32,
    /// Bytes that arrived, delivered or not.
    length: usize,
    /// Bytes of fragments that are not delivered yet.
    kept: usize,
}

impl Assembly {
    fn is_whole(&self) -> bool {
        self.last.is_some_and(|last| last.checked_add(1) == Some(self.count))
    }
}

/// Incomplete messages, and those that are not next in order.
#[derive(Debug, Default)]
pub(super) struct Interleaved {
    messages: BTreeMap<Key, Assembly>,
    /// Fragments by their message and by their FSN, the number within it.
    fragments: BTreeMap<(Key, u32), Fragment>,
    /// Fragments above the cumulative TSN ack point, which may be dropped, by TSN.
    held: BTreeMap<u64, (Key, u32)>,
    /// Payload of these fragments in bytes.
    held_bytes: usize,
    /// The last abandoned unordered message of each stream with any.
    given_up: BTreeMap<StreamId, Mid>,
}

impl Interleaved {
    /// The highest TSN that may be dropped.
    pub(super) fn highest_held(&self) -> Option<u64> {
        self.held.last_key_value().map(|(tsn, _)| *tsn)
    }

    /// The chunks that may be dropped.
    #[inline]
    pub(super) fn revocable(&self) -> Revocable {
        let held = self.held.len();
        let cost = footprint::of_tree(held, size_of::<(u64, (Key, u32))>())
            + held * footprint::of_tree_entry(size_of::<((Key, u32), Fragment)>());
        Revocable { chunks: held, bytes: self.held_bytes, cost }
    }

    /// Allocated bytes, without payload and without chunks that may be dropped.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        let fragments = self.fragments.len() - self.held.len().min(self.fragments.len());
        size_of::<Interleaved>()
            + footprint::of_tree(self.messages.len(), size_of::<(Key, Assembly)>())
            + footprint::of_tree(fragments, size_of::<((Key, u32), Fragment)>())
            + footprint::of_tree(self.given_up.len(), size_of::<(StreamId, Mid)>())
    }

    /// Accepts a chunk; `beyond_gap`: a TSN below its own is missing.
    pub(super) fn take(
        &mut self,
        inbox: &mut Inbox,
        tsn: u64,
        data: Data,
        beyond_gap: bool,
    ) -> Result<(), Fault> {
        let key = Key { stream: data.stream, unordered: data.unordered, mid: data.mid.0 };
        if !key.unordered && inbox.streams.is_past(key.stream, data.mid) {
            // If messages are abandoned, this may be a fragment of one, without others.
            return inbox.tolerate(Violation::RepeatedMid);
        }
        if key.unordered && self.is_given_up(key) {
            return Ok(());
        }
        let next = is_next(inbox, key);
        if data.beginning && data.ending && next && !self.messages.contains_key(&key) {
            return self.take_whole(inbox, data);
        }
        self.check(key, &data)?;
        self.keep(inbox, key, tsn, data, beyond_gap)?;
        let Some(assembly) = self.messages.get(&key) else { return Ok(()) };
        if !next {
            return Ok(());
        }
        if assembly.is_whole() {
            self.deliver(inbox, key);
            if !key.unordered {
                self.deliver_waiting(inbox, key.stream);
            }
        } else if inbox.wants_part(assembly.kept) {
            self.deliver_part(inbox, key);
        }
        Ok(())
    }

    /// No chunk up to TSN `cumulative` may be dropped any more.
    pub(super) fn take_reached(&mut self, cumulative: u64) {
        while let Some(first) = self.held.first_entry().filter(|entry| *entry.key() <= cumulative) {
            let place = first.remove();
            let fragment = self.fragments.get(&place);
            self.held_bytes -= fragment.map_or(0, |fragment| fragment.payload.len());
        }
    }

    /// Drops the fragment with the highest TSN, and returns the TSN.
    pub(super) fn drop_highest(&mut self, inbox: &mut Inbox) -> Option<u64> {
        let (tsn, (key, fsn)) = self.held.pop_last()?;
        let fragment = self.fragments.remove(&(key, fsn))?;
        let length = fragment.payload.len();
        self.held_bytes -= length;
        inbox.release(length);
        if let Entry::Occupied(mut entry) = self.messages.entry(key) {
            let assembly = entry.get_mut();
            assembly.count -= 1;
            assembly.length -= length;
            assembly.kept -= length;
            assembly.last = assembly.last.filter(|last| *last != fsn);
            if assembly.count == 0 {
                entry.remove();
            }
        }
        Some(tsn)
    }

    /// The peer abandoned messages (section 2.3.1). Complete ones among them are delivered: they
    /// waited for others.
    pub(super) fn skip(&mut self, inbox: &mut Inbox, skipped: impl Iterator<Item = Skipped>) {
        for Skipped { stream, unordered, mid } in skipped {
            if !inbox.streams.contains(stream) {
                continue;
            }
            if unordered {
                // All messages that are not after it, which is half of the numbers.
                self.give_up(inbox, stream, true, mid.advance(1 << 31).next(), mid);
                let last = self.given_up.entry(stream).or_insert(mid);
                if mid.is_after(*last) {
                    *last = mid;
                }
            } else if !inbox.streams.is_past(stream, mid) {
                self.give_up(inbox, stream, false, inbox.streams.expected(stream), mid);
                inbox.streams.skip(stream, mid);
                self.deliver_waiting(inbox, stream);
            }
        }
    }

    /// Messages of `stream` are numbered from 0 again.
    pub(super) fn reset_stream(&mut self, inbox: &mut Inbox, stream: StreamId) {
        self.given_up.remove(&stream);
        self.deliver_waiting(inbox, stream);
    }

    /// Messages of all streams are numbered from 0 again.
    pub(super) fn reset_all(&mut self, inbox: &mut Inbox) {
        self.given_up.clear();
        self.for_each_stream(|this, stream| this.deliver_waiting(inbox, stream));
    }

    /// Delivers the messages of `stream` that are next in order.
    fn deliver_waiting(&mut self, inbox: &mut Inbox, stream: StreamId) {
        loop {
            let key = Key { stream, unordered: false, mid: inbox.streams.expected(stream).0 };
            match self.messages.get(&key) {
                Some(assembly) if assembly.is_whole() => self.deliver(inbox, key),
                Some(assembly) if inbox.wants_part(assembly.kept) => {
                    return self.deliver_part(inbox, key);
                }
                _ => return,
            }
        }
    }

    /// Delivers received parts of messages that are next in order.
    pub(super) fn deliver_parts(&mut self, inbox: &mut Inbox) {
        let keys: Vec<Key> =
            self.messages.keys().copied().filter(|key| is_next(inbox, *key)).collect();
        for key in keys {
            self.deliver_part(inbox, key);
        }
    }

    /// No missing data will arrive: delivers complete messages and drops the rest.
    pub(super) fn flush(&mut self, inbox: &mut Inbox) {
        self.for_each_stream(|this, stream| {
            let first = inbox.streams.expected(stream);
            this.give_up(inbox, stream, false, first, first.previous());
            this.give_up(inbox, stream, true, Mid(0), Mid(u32::MAX));
        });
    }

    /// Calls `action` for each stream with fragments, any of which it may remove.
    fn for_each_stream(&mut self, mut action: impl FnMut(&mut Interleaved, StreamId)) {
        let mut next = self.messages.keys().next().map(|key| key.stream);
        while let Some(stream) = next {
            action(self, stream);
            let end = Key { stream, unordered: true, mid: u32::MAX };
            let after = (core::ops::Bound::Excluded(end), core::ops::Bound::Unbounded);
            next = self.messages.range(after).next().map(|(key, _)| key.stream);
        }
    }

    /// Delivers a message in one chunk that is next in order.
    fn take_whole(&mut self, inbox: &mut Inbox, data: Data) -> Result<(), Fault> {
        if inbox.is_too_large(data.payload.len()) {
            return Err(Fault::MessageTooLarge);
        }
        inbox.charge_for(&data);
        let message = data.into_message();
        let (stream, unordered) = (message.stream, message.unordered);
        if !unordered {
            inbox.streams.skip(stream, message.mid);
        }
        inbox.push(message);
        if !unordered && !self.messages.is_empty() {
            self.deliver_waiting(inbox, stream);
        }
        Ok(())
    }

    /// Whether a late fragment belongs to an abandoned unordered message.
    fn is_given_up(&mut self, key: Key) -> bool {
        let Entry::Occupied(entry) = self.given_up.entry(key.stream) else { return false };
        let mid = Mid(key.mid);
        if !mid.is_after(*entry.get()) {
            return true;
        }
        if mid.distance_from(*entry.get()) > LATEST {
            // So far ahead that numbers after it would soon seem to be before it.
            entry.remove();
        }
        false
    }

    /// Whether `data` is consistent with the other fragments of its message.
    fn check(&self, key: Key, data: &Data) -> Result<(), Violation> {
        let fsn = data.fsn.0;
        if fsn == 0 && !data.beginning {
            return Err(Violation::UnmarkedBeginning);
        }
        let Some(assembly) = self.messages.get(&key) else { return Ok(()) };
        if fsn < assembly.delivered || self.fragments.contains_key(&(key, fsn)) {
            return Err(Violation::RepeatedFragment);
        }
        let beyond = match assembly.last {
            Some(last) => data.ending || fsn > last,
            None => data.ending && self.fragments.range(from(key, fsn)).next().is_some(),
        };
        if beyond { Err(Violation::BeyondLastFragment) } else { Ok(()) }
    }

    /// Keeps a fragment of a message that is not whole.
    fn keep(
        &mut self,
        inbox: &mut Inbox,
        key: Key,
        tsn: u64,
        mut data: Data,
        beyond_gap: bool,
    ) -> Result<(), Fault> {
        data.detach();
        inbox.charge_for(&data);
        let assembly = self.messages.entry(key).or_default();
        assembly.count += 1;
        assembly.length += data.payload.len();
        assembly.kept += data.payload.len();
        if data.beginning {
            (assembly.ppid, assembly.tsn) = (data.ppid, data.tsn);
        }
        if data.ending {
            assembly.last = Some(data.fsn.0);
        }
        let too_large = inbox.is_too_large(assembly.length);
        let length = data.payload.len();
        self.fragments.insert((key, data.fsn.0), Fragment { tsn, payload: data.payload });
        if beyond_gap {
            self.held_bytes += length;
            self.held.insert(tsn, (key, data.fsn.0));
        }
        if too_large { Err(Fault::MessageTooLarge) } else { Ok(()) }
    }

    /// Delivers a complete message that is next in order.
    fn deliver(&mut self, inbox: &mut Inbox, key: Key) {
        let Some(assembly) = self.messages.remove(&key) else { return };
        let payload = self.take_payload(key, assembly.delivered);
        if !key.unordered {
            inbox.streams.skip(key.stream, Mid(key.mid));
        }
        inbox.push(message(key, &assembly, Part::Last, payload));
    }

    /// Delivers the received beginning of a message that is next in order.
    fn deliver_part(&mut self, inbox: &mut Inbox, key: Key) {
        let Some(delivered) = self.messages.get(&key).map(|assembly| assembly.delivered) else {
            return;
        };
        let payload = self.take_payload(key, delivered);
        let Some(assembly) = self.messages.get_mut(&key) else { return };
        if !payload.is_empty() {
            assembly.delivered += payload.parts().len() as u32;
            assembly.kept -= payload.len();
            inbox.push(message(key, assembly, Part::More, payload));
        }
    }

    /// Removes and returns the fragments from FSN `first` up to a missing one.
    fn take_payload(&mut self, key: Key, first: u32) -> Payload {
        let mut payload = Payload::default();
        for fsn in first..=u32::MAX {
            let Some(fragment) = self.fragments.remove(&(key, fsn)) else { break };
            self.release_held(&fragment);
            payload.push(fragment.payload);
        }
        payload
    }

    /// Drops messages `first` to `last` of a stream, whose numbers may wrap, and delivers those
    /// that are complete.
    fn give_up(
        &mut self,
        inbox: &mut Inbox,
        stream: StreamId,
        unordered: bool,
        first: Mid,
        last: Mid,
    ) {
        let ranges = match first.0 <= last.0 {
            true => [Some(first.0..=last.0), None],
            false => [Some(first.0..=u32::MAX), Some(0..=last.0)],
        };
        for range in ranges.into_iter().flatten() {
            let key = |mid| Key { stream, unordered, mid };
            let (mut next, end) = (key(*range.start()), key(*range.end()));
            while let Some((&found, assembly)) = self.messages.range(next..=end).next() {
                if assembly.is_whole() {
                    self.deliver(inbox, found);
                } else {
                    self.abandon(inbox, found);
                }
                next = found;
            }
        }
    }

    /// Drops a message whose rest will never arrive.
    fn abandon(&mut self, inbox: &mut Inbox, key: Key) {
        let Some(assembly) = self.messages.remove(&key) else { return };
        while let Some((&place, _)) = self.fragments.range(from(key, 0)).next() {
            if let Some(fragment) = self.fragments.remove(&place) {
                self.release_held(&fragment);
                inbox.release(fragment.payload.len());
            }
        }
        if assembly.delivered > 0 {
            inbox.push(message(key, &assembly, Part::Abandoned, Payload::default()));
        }
    }

    /// Removes a fragment from those that may be dropped.
    fn release_held(&mut self, fragment: &Fragment) {
        if self.held.remove(&fragment.tsn).is_some() {
            self.held_bytes -= fragment.payload.len();
        }
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }
}

/// The fragments of a message from FSN `fsn` on.
fn from(key: Key, fsn: u32) -> RangeInclusive<(Key, u32)> {
    (key, fsn)..=(key, u32::MAX)
}

/// Whether a message may be delivered when it is whole.
fn is_next(inbox: &Inbox, key: Key) -> bool {
    key.unordered || inbox.streams.expected(key.stream).0 == key.mid
}

fn message(key: Key, assembly: &Assembly, part: Part, payload: Payload) -> Message {
    Message {
        stream: key.stream,
        ppid: assembly.ppid,
        unordered: key.unordered,
        mid: Mid(key.mid),
        tsn: assembly.tsn,
        part,
        payload,
    }
}

#[cfg(test)]
mod tests;
