//! Arbitrary partial orders over one stream, as Caro et al. (2001, section 3) imagine them over
//! SCTP: a message waits for the messages that it names and for nothing else.
//!
//! All messages travel unordered (U bit), so a lost one delays nothing in SCTP itself. Each carries
//! a small header of this layer: its number and the numbers of its predecessors (5 bytes, and 2 for
//! each predecessor). The receiver delivers a message once all its predecessors were delivered, or
//! are known to have been abandoned.
//!
//! Both sides must use the same [`Limits`]. They bound what the receiver may have to hold: the
//! sender keeps within them, and the receiver reports from time to time below which number it is
//! done. An application that exceeds them broke the protocol, so a hostile peer costs no more
//! memory than an honest one.
//!
//! If the order consists of chains only, streams express it without this layer. See
//! `docs/mechanisms.md` for what the three cost under loss.
//!
//! ```
//! # use layers::partial_order::*;
//! # use sctp::{Ppid, SendOptions};
//! let options = PartialOrderOptions::default();
//! let (mut ours, mut theirs) = (PartialOrder::new(options), PartialOrder::new(options));
//! let send = SendOptions::default();
//! let picture = ours.send(Ppid(0), b"picture", After::Nothing, send)?;
//! ours.send(Ppid(0), b"its caption", After::These(&[picture]), send)?;
//!
//! // The network lets the second overtake the first.
//! let mut on_the_way: Vec<_> = core::iter::from_fn(|| ours.poll_outgoing()).collect();
//! while let Some(outgoing) = on_the_way.pop() {
//!     theirs.handle_message(outgoing.ppid, outgoing.payload)?;
//! }
//! let delivered: Vec<_> = core::iter::from_fn(|| theirs.poll_delivery()).collect();
//! assert!(matches!(&delivered[0], Delivery::Message { payload, .. } if payload == "picture"));
//! assert_eq!(delivered.len(), 2);
//! # Ok::<(), PartialOrderError>(())
//! ```

mod frame;
mod incoming;
mod sent;
#[cfg(test)]
mod tests;

use core::fmt;

use bytes::Bytes;

use self::frame::Frame;
pub use self::frame::FrameError;
use self::incoming::Incoming;
use self::sent::Sent;
use crate::{Outbox, Outgoing};
use sctp::{Ppid, SendOptions, StreamId};

/// Names a message of one direction, in the order of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageNumber(u64);

impl MessageNumber {
    /// 0 for the first message.
    pub const fn index(self) -> u64 {
        self.0
    }
}

/// Messages that a message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After<'a> {
    /// Nothing: it is delivered as soon as it arrives.
    Nothing,
    /// Predecessors: messages of the same direction; at most 62 that may not be delivered yet.
    These(&'a [MessageNumber]),
    /// Every message sent before: the message is a barrier.
    Everything,
}

/// Limits on the messages of one direction that the receiver may have to hold; equal on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Messages at once, 4 to 32,768.
    pub messages: u32,
    /// Bytes of messages with their headers.
    pub bytes: usize,
    /// Bytes of one message with its header: half of `bytes` at most, and no more than the
    /// association sends ([`sctp::AssociationOptions::max_message_size`]).
    pub message: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { messages: 4096, bytes: 1 << 20, message: 256 << 10 }
    }
}

/// Use of the association by the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PartialOrderOptions {
    /// The stream, in both directions, which the layer has for itself.
    pub stream: StreamId,
    /// Limits on messages that wait for predecessors, equal on both sides.
    pub limits: Limits,
    /// Payload protocol identifier of the layer's own messages.
    pub ppid: Ppid,
}

/// A delivery of the layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A message that may be delivered: all before it were.
    Message {
        /// Number of the message, as the sender knows it.
        number: MessageNumber,
        /// Payload protocol identifier set by its sender.
        ppid: Ppid,
        /// Content as the peer's application sent it; may be empty.
        payload: Bytes,
    },
    /// A message that the sender abandoned, where it would have been delivered.
    Abandoned {
        /// Number of the message, as the sender knows it.
        number: MessageNumber,
    },
}

/// Reason for which a message was not sent, or what came was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialOrderError {
    /// Sending: it names a message that was not sent before.
    UnknownPredecessor(MessageNumber),
    /// Sending: it names more messages than a header holds.
    TooManyPredecessors {
        /// Most predecessors that a header can name.
        maximum: usize,
    },
    /// Sending: it is longer than the limits allow.
    TooLarge {
        /// Bytes of the message, without its header.
        length: usize,
        /// The longest allowed with these predecessors.
        maximum: usize,
    },
    /// Sending: the receiver may still hold as much as it can. Try again when it has reported.
    WindowFull,
    /// Receiving: the peer sent what is no frame.
    Frame(FrameError),
    /// Receiving: the peer sent a number beyond the limits.
    BeyondWindow,
    /// Receiving: the peer sent more bytes than the limits.
    TooManyBytes,
    /// Receiving: the peer reports a number that it was not sent.
    SettledBeyondSent,
}

