//! One stream as bytes without the bounds of messages: `tokio::io::AsyncRead` and `AsyncWrite`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::StreamHandle;
use super::polled::{Receiving, Sending};
use crate::error::AssociationError;
use crate::options::SendOptions;

/// Longest message in bytes: longer writes are split, so that other streams get their turns between
/// messages.
const LONGEST: usize = 16 << 10;

type Closing = Pin<Box<dyn Future<Output = Result<(), AssociationError>> + Send>>;

/// One stream of an association as a stream of bytes, for protocols designed for TCP: from
/// [`StreamHandle::bytes`].
///
/// Both ends have to use the stream in this way, and in order. A write returns when its bytes are
/// in the send buffer. There is no half-close: `shutdown` shuts the whole association down, and the
/// reader at the other end gets the end of the data.
pub struct ByteStream {
    receiving: Receiving,
    sending: Sending,
    /// Unread bytes of the last message.
    rest: Bytes,
    closing: Option<Closing>,
}

impl std::fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByteStream").field("sending", &self.sending).finish_non_exhaustive()
    }
}

impl StreamHandle {
    /// The stream as `AsyncRead` and `AsyncWrite`.
    pub fn bytes(&self) -> ByteStream {
        let association = self.association();
        ByteStream {
            receiving: Receiving::new(association.clone(), Some(self.id())),
            sending: Sending::new(association.clone(), self.id()),
            rest: Bytes::new(),
            closing: None,
        }
    }
}

impl AsyncRead for ByteStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        if own.rest.is_empty() {
            match ready!(own.receiving.poll(context)).transpose()? {
                Some(message) => own.rest = message.payload.into_bytes(),
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = own.rest.len().min(buffer.remaining());
        buffer.put_slice(&own.rest[..length]);
        own.rest.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ByteStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        ready!(own.sending.poll_ready(context))?;
        let length = bytes.len().min(LONGEST);
        if length > 0 {
            own.sending.start(Bytes::copy_from_slice(&bytes[..length]), SendOptions::default())?;
        }
        Poll::Ready(Ok(length))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().sending.poll_ready(context).map_err(io::Error::from)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        ready!(own.sending.poll_ready(context))?;
        let closing = own.closing.get_or_insert_with(|| {
            let association = own.sending.association.clone();
            Box::pin(async move { association.shutdown().await })
        });
        closing.as_mut().poll(context).map_err(io::Error::from)
    }
}
