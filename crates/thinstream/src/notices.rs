//! Unread notices of an association: a bounded number of each kind; the oldest are discarded first.

use std::collections::VecDeque;
use std::net::SocketAddr;

use base::Instant;
use sctp::{Abandoned, PathChange, ReconfigurationEvent, ReconfigurationRequest};

/// Notices of a kind that wait to be read at most.
pub(crate) const WAITING_MAX: usize = 256;

/// Streams that the events that wait to be read may list together, before older events give way.
const LISTED_MAX: usize = 8_192;

/// A change of an association's path (SCTP_PEER_ADDR_CHANGE of RFC 6458, section 6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathEvent {
    /// Time of the change, by the clock of the association's endpoint.
    pub at: Instant,
    /// Index of the path in [`AssociationStats::paths`](crate::AssociationStats::paths).
    pub path: u8,
    /// Address of the peer on the path.
    pub remote: SocketAddr,
    /// The peer was confirmed there, or the path failed, works again, became primary or carries
    /// data.
    pub change: PathChange,
}

/// Messages were abandoned (SCTP_SEND_FAILED_EVENT of RFC 6458, section 6.1.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbandonNotice {
    /// Stream, context and reason of a single message.
    Message(Abandoned),
    /// A number of abandoned messages beyond those reported one by one;
    /// [`AssociationStats::abandoned`](crate::AssociationStats::abandoned) counts them all.
    Further {
        /// Number of messages abandoned beyond those.
        messages: u64,
    },
}

/// Number of streams that an event lists.
fn listed(event: &ReconfigurationEvent) -> usize {
    match event {
        ReconfigurationEvent::StreamsReset { streams, .. }
        | ReconfigurationEvent::Refused {
            request: ReconfigurationRequest::ResetStreams { streams, .. },
            ..
        } => streams.len(),
        _ => 0,
    }
}

/// The notices of an association.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    pub(crate) paths: VecDeque<PathEvent>,
    abandoned: VecDeque<Abandoned>,
    /// Given up, too, but not reported one by one; older than those that wait.
    further: u64,
    reconfigurations: VecDeque<ReconfigurationEvent>,
    /// Number of streams in these reports, which bounds their memory.
    listed: usize,
}

impl Notices {
    pub(crate) fn push_path(&mut self, event: PathEvent) {
        if self.paths.len() == WAITING_MAX {
            self.paths.pop_front();
        }
        self.paths.push_back(event);
    }

    pub(crate) fn push_reconfiguration(&mut self, event: ReconfigurationEvent) {
        self.listed += listed(&event);
        self.reconfigurations.push_back(event);
        while self.reconfigurations.len() > WAITING_MAX
            || (self.listed > LISTED_MAX && self.reconfigurations.len() > 1)
        {
            self.pop_reconfiguration();
        }
    }

    pub(crate) fn pop_reconfiguration(&mut self) -> Option<ReconfigurationEvent> {
        let event = self.reconfigurations.pop_front()?;
        self.listed -= listed(&event);
        Some(event)
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
    use sctp::{AbandonReason, ResetDirection, StreamId};

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
    fn of_too_many_reconfigurations_the_latest_stay_and_long_lists_count_for_more() {
        let reset = |count: u16| ReconfigurationEvent::StreamsReset {
            direction: ResetDirection::Incoming,
            streams: (0..count).map(StreamId).collect(),
        };
        let mut notices = Notices::default();
        (0..2 * WAITING_MAX).for_each(|_| notices.push_reconfiguration(reset(1)));
        assert_eq!(notices.reconfigurations.len(), WAITING_MAX);
        (0..5).for_each(|_| notices.push_reconfiguration(reset(4_000)));
        assert_eq!(notices.reconfigurations.len(), 2);
        notices.push_reconfiguration(reset(u16::MAX));
        assert_eq!(
            notices.pop_reconfiguration(),
            Some(reset(u16::MAX)),
            "one may be of any length"
        );
        assert_eq!((notices.pop_reconfiguration(), notices.listed), (None, 0));
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
