//! What happened to an association and waits to be read: at most so many notices of a kind, of which the
//! oldest give way.

use std::collections::VecDeque;
use std::net::SocketAddr;

use base::Instant;
use sctp::{Abandoned, PathChange};

/// Notices of a kind that wait to be read at most.
pub(crate) const WAITING_MAX: usize = 256;

/// Something changed about a path of an association (SCTP_PEER_ADDR_CHANGE of RFC 6458, section 6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathEvent {
    /// When, by the clock of the association's endpoint.
    pub at: Instant,
    /// Index of the path in [`AssociationStats::paths`](crate::AssociationStats::paths).
    pub path: u8,
    /// The peer's address.
    pub remote: SocketAddr,
    /// What changed.
    pub change: PathChange,
}

/// Messages were given up (SCTP_SEND_FAILED_EVENT of RFC 6458, section 6.1.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbandonNotice {
    /// This one.
    Message(Abandoned),
    /// More than are told one by one; [`AssociationStats::abandoned`](crate::AssociationStats::abandoned)
    /// counts them all.
    Further {
        /// How many.
        messages: u64,
    },
}

/// The notices of an association.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    pub(crate) paths: VecDeque<PathEvent>,
    abandoned: VecDeque<Abandoned>,
    /// Given up, too, but not told one by one; older than those that wait.
    further: u64,
}

impl Notices {
    pub(crate) fn push_path(&mut self, event: PathEvent) {
        if self.paths.len() == WAITING_MAX {
            self.paths.pop_front();
        }
        self.paths.push_back(event);
    }

    pub(crate) fn push_abandoned(&mut self, abandoned: Abandoned) {
        if self.abandoned.len() == WAITING_MAX {
            self.abandoned.pop_front();
            self.further += 1;
        }
        self.abandoned.push_back(abandoned);
    }

    pub(crate) fn push_further(&mut self, messages: u64) {
        self.further = self.further.saturating_add(messages);
    }

    pub(crate) fn pop_abandoned(&mut self) -> Option<AbandonNotice> {
        match core::mem::take(&mut self.further) {
            0 => self.abandoned.pop_front().map(AbandonNotice::Message),
            messages => Some(AbandonNotice::Further { messages }),
        }
    }
}

#[cfg(test)]
mod tests {
    use sctp::{AbandonReason, StreamId};

    use super::*;

    fn path_event(path: u8) -> PathEvent {
        let remote = SocketAddr::from(([127, 0, 0, 1], 9));
        PathEvent { at: Instant::ZERO, path, remote, change: PathChange::CarriesData }
    }

    #[test]
    fn of_too_many_path_events_the_latest_stay() {
        let mut notices = Notices::default();
        notices.push_path(path_event(7));
        (0..WAITING_MAX).for_each(|_| notices.push_path(path_event(1)));
        assert_eq!(notices.paths.len(), WAITING_MAX);
        assert!(notices.paths.iter().all(|event| event.path == 1));
    }

    #[test]
    fn of_too_many_messages_given_up_the_oldest_are_counted_only() {
        let mut notices = Notices::default();
        let given_up = |context| Abandoned {
            stream: StreamId(0),
            context,
            reason: AbandonReason::Lifetime,
            sent: false,
        };
        (0..WAITING_MAX as u32 + 2).for_each(|context| notices.push_abandoned(given_up(context)));
        notices.push_further(3);
        assert_eq!(notices.pop_abandoned(), Some(AbandonNotice::Further { messages: 5 }));
        assert_eq!(notices.pop_abandoned(), Some(AbandonNotice::Message(given_up(2))));
        assert_eq!(std::iter::from_fn(|| notices.pop_abandoned()).count(), WAITING_MAX - 1);
    }
}
