//! An association: messages to and from one peer.

#[cfg(feature = "tokio-io")]
mod byte_stream;
#[cfg(feature = "futures")]
mod messages;
mod paths;
#[cfg(any(feature = "futures", feature = "tokio-io"))]
mod polled;
#[cfg(feature = "qlog")]
mod qlog;
mod reconfiguration;
mod send_errors;
mod set_up_errors;
mod stream;
mod waiting;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base::Instant;
use bytes::Bytes;
use io::{Clock, Shared};
use recovery::policy::{FieldError, Protocol};
use recovery::{RecoveryPolicy, TimedEvent};
use sctp::{AssociationMut, AssociationOptions, AssociationStats, Message, StreamId};
use secure::Peer;

#[cfg(feature = "tokio-io")]
pub use self::byte_stream::ByteStream;
#[cfg(feature = "futures")]
pub use self::messages::{MessageSink, Messages};
use self::send_errors::send_error;
pub use self::stream::StreamHandle;
use self::waiting::Waiting;
use crate::driver::Driver;
use crate::error::{AssociationError, ConnectError, SendError, TrySendError};
use crate::node::{Condition, Node, Phase, Ticket};
use crate::options::{EndpointOptions, SendOptions};
use crate::peer_address::PeerAddress;
use crate::reach;
use crate::stash::Reader;

/// An association with a peer.
///
/// Clones are handles to the same association; any number of tasks may send and receive at the same
/// time, and each message is received once. Dropping the last handle aborts an association that has
/// not ended: call [`shutdown`](Association::shutdown) first, so that sent messages arrive.
#[derive(Clone, Debug)]
pub struct Association {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    driver: Arc<Driver>,
    /// The shard of the endpoint that runs the association.
    shard: Arc<Shared<Node>>,
    ticket: Ticket,
    /// The peer's address at the set-up.
    remote: SocketAddr,
    /// Peer and options of the set-up; none if the peer opened the association.
    opened: Option<Box<(PeerAddress, AssociationOptions)>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shard.post(|node, _| node.release(&self.ticket));
    }
}

impl Association {
    /// A handle to an association that the peer opened.
    pub(crate) fn new(
        (driver, shard): (Arc<Driver>, Arc<Shared<Node>>),
        ticket: Ticket,
        remote: SocketAddr,
    ) -> Association {
        Association { handle: Arc::new(Handle { driver, shard, ticket, remote, opened: None }) }
    }

    /// Whether this shard's driver serves the association.
    #[cfg(test)]
    pub(crate) fn is_of(&self, shard: &Arc<Shared<Node>>) -> bool {
        Arc::ptr_eq(&self.handle.shard, shard)
    }

    /// A handle to an association that this side opens: INIT to `peer` has been sent or is about to
    /// be.
    pub(crate) fn open(
        driver: &Arc<Driver>,
        peer: PeerAddress,
        options: AssociationOptions,
    ) -> Result<Association, ConnectError> {
        options.policy.check_for(Protocol::Sctp)?;
        if let Some(host) = peer.host {
            return Err(ConnectError::NotLookedUp { host });
        }
        let remote = peer.first().ok_or(ConnectError::NoAddress)?;
        if driver.fingerprint.is_some() && peer.trust.is_none() {
            return Err(ConnectError::NoTrust { remote });
        }
        if driver.fingerprint.is_none() && peer.trust.is_some() {
            return Err(ConnectError::NotSecure { remote });
        }
        if driver.fingerprint.is_none() && options.zero_checksum.is_some() {
            return Err(ConnectError::ChecksumNeeded);
        }
        let options = driver.options(options);
        let opened = Some(Box::new((peer.clone(), options.clone())));
        let shard = Arc::clone(driver.shard_for(&peer));
        let ticket = shard.call(|node, now| node.open(now, peer, options));
        let ticket = ticket.map_err(|error| match error {
            sctp::ConnectError::Exists(_) => ConnectError::Exists(remote),
            sctp::ConnectError::TooMany => ConnectError::TooMany,
            sctp::ConnectError::ZeroPort => ConnectError::ZeroPort,
            sctp::ConnectError::NoAddress => ConnectError::NoAddress,
        })?;
        let driver = Arc::clone(driver);
        Ok(Association { handle: Arc::new(Handle { driver, shard, ticket, remote, opened }) })
    }

