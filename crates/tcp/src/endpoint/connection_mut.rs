//! A connection lent to the application: its calls, and the endpoint's updates after them.

use std::sync::Arc;

use base::Instant;
use bytes::Bytes;
use recovery::{Advice, AdviceError, RecoveryPolicy, TimedEvent};

use super::{ConnectionId, Endpoint};
use crate::connection::{Connection, ConnectionError, Received, SendError};
use crate::options::{ConnectionOptions, SendFlags};

/// A connection of an endpoint, for calls that change it: [`Endpoint::connection_mut`] lends it.
///
/// Each call takes effect at once. The endpoint updates its tables (events, memory, data to send)
/// for the last call when the handle is dropped, and for earlier calls when the next follows. An
/// unused handle changes nothing.
#[derive(Debug)]
pub struct ConnectionMut<'a> {
    endpoint: &'a mut Endpoint,
    id: ConnectionId,
    /// Instant and effect of the last call, until the endpoint has updated its tables.
    unsettled: Option<(Instant, Changed)>,
}

/// Effect of a call on a connection.
#[derive(Clone, Copy, Debug)]
enum Changed {
    /// Only the memory that it holds changed.
    Held,
    Anything,
}

impl<'a> ConnectionMut<'a> {
    /// `None` if the endpoint does not have the connection.
    pub(super) fn new(endpoint: &'a mut Endpoint, id: ConnectionId) -> Option<ConnectionMut<'a>> {
        endpoint.table.get(id)?;
        Some(ConnectionMut { endpoint, id, unsettled: None })
    }

    /// Queues data to send, and returns the number of bytes accepted, from the front. Fewer than
    /// all means that the send buffer is full, or that all connections together hold the
    /// maximum ([`EndpointOptions::memory`](crate::EndpointOptions::memory));
    /// [`Event::Writable`](crate::Event::Writable) follows when there is room. Empty data
    /// without the flag `more` releases data that waits for more.
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
        // Empty data still determines whether more follows.
        if taken > 0 || asked == 0 {
            self.unsettled = Some((now, Changed::Anything));
        }
        Ok(taken)
    }

    /// Bytes that [`ConnectionMut::send`] would accept now. If 0,
    /// [`Event::Writable`](crate::Event::Writable) follows when there is room. For applications
    /// that fetch data only when there is room.
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

    /// Reads up to `limit` bytes from the front: one contiguous piece, so call it until there is no
    /// data.
    ///
    /// # Errors
    /// [`ConnectionError`], once everything that arrived before the failure was read. A reset drops
    /// unread data (RFC 9293, section 3.10.7.4).
    pub fn receive(&mut self, now: Instant, limit: usize) -> Result<Received, ConnectionError> {
        let connection = self.informed().ok_or(ConnectionError::Closed)?;
        let received = connection.receive(now, limit)?;
        // Reading may open the window, which the peer must learn.
        if connection.wants_transmit(now) {
            self.unsettled = Some((now, Changed::Anything));
        } else if matches!(received, Received::Data(_)) {
            self.unsettled = Some((now, Changed::Held));
        }
        Ok(received)
    }

    /// The urgent byte, if it arrived and is not part of the stream
    /// ([`ConnectionOptions::urgent_inline`] off); returned only once.
    pub fn receive_urgent(&mut self) -> Option<u8> {
        self.endpoint.table.get_mut(self.id)?.receive_urgent()
    }

    /// Finishes this side's direction: FIN follows the queued data. The peer may continue.
    pub fn shutdown_write(&mut self, now: Instant) {
        self.run(now, Connection::shutdown_write);
    }

    /// Closes both directions. Queued data still arrives, subject to the option `linger`; unread
    /// data, and data that arrives later, causes a reset (RFC 9293, section 3.6.1).
    /// [`Event::Closed`](crate::Event::Closed) or [`Event::Failed`](crate::Event::Failed)
    /// follows.
    pub fn close(&mut self, now: Instant) {
        self.run(now, |connection| connection.close(now));
    }

    /// Resets the connection with RST; queued and unread data is discarded (`Failure::Aborted`).
    pub fn abort(&mut self, now: Instant) {
        self.run(now, Connection::abort);
    }

    /// Replaces the recovery policy, at any time in the connection's life.
    pub fn set_policy(&mut self, now: Instant, policy: Arc<RecoveryPolicy>) {
        self.set_options(now, |options| options.policy = policy);
    }

    /// Changes options during the connection's life. Negotiated options keep their effect.
    pub fn set_options(&mut self, now: Instant, change: impl FnOnce(&mut ConnectionOptions)) {
        self.run(now, |connection| {
            change(Arc::make_mut(&mut connection.options));
            connection.apply_options();
        });
    }

    /// Sends a delayed acknowledgement at once (TCP_QUICKACK).
    pub fn acknowledge_now(&mut self, now: Instant) {
        self.run(now, |connection| connection.acknowledge_now(now));
    }

    /// Switches the recording of recovery events on or off.
    pub fn set_recovery_events(&mut self, enabled: bool) {
        if let Some(connection) = self.endpoint.table.get_mut(self.id) {
            connection.set_recovery_events(enabled);
        }
    }

    /// Removes and returns the oldest recovery event.
    pub fn poll_recovery_event(&mut self) -> Option<TimedEvent> {
        self.endpoint.table.get_mut(self.id)?.poll_recovery_event()
    }

    /// Applies one advice of a policy outside. What leaves because of it leaves as after any other
    /// call.
    ///
    /// # Errors
    /// [`AdviceError`] where the advice makes no sense; nothing changed then.
    pub fn advise(&mut self, now: Instant, advice: Advice) -> Result<(), AdviceError> {
        let mut answer = Err(AdviceError::Gone);
        self.run(now, |connection| answer = connection.advise(now, advice));
        answer
    }

    /// Makes a call after which the endpoint updates its tables.
    fn run(&mut self, now: Instant, input: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.informed() {
            input(connection);
            self.unsettled = Some((now, Changed::Anything));
        }
    }

    /// The connection, after the endpoint's updates for the last call. Never `None`, since a lent
    /// connection is not removed.
    fn informed(&mut self) -> Option<&mut Connection> {
        self.settle();
        self.endpoint.informed(self.id)
    }

    /// Updates the endpoint's tables for the last call, if that is still to be done.
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
