//! Layers over the streams of an association: they use it as any application would and decide
//! nothing about its packets.
//!
//! A layer is as sans-IO as the endpoint below it. Messages that arrived go in, messages to be sent
//! come out as [`Outgoing`]; the owner of the association carries them in both directions, be it a
//! simulation, a test or an asynchronous program.
//!
//! - [`partial_order`]: a message waits for those that it names and for nothing else.
//! - [`data_channel`]: WebRTC's data channels (RFC 8831 and RFC 8832).
//!
//! ```
//! use layers::data_channel::{ChannelOptions, DataChannels, DataChannelsOptions, DtlsRole};
//!
//! let mut channels = DataChannels::new(DataChannelsOptions::new(DtlsRole::Client));
//! let id = channels.open(ChannelOptions::default())?;
//! // DATA_CHANNEL_OPEN, for the owner of the association to send (RFC 8832).
//! let opening = channels.poll_outgoing().expect("a message");
//! assert_eq!((opening.stream, opening.payload[0]), (id, 3));
//! # Ok::<(), layers::data_channel::ChannelError>(())
//! ```

pub mod data_channel;
pub mod partial_order;

use std::collections::VecDeque;

use bytes::Bytes;

use sctp::{Ppid, SendOptions, StreamId};

/// A message that a layer wants sent, in the order in which it comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// SCTP stream that carries the message.
    pub stream: StreamId,
    /// Payload protocol identifier of the message.
    pub ppid: Ppid,
    /// Payload, at least one byte.
    pub payload: Bytes,
    /// Order, reliability and priority of the message.
    pub options: SendOptions,
}

/// Messages that wait for their owner to send them.
#[derive(Debug, Default)]
struct Outbox {
    queue: VecDeque<Outgoing>,
    bytes: usize,
}

impl Outbox {
    fn push(&mut self, outgoing: Outgoing) {
        self.bytes += outgoing.payload.len();
        self.queue.push_back(outgoing);
    }

    fn pop(&mut self) -> Option<Outgoing> {
        let outgoing = self.queue.pop_front()?;
        self.bytes -= outgoing.payload.len();
        if self.queue.is_empty() {
            self.queue.shrink_to(1);
        }
        Some(outgoing)
    }

    /// Bytes that wait for the association, all streams together.
    fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that wait for `stream`.
    fn bytes_on(&self, stream: StreamId) -> usize {
        let own = self.queue.iter().filter(|outgoing| outgoing.stream == stream);
        own.map(|outgoing| outgoing.payload.len()).sum()
    }

    /// Whether anything waits for `stream`.
    fn has(&self, stream: StreamId) -> bool {
        self.queue.iter().any(|outgoing| outgoing.stream == stream)
    }

    /// Sends in order until `send` refuses; what it refused stays first.
    fn flush<E>(&mut self, mut send: impl FnMut(Outgoing) -> Result<(), E>) -> Result<(), E> {
        while let Some(outgoing) = self.queue.front() {
            // Bytes are shared, not copied.
            send(outgoing.clone())?;
            self.pop();
        }
        Ok(())
    }
}
