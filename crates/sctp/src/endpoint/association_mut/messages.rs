//! Calls that carry messages, to and from the application.

use base::Instant;
use bytes::Bytes;

use super::AssociationMut;
use crate::association::Association;
use crate::endpoint::memory::note;
use crate::rx::message::Message;
use crate::tx::send_options::{MessagePart, SendError, SendOptions};
use crate::wire::{Ppid, StreamId};

impl AssociationMut<'_> {
    /// Queues a message.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued in that case. After [`SendError::BufferFull`],
    /// [`Event::Writable`](crate::Event::Writable) follows when there is room.
    pub fn send(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        payload: Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        self.queue(now, |association| association.send(now, stream, ppid, payload, options))
    }

    /// Queues a part of a message: further parts follow on the same stream until one is the
    /// `end_of_record` (SCTP_EXPLICIT_EOR of RFC 6458, section 8.1.26). Payload protocol and
    /// options are those of the first part.
    /// Without [interleaving](crate::Extensions::INTERLEAVING), no other message is sent between
    /// its first byte and its end.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued in that case. Each part needs at least one byte.
    pub fn send_part(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        part: MessagePart,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let MessagePart { payload, end_of_record } = part;
        self.queue(now, |association| {
            association.send_part(now, stream, ppid, payload, options, end_of_record)
        })
    }

    /// Queues data in the association, within the memory that is left.
    fn queue(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut Association) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        // The previous call's memory counts too.
        self.settle();
        let left = self.endpoint.memory.budget().left();
        let sent = self.run(|association, _| {
            association.set_memory_left(left);
            call(association)
        });
        let sent = sent.unwrap_or(Err(SendError::Closed));
        if sent.is_err() {
            // The call may have abandoned other messages to make room.
            self.settle();
            self.endpoint.await_memory(self.id);
        }
        self.sent_at = Some(now);
        sent
    }

    /// Abandons the message of `stream` whose parts were queued without an end; if it was abandoned
    /// before ([`SendError::Abandoned`]), it need not be completed any more. Returns false if
    /// there is none, or if part of it was sent and the association has no [partial
    /// reliability](crate::Extensions::PARTIAL_RELIABILITY): then it can only be completed.
    pub fn abandon_open(&mut self, stream: StreamId) -> bool {
        self.ask(|association, _| association.abandon_open(stream))
    }

    /// Removes and returns the next received message.
    pub fn receive(&mut self, now: Instant) -> Option<Message> {
        self.settle();
        let slot = self.endpoint.table.slot_mut(self.id)?;
        let message = slot.association.receive(now)?;
        // Reading may open the window, which a SACK must report.
        if slot.association.sack_deadline().is_some_and(|at| at <= now) {
            self.unsettled = true;
        } else {
            note(&mut self.endpoint.memory, self.id, slot);
        }
        Some(message)
    }
}
