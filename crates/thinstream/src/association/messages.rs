//! Messages as `futures_core::Stream` and `futures_sink::Sink`.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use sctp::Message;

use super::polled::{Receiving, Sending};
use super::{Association, StreamHandle};
use crate::error::{AssociationError, SendError};
use crate::options::SendOptions;

/// Messages of an association or of one of its streams, as a [`Stream`](futures_core::Stream): from
/// [`Association::messages`] and [`StreamHandle::messages`]. It ends when the association was shut
/// down, and after the error of one that failed. Dropping it loses no message.
#[derive(Debug)]
pub struct Messages(Receiving);

impl futures_core::Stream for Messages {
    type Item = Result<Message, AssociationError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().0.poll(context)
    }
}

/// Takes messages for one stream, as a [`Sink`](futures_sink::Sink): from [`StreamHandle::sink`].
///
/// A flushed message is in the send buffer. Closing the sink flushes it and does not affect the
/// association.
#[derive(Debug)]
pub struct MessageSink {
    sending: Sending,
    options: SendOptions,
}

impl MessageSink {
    /// Sets the options of the messages that follow.
    pub fn set_options(&mut self, options: SendOptions) {
        self.options = options;
    }
}

impl<P: Into<Bytes>> futures_sink::Sink<P> for MessageSink {
    type Error = SendError;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.get_mut().sending.poll_ready(context)
    }

    fn start_send(self: Pin<&mut Self>, message: P) -> Result<(), SendError> {
        let own = self.get_mut();
        own.sending.start(message.into(), own.options)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.get_mut().sending.poll_ready(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.get_mut().sending.poll_ready(context)
    }
}

impl Association {
    /// Messages as of [`receive`](Association::receive), as a [`Stream`](futures_core::Stream).
    pub fn messages(&self) -> Messages {
        Messages(Receiving::new(self.clone(), None))
    }
}

impl StreamHandle {
    /// Messages as of [`receive`](StreamHandle::receive), as a [`Stream`](futures_core::Stream).
    pub fn messages(&self) -> Messages {
        Messages(Receiving::new(self.association().clone(), Some(self.id())))
    }

    /// A [`Sink`](futures_sink::Sink) that sends as [`send`](StreamHandle::send) does.
    pub fn sink(&self) -> MessageSink {
        let sending = Sending::new(self.association().clone(), self.id());
        MessageSink { sending, options: SendOptions::default() }
    }
}
