//! Calls that carry messages.

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
    /// See [`SendError`]; nothing is queued then. After [`SendError::BufferFull`],
    /// [`Event::Writable`](crate::Event::Writable) says when to try again.
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
    /// `end_of_record` (SCTP_EXPLICIT_EOR of RFC 6458, section 8.1.26). Payload protocol and options
    /// are those of the first part. Without [interleaving](crate::Extensions::INTERLEAVING), once it
    /// has begun nothing else is sent until it is complete.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued then. Each part needs at least one byte.
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

    /// Lets the association queue something, within the memory that is left for all.
    fn queue(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut Association) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        // What the call before took counts, too.
        self.settle();
        let left = self.endpoint.memory.budget().left();
        let sent = self.run(|association, _| {
            association.set_memory_left(left);
            call(association)
        });
        let sent = sent.unwrap_or(Err(SendError::Closed));
        if sent.is_err() {
            // To make room, the call may have given other messages up.
            self.settle();
            self.endpoint.await_memory(self.id);
        }
        self.sent_at = Some(now);
        sent
    }

    /// Gives up the message of `stream` of which parts were queued and the end was not; if it was given
    /// up already ([`SendError::Abandoned`]), it need not be ended any more. False if
    /// there is none, or if some of it was sent and the association has no
    /// [partial reliability](crate::Extensions::PARTIAL_RELIABILITY): then it can only be completed.
    pub fn abandon_open(&mut self, stream: StreamId) -> bool {
        self.ask(|association, _| association.abandon_open(stream))
    }

    /// Takes the next message that arrived.
    pub fn receive(&mut self, now: Instant) -> Option<Message> {
        self.settle();
        let slot = self.endpoint.table.slot_mut(self.id)?;
        let message = slot.association.receive(now)?;
        // Reading may open the window, which a SACK must tell.
        if slot.association.next_timeout().is_some_and(|at| at <= now) {
            self.unsettled = true;
        } else {
            note(&mut self.endpoint.memory, self.id, slot);
        }
        Some(message)
    }
}
