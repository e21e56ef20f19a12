//! Messages that a channel asks for by its label. Shared with the programs that measure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Messages that a page wants: each begins with its number (32 bits) and the microseconds since
/// 1970 when it was sent (64 bits), little-endian.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// Time from one to the next.
    pub interval: Duration,
    /// Bytes of each message.
    pub size: usize,
    /// Number of messages to send.
    pub count: u32,
}

impl Order {
    /// Reads a label, `send MICROSECONDS SIZE COUNT`.
    pub fn parse(label: &str) -> Option<Order> {
        let mut words = label.strip_prefix("send ")?.split(' ');
        let interval = Duration::from_micros(words.next()?.parse().ok()?);
        let size = words.next()?.parse().ok()?;
        let count = words.next()?.parse().ok()?;
        Some(Order { interval, size, count })
    }

    /// The message of this number, as it leaves now.
    pub fn message(&self, number: u32) -> Vec<u8> {
        let mut message = number.to_le_bytes().to_vec();
        message.extend(now_micros().to_le_bytes());
        message.resize(self.size.max(message.len()), 0);
        message
    }
}

/// Microseconds since 1970, by the system's clock.
pub fn now_micros() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as u64
}
