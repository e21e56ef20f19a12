//! The number of the next message of each stream.

use std::collections::BTreeMap;

use ::endpoint::footprint;

use crate::wire::ids::{Mid, StreamId};

/// Number of the next message of each stream with messages; a stream without messages is at 0.
///
/// One stream is stored inline: an association with one stream in use has no allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamNumbers {
    /// A stream and its number; any stream may replace it if the number is 0.
    first: (StreamId, Mid),
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    others: Option<Box<BTreeMap<StreamId, Mid>>>,
}

impl StreamNumbers {
    /// Allocated bytes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.others.as_ref().map_or(0, |others| {
            footprint::of_vec(1, size_of::<BTreeMap<StreamId, Mid>>())
                + footprint::of_tree(others.len(), size_of::<(StreamId, Mid)>())
        })
    }

    /// Whether no stream has a number.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.1 == Mid(0) && self.others.is_none()
    }

    /// The number of the next message of `stream`.
    pub(crate) fn get(&self, stream: StreamId) -> Mid {
        let (first, mid) = self.first;
        if first == stream {
            return mid;
        }
        self.others.as_ref().and_then(|others| others.get(&stream)).copied().unwrap_or_default()
    }

    /// The number of the next message of `stream`, mutable.
    pub(crate) fn entry(&mut self, stream: StreamId) -> &mut Mid {
        if self.first.0 != stream {
            let elsewhere = self.others.as_ref().is_some_and(|others| others.contains_key(&stream));
            if elsewhere || self.first.1 != Mid(0) {
                return self.others.get_or_insert_default().entry(stream).or_default();
            }
            self.first = (stream, Mid(0));
        }
        &mut self.first.1
    }

    /// Resets `stream` to number 0.
    pub(crate) fn reset(&mut self, stream: StreamId) {
        if self.first.0 == stream {
            self.first.1 = Mid(0);
        }
        if let Some(others) = &mut self.others {
            others.remove(&stream);
            if others.is_empty() {
                self.others = None;
            }
        }
    }

    /// Resets all streams to number 0.
    pub(crate) fn reset_all(&mut self) {
        *self = StreamNumbers::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_stream_takes_nothing_from_the_allocator_and_neither_do_streams_that_were_reset() {
        let mut numbers = StreamNumbers::default();
        *numbers.entry(StreamId(7)) = Mid(3);
        assert_eq!((numbers.memory(), numbers.is_empty()), (0, false));
        *numbers.entry(StreamId(8)) = Mid(4);
        assert!(numbers.memory() > 0);
        numbers.reset(StreamId(8));
        assert_eq!(numbers.memory(), 0);
        numbers.reset(StreamId(7));
        assert!(numbers.is_empty());
    }

    proptest! {
        #[test]
        fn each_stream_has_the_number_that_it_was_given_last(
            steps in prop::collection::vec((0u16..4, prop::option::of(1u32..9)), 0..40)
        ) {
            let mut numbers = StreamNumbers::default();
            let mut expected = [0; 4];
            for (stream, number) in steps {
                match number {
                    Some(number) => *numbers.entry(StreamId(stream)) = Mid(number),
                    None => numbers.reset(StreamId(stream)),
                }
                expected[usize::from(stream)] = number.unwrap_or(0);
                for stream in 0..4 {
                    prop_assert_eq!(numbers.get(StreamId(stream)), Mid(expected[usize::from(stream)]));
                }
            }
            let known = expected.iter().any(|number| *number > 0);
            prop_assert_eq!(numbers.is_empty(), !known);
        }
    }
}
