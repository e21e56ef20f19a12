//! Messages that become due to be sent.

use base::{Duration, Instant};

/// A message that the application wants delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueMessage {
    /// Number of the message within its flow, from 0.
    pub index: u64,
    /// Time at which the message was due; its latency counts from here.
    pub due: Instant,
    /// Payload of the message, in bytes.
    pub size: usize,
    /// Time at which the message is to be played, from the flow's first message. Without media,
    /// the time at which it was due.
    pub media: Duration,
}
