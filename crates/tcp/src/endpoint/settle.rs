//! Updates of the endpoint after inputs: data to send, deadlines, events, and removal of
//! connections.

use base::{Host, Instant, Transmit, TransmitBuffer};

use super::memory::note;
use super::{ConnectionId, Endpoint};
use crate::connection::{Connection, State};
use crate::event::Event;
use crate::outbox;

impl Endpoint {
    /// Releases a connection: it is closed, if it was not, and finishes closing by itself. Every
    /// connection that was accepted or opened must be released eventually.
    pub fn release(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id, |connection| connection.close(now));
        let Some(slot) = self.table.slot_mut(id) else { return };
        slot.released = true;
        slot.connection.forget_unread();
        let (local, remote) = (slot.connection.local, slot.connection.remote);
        if slot.connection.state == State::TimeWait {
            self.time_waits.on_released(local, remote);
        }
        self.settle(now, id);
    }

    /// Runs an input of a connection and updates the endpoint's tables.
    pub(super) fn with(
        &mut self,
        now: Instant,
        id: ConnectionId,
        input: impl FnOnce(&mut Connection),
    ) {
        if let Some(connection) = self.informed(id) {
            input(connection);
            self.settle(now, id);
        }
    }

    /// A connection, with its share of the memory updated.
    pub(super) fn informed(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        let (budget, connections) = (self.memory.budget(), self.table.len());
        let connection = self.table.get_mut(id)?;
        if budget.is_at_ease() && connection.is_at_ease() {
            return Some(connection);
        }
        let share = budget.share(connections, || Host::from(connection.remote.ip()));
        connection.set_memory(budget.state(), share);
        Some(connection)
    }

    /// Updates the tables after an input.
    pub(super) fn settle(&mut self, now: Instant, id: ConnectionId) {
        self.take_note(now, id);
        self.balance_memory(now);
    }

    /// Handles the effects of an input: events, memory, and possible data to send. The deadline is
    /// set after sending.
    pub(super) fn take_note(&mut self, now: Instant, id: ConnectionId) {
        self.take_events(id);
        let Some(slot) = self.table.slot_mut(id) else { return };
        note(&mut self.memory, id, slot);
        let half_open = slot.connection.listener().is_some();
        let was_half_open = core::mem::replace(&mut slot.half_open, half_open);
        self.half_open = self.half_open + usize::from(half_open) - usize::from(was_half_open);
        if !core::mem::replace(&mut slot.dirty, true) {
            self.turns.add(id);
        }
        match slot.connection.state {
            State::TimeWait if slot.listed => self.enter_time_wait(now, id),
            State::Closed => self.table.unlist(id),
            _ => {}
        }
    }

    fn take_events(&mut self, id: ConnectionId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        while let Some(event) = slot.connection.poll_event() {
            if let Event::Incoming { listener } = event {
                match self.listeners.get_mut(listener) {
                    Some(listener) => {
                        listener.queue.push_back(id);
                        slot.announced = true;
                    }
                    // The listener was closed meanwhile: no application will accept the connection.
                    None => slot.connection.abort(),
                }
            }
            // No application owns the connection or knows it: it ends without an event.
            if slot.announced && !slot.released {
                self.events.push_back((id, event));
            }
        }
    }

    fn enter_time_wait(&mut self, now: Instant, id: ConnectionId) {
        self.table.unlist(id);
        let Some(slot) = self.table.slot_mut(id) else { return };
        let state = slot.connection.time_wait();
        let holder = Some(id).filter(|_| !slot.released);
        let max = self.options.max_time_wait;
        if let Some(ended) = self.time_waits.insert(now, state, holder, max) {
            self.end_time_wait(ended);
        }
    }

    pub(super) fn end_time_wait(&mut self, id: ConnectionId) {
        if let Some(connection) = self.table.get_mut(id) {
            connection.end_time_wait();
        }
    }

    /// The next segment of the connections with data to send.
    pub(super) fn poll_into(
        &mut self,
        now: Instant,
        buffer: &mut dyn TransmitBuffer,
    ) -> Option<Transmit> {
        if let Some(answer) = self.replies.pop_front() {
            return Some(answer.emit(buffer.head()));
        }
        while let Some(id) = self.turns.current() {
            let connection = self.informed(id);
            let transmit = connection.and_then(|connection| connection.poll_transmit(now, buffer));
            if let Some(transmit) = transmit {
                self.turns.on_sent(transmit.size + outbox::tail_size(buffer));
                return Some(transmit);
            }
            self.turns.on_finished();
            self.put_to_rest(now, id);
        }
        None
    }

    /// A connection has no more data to send: sets its deadline, or removes it if it is no longer
    /// needed.
    pub(super) fn put_to_rest(&mut self, now: Instant, id: ConnectionId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        slot.dirty = false;
        let over = matches!(slot.connection.state, State::Closed | State::TimeWait);
        // A half-open connection that failed was never announced.
        if over && (slot.released || !slot.announced) {
            self.forget_memory(id);
            self.table.remove(id);
            self.deadlines.set(id.row(), None);
            // Another connection may have waited for the memory that it held.
            self.balance_memory(now);
        } else {
            self.deadlines.set(id.row(), slot.connection.next_timeout());
        }
    }
}
