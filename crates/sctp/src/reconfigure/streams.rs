//! Sets of streams that are reset together.

use crate::wire::StreamId;

/// The stream numbers of a request: an empty list on the wire means every stream (RFC 6525, section
/// 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    All,
    /// Ascending, without repetition, at least one.
    These(Box<[StreamId]>),
}

impl Streams {
    /// The streams in the list, or all if it is empty, as on the wire.
    pub(super) fn new(listed: impl IntoIterator<Item = StreamId>) -> Streams {
        let mut streams: Vec<StreamId> = listed.into_iter().collect();
        streams.sort_unstable();
        streams.dedup();
        if streams.is_empty() { Streams::All } else { Streams::These(streams.into()) }
    }

    pub(super) fn contains(&self, stream: StreamId) -> bool {
        match self {
            Streams::All => true,
            Streams::These(streams) => streams.binary_search(&stream).is_ok(),
        }
    }

    /// Whether these include all of `other`.
    pub(super) fn covers(&self, other: &Streams) -> bool {
        match (self, other) {
            (Streams::All, _) => true,
            (Streams::These(_), Streams::All) => false,
            (Streams::These(_), Streams::These(others)) => {
                others.iter().all(|stream| self.contains(*stream))
            }
        }
    }

    /// The streams without those of `others`; `None` if none is left.
    pub(super) fn without(self, others: &Streams) -> Option<Streams> {
        match self {
            _ if others.covers(&self) => None,
            Streams::All => Some(Streams::All),
            Streams::These(streams) => {
                let left = streams.into_iter().filter(|stream| !others.contains(*stream));
                Some(Streams::These(left.collect()))
            }
        }
    }

    /// The list for the wire and the application: empty if all are meant.
    pub(super) fn listed(&self) -> &[StreamId] {
        match self {
            Streams::All => &[],
            Streams::These(streams) => streams,
        }
    }

    /// Whether all are below `count`.
    pub(super) fn exist(&self, count: u16) -> bool {
        self.listed().last().is_none_or(|highest| highest.0 < count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(numbers: &[u16]) -> Streams {
        Streams::new(numbers.iter().copied().map(StreamId))
    }

    #[test]
    fn an_empty_list_means_all_and_a_list_is_a_set() {
        assert_eq!(streams(&[]), Streams::All);
        assert_eq!(streams(&[3, 1, 3]).listed(), [StreamId(1), StreamId(3)]);
        assert!(streams(&[3, 1]).contains(StreamId(1)) && !streams(&[3, 1]).contains(StreamId(2)));
        assert!(streams(&[3, 1]).exist(4) && !streams(&[3, 1]).exist(3) && Streams::All.exist(1));
    }

    #[test]
    fn what_is_left_of_a_set_is_never_the_empty_list_that_would_mean_all() {
        assert_eq!(streams(&[1, 2]).without(&streams(&[2, 3])), Some(streams(&[1])));
        assert_eq!(streams(&[1, 2]).without(&streams(&[1, 2, 3])), None);
        assert_eq!(streams(&[1, 2]).without(&Streams::All), None);
        assert_eq!(Streams::All.without(&streams(&[1])), Some(Streams::All));
    }
}
