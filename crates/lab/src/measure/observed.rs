//! What meters are told of messages.

use base::{Duration, Instant};
use recovery::Cause;

/// What became of a message that reached the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Number of the message within its flow, from 0.
    pub index: u64,
    /// Its bytes.
    pub size: usize,
    /// When the application wanted to send it.
    pub due: Instant,
    /// When the transport took all of it.
    pub accepted: Instant,
    /// When the last of it left for the first time.
    pub sent: Instant,
    /// When all of it had come to the receiver's transport, in whatever order.
    pub arrived: Instant,
    /// When the receiver's application had it.
    pub delivered: Instant,
    /// Retransmissions of it that left before.
    pub retransmissions: u32,
    /// Its place in the media: when it is to be played, from the flow's first message.
    pub media: Duration,
}

/// A unit was sent again and had arrived before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needless {
    /// Why it was sent again.
    pub cause: Cause,
    /// For the how-many-th time.
    pub order: u8,
    /// When.
    pub sent: Instant,
}
