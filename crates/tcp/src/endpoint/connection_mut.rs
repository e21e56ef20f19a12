//! A connection lent to the application: its calls, and what the endpoint notes once they are over.

use std::sync::Arc;

use base::Instant;
use bytes::Bytes;
use recovery::{RecoveryPolicy, TimedEvent};

use super::{ConnectionId, Endpoint};
use crate::connection::{Connection, ConnectionError, Received, SendError};
use crate::options::{ConnectionOptions, SendFlags};

/// A connection of an endpoint, to be used: [`Endpoint::connection_mut`] lends it.
///
/// Each call acts at once. The endpoint takes note of the last one (events, memory, what there is to send) when the handle is
/// dropped, and of the others when the next follows. A handle that is not used changes nothing.
#[derive(Debug)]
pub struct ConnectionMut<'a> {
    endpoint: &'a mut Endpoint,
    id: ConnectionId,
    /// When the last call was made and what it changed, as long as the endpoint has not taken note of it.
    unsettled: Option<(Instant, Changed)>,
}

/// What a call changed of a connection.
#[derive(Clone, Copy, Debug)]
enum Changed {
    /// Only how much memory it holds.
    Held,
    Anything,
}

impl<'a> ConnectionMut<'a> {
    /// None for a connection that the endpoint does not have.
    pub(super) fn new(endpoint: &'a mut Endpoint, id: ConnectionId) -> Option<ConnectionMut<'a>> {
        endpoint.table.get(id)?;
        Some(ConnectionMut { endpoint, id, unsettled: None })
    }

    /// Gives the connection data to send: the number of bytes that it took, from the front. Fewer than all
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
        data: Bytes,
        flags: SendFlags,
    ) -> Result<usize, SendError> {
        let asked = data.len();
        let taken = self.informed().ok_or(SendError::Finished)?.send(now, data, flags)?;
        if taken < asked {
            self.endpoint.await_memory(self.id);
        }
        // No data at all still says whether more follows.
        if taken > 0 || asked == 0 {
            self.unsettled = Some((now, Changed::Anything));
        }
        Ok(taken)
    }

    /// Bytes that [`ConnectionMut::send`] would take now. Where it would take none,
    /// [`Event::Writable`](crate::Event::Writable) tells when it takes some again. For an application that fetches data
    /// only where there is room for it.
    ///
    /// # Errors
    /// As [`ConnectionMut::send`].
    pub fn room_to_send(&mut self) -> Result<usize, SendError> {
        let room = self.informed().ok_or(SendError::Finished)?.room_to_send()?;
        if room == 0 {
            self.endpoint.await_memory(self.id);
        }
        Ok(room)
    }

    /// Takes up to `limit` bytes that arrived, from the front: one piece of them, so ask again.
    ///
    /// # Errors
    /// [`ConnectionError`], once everything that arrived before the failure was read, unless it was a
    /// reset, which drops what was not read (RFC 9293, section 3.10.7.4).
    pub fn receive(&mut self, now: Instant, limit: usize) -> Result<Received, ConnectionError> {
        let connection = self.informed().ok_or(ConnectionError::Closed)?;
        let received = connection.receive(now, limit)?;
        // Reading may open the window, of which the peer must hear.
        if connection.wants_transmit(now) {
            self.unsettled = Some((now, Changed::Anything));
        } else if matches!(received, Received::Data(_)) {
            self.unsettled = Some((now, Changed::Held));
        }
        Ok(received)
    }

    /// The urgent byte, once it has come, where it is not part of the stream
    /// ([`ConnectionOptions::urgent_inline`] off); only once.
    pub fn receive_urgent(&mut self) -> Option<u8> {
        self.endpoint.table.get_mut(self.id)?.receive_urgent()
    }

    /// Finishes this side's direction: a FIN follows what was sent. The peer may go on.
    pub fn shutdown_write(&mut self, now: Instant) {
        self.run(now, Connection::shutdown_write);
    }

    /// Closes both directions. What was sent still arrives, as the option `linger` says; what arrives
    /// from now on, or was not read, makes a reset (RFC 9293, section 3.6.1). [`Event::Closed`](crate::Event::Closed)
    /// or [`Event::Failed`](crate::Event::Failed) follows.
    pub fn close(&mut self, now: Instant) {
        self.run(now, |connection| connection.close(now));
    }

    /// Resets the connection.
    pub fn abort(&mut self, now: Instant) {
        self.run(now, Connection::abort);
    }

    /// Replaces the recovery policy, at any time in the connection's life.
    pub fn set_policy(&mut self, now: Instant, policy: Arc<RecoveryPolicy>) {
        self.set_options(now, |options| options.policy = policy);
    }

    /// Changes options in mid-life. What was negotiated when the connection was opened keeps its effect.
    pub fn set_options(&mut self, now: Instant, change: impl FnOnce(&mut ConnectionOptions)) {
        self.run(now, |connection| {
            change(Arc::make_mut(&mut connection.options));
            connection.apply_options();
        });
    }

    /// Acknowledges what arrived at once, although it could be delayed (TCP_QUICKACK).
    pub fn acknowledge_now(&mut self, now: Instant) {
        self.run(now, |connection| connection.acknowledge_now(now));
    }

    /// Switches the recording of recovery events on or off.
    pub fn set_recovery_events(&mut self, enabled: bool) {
        if let Some(connection) = self.endpoint.table.get_mut(self.id) {
            connection.set_recovery_events(enabled);
        }
    }

    /// The oldest recovery event not fetched yet.
    pub fn poll_recovery_event(&mut self) -> Option<TimedEvent> {
        self.endpoint.table.get_mut(self.id)?.poll_recovery_event()
    }

    /// Makes a call, of which the endpoint is to take note.
    fn run(&mut self, now: Instant, input: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.informed() {
            input(connection);
            self.unsettled = Some((now, Changed::Anything));
        }
    }

    /// The connection, after the endpoint took note of the last call. Always some: nothing takes it away while it is lent.
    fn informed(&mut self) -> Option<&mut Connection> {
        self.settle();
        self.endpoint.informed(self.id)
    }

    /// Lets the endpoint take note of the last call, if it has not yet.
    #[inline]
    fn settle(&mut self) {
        match self.unsettled.take() {
            Some((now, Changed::Anything)) => self.endpoint.settle(now, self.id),
            Some((now, Changed::Held)) => {
                self.endpoint.note_memory(self.id);
                self.endpoint.balance_memory(now);
            }
            None => {}
        }
    }
}

impl Drop for ConnectionMut<'_> {
    fn drop(&mut self) {
        self.settle();
    }
}
