//! Messages that were accepted after the reset of their stream, and wait for it; and resets that the
//! application asked for after such messages, and that wait for them.

use std::collections::VecDeque;

use base::Instant;
use bytes::Bytes;

use super::streams::Streams;
use super::{Reconfiguration, Requests};
use crate::association::Association;
use crate::wire::{Ppid, StreamId};
use crate::{SendError, SendOptions};

#[derive(Debug)]
struct Message {
    queued_at: Instant,
    stream: StreamId,
    ppid: Ppid,
    options: SendOptions,
    payload: Bytes,
}

#[derive(Debug)]
enum Waiting {
    Message(Message),
    /// Outgoing streams are to begin again behind the messages before it.
    Reset(Streams),
    /// All is to begin again.
    AssociationReset,
}

impl Waiting {
    /// Whether it is a reset of this stream.
    fn resets(&self, stream: StreamId) -> bool {
        match self {
            Waiting::Message(_) => false,
            Waiting::Reset(streams) => streams.contains(stream),
            Waiting::AssociationReset => true,
        }
    }
}

/// What waits, in the order in which it was accepted. The send buffer bounds it: before each reset
/// stands a message of its own.
#[derive(Debug, Default)]
pub(super) struct Held {
    waiting: VecDeque<Waiting>,
    bytes: usize,
}

impl Held {
    /// Whether a reset of this stream waits here.
    pub(super) fn resets(&self, stream: StreamId) -> bool {
        self.waiting.iter().any(|waiting| waiting.resets(stream))
    }

    /// Lets a reset wait if messages of its streams do; false if none does.
    pub(super) fn take_reset(&mut self, streams: &Streams) -> bool {
        // Whatever stands behind the last of those messages decides: a reset of all, or it is asked twice.
        for waiting in self.waiting.iter().rev() {
            match waiting {
                Waiting::Message(message) if streams.contains(message.stream) => {
                    self.waiting.push_back(Waiting::Reset(streams.clone()));
                    return true;
                }
                Waiting::Reset(others) if others.covers(streams) => return true,
                _ => {}
            }
        }
        false
    }

    /// The same for all streams and the TSNs.
    pub(super) fn take_association_reset(&mut self) -> bool {
        match self.waiting.back() {
            None => false,
            Some(Waiting::AssociationReset) => true,
            Some(_) => {
                self.waiting.push_back(Waiting::AssociationReset);
                true
            }
        }
    }

    /// The resets are not asked for any more.
    pub(super) fn forget_resets(&mut self) {
        self.waiting.retain(|waiting| matches!(waiting, Waiting::Message(_)));
    }

    /// Whether a reset, the next after those in `kept`, may be asked for now.
    fn is_due(reset: &Waiting, kept: &VecDeque<Waiting>) -> bool {
        match reset {
            Waiting::Reset(streams) => kept.iter().all(|before| match before {
                Waiting::Message(message) => !streams.contains(message.stream),
                _ => false,
            }),
            _ => kept.is_empty(),
        }
    }

    /// Takes out what need not wait any more: messages, and resets among `requests`.
    fn release(&mut self, requests: &mut Requests, hold_all: bool) -> Vec<Message> {
        let mut released = Vec::new();
        let mut kept = VecDeque::new();
        for waiting in core::mem::take(&mut self.waiting) {
            match waiting {
                Waiting::Message(message) => {
                    let stream = message.stream;
                    let waits = hold_all
                        || requests.hold(stream)
                        || kept.iter().any(|before: &Waiting| before.resets(stream));
                    if waits {
                        kept.push_back(Waiting::Message(message));
                    } else {
                        self.bytes -= message.payload.len();
                        released.push(message);
                    }
                }
                reset if !Held::is_due(&reset, &kept) => kept.push_back(reset),
                Waiting::Reset(streams) => requests.want_outgoing_reset(streams),
                Waiting::AssociationReset => requests.want_association_reset(),
            }
        }
        self.waiting = kept;
        released
    }
}

impl Association {
    /// Queues a message, unless the reset of its stream has to come first.
    pub(crate) fn queue_message(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        options: SendOptions,
        payload: Bytes,
    ) -> Result<(), SendError> {
        match &mut self.reconfiguration {
            Some(own) if own.holds(stream) => {
                self.queue.check(stream, &payload)?;
                if self.queue.has_open_on(stream) {
                    return Err(SendError::MessageOpen);
                }
                own.held.bytes += payload.len();
                let message = Message { queued_at: now, stream, ppid, options, payload };
                own.held.waiting.push_back(Waiting::Message(message));
                Ok(())
            }
            _ => self.queue.push(now, stream, ppid, options, payload),
        }
    }

    /// Whether a part of a message would begin one that has to wait for the reset of its stream: parts do
    /// not wait here.
    pub(crate) fn holds_part(&self, stream: StreamId) -> bool {
        let waits = self.reconfiguration.as_ref().is_some_and(|own| own.holds(stream));
        waits && !self.queue.has_open_on(stream)
    }

    /// Bytes of messages that wait for a reset.
    pub(crate) fn held_bytes(&self) -> usize {
        self.reconfiguration.as_ref().map_or(0, |own| own.held.bytes)
    }

    /// Queues the messages that need not wait any more, in their order, and asks for the resets behind them.
    pub(super) fn release_held(&mut self, own: &mut Reconfiguration) {
        if !core::mem::take(&mut own.release_due) || own.held.waiting.is_empty() {
            return;
        }
        let hold_all = own.answers.hold();
        for message in own.held.release(&mut own.requests, hold_all) {
            let Message { queued_at, stream, ppid, options, payload } = message;
            let queued = self.queue.push(queued_at, stream, ppid, options, payload);
            debug_assert!(queued.is_ok(), "it was checked when it was accepted: {queued:?}");
        }
    }
}
