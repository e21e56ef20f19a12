//! The application's calls that carry messages.

use base::Instant;
use bytes::Bytes;

use super::{AssociationId, Endpoint};
use crate::association::Association;
use crate::rx::message::Message;
use crate::tx::send_options::{MessagePart, SendError, SendOptions};
use crate::wire::{Ppid, StreamId};

impl Endpoint {
    /// Queues a message on an association.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued then. After [`SendError::BufferFull`],
    /// [`Event::Writable`](crate::Event::Writable) says when to try again.
    pub fn send(
        &mut self,
        now: Instant,
        id: AssociationId,
        stream: StreamId,
        ppid: Ppid,
        payload: Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let association = self.sender(id)?;
        let sent = association.send(now, stream, ppid, payload, options);
        // One that is refused may have given others up.
        self.settle(id);
        self.after_sending(now, id, sent)
    }

    /// Queues a part of a message: further parts follow on the same stream until one is the
    /// `end_of_record` (SCTP_EXPLICIT_EOR of RFC 6458, section 8.1.26). Payload protocol and options
    /// are those of the first part. Without [interleaving](crate::Extensions::INTERLEAVING), once it
    /// has begun nothing else is sent until it is complete.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued then. Each part needs at least one byte.
    pub fn send_part(
        &mut self,
        now: Instant,
        id: AssociationId,
        stream: StreamId,
        ppid: Ppid,
        part: MessagePart,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let association = self.sender(id)?;
        let MessagePart { payload, end_of_record } = part;
        let sent = association.send_part(now, stream, ppid, payload, options, end_of_record);
        self.settle(id);
        self.after_sending(now, id, sent)
    }

    /// An association that is to send, and knows how much memory there is for it.
    fn sender(&mut self, id: AssociationId) -> Result<&mut Association, SendError> {
        let left = self.memory.budget().left();
        let association = self.memory.inform(&mut self.table, id).ok_or(SendError::Closed)?;
        association.set_memory_left(left);
        Ok(association)
    }

    fn after_sending(
        &mut self,
        now: Instant,
        id: AssociationId,
        sent: Result<(), SendError>,
    ) -> Result<(), SendError> {
        if sent.is_err() {
            self.await_memory(id);
        }
        self.balance_memory(now);
        sent
    }

    /// Gives up the message of `stream` of which parts were queued and the end was not; if it was given
    /// up already ([`SendError::Abandoned`]), it need not be ended any more. False if
    /// there is none, or if some of it was sent and the association has no
    /// [partial reliability](crate::Extensions::PARTIAL_RELIABILITY): then it can only be completed.
    pub fn abandon_open(&mut self, id: AssociationId, stream: StreamId) -> bool {
        let mut abandoned = false;
        self.with(id, |association, _| abandoned = association.abandon_open(stream));
        abandoned
    }

    /// Takes the next message that arrived on an association.
    pub fn receive(&mut self, now: Instant, id: AssociationId) -> Option<Message> {
        let slot = self.table.slot_mut(id)?;
        let message = slot.association.receive(now)?;
        // Reading may open the window, which a SACK must tell.
        if slot.association.next_timeout().is_some_and(|at| at <= now) {
            self.settle(id);
        } else {
            self.memory.note(id, slot);
        }
        Some(message)
    }
}
