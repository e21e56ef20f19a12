//! The streams of a send queue: their number, scheduling and reset (RFC 8260, section 4.3.3; RFC
//! 6525, section 5).

use super::{Queued, SendQueue, WaitingMessage};
use crate::tx::scheduler::StreamValue;
use crate::wire::ids::StreamId;

impl SendQueue {
    /// Sets the negotiated number of outbound streams; returns whether messages were dropped
    /// because their stream does not exist (RFC 9260, section 5.1.1).
    pub(crate) fn set_streams(&mut self, outbound_streams: u16) -> bool {
        let fewer = outbound_streams < self.streams;
        self.streams = outbound_streams;
        if !fewer {
            return false;
        }
        let empty = super::Backlog::new(self.scheduler, self.interleaving);
        let messages = core::mem::replace(&mut self.backlog, empty).into_messages();
        let (kept, gone): (Vec<Queued>, Vec<Queued>) =
            messages.into_iter().partition(|message| message.stream.0 < outbound_streams);
        self.buffered -= gone.iter().map(Queued::len).sum::<usize>();
        self.messages -= gone.len() as u32;
        let values = self.rare.as_ref().map(|rare| &rare.values);
        for message in kept {
            self.backlog.push(message, values);
        }
        if !gone.is_empty()
            && let Some(rare) = &mut self.rare
        {
            rare.open.retain(|stream, _| stream.0 < outbound_streams);
        }
        self.rebuild();
        !gone.is_empty()
    }

    /// Adds `count` streams (RFC 6525, section 5.1.5), up to the maximum.
    pub(crate) fn add_streams(&mut self, count: u16) {
        self.streams = self.streams.saturating_add(count);
    }

    /// Sets the priority of a stream: a smaller number is sent first.
    pub(crate) fn set_priority(&mut self, stream: StreamId, priority: u16) {
        self.set_value(stream, |value| value.priority = priority);
    }

    /// Sets the weight of a stream: its share of the bytes.
    pub(crate) fn set_weight(&mut self, stream: StreamId, weight: u16) {
        self.set_value(stream, |value| value.weight = weight.max(1));
    }

    fn set_value(&mut self, stream: StreamId, change: impl FnOnce(&mut StreamValue)) {
        if stream.0 >= self.streams {
            return;
        }
        let values = &mut self.rare().values;
        let mut value = values.get(&stream).copied().unwrap_or_default();
        change(&mut value);
        if value == StreamValue::default() {
            values.remove(&stream);
        } else {
            values.insert(stream, value);
        }
        self.backlog.revalue(stream, value);
        self.forget_rare();
    }

    // ---- reset ---------------------------------------------------------------------------------

    /// Resets the next message of each of these streams to number 0.
    pub(crate) fn reset_streams(&mut self, streams: &[StreamId]) {
        for stream in streams {
            self.next_mid.reset(*stream);
            if let Some(rare) = &mut self.rare {
                rare.next_unordered.reset(*stream);
            }
        }
        self.forget_rare();
    }

    /// Resets the next message of every stream to number 0.
    pub(crate) fn reset_all_streams(&mut self) {
        self.next_mid.reset_all();
        if let Some(rare) = &mut self.rare {
            rare.next_unordered.reset_all();
        }
        self.forget_rare();
    }

    /// A message that is queued or partly sent.
    pub(crate) fn find_waiting(&self) -> Option<WaitingMessage> {
        self.backlog.find(|_| true)
    }

    /// A queued or partly sent message of one of these streams, which ascend: of several one that
    /// will wait long.
    pub(crate) fn find_waiting_on(&self, streams: &[StreamId]) -> Option<WaitingMessage> {
        self.backlog.find(|stream| streams.binary_search(&stream).is_ok())
    }

    /// Whether a message that was found is still queued.
    pub(crate) fn is_waiting(&self, message: WaitingMessage) -> bool {
        self.backlog.contains(message)
    }

    /// Whether a message of one of these streams is sent in parts and incomplete.
    pub(crate) fn has_open_among(&self, belongs: impl Fn(StreamId) -> bool) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.open.keys().any(|stream| belongs(*stream)))
    }

    /// Whether a message of `stream` is sent in parts and incomplete.
    pub(crate) fn has_open_on(&self, stream: StreamId) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.open.contains_key(&stream))
    }
}
