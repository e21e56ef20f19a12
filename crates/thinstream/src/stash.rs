//! Messages taken from the association for streams with another reader.

use std::collections::{BTreeMap, VecDeque};

use sctp::{Message, StreamId};

/// Reader of a message: that of its stream, or that of the association.
pub(crate) type Reader = Option<StreamId>;

/// Messages by reader. Empty, and without memory, until a stream gets a reader of its own.
#[derive(Debug, Default)]
pub(crate) struct Stash {
    claimed: BTreeMap<StreamId, VecDeque<Message>>,
    others: VecDeque<Message>,
    bytes: usize,
    count: usize,
}

/// What a message takes beside its bytes: its place in a queue, and the allocations of its payload.
const MESSAGE_COST: usize = size_of::<Message>() * 4 / 3 + 64;

impl Stash {
    /// From now on messages of `stream` are for its own reader, those that wait already included.
    pub(crate) fn claim(&mut self, stream: StreamId) {
        if self.claimed.contains_key(&stream) {
            return;
        }
        let (mine, others) = self.others.drain(..).partition(|message| message.stream == stream);
        self.others = others;
        self.claimed.insert(stream, mine);
    }

    /// Reader of the messages of `stream`.
    pub(crate) fn reader_of(&self, stream: StreamId) -> Reader {
        Some(stream).filter(|stream| self.claimed.contains_key(stream))
    }

    /// The oldest message for `reader`.
    pub(crate) fn pop(&mut self, reader: Reader) -> Option<Message> {
        let message = self.queue(reader)?.pop_front()?;
        self.bytes -= message.payload.len();
        self.count -= 1;
        Some(message)
    }

    /// Keeps a message for its reader.
    pub(crate) fn push(&mut self, message: Message) {
        let (reader, length) = (self.reader_of(message.stream), message.payload.len());
        if let Some(queue) = self.queue(reader) {
            queue.push_back(message);
            self.bytes += length;
            self.count += 1;
        }
    }

    /// Whether there is a message for `reader`.
    pub(crate) fn has(&self, reader: Reader) -> bool {
        let queue = match reader {
            None => Some(&self.others),
            Some(stream) => self.claimed.get(&stream),
        };
        queue.is_some_and(|queue| !queue.is_empty())
    }

    /// All unclaimed messages; those of a stream in their order.
    pub(crate) fn for_anyone(mut self) -> Stash {
        self.others.extend(self.claimed.into_values().flatten());
        let Stash { others, bytes, count, .. } = self;
        Stash { claimed: BTreeMap::new(), others, bytes, count }
    }

    /// Bytes of the messages kept.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that keeping the messages takes, their own included.
    pub(crate) fn memory(&self) -> usize {
        self.bytes + self.count * MESSAGE_COST
    }

    fn queue(&mut self, reader: Reader) -> Option<&mut VecDeque<Message>> {
        match reader {
            None => Some(&mut self.others),
            Some(stream) => self.claimed.get_mut(&stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use sctp::{Mid, Part, Payload, Ppid};

    use super::*;

    fn message(stream: u16, text: &'static str) -> Message {
        Message {
            stream: StreamId(stream),
            ppid: Ppid(0),
            unordered: false,
            mid: Mid(0),
            tsn: sctp::Tsn(0),
            part: Part::Last,
            payload: Payload::from(Bytes::from_static(text.as_bytes())),
        }
    }

    #[test]
    fn a_claimed_stream_gets_what_waited_already_and_others_keep_their_order() {
        let mut stash = Stash::default();
        for (stream, text) in [(1, "a"), (2, "b"), (1, "c"), (3, "d")] {
            stash.push(message(stream, text));
        }
        stash.claim(StreamId(1));
        stash.push(message(1, "ee"));
        assert_eq!(stash.bytes(), 6);
        let mut pop = |reader| stash.pop(reader).map(|message| message.payload.into_bytes());
        assert_eq!(pop(None).unwrap(), "b");
        assert_eq!(pop(Some(StreamId(1))).unwrap(), "a");
        assert_eq!(pop(Some(StreamId(1))).unwrap(), "c");
        assert_eq!(pop(Some(StreamId(1))).unwrap(), "ee");
        assert_eq!(pop(Some(StreamId(1))), None);
        assert_eq!(pop(None).unwrap(), "d");
        assert_eq!(stash.bytes(), 0);
    }

    #[test]
    fn what_was_claimed_can_be_given_back_to_anyone() {
        let mut stash = Stash::default();
        stash.claim(StreamId(1));
        for (stream, text) in [(1, "a"), (2, "b"), (1, "cc")] {
            stash.push(message(stream, text));
        }
        let mut anyone = stash.for_anyone();
        assert_eq!((anyone.bytes(), anyone.memory()), (4, 4 + 3 * MESSAGE_COST));
        let texts: Vec<_> = std::iter::from_fn(|| anyone.pop(None))
            .map(|message| message.payload.into_bytes())
            .collect();
        assert_eq!(texts, ["b", "a", "cc"]);
        assert_eq!(anyone.memory(), 0);
    }
}
