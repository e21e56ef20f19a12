//! Messages that were accepted after the reset of their stream, and wait for it.

use std::collections::VecDeque;

use base::Instant;
use bytes::Bytes;

use super::Reconfiguration;
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

/// Messages in the order in which they were accepted. The send buffer bounds them.
#[derive(Debug, Default)]
pub(super) struct Held {
    messages: VecDeque<Message>,
    bytes: usize,
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
                own.held.bytes += payload.len();
                let message = Message { queued_at: now, stream, ppid, options, payload };
                own.held.messages.push_back(message);
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

    /// Queues the messages that need not wait any more, in their order.
    pub(super) fn release_held(&mut self, own: &mut Reconfiguration) {
        if !core::mem::take(&mut own.release_due) || own.held.messages.is_empty() {
            return;
        }
        for message in core::mem::take(&mut own.held.messages) {
            if own.holds(message.stream) {
                own.held.messages.push_back(message);
                continue;
            }
            own.held.bytes -= message.payload.len();
            let Message { queued_at, stream, ppid, options, payload } = message;
            let queued = self.queue.push(queued_at, stream, ppid, options, payload);
            debug_assert!(queued.is_ok(), "it was checked when it was accepted: {queued:?}");
        }
    }
}