impl fmt::Display for PartialOrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartialOrderError::UnknownPredecessor(number) => {
                write!(f, "message {} was not sent yet", number.0)
            }
            PartialOrderError::TooManyPredecessors { maximum } => {
                write!(f, "a message waits for {maximum} others at most")
            }
            PartialOrderError::TooLarge { length, maximum } => {
                write!(f, "a message of {length} bytes is longer than the {maximum} allowed")
            }
            PartialOrderError::WindowFull => f.write_str("the receiver holds as much as it can"),
            PartialOrderError::Frame(error) => write!(f, "not a message of this layer: {error}"),
            PartialOrderError::BeyondWindow => f.write_str("a number beyond the window"),
            PartialOrderError::TooManyBytes => f.write_str("more bytes than may wait"),
            PartialOrderError::SettledBeyondSent => {
                f.write_str("a report of messages that were not sent")
            }
        }
    }
}

impl core::error::Error for PartialOrderError {}

impl From<FrameError> for PartialOrderError {
    fn from(error: FrameError) -> Self {
        PartialOrderError::Frame(error)
    }
}

/// Both directions of a partially ordered exchange over one stream of an association.
#[derive(Debug)]
pub struct PartialOrder {
    options: PartialOrderOptions,
    sent: Sent,
    incoming: Incoming,
    outbox: Outbox,
}

impl PartialOrder {
    /// The layer over a fresh stream.
    pub fn new(options: PartialOrderOptions) -> PartialOrder {
        // Distances are 16 bits wide, and reports come each quarter.
        let messages = options.limits.messages.clamp(4, 1 << 15);
        let limits = Limits { messages, ..options.limits };
        PartialOrder {
            options: PartialOrderOptions { limits, ..options },
            sent: Sent::new(limits),
            incoming: Incoming::new(limits),
            outbox: Outbox::default(),
        }
    }

    /// The stream that the layer uses.
    pub fn stream(&self) -> StreamId {
        self.options.stream
    }

    /// Gives a message to be sent, which [`PartialOrder::poll_outgoing`] then returns. Whatever
    /// `options` say, it travels unordered.
    ///
    /// # Errors
    /// [`PartialOrderError`]; nothing is sent then, and no number used.
    pub fn send(
        &mut self,
        ppid: Ppid,
        payload: &[u8],
        after: After<'_>,
        options: SendOptions,
    ) -> Result<MessageNumber, PartialOrderError> {
        let (number, after) = self.sent.number(payload.len(), after)?;
        let payload = Bytes::copy_from_slice(payload);
        let frame = Frame::Message { number, after, payload };
        self.push(ppid, &frame, options);
        Ok(MessageNumber(number))
    }

    /// The association gave a message up (partial reliability): its successors wait no longer for
    /// it, only for what it waited for itself. A message that had arrived is delivered all the
    /// same.
    ///
    /// # Errors
    /// [`PartialOrderError::UnknownPredecessor`] if it was never sent.
    pub fn abandon(&mut self, number: MessageNumber) -> Result<(), PartialOrderError> {
        if !self.sent.is_known(number) {
            return Err(PartialOrderError::UnknownPredecessor(number));
        }
        if let Some(frame) = self.sent.abandon(number) {
            self.push(self.options.ppid, &frame, SendOptions::default());
        }
        Ok(())
    }

    fn push(&mut self, ppid: Ppid, frame: &Frame, options: SendOptions) {
        let options = SendOptions { unordered: true, ..options };
        let (stream, payload) = (self.options.stream, frame.emit());
        self.outbox.push(Outgoing { stream, ppid, payload, options });
    }

    /// Input: a message that arrived on the layer's stream, and what it carries.
    ///
    /// # Errors
    /// [`PartialOrderError`] of those that say *receiving*: the peer broke the layer's protocol,
    /// and the association is best aborted.
    pub fn handle_message(&mut self, ppid: Ppid, payload: Bytes) -> Result<(), PartialOrderError> {
        let size = payload.len();
        match Frame::parse(payload, self.incoming.base(), self.sent.next())? {
            Frame::Settled { below } => self.sent.on_settled(below),
            Frame::Abandoned { number, after } => {
                let delivery = Delivery::Abandoned { number: MessageNumber(number) };
                self.incoming.accept(number, after, size, delivery)
            }
            Frame::Message { number, after, payload } => {
                let delivery = Delivery::Message { number: MessageNumber(number), ppid, payload };
                self.incoming.accept(number, after, size, delivery)
            }
        }
    }

    /// Output: the next message that may be delivered. After taking any, drain
    /// [`PartialOrder::poll_outgoing`], since the sender may have to be told.
    pub fn poll_delivery(&mut self) -> Option<Delivery> {
        let delivery = self.incoming.poll()?;
        if let Some(below) = self.incoming.report() {
            self.push(self.options.ppid, &Frame::Settled { below }, SendOptions::default());
        }
        Some(delivery)
    }

    /// Output: the next message to be sent on the association.
    pub fn poll_outgoing(&mut self) -> Option<Outgoing> {
        self.outbox.pop()
    }

    /// Sends what waits to be sent with `send`, in order, until it refuses; what it refused stays.
    ///
    /// # Errors
    /// The error of [`sctp::AssociationMut::send`].
    pub fn flush<E>(&mut self, send: impl FnMut(Outgoing) -> Result<(), E>) -> Result<(), E> {
        self.outbox.flush(send)
    }

    /// Messages that arrived and were not delivered yet.
    pub fn held(&self) -> usize {
        self.incoming.held()
    }

    /// Messages sent of which the peer has not reported that it is done with them.
    pub fn unsettled(&self) -> usize {
        self.sent.unsettled()
    }

    /// Messages that came although their number had come before, or been abandoned.
    pub fn repeated(&self) -> u64 {
        self.incoming.repeated
    }
}
