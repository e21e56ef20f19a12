//! What the application should know of an association.

pub(crate) mod addresses;
pub(crate) mod streams;

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::collections::VecDeque;

use base::Duration;
use bytes::Bytes;

use self::addresses::AddressChange;
use self::streams::{ReconfigurationRequest, ResetDirection};
use crate::switchover::PathState;
use crate::tx::partial_reliability::AbandonNews;
use crate::tx::send_options::Abandoned;
use crate::wire::chunk::ReconfigResult;
use crate::wire::{CauseCode, StreamId, Tsn};

/// Something happened to an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The association is set up: messages may flow.
    Established,
    /// The peer set the association up anew; what was under way is lost (RFC 9260, section 5.2.4).
    Restarted,
    /// A message waits to be received.
    Readable,
    /// The send buffer, full before, has room again.
    Writable,
    /// A message that was to be sent was given up.
    Abandoned(Abandoned),
    /// More messages were given up at once than are told one by one.
    FurtherAbandoned {
        /// How many.
        messages: u64,
    },
    /// All that was sent before the shutdown arrived, and the peer agreed.
    Closed,
    /// The association is gone.
    Failed(Failure),
    /// Streams began again at SSN 0 (RFC 6525, section 6.1.1).
    StreamsReset {
        /// Streams on which this side sends, or streams on which the peer does.
        direction: ResetDirection,
        /// Which; empty means all.
        streams: Box<[StreamId]>,
    },
    /// There are more streams (RFC 6525, section 6.1.3).
    StreamsAdded {
        /// Number of new streams on which this side sends.
        outgoing: u16,
        /// Number of new streams on which the peer sends.
        incoming: u16,
    },
    /// All streams began again at SSN 0, with new TSNs (RFC 6525, section 6.1.2).
    AssociationReset {
        /// The next TSN of this side.
        local_tsn: Tsn,
        /// The next TSN of the peer.
        peer_tsn: Tsn,
    },
    /// The peer did not do what it was asked for: it denied it, could not, or had no need to. With
    /// [`ReconfigResult::REQUEST_IN_PROGRESS`] it had asked for something itself: try again.
    ReconfigurationRefused {
        /// What it was asked for.
        request: ReconfigurationRequest,
        /// The answer of the peer.
        result: ReconfigResult,
    },
    /// The peer took note of a change of this side's addresses (RFC 5061). One that was added is used
    /// from now on; data that is under way to one that was deleted may still come.
    OwnAddressChanged {
        /// What became of the address.
        change: AddressChange,
        /// Address of this side.
        address: IpAddr,
    },
    /// The peer changed its addresses (RFC 5061).
    PeerAddressChanged {
        /// What became of the address.
        change: AddressChange,
        /// Address of the peer.
        address: IpAddr,
    },
    /// The peer did not take note of a change of this side's addresses.
    AddressRefused {
        /// What was to become of the address.
        change: AddressChange,
        /// Address of this side.
        address: IpAddr,
        /// Why: code of the first cause (RFC 5061, section 4.3).
        cause: u16,
    },
    /// The peer reported an error that does not end the association (SCTP_REMOTE_ERROR of RFC 6458, section 6.1.3).
    PeerError {
        /// Code of its first cause (RFC 9260, section 3.3.10).
        code: u16,
        /// The ERROR chunk as it came.
        chunk: Bytes,
    },
    /// What is known of a path changed (SCTP_PEER_ADDR_CHANGE of RFC 6458, section 6.1.2).
    PathChanged {
        /// Index of the path in [`AssociationStats::paths`](crate::AssociationStats::paths).
        path: u8,
        /// The peer's address.
        remote: SocketAddr,
        /// What changed.
        change: PathChange,
    },
}

impl From<AbandonNews> for Event {
    fn from(news: AbandonNews) -> Event {
        match news {
            AbandonNews::Message(message) => Event::Abandoned(message),
            AbandonNews::Further(messages) => Event::FurtherAbandoned { messages },
        }
    }
}

/// Events that the application was not told yet: rarely more than one, since they are drained after each input.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The first of them, if it is one that comes with each message or so: it takes no memory of its own.
    first: Option<Frequent>,
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    rest: Option<Box<VecDeque<Event>>>,
}

/// Events that come often and say no more than their name.
#[derive(Clone, Copy, Debug)]
enum Frequent {
    Readable,
    Writable,
}

impl Events {
    /// Tells the application. However many errors one packet reports, it is told of one.
    pub(crate) fn announce(&mut self, event: Event) {
        let repeats = |last: &Event| {
            matches!((last, &event), (Event::PeerError { .. }, Event::PeerError { .. }))
        };
        if self.rest.as_ref().and_then(|rest| rest.back()).is_some_and(repeats) {
            return;
        }
        let alone = self.first.is_none() && self.rest.is_none();
        match event {
            Event::Readable if alone => self.first = Some(Frequent::Readable),
            Event::Writable if alone => self.first = Some(Frequent::Writable),
            event => self.rest.get_or_insert_default().push_back(event),
        }
    }

    /// The next event. Without any they take no memory of their own.
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

/// What changed about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    /// The peer is known to be at this address (RFC 9260, section 5.4).
    Confirmed,
    /// The path works, or does not.
    State(PathState),
    /// The path became the primary path.
    Primary,
    /// New data takes it from now on.
    CarriesData,
}

/// Why an association failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer did not answer the set-up.
    NoAnswer,
    /// ICMP said that no SCTP listens at the peer's address (RFC 9260, section 10).
    NobodyThere,
    /// The peer stopped acknowledging (Association.Max.Retrans).
    Unreachable,
    /// Nothing was heard from the peer for as long as
    /// [`dead_after`](crate::AssociationOptions::dead_after) allows.
    Silent {
        /// For how long it was silent.
        span: Duration,
    },
    /// The peer does not know the association any more: it restarted, or gave the association up unheard
    /// (an ABORT with the T bit; RFC 9260, section 8.4).
    Forgotten,
    /// An ABORT chunk of the peer.
    AbortedByPeer {
        /// Code of its first cause, 0 if it gave none.
        code: u16,
        /// What a user-initiated abort says.
        reason: Bytes,
    },
    /// This side aborted because of what the peer did.
    ProtocolViolation(&'static str),
    /// This side's application aborted.
    Aborted,
    /// This side gave the association up for want of memory, or to make room for another one (see
    /// [`EndpointOptions`](crate::EndpointOptions)). What was not read of it is lost, and it is released
    /// already.
    OutOfResource,
    /// The shutdown took longer than T5-shutdown-guard allows.
    ShutdownTimeout,
    /// The peer's cookie was stale again and again.
    StaleCookie,
    /// Messages had been sent on streams that the peer does not grant.
    TooFewStreams {
        /// Streams that it grants: 0 to this less one.
        granted: u16,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoAnswer => f.write_str("the peer did not answer"),
            Failure::NobodyThere => f.write_str("no endpoint listens at the peer's address"),
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
            assert!(events.first.is_none() && events.rest.is_none());
        }
    }
}
