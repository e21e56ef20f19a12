//! What an application asks of a connection that it has.

use std::sync::Arc;

use base::Instant;
use bytes::Bytes;
use recovery::{RecoveryPolicy, TimedEvent};

use super::{ConnectionId, Endpoint};
use crate::connection::{ConnectionError, Received, SendError, State};
use crate::options::{ConnectionOptions, SendFlags};

impl Endpoint {
    /// Gives a connection data to send: the number of bytes that it took, from the front. Fewer than all
    /// means that the send buffer is full, or that all connections together hold as much as they may
    /// ([`EndpointOptions::memory`](crate::EndpointOptions::memory));
    /// [`Event::Writable`](crate::Event::Writable) says when to try again. No data at all, without the flag `more`,
    /// lets go of what waits for more.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send(
        &mut self,
        now: Instant,
        id: ConnectionId,
        data: Bytes,
        flags: SendFlags,
    ) -> Result<usize, SendError> {
        let asked = data.len();
        let connection = self.connection_mut(id).ok_or(SendError::NoConnection)?;
        let taken = connection.send(now, data, flags)?;
        if taken < asked {
            self.await_memory(id);
        }
        // No data at all still says whether more follows.
        if taken > 0 || asked == 0 {
            self.settle(now, id);
        }
        Ok(taken)
    }

    /// Bytes that [`Endpoint::send`] would take now. Where it would take none, [`Event::Writable`](crate::Event) tells
    /// when it takes some again. For who fetches data only where there is room for it.
    ///
    /// # Errors
    /// As [`Endpoint::send`].
    pub fn room_to_send(&mut self, id: ConnectionId) -> Result<usize, SendError> {
        let connection = self.connection_mut(id).ok_or(SendError::NoConnection)?;
        let room = connection.room_to_send()?;
        if room == 0 {
            self.await_memory(id);
        }
        Ok(room)
    }

    /// Takes up to `limit` bytes that arrived, from the front: one piece of them, so ask again.
    ///
    /// # Errors
    /// [`ConnectionError`], once everything that arrived before the failure was read, unless it was a
    /// reset, which drops what was not read (RFC 9293, section 3.10.7.4).
    pub fn receive(
        &mut self,
        now: Instant,
        id: ConnectionId,
        limit: usize,
    ) -> Result<Received, ConnectionError> {
        let connection = self.connection_mut(id).ok_or(ConnectionError::NoConnection)?;
        let received = connection.receive(now, limit)?;
        // Reading may open the window, of which the peer must hear.
        let wants_transmit = connection.wants_transmit(now);
        if wants_transmit {
            self.settle(now, id);
        } else if matches!(received, Received::Data(_)) {
            self.note_memory(id);
            self.balance_memory(now);
        }
        Ok(received)
    }

    /// The urgent byte, once it has come, where it is not part of the stream
    /// ([`ConnectionOptions::urgent_inline`] off); only once.
    pub fn receive_urgent(&mut self, id: ConnectionId) -> Option<u8> {
        self.table.get_mut(id)?.receive_urgent()
    }

    /// Finishes this side's direction: a FIN follows what was sent. The peer may go on.
    pub fn shutdown_write(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id, |connection| connection.shutdown_write());
    }

    /// Closes both directions. What was sent still arrives, as the option `linger` says; what arrives
    /// from now on, or was not read, makes a reset (RFC 9293, section 3.6.1). [`Event::Closed`](crate::Event::Closed)
    /// or [`Event::Failed`](crate::Event::Failed) follows.
    pub fn close(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id, |connection| connection.close(now));
    }

    /// Resets a connection.
    pub fn abort(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id, |connection| connection.abort());
    }

    /// The application forgets a connection: it is closed, if it was not, and goes on closing by itself.
    /// Every connection that was accepted or opened must be released in the end.
    pub fn release(&mut self, now: Instant, id: ConnectionId) {
        self.close(now, id);
        let Some(slot) = self.table.slot_mut(id) else { return };
        slot.released = true;
        slot.connection.forget_unread();
        let (local, remote) = (slot.connection.local, slot.connection.remote);
        if slot.connection.state == State::TimeWait {
            self.time_waits.on_released(local, remote);
        }
        self.settle(now, id);
    }

    /// Replaces the recovery policy of a connection, at any time in its life.
    pub fn set_policy(&mut self, now: Instant, id: ConnectionId, policy: Arc<RecoveryPolicy>) {
        self.set_options(now, id, |options| options.policy = policy);
    }

    /// Changes options of a connection in mid-life. What was negotiated when it was opened keeps its
    /// effect.
    pub fn set_options(
        &mut self,
        now: Instant,
        id: ConnectionId,
        change: impl FnOnce(&mut ConnectionOptions),
    ) {
        self.with(now, id, |connection| {
            change(Arc::make_mut(&mut connection.options));
            connection.apply_options();
        });
    }

    /// Acknowledges what arrived at once, although it could be delayed (TCP_QUICKACK).
    pub fn acknowledge_now(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id, |connection| connection.acknowledge_now(now));
    }

    /// Switches the recording of a connection's recovery events on or off.
    pub fn set_recovery_events(&mut self, id: ConnectionId, enabled: bool) {
        if let Some(connection) = self.table.get_mut(id) {
            connection.set_recovery_events(enabled);
        }
    }

    /// The oldest recovery event of a connection not fetched yet.
    pub fn poll_recovery_event(&mut self, id: ConnectionId) -> Option<TimedEvent> {
        self.table.get_mut(id)?.poll_recovery_event()
    }
}
