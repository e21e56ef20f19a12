//! A page that has connected.

use std::pin::pin;
use std::sync::Arc;

use ::webrtc::{
    ChannelError, ChannelOptions, MessageKind, PeerEvent, PeerId, StreamId, ice::IceLite,
};
use base::Instant;
use bytes::Bytes;
use recovery::RecoveryPolicy;
use sctp::AssociationStats;
use tokio::sync::Notify;

use super::inner::Inner;

/// A connection with a page: the data channels that either side opens.
///
/// Dropping it closes the connection.
#[derive(Debug)]
pub struct Connection {
    inner: Arc<Inner>,
    id: PeerId,
    signal: Arc<Notify>,
}

impl Connection {
    pub(super) fn new(inner: Arc<Inner>, id: PeerId, signal: Arc<Notify>) -> Connection {
        Connection { inner, id, signal }
    }

    /// The id that [`Listener::answer`](super::Listener::answer) returned.
    pub fn id(&self) -> PeerId {
        self.id
    }

    /// Waits for the next event; none after [`PeerEvent::Ended`]. Unread messages delay the page:
    /// beyond [`ServerOptions::unread`](super::ServerOptions) bytes the receive window closes. The
    /// future can be dropped at any time.
    pub async fn event(&self) -> Option<PeerEvent> {
        loop {
            let mut notified = pin!(self.signal.notified());
            notified.as_mut().enable();
            // The driver is woken, since what was read makes room.
            match self.inner.shared.call(|node, _| node.event(self.id)) {
                Ok(Some(event)) => return Some(event),
                Ok(None) => notified.await,
                Err(()) => return None,
            }
        }
    }

    /// Opens a channel; the page sees it as `ondatachannel`.
    ///
    /// # Errors
    /// There are as many channels as there may be, the names are too long, or the connection has
    /// ended.
    pub fn open(&self, options: ChannelOptions) -> Result<StreamId, ChannelError> {
        self.with(ChannelError::TooMany, |peer, _| peer.open(options))
    }

    /// Opens this side of a channel that the page makes with `negotiated: true` and this
    /// identifier.
    ///
    /// # Errors
    /// The identifier is in use, or the connection has ended.
    pub fn open_negotiated(
        &self,
        id: StreamId,
        options: ChannelOptions,
    ) -> Result<(), ChannelError> {
        self.with(ChannelError::NotOpen(id), |peer, _| peer.open_negotiated(id, options))
    }

    /// Queues a message, which leaves at once if the network allows.
    ///
    /// # Errors
    /// The channel is not open, the message is longer than the page takes, or the buffer is full
    /// ([`ChannelError::BufferFull`]: try again after
    /// [`ChannelEvent::BufferedLow`](super::ChannelEvent)).
    pub fn send(
        &self,
        id: StreamId,
        kind: MessageKind,
        payload: impl Into<Bytes>,
    ) -> Result<(), ChannelError> {
        let payload = payload.into();
        self.with(ChannelError::NotOpen(id), |peer, now| peer.send(now, id, kind, payload))
    }

    /// Closes a channel; what was sent on it before arrives.
    ///
    /// # Errors
    /// The channel is not open.
    pub fn close_channel(&self, id: StreamId) -> Result<(), ChannelError> {
        self.with(ChannelError::NotOpen(id), |peer, now| peer.close_channel(now, id))
    }

    /// Requests an event each time the waiting bytes of a channel fall to `threshold` or less.
    ///
    /// # Errors
    /// The channel is not open.
    pub fn set_low_threshold(
        &self,
        id: StreamId,
        threshold: Option<usize>,
    ) -> Result<(), ChannelError> {
        self.with(ChannelError::NotOpen(id), |peer, _| peer.set_low_threshold(id, threshold))
    }

    /// Bytes of a channel's messages that have never been sent.
    pub fn buffered(&self, id: StreamId) -> usize {
        let look = |peer: &::webrtc::Peer<IceLite>| peer.buffered(id);
        self.inner.shared.inspect(|node| node.server.peer(self.id).map_or(0, look))
    }

    /// Replaces the recovery policy, at any time.
    pub fn set_policy(&self, policy: impl Into<Arc<RecoveryPolicy>>) {
        let policy = policy.into();
        let _ = self.with((), |peer, _| peer.set_policy(policy).then_some(()).ok_or(()));
    }

    /// Counters of the association; none once the connection has ended.
    pub fn stats(&self) -> Option<AssociationStats> {
        self.inner.shared.inspect(|node| Some(node.server.peer(self.id)?.association()?.stats()))
    }

    /// Closes the connection; what was sent arrives first. [`PeerEvent::Ended`] follows.
    pub fn close(&self) {
        let _ = self.with((), |peer, now| {
            peer.close(now);
            Ok(())
        });
    }

    /// Calls `act` with the peer; `gone` once there is none.
    fn with<R, E>(
        &self,
        gone: E,
        act: impl FnOnce(&mut ::webrtc::Peer<IceLite>, Instant) -> Result<R, E>,
    ) -> Result<R, E> {
        let call = self
            .inner
            .shared
            .call(|node, now| node.server.with_peer(self.id, |peer| act(peer, now)));
        call.unwrap_or(Err(gone))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.inner.shared.call(|node, now| node.release(now, self.id));
    }
}
