//! Events of an association for the application.

pub(crate) mod reconfiguration;

use core::fmt;
use core::net::SocketAddr;
use std::collections::VecDeque;

use base::Duration;
use bytes::Bytes;

use self::reconfiguration::ReconfigurationEvent;
use crate::switchover::PathState;
use crate::tx::partial_reliability::AbandonNews;
use crate::tx::send_options::Abandoned;
use crate::wire::CauseCode;

/// An event of an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The association is set up: messages may be exchanged.
    Established,
    /// The peer restarted the association; data in flight is lost (RFC 9260, section 5.2.4).
    Restarted,
    /// A message can be received.
    Readable,
    /// The send buffer, which was full, has room again.
    Writable,
    /// A queued message was abandoned.
    Abandoned(Abandoned),
    /// More messages were abandoned at once than are reported one by one.
    FurtherAbandoned {
        /// Number of messages that are not reported one by one.
        messages: u64,
    },
    /// All data sent before the shutdown arrived, and the peer agreed.
    Closed,
    /// The association ended before all data was delivered, for this reason.
    Failed(Failure),
    /// Streams or addresses changed, or the peer refused a change that this side requested.
    Reconfiguration(ReconfigurationEvent),
    /// The peer reported an error that does not end the association (SCTP_REMOTE_ERROR of RFC 6458,
    /// section 6.1.3).
    PeerError {
        /// Code of its first cause (RFC 9260, section 3.3.10).
        code: u16,
        /// The ERROR chunk as received.
        chunk: Bytes,
    },
    /// The state of a path changed (SCTP_PEER_ADDR_CHANGE of RFC 6458, section 6.1.2).
    PathChanged {
        /// Index of the path in [`AssociationStats::paths`](crate::AssociationStats::paths).
        path: u8,
        /// Address of the peer on the path.
        remote: SocketAddr,
        /// New state or role of the path.
        change: PathChange,
    },
}

impl From<ReconfigurationEvent> for Event {
    fn from(event: ReconfigurationEvent) -> Event {
        Event::Reconfiguration(event)
    }
}

impl From<AbandonNews> for Event {
    fn from(news: AbandonNews) -> Event {
        match news {
            AbandonNews::Message(message) => Event::Abandoned(message),
            AbandonNews::Further(messages) => Event::FurtherAbandoned { messages },
        }
    }
}

/// Events not fetched yet: rarely more than one, since they are fetched after each input.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The first event, if it is a frequent one: it needs no allocation.
    first: Option<Frequent>,
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    rest: Option<Box<VecDeque<Event>>>,
}

/// Frequent events without data, of which the first needs no allocation.
#[derive(Clone, Copy, Debug)]
enum Frequent {
    Readable,
    Writable,
}

impl Events {
    /// Adds an event. Several errors in one packet make one event.
    pub(crate) fn announce(&mut self, event: Event) {
        let repeats = |last: &Event| {
            matches!((last, &event), (Event::PeerError { .. }, Event::PeerError { .. }))
        };
        if self.rest.as_ref().and_then(|rest| rest.back()).is_some_and(repeats) {
            return;
        }
        let alone = self.is_empty();
        match event {
            Event::Readable if alone => self.first = Some(Frequent::Readable),
            Event::Writable if alone => self.first = Some(Frequent::Writable),
            event => self.rest.get_or_insert_default().push_back(event),
        }
    }

    /// Whether there is no event.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.rest.is_none()
    }

    /// Removes and returns the next event. An empty queue has no allocation.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if let Some(first) = self.first.take() {
            return Some(match first {
                Frequent::Readable => Event::Readable,
                Frequent::Writable => Event::Writable,
            });
        }
        let event = self.rest.as_mut()?.pop_front();
        if self.rest.as_ref().is_some_and(|rest| rest.is_empty()) {
            self.rest = None;
        }
        event
    }
}

/// New state or role of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    /// The peer is confirmed to be at this address (RFC 9260, section 5.4).
    Confirmed,
    /// The path began to work or failed.
    State(PathState),
    /// The path became the primary path.
    Primary,
    /// New data takes this path from now on.
    CarriesData,
}

/// Reason for which an association ended before all data was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer did not answer during set-up.
    NoAnswer,
    /// ICMP reported that the peer's address has no SCTP (RFC 9260, section 10).
    NoListener,
    /// The peer stopped acknowledging (Association.Max.Retrans).
    Unreachable,
    /// The peer was silent for longer than [`dead_after`](crate::AssociationOptions::dead_after)
    /// allows.
    Silent {
        /// Time since the last packet of the peer.
        span: Duration,
    },
    /// The peer no longer knows the association: it restarted, or its ABORT was lost (an ABORT with
    /// the T bit; RFC 9260, section 8.4).
    Forgotten,
    /// The peer ended the association with an ABORT.
    AbortedByPeer {
        /// Code of its first cause, 0 if it has none.
        code: u16,
        /// Reason of a user-initiated abort.
        reason: Bytes,
    },
    /// This side aborted, since the peer violated the protocol.
    ProtocolViolation(&'static str),
    /// The application of this side called for an ABORT.
    Aborted,
    /// This side aborted the association for lack of memory, or to make room for another one (see
    /// [`EndpointOptions`](crate::EndpointOptions)). Its unread data is lost, and it has been
    /// released.
    OutOfResource,
    /// The shutdown took longer than T5-shutdown-guard allows.
    ShutdownTimeout,
    /// The peer repeatedly rejected the cookie as stale.
    StaleCookie,
    /// Messages were sent on streams that the peer does not grant.
    TooFewStreams {
        /// Outbound streams after the peer's INIT or INIT ACK, at least 1.
        granted: u16,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoAnswer => f.write_str("the peer did not answer"),
            Failure::NoListener => f.write_str("no endpoint listens at the peer's address"),
            Failure::Unreachable => f.write_str("the peer stopped answering"),
            Failure::Silent { span } => {
                write!(f, "nothing was heard from the peer for {}", span.rounded())
            }
            Failure::Forgotten => f.write_str(
                "the peer does not know the association any more: it restarted or gave it up",
            ),
            Failure::AbortedByPeer { code: 0, .. } => f.write_str("the peer aborted"),
            Failure::AbortedByPeer { code, reason } if reason.is_empty() => {
                write!(f, "the peer aborted ({})", CauseCode(*code))
            }
            Failure::AbortedByPeer { code, reason } => {
                write!(
                    f,
                    "the peer aborted ({}: {})",
                    CauseCode(*code),
                    String::from_utf8_lossy(reason)
                )
            }
            Failure::ProtocolViolation(what) => write!(f, "the peer broke the protocol: {what}"),
            Failure::Aborted => f.write_str("aborted"),
            Failure::OutOfResource => {
                f.write_str("this side has no memory or no place for the association any more")
            }
            Failure::ShutdownTimeout => f.write_str("the peer did not finish the shutdown in time"),
            Failure::StaleCookie => f.write_str("the peer found every state cookie stale"),
            Failure::TooFewStreams { granted } => {
                write!(f, "the peer grants {granted} streams, and messages wait for others")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_their_order_and_leave_nothing_in_memory() {
        let announced = [
            vec![Event::Readable, Event::Writable, Event::Readable],
            vec![Event::Established, Event::Readable, Event::Writable],
            vec![Event::Writable],
        ];
        for order in announced {
            let mut events = Events::default();
            order.iter().for_each(|event| events.announce(event.clone()));
            let told: Vec<Event> = core::iter::from_fn(|| events.pop()).collect();
            assert_eq!(told, order);
            assert!(events.is_empty());
        }
    }
}