    /// Sets up an association to `peer`, encrypted, with a socket and a fresh key of its own. For
    /// several local addresses, a permanent key, or no encryption see
    /// [`Endpoint::bind_all`](crate::Endpoint::bind_all).
    ///
    /// The peer is a [`PeerAddress`], or a value that converts to one:
    /// `("game.example:9899", fingerprint)`. The addresses of a name are tried one after the other,
    /// IPv6 and IPv4 in turn, 250 ms apart or as soon as one fails, and the first that answers is
    /// used (RFC 8305). Without an answer the attempt fails after half a minute;
    /// [`connect_timeout`](Association::connect_timeout) has another limit.
    ///
    /// Dropping the future gives the attempt up.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(
        peer: impl Into<PeerAddress>,
        options: AssociationOptions,
    ) -> Result<Association, ConnectError> {
        let attempt = |peer| Association::attempt(peer, options.clone());
        reach::reach(peer.into(), |_| true, attempt).await
    }

    /// Like [`connect`](Association::connect), with a limit of time that includes the lookup of a
    /// name.
    ///
    /// # Errors
    /// See [`ConnectError`]; [`ConnectError::TimedOut`] once the time has passed.
    pub async fn connect_timeout(
        peer: impl Into<PeerAddress>,
        options: AssociationOptions,
        timeout: Duration,
    ) -> Result<Association, ConnectError> {
        let peer = peer.into();
        reach::within(timeout, peer.to_string(), Association::connect(peer, options)).await
    }

    /// Sets up an association to one address of a peer, from a new socket.
    async fn attempt(
        peer: PeerAddress,
        options: AssociationOptions,
    ) -> Result<Association, ConnectError> {
        let local = io::unspecified_for(peer.first().ok_or(ConnectError::NoAddress)?);
        let driver = Driver::bind(&[local], EndpointOptions::client())
            .map_err(|error| ConnectError::Bind(Arc::new(error)))?;
        let association = Association::open(&driver, peer, options)?;
        association.established().await?;
        Ok(association)
    }

    /// Sets up another association to the same peer, at the address at which it answered, from the
    /// same endpoint and with the options that this one was opened with. This one is aborted if it
    /// has not ended; messages that arrived on it can still be received from it, but its
    /// [`stats`](Association::stats) are gone: ask before which messages it [left
    /// behind](crate::AssociationStats::left_behind).
    ///
    /// Dropping the future gives the attempt up.
    ///
    /// # Errors
    /// See [`ConnectError`]; [`ConnectError::NotOpenedHere`] if the peer had opened this one.
    pub async fn reconnect(&self) -> Result<Association, ConnectError> {
        let Handle { driver, shard, ticket, opened, .. } = &*self.handle;
        let (peer, options) = &**opened.as_ref().ok_or(ConnectError::NotOpenedHere)?;
        let gone = shard.call(|node, now| {
            node.let_go(now, ticket);
            node.flush()
        });
        // The last words of the old one leave first, and those of a peer that has ended are heard.
        // An error: the driver has ended.
        let _ = gone.await;
        tokio::task::yield_now().await;
        let mut peer = peer.clone();
        // A peer that was met for the first time has shown which key it has.
        if let Some(proved) = self.peer() {
            peer.trust = peer.trust.map(|trust| trust.after(proved.fingerprint));
        }
        let anew = Association::open(driver, peer, options.clone())?;
        anew.established().await?;
        Ok(anew)
    }

    /// Waits until the association is set up.
    ///
    /// Dropping the future changes nothing.
    ///
    /// # Errors
    /// Why it could not be set up, or that it is over meanwhile.
    pub async fn established(&self) -> Result<(), ConnectError> {
        match self.phase_after(|phase| *phase != Phase::Opening).await {
            Phase::Ended(error) => Err(self.connect_error(*error)),
            _ => Ok(()),
        }
    }

    /// Whether the association is set up: [`established`](Association::established) for callers
    /// that never wait.
    ///
    /// # Errors
    /// Why it could not be set up, or that it is over meanwhile.
    pub fn try_established(&self) -> Result<bool, ConnectError> {
        let Handle { shard, ticket, .. } = &*self.handle;
        match shard.inspect(|node| node.phase(ticket)) {
            Phase::Opening => Ok(false),
            Phase::Open => Ok(true),
            Phase::Ended(error) => Err(self.connect_error(*error)),
        }
    }

    /// Waits until the association ends, and returns the reason.
    ///
    /// Dropping the future changes nothing.
    pub async fn ended(&self) -> AssociationError {
        match self.phase_after(|phase| matches!(phase, Phase::Ended(_))).await {
            Phase::Ended(error) => *error,
            // Not reached: the phase above is the one that ended.
            _ => AssociationError::Closed,
        }
    }

    /// Sends a message on a stream, in order, with the default options. Waits while the send buffer
    /// is full. See [`send_with`](Association::send_with).
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send(
        &self,
        stream: StreamId,
        payload: impl Into<Bytes>,
    ) -> impl Future<Output = Result<(), SendError>> {
        self.send_with(stream, payload, SendOptions::default())
    }

    /// Sends a message. Waits while the send buffer is full, and returns when the message is in the
    /// buffer, from which it is sent as soon as the windows allow.
    ///
    /// If the future is dropped before it is ready, no part of the message is sent.
    ///
    /// # Errors
    /// See [`SendError`]; no part of the message was sent.
    pub fn send_with(
        &self,
        stream: StreamId,
        payload: impl Into<Bytes>,
        options: SendOptions,
    ) -> impl Future<Output = Result<(), SendError>> {
        // Not within the future, which would be larger by the payload as it was.
        let payload = payload.into();
        let mut waiting = self.waiting(Condition::Changed);
        poll_fn(move |context| {
            let budget = ready!(tokio::task::coop::poll_proceed(context));
            let offered = self.offer(stream, payload.clone(), options, |node, is_full| {
                waiting.note(node, !is_full, context.waker());
            });
            let sent = match offered {
                Err(TrySendError::Full) => return Poll::Pending,
                Err(TrySendError::Send(error)) => Err(error),
                Ok(()) => Ok(()),
            };
            budget.made_progress();
            Poll::Ready(sent)
        })
    }

    /// Sends a message if the send buffer has room for it.
    ///
    /// # Errors
    /// See [`TrySendError`]; no part of the message was sent.
    pub fn try_send(
        &self,
        stream: StreamId,
        payload: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<(), TrySendError> {
        self.offer(stream, payload.into(), options, |_, _| {})
    }

    /// Sends as [`Association::try_send`] does; tells `then` in the same call whether the message
    /// has to wait for room.
    fn offer(
        &self,
        stream: StreamId,
        payload: Bytes,
        options: SendOptions,
        then: impl FnOnce(&mut Node, bool),
    ) -> Result<(), TrySendError> {
        let Handle { shard, ticket, .. } = &*self.handle;
        shard.attempt(|node, now| {
            let sent = node.send(now, ticket, stream, payload, options);
            let sent = sent.map_err(|error| send_error(error, || node.phase(ticket)));
            then(node, matches!(sent, Err(TrySendError::Full)));
            sent
        })
    }

    /// Receives the next message of any stream, except for those that have a [`StreamHandle`] which
    /// receives. None when the association was shut down and all messages were received.
    ///
    /// Messages that are not received fill the receive buffer, after which the peer has to wait.
    ///
    /// Dropping the future loses no message.
    ///
    /// # Errors
    /// When the association failed; messages that arrived before are received first, after
    /// [`AssociationError::Restarted`] from the association that took its place.
    pub async fn receive(&self) -> Result<Option<Message>, AssociationError> {
        self.receive_as(None).await
    }

    /// Receives a message if one has arrived; none otherwise.
    ///
    /// # Errors
    /// When the association has ended and all messages were received.
    pub fn try_receive(&self) -> Result<Option<Message>, AssociationError> {
        self.try_receive_as(None)
    }

    /// One stream, to send and receive on without naming it each time.
    pub fn stream(&self, stream: StreamId) -> StreamHandle {
        StreamHandle::new(self.clone(), stream)
    }

    /// Replaces the recovery policy, at any time in the association's life.
    ///
    /// # Errors
    /// When a field is set that has no effect on SCTP, or the values do not go together; the policy
    /// stays as it was.
    pub fn set_policy(&self, policy: impl Into<Arc<RecoveryPolicy>>) -> Result<(), FieldError> {
        let policy = policy.into();
        policy.check_for(Protocol::Sctp)?;
        self.with(|mut own, _| own.set_policy(policy));
        Ok(())
    }

    /// A snapshot of counters, windows and times; none after the peer restarted.
    pub fn stats(&self) -> Option<AssociationStats> {
        self.inspect(sctp::Association::stats)
    }

    /// Streams on which messages can be sent, as negotiated: 0 to this less one.
    pub fn outbound_streams(&self) -> u16 {
        self.inspect(sctp::Association::outbound_streams).unwrap_or(0)
    }

    /// Streams on which the peer can send, as negotiated.
    pub fn inbound_streams(&self) -> u16 {
        self.inspect(sctp::Association::inbound_streams).unwrap_or(0)
    }

    /// The peer's current address: the port of its UDP encapsulation may change (RFC 6951, section
    /// 5.4).
    pub fn remote(&self) -> SocketAddr {
        self.inspect(sctp::Association::remote).unwrap_or(self.handle.remote)
    }

    /// The peer, identified by the key that it proved to hold; known before the association is set
    /// up. None without encryption.
    pub fn peer(&self) -> Option<Peer> {
        let Handle { shard, ticket, .. } = &*self.handle;
        shard.inspect(|node| node.peer(ticket))
    }

    /// Whether all messages sent so far were acknowledged.
    pub fn is_settled(&self) -> bool {
        self.inspect(sctp::Association::is_settled).unwrap_or(true)
    }

    /// The clock of the association's endpoint.
    pub fn clock(&self) -> Clock {
        self.handle.shard.clock()
    }

    /// Switches the recording of recovery events on or off. The newest 65,536 events are kept.
    pub fn record_recovery_events(&self, enabled: bool) {
        self.with(|mut own, _| own.set_recovery_events(enabled));
    }

    /// The unit of the first DATA chunk in recovery events; none after the peer restarted. While
    /// each message fits one chunk, its number is the distance of its unit from this one.
    pub fn first_unit(&self) -> Option<u64> {
        self.inspect(sctp::Association::first_unit)
    }

    /// Returns and removes the recovery events recorded since the last call, the oldest first.
    /// Units in them are TSNs, extended to 64 bits.
    pub fn recovery_events(&self) -> Vec<TimedEvent> {
        let all = |mut own: AssociationMut<'_>, _| {
            std::iter::from_fn(|| own.poll_recovery_event()).collect()
        };
        self.with(all).unwrap_or_default()
    }

    /// Closes the association: sends all queued messages, waits until the peer has acknowledged
    /// them and has sent all of its own, and until the last packet of the shutdown has been sent.
    ///
    /// The peer still sends messages that it queued before it received SHUTDOWN; keep receiving if
    /// these may exceed the receive buffer. Messages can be received after the shutdown, too.
    ///
    /// Dropping the future does not stop the shutdown; dropping the last handle does.
    ///
    /// # Errors
    /// When the association failed before all was delivered.
    pub async fn shutdown(&self) -> Result<(), AssociationError> {
        self.with(|mut own, now| own.shutdown(now));
        match self.ended().await {
            AssociationError::Closed => {
                let flushed = self.handle.shard.call(|node, _| node.flush());
                let _ = flushed.await;
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Aborts the association at once; the ABORT tells the peer the `reason`.
    pub fn abort(&self, reason: impl Into<Bytes>) {
        self.with(|mut own, _| own.abort(reason.into()));
    }

    /// Makes a call on the machine's association, and wakes the driver; none if the machine has no
    /// such association any more.
    fn with<R>(&self, call: impl FnOnce(AssociationMut<'_>, Instant) -> R) -> Option<R> {
        let Handle { shard, ticket, .. } = &*self.handle;
        let call = |node: &mut Node, now| node.association_mut(ticket).map(|own| call(own, now));
        shard.call(call)
    }

    pub(crate) async fn receive_as(
        &self,
        reader: Reader,
    ) -> Result<Option<Message>, AssociationError> {
        let mut waiting = self.waiting(Condition::Readable);
        poll_fn(move |context| self.poll_receive(&mut waiting, reader, context)).await
    }

    /// Ready with the next message for `reader`, as [`Association::receive`].
    fn poll_receive(
        &self,
        waiting: &mut Waiting<'_>,
        reader: Reader,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Message>, AssociationError>> {
        // Before a message is taken, so that none is lost.
        let budget = ready!(tokio::task::coop::poll_proceed(context));
        let ticket = &self.handle.ticket;
        let receive = |node: &mut Node, now| node.receive(now, ticket, reader).transpose();
        let received = ready!(waiting.poll(context, receive));
        budget.made_progress();
        Poll::Ready(match received {
            Ok(message) => Ok(Some(message)),
            Err(AssociationError::Closed) => Ok(None),
            Err(error) => Err(error),
        })
    }

    pub(crate) fn try_receive_as(
        &self,
        reader: Reader,
    ) -> Result<Option<Message>, AssociationError> {
        let Handle { shard, ticket, .. } = &*self.handle;
        let receive = |node: &mut Node, now| node.receive(now, ticket, reader).transpose();
        shard.ask(receive).transpose()
    }

    fn inspect<R>(&self, look: impl FnOnce(&sctp::Association) -> R) -> Option<R> {
        let Handle { shard, ticket, .. } = &*self.handle;
        shard.inspect_present(|node| node.association(ticket).map(look))
    }
}
