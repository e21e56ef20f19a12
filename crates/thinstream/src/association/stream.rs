//! One stream of an association.

use bytes::Bytes;
use sctp::{Message, StreamId};

use super::Association;
use crate::error::{AssociationError, SendError, TrySendError};
use crate::options::SendOptions;

/// One stream of an association, in both directions.
///
/// From its first call of [`receive`](StreamHandle::receive) on, messages of the stream come here
/// and not to [`Association::receive`]. Messages of other streams are kept for their readers, up to
/// the size of the receive buffer; once messages of other streams fill the buffer, this stream
/// waits, too. A program that reads from one stream should therefore read from all streams on which
/// the peer sends.
#[derive(Clone, Debug)]
pub struct StreamHandle {
    association: Association,
    id: StreamId,
}

impl StreamHandle {
    pub(crate) fn new(association: Association, id: StreamId) -> StreamHandle {
        StreamHandle { association, id }
    }

    /// Number of the stream, from 0.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// The association to which the stream belongs.
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// Sends on this stream as [`Association::send`] does.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send(&self, payload: impl Into<Bytes>) -> impl Future<Output = Result<(), SendError>> {
        self.association.send(self.id, payload)
    }

    /// Sends on this stream as [`Association::send_with`] does.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_with(
        &self,
        payload: impl Into<Bytes>,
        options: SendOptions,
    ) -> impl Future<Output = Result<(), SendError>> {
        self.association.send_with(self.id, payload, options)
    }

    /// Sends on this stream as [`Association::try_send`] does.
    ///
    /// # Errors
    /// See [`TrySendError`].
    pub fn try_send(
        &self,
        payload: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<(), TrySendError> {
        self.association.try_send(self.id, payload, options)
    }

    /// Receives the next message of this stream; none when the association was shut down and all
    /// messages of the stream were received.
    ///
    /// Dropping the future loses no message.
    ///
    /// # Errors
    /// When the association failed; messages that arrived before are received first.
    pub async fn receive(&self) -> Result<Option<Message>, AssociationError> {
        self.association.receive_as(Some(self.id)).await
    }

    /// Receives a message of this stream if one has arrived; none otherwise.
    ///
    /// # Errors
    /// When the association has ended and all messages of the stream were received.
    pub fn try_receive(&self) -> Result<Option<Message>, AssociationError> {
        self.association.try_receive_as(Some(self.id))
    }
}
