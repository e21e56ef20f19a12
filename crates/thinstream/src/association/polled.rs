//! Receiving and sending by polling: the basis of adapters to the traits of other crates.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use sctp::{Message, StreamId};

use super::Association;
use crate::error::{AssociationError, SendError, TrySendError};
use crate::node::{Condition, WaiterKey};
use crate::options::SendOptions;
use crate::stash::Reader;

type Waiting<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The receiving side of an association, or of one of its streams.
pub(super) struct Receiving {
    association: Association,
    reader: Reader,
    /// Names the task that waits, if one does.
    key: Option<WaiterKey>,
    over: bool,
}

impl Drop for Receiving {
    fn drop(&mut self) {
        drop(self.association.waiting_as(Condition::Readable, self.key));
    }
}

impl Receiving {
    pub(super) fn new(association: Association, reader: Reader) -> Receiving {
        Receiving { association, reader, key: None, over: false }
    }

    /// The next message, or the failure after the last one; then none.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Message, AssociationError>>> {
        if self.over {
            return Poll::Ready(None);
        }
        let mut waiting = self.association.waiting_as(Condition::Readable, self.key.take());
        let received = self.association.poll_receive(&mut waiting, self.reader, context);
        self.key = waiting.suspend();
        let received = ready!(received);
        self.over = !matches!(received, Ok(Some(_)));
        Poll::Ready(received.transpose())
    }
}

impl fmt::Debug for Receiving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiving").field("reader", &self.reader).finish_non_exhaustive()
    }
}

/// The sending side of a stream.
pub(super) struct Sending {
    pub(super) association: Association,
    stream: StreamId,
    /// A message that waits for room in the send buffer.
    waiting: Option<Waiting<Result<(), SendError>>>,
}

impl Sending {
    pub(super) fn new(association: Association, stream: StreamId) -> Sending {
        Sending { association, stream, waiting: None }
    }

    /// Ready once the previous message is in the send buffer.
    pub(super) fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        let Some(waiting) = &mut self.waiting else { return Poll::Ready(Ok(())) };
        let sent = ready!(waiting.as_mut().poll(context));
        self.waiting = None;
        Poll::Ready(sent)
    }

    /// Sends a message, or lets it wait for room. Call [`Sending::poll_ready`] first.
    pub(super) fn start(&mut self, payload: Bytes, options: SendOptions) -> Result<(), SendError> {
        match self.association.try_send(self.stream, payload.clone(), options) {
            Ok(()) => Ok(()),
            Err(TrySendError::Send(error)) => Err(error),
            Err(TrySendError::Full) => {
                let (association, stream) = (self.association.clone(), self.stream);
                let send = async move { association.send_with(stream, payload, options).await };
                self.waiting = Some(Box::pin(send));
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending").field("stream", &self.stream).finish_non_exhaustive()
    }
}
