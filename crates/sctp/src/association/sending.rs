//! Messages of the application on their way into the send queue, and those that are given up.

use base::Instant;
use bytes::Bytes;

use super::{Association, State, earlier};
use crate::event::Event;
use crate::tx::partial_reliability::AbandonNews;
use crate::tx::send_queue::DropOpen;
use crate::wire::{PacketBuilder, Ppid, StreamId};
use crate::{SendError, SendOptions};

impl Association {
    /// Queues a message. It is sent as soon as the association, the windows and the order allow.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued then.
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

    /// Queues a part of a message, the last one if it is the `end_of_record`.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued then.
    pub(crate) fn send_part(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        payload: Bytes,
        options: SendOptions,
        end_of_record: bool,
    ) -> Result<(), SendError> {
        self.queue.check(stream, &payload)?;
        if self.state == State::Established && self.refuses_part(stream) {
            return Err(SendError::BufferFull);
        }
        self.make_room(stream, &payload, options)?;
        self.tx.begin_burst();
        self.queue.push_part(now, stream, ppid, options, payload, end_of_record)?;
        self.counters.messages_sent += u64::from(end_of_record);
        Ok(())
    }

    /// Gives up the message of `stream` that is sent in parts; one that was given up already ends with
    /// it. False if there is none, or if something of it was sent and the peer knows no partial
    /// reliability: then it must be completed.
    pub(crate) fn abandon_open(&mut self, stream: StreamId) -> bool {
        match self.queue.drop_open(stream) {
            DropOpen::None => return false,
            DropOpen::Gone => return true,
            DropOpen::Dropped(abandoned) => self.tx.note_abandoned(abandoned),
            DropOpen::Begun(key) => {
                if !self.tx.give_up_open(&mut self.queue, key) {
                    return false;
                }
                self.queue.close_open(stream);
            }
        }
        self.announce_progress();
        true
    }

    /// Room in the send buffer, at the cost of what is less important if there is no other.
    fn make_room(
        &mut self,
        stream: StreamId,
        payload: &Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        match self.state {
            State::CookieWait | State::CookieEchoed { .. } | State::Established => {}
            _ => return Err(SendError::Closed),
        }
        let (length, maximum) = (payload.len(), self.options.max_message_size);
        if length > maximum {
            return Err(SendError::TooLarge { length, maximum });
        }
        self.queue.check(stream, payload)?;
        if self.lacks_memory(length) {
            // Nothing of its own has to go first: it is told when others have.
            self.standing.refused = true;
            return Err(SendError::BufferFull);
        }
        if self.waits_in_crumbs() {
            self.wants_writable = true;
            return Err(SendError::BufferFull);
        }
        if self.lacking(length) == 0 {
            return Ok(());
        }
        let (lacking, priority) = (self.lacking(length), options.reliability.priority());
        let waiting =
            self.queue.evictable(priority, lacking) + self.evictable_held(priority, lacking);
        if waiting + self.tx.evictable(&self.queue, priority, lacking - waiting.min(lacking))
            < lacking
        {
            // Nothing is given up in vain.
            self.wants_writable = true;
            return Err(SendError::BufferFull);
        }
        while self.lacking(length) > 0 {
            let waiting = self.queue.evict(priority).or_else(|| self.evict_held(priority));
            if let Some(abandoned) = waiting {
                self.tx.note_abandoned(abandoned);
            } else if !self.tx.evict(&mut self.queue, priority) {
                self.wants_writable = true;
                return Err(SendError::BufferFull);
            }
        }
        Ok(())
    }

    /// Bytes that must go before there is room for `length` more; a message that is larger than the buffer
    /// fits the empty one.
    fn lacking(&self, length: usize) -> usize {
        let held = self.held_for_peer();
        (held + length).saturating_sub(self.send_limit()).min(held)
    }

    /// Applies what was changed in the options.
    pub(crate) fn apply_options(&mut self) {
        self.queue.set_scheduler(self.options.scheduler);
        self.queue.set_max_queueing_delay(self.options.max_queueing_delay);
        self.apply_queueing_delay_to_held();
        self.await_sign_of_life();
    }

    // ---- time ----------------------------------------------------------------------------------

    /// When a waiting message expires, or what was given up is told to the peer again.
    pub(crate) fn sending_deadline(&self) -> Option<Instant> {
        let held = self.reconfiguration.as_ref().and_then(|own| own.next_expiry());
        earlier(held, earlier(self.queue.next_expiry(), self.tx.forward_deadline()))
    }

    pub(crate) fn handle_sending_timers(&mut self, now: Instant) {
        if let Some(path) = self.tx.on_forward_timer(now) {
            self.on_path_error(now, path, true);
        }
        self.expire_messages(now);
        self.advance_shutdown(now);
    }

    /// Gives up the waiting messages whose time has passed.
    #[inline]
    pub(crate) fn expire_messages(&mut self, now: Instant) {
        self.expire_held(now);
        while let Some(abandoned) = self.queue.expire(now) {
            self.tx.note_abandoned(abandoned);
        }
    }

    // ---- out -----------------------------------------------------------------------------------

    /// Appends what the peer is to be told of messages given up, if anything.
    /// It travels with the data, ahead of it.
    pub(crate) fn append_forward(
        &mut self,
        now: Instant,
        path: u8,
        packet: &mut PacketBuilder<'_>,
    ) {
        if path == self.data_path && self.state.sends_data() && self.tx.is_forward_due() {
            // What does not fit now is still due for the next packet.
            let _ = self.tx.append_forward(now, path, packet);
        }
    }

    pub(crate) fn poll_abandoned(&mut self) -> Option<Event> {
        Some(match self.tx.poll_abandoned()? {
            AbandonNews::Message(message) => Event::Abandoned(message),
            AbandonNews::Further(messages) => Event::FurtherAbandoned { messages },
        })
    }
}
