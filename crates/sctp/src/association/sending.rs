//! Messages of the application on their way into the send queue, and abandoned ones.

use base::Instant;
use bytes::Bytes;
use recovery::PathId;

use super::Association;
use crate::reconfigure::held::Message;
use crate::state::State;
use crate::tx::send_options::{SendError, SendOptions};
use crate::tx::send_queue::DropOpen;
use crate::wire::{PacketBuilder, Ppid, StreamId};

impl Association {
    /// Queues a message. It is sent as soon as the association, the windows and the order allow.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued in that case.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        payload: Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        self.make_room(stream, &payload, options)?;
        self.tx.begin_burst();
        self.queue_message(now, stream, ppid, options, payload)?;
        self.counters.messages_sent += 1;
        Ok(())
    }

    /// Queues a part of a message, which is the last one if `end_of_record`.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued in that case.
    pub(crate) fn send_part(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        payload: Bytes,
        options: SendOptions,
        end_of_record: bool,
    ) -> Result<(), SendError> {
        self.tx.queue().check(stream, &payload)?;
        if self.is_established() && self.refuses_part(stream) {
            return Err(SendError::BufferFull);
        }
        self.make_room(stream, &payload, options)?;
        self.tx.begin_burst();
        self.tx.queue_mut().push_part(now, stream, ppid, options, payload, end_of_record)?;
        self.counters.messages_sent += u64::from(end_of_record);
        Ok(())
    }

    /// Queues a message, or holds it until its stream is reset.
    fn queue_message(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        options: SendOptions,
        payload: Bytes,
    ) -> Result<(), SendError> {
        if self.holds(stream) {
            let due = options.reliability.deadline(now, self.options.max_queueing_delay);
            return self.hold(Message { queued_at: now, stream, ppid, options, payload, due });
        }
        self.tx.queue_mut().push(now, stream, ppid, options, payload)
    }

    /// Whether messages of a stream wait until it is reset.
    #[inline]
    fn holds(&self, stream: StreamId) -> bool {
        self.extensions.reconfiguration().is_some_and(|own| own.holds(stream))
    }

    #[cold]
    fn hold(&mut self, message: Message) -> Result<(), SendError> {
        self.tx.queue().check(message.stream, &message.payload)?;
        if self.tx.queue().has_open_on(message.stream) {
            return Err(SendError::MessageOpen);
        }
        if let Some(own) = self.extensions.reconfiguration_mut() {
            own.hold(message);
        }
        Ok(())
    }

    /// Whether a part would begin a message that has to wait for the reset of its stream.
    fn refuses_part(&mut self, stream: StreamId) -> bool {
        let open = self.tx.queue().has_open_on(stream);
        let Some(own) = self.extensions.reconfiguration_mut() else { return false };
        let waits = !open && own.holds(stream);
        if waits {
            own.note_refused_part();
        }
        waits
    }

    /// Abandons the message of `stream` that is being sent in parts; if it was abandoned before,
    /// this ends it. Returns false if there is none, or if part of it was sent and the peer
    /// does not support partial reliability: then it must be completed.
    pub(crate) fn abandon_open(&mut self, stream: StreamId) -> bool {
        match self.tx.queue_mut().drop_open(stream) {
            DropOpen::None => return false,
            DropOpen::Gone => return true,
            DropOpen::Dropped(abandoned) => self.tx.note_abandoned(abandoned),
            DropOpen::Begun(key) => {
                if !self.tx.give_up_open(key) {
                    return false;
                }
                self.tx.queue_mut().close_open(stream);
            }
        }
        self.announce_progress();
        true
    }

    /// Makes room in the send buffer, by abandoning less important messages if necessary.
    fn make_room(
        &mut self,
        stream: StreamId,
        payload: &Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        if !(self.state().is_opening() || self.state() == State::Established) {
            return Err(SendError::Closed);
        }
        if let Some(key) = options.key.filter(|key| !self.has_key(*key)) {
            return Err(SendError::NoSuchKey(key));
        }
        let (length, maximum) = (payload.len(), self.options.max_message_size);
        if length > maximum {
            return Err(SendError::TooLarge { length, maximum });
        }
        self.tx.queue().check(stream, payload)?;
        if self.lacks_memory(length) {
            // None of its own data has to leave first: it is notified when others have freed
            // memory.
            self.application.want_memory();
            return Err(SendError::BufferFull);
        }
        if self.waits_in_crumbs() {
            self.application.want_writable();
            return Err(SendError::BufferFull);
        }
        if self.lacking(length) == 0 {
            return Ok(());
        }
        let (lacking, priority) = (self.lacking(length), options.reliability.priority());
        let held = self.extensions.reconfiguration();
        let held = held.map_or(0, |own| own.evictable(priority, lacking));
        let waiting = self.tx.queue().evictable(priority, lacking) + held;
        if waiting + self.tx.evictable(priority, lacking - waiting.min(lacking)) < lacking {
            // Nothing is abandoned unless that makes enough room.
            self.application.want_writable();
            return Err(SendError::BufferFull);
        }
        while self.lacking(length) > 0 {
            let held = self.extensions.reconfiguration_mut();
            let waiting = self.tx.queue_mut().evict(priority);
            if let Some(abandoned) = waiting.or_else(|| held?.evict(priority)) {
                self.tx.note_abandoned(abandoned);
            } else if !self.tx.evict(priority) {
                self.application.want_writable();
                return Err(SendError::BufferFull);
            }
        }
        Ok(())
    }

    /// Bytes that must be freed for `length` more bytes; a message larger than the buffer fits the
    /// empty buffer.
    fn lacking(&self, length: usize) -> usize {
        let held = self.held_for_peer();
        (held + length).saturating_sub(self.send_limit()).min(held)
    }

    // ---- time ----------------------------------------------------------------------------------

    /// Deadline of the next expiry of a queued message, or of a repeated FORWARD-TSN.
    pub(super) fn sending_deadline(&self) -> Option<Instant> {
        let held = self.extensions.reconfiguration().and_then(|own| own.next_expiry());
        Instant::earliest(&[held, self.tx.queue().next_expiry(), self.tx.forward_deadline()])
    }

    pub(super) fn handle_sending_timers(&mut self, now: Instant) {
        if let Some(path) = self.tx.on_forward_timer(now) {
            self.on_path_error(now, path, true);
        }
        self.expire_messages(now);
        self.advance_shutdown(now);
    }

    /// Abandons queued messages that have expired.
    #[inline]
    pub(super) fn expire_messages(&mut self, now: Instant) {
        if let Some(own) = self.extensions.reconfiguration_mut() {
            own.expire(now, &mut self.tx);
        }
        while let Some(abandoned) = self.tx.queue_mut().expire(now) {
            self.tx.note_abandoned(abandoned);
        }
    }

    // ---- output --------------------------------------------------------------------------------

    /// Appends the report of abandoned messages, if any is due. It precedes the data in the packet.
    pub(super) fn append_forward(
        &mut self,
        now: Instant,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
    ) {
        if path == self.paths.data() && self.state().sends_data() && self.tx.is_forward_due() {
            // A report that does not fit now remains due for the next packet.
            let _ = self.tx.append_forward(now, path, packet);
        }
    }
}
