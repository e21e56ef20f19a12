//! Messages taken from the association for streams with another reader.

use std::collections::{BTreeMap, VecDeque};

use sctp::{Message, StreamId};

/// Reader of a message: that of its stream, or that of the association.
pub(crate) type Reader = Option<StreamId>;

/// Messages by reader. One word, without memory elsewhere, until a stream gets a reader of its own:
/// most associations have one reader.
#[derive(Debug, Default)]
pub(crate) struct Stash(Option<Box<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    claimed: BTreeMap<StreamId, VecDeque<Message>>,
    others: VecDeque<Message>,
    bytes: usize,
    count: usize,
}

/// Memory of a message beside its bytes: its place in a queue, and the allocations of its payload.
const MESSAGE_COST: usize = size_of::<Message>() * 4 / 3 + 64;

impl Stash {
    /// Keeps messages of `stream` for its own reader from now on, those that wait already included.
    pub(crate) fn claim(&mut self, stream: StreamId) {
        let kept = self.0.get_or_insert_default();
        if kept.claimed.contains_key(&stream) {
            return;
        }
        let (mine, others) = kept.others.drain(..).partition(|message| message.stream == stream);
        kept.others = others;
        kept.claimed.insert(stream, mine);
    }

    /// Reader of the messages of `stream`.
    pub(crate) fn reader_of(&self, stream: StreamId) -> Reader {
        let kept = self.0.as_ref()?;
        kept.claimed.contains_key(&stream).then_some(stream)
    }

    /// The oldest message for `reader`.
    pub(crate) fn pop(&mut self, reader: Reader) -> Option<Message> {
        let kept = self.0.as_mut()?;
        let message = kept.queue(reader)?.pop_front()?;
        kept.bytes -= message.payload.len();
        kept.count -= 1;
        Some(message)
    }

    /// Keeps a message for its reader.
    pub(crate) fn push(&mut self, message: Message) {
        let (reader, length) = (self.reader_of(message.stream), message.payload.len());
        let kept = self.0.get_or_insert_default();
        if let Some(queue) = kept.queue(reader) {
            queue.push_back(message);
            kept.bytes += length;
            kept.count += 1;
        }
    }

    /// All unclaimed messages; those of a stream in their order.
    pub(crate) fn for_anyone(mut self) -> Stash {
        if let Some(kept) = &mut self.0 {
            kept.others.extend(std::mem::take(&mut kept.claimed).into_values().flatten());
        }
        self
    }

    /// Bytes of the messages kept.
    pub(crate) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| kept.bytes)
    }

    /// Bytes that keeping the messages takes, their own included.
    pub(crate) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| size_of::<Kept>() + kept.bytes + kept.count * MESSAGE_COST)
    }
}

impl Kept {
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
        let own = size_of::<Kept>();
        assert_eq!((anyone.bytes(), anyone.memory()), (4, own + 4 + 3 * MESSAGE_COST));
        let texts: Vec<_> = std::iter::from_fn(|| anyone.pop(None))
            .map(|message| message.payload.into_bytes())
            .collect();
        assert_eq!(texts, ["b", "a", "cc"]);
        assert_eq!(anyone.memory(), own);
    }

    #[test]
    fn a_stash_that_nothing_was_put_in_is_one_word() {
        assert_eq!(size_of::<Stash>(), size_of::<usize>());
        assert_eq!(Stash::default().memory(), 0);
    }
}
