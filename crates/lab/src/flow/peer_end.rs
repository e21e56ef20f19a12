//! The two ends of a flow over another implementation's transport.

use core::fmt;

use base::Instant;
use recovery::Event;

use super::config::{Addresses, FlowConfig, PathHint};
use super::log::LogHandle;
use super::source::{Pending, Source};
use super::source_end::SourceEnd;
use super::source_transport::{Notice, Sent, SourceTransport};
use crate::peers::mark::{MARK, Mark};
use crate::peers::{Pair, PeerChoice, PeerEnd, Place};

/// Sends a flow over a registered transport of others.
pub struct PeerSender {
    pub(super) endpoint: Box<dyn PeerEnd>,
    /// Whether the end of the connection was reported.
    told: bool,
}

/// Receives a flow over a registered transport of others.
pub struct PeerSink {
    pub(super) endpoint: Box<dyn PeerEnd>,
    pub(super) log: LogHandle,
    reading: Reading,
}

/// Way in which the receiving application identifies messages.
enum Reading {
    /// Messages arrive whole and in order.
    Messages,
    /// Bytes arrive in order: messages begin with a mark. Those of a message that is not complete,
    /// and the next message's index.
    Marked { partial: Vec<u8>, next: u64 },
}

/// Both ends of a choice for flow number `number`.
pub(super) fn pair(
    choice: PeerChoice,
    (seed, number): (u64, u32),
    addresses: &Addresses,
) -> Option<Pair> {
    let (sender, receiver) = (*addresses.sender.first()?, *addresses.receiver.first()?);
    let round_trips = addresses.round_trips.clone();
    choice.pair(&Place { sender, receiver, round_trips, seed, number })
}

/// Builds the sender and the receiver of a flow over the transport `pair`.
pub(super) fn make(
    pair: Pair,
    source: Source,
    config: &FlowConfig,
    log: &LogHandle,
) -> (Box<SourceEnd<PeerSender>>, Box<PeerSink>) {
    log.borrow_mut().set_headers(pair.sender.headers());
    let transport = PeerSender { endpoint: pair.sender, told: false };
    let reading = Reading::Marked { partial: Vec::new(), next: 0 };
    let sink = PeerSink { endpoint: pair.receiver, log: log.clone(), reading };
    let source = SourceEnd::new(transport, source, config.start, None, log);
    (source, Box::new(sink))
}

/// The receiving end of an association whose sender is ours.
pub(super) fn sctp_sink(pair: Pair, log: &LogHandle) -> Box<PeerSink> {
    let reading = Reading::Messages;
    Box::new(PeerSink { endpoint: pair.receiver, log: log.clone(), reading })
}

impl SourceTransport for PeerSender {
    type Id = ();

    fn open(&mut self, now: Instant, _: bool) -> Option<((), u64)> {
        self.endpoint.connect(now);
        Some(((), 0))
    }

    fn send(&mut self, now: Instant, (): (), pending: &mut Pending) -> Sent {
        let mark = Mark { index: pending.message.index, size: pending.message.size };
        self.endpoint.send(now, mark.message().into());
        Sent::All
    }

    fn pour(&mut self, _: Instant, (): ()) -> Option<Sent> {
        None
    }

    fn poll_notice(&mut self) -> Option<Notice> {
        let ended = self.endpoint.has_failed() && !self.told;
        self.told |= ended;
        ended.then_some(Notice::Ended)
    }

    fn poll_recovery_event(&mut self, (): ()) -> Option<(Instant, Event)> {
        None
    }

    fn hint(&mut self, _: Instant, (): (), _: PathHint) {}
}

impl PeerSink {
    pub(super) fn after_input(&mut self, now: Instant) {
        let mut log = self.log.borrow_mut();
        while let Some(bytes) = self.endpoint.receive(now) {
            match &mut self.reading {
                Reading::Messages => log.on_next_message_read(now, bytes.len()),
                Reading::Marked { partial, next } => {
                    partial.extend_from_slice(&bytes);
                    while partial.len() >= MARK {
                        let Some(mark) = Mark::read(partial).filter(|mark| mark.index == *next)
                        else {
                            // Out of order or damaged: later messages cannot be identified.
                            log.failed = true;
                            partial.clear();
                            break;
                        };
                        if partial.len() < mark.size {
                            break;
                        }
                        partial.drain(..mark.size);
                        *next += 1;
                        log.on_message_read(now, mark.index, mark.size);
                    }
                }
            }
        }
        log.failed |= self.endpoint.has_failed();
    }
}

impl fmt::Debug for PeerSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerSender").field("due", &self.endpoint.poll_timeout()).finish()
    }
}

impl fmt::Debug for PeerSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerSink").field("due", &self.endpoint.poll_timeout()).finish()
    }
}
