//! Options of a receiver: buffer, window and acknowledgements.

use recovery::AckTiming;

use super::window::unscaled;
use crate::wire::MAX_WINDOW_SCALE;

/// Options of the receiving side of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverOptions {
    /// Most bytes waiting for the application.
    pub buffer: u64,
    /// Largest size, in bytes, to which the buffer grows while the application reads as fast as
    /// data arrives; a value of at most [`ReceiverOptions::buffer`] disables growth.
    pub buffer_limit: u64,
    /// Bytes of data in a full-sized segment that this side's MSS option allows.
    pub mss: u32,
    /// Delay of acknowledgements, and segments after which none is delayed.
    pub acknowledgement: AckTiming,
    /// Whether duplicates are reported in the first SACK block (RFC 2883), if the peer accepts
    /// SACK.
    pub duplicate_sack: bool,
    /// Whether the urgent byte stays in the stream, as RFC 6093, section 3.4, recommends;
    /// otherwise it is left out, and [`Receiver::read_urgent`](super::Receiver::read_urgent)
    /// returns it.
    pub urgent_inline: bool,
}

impl Default for ReceiverOptions {
    fn default() -> ReceiverOptions {
        ReceiverOptions {
            buffer: 256 << 10,
            buffer_limit: 0,
            mss: 1460,
            acknowledgement: AckTiming::default(),
            duplicate_sack: true,
            urgent_inline: true,
        }
    }
}

impl ReceiverOptions {
    /// Window field of this side's SYN, which is never scaled (RFC 7323, section 2.2).
    pub fn syn_window(&self) -> u16 {
        unscaled(self.buffer)
    }

    /// Smallest shift with which the largest buffer can be advertised (RFC 7323, section 2.3).
    pub fn window_scale(&self) -> u8 {
        let largest = self.buffer.max(self.buffer_limit);
        let fits = |scale: &u8| largest >> scale <= u64::from(u16::MAX);
        (0..MAX_WINDOW_SCALE).find(fits).unwrap_or(MAX_WINDOW_SCALE)
    }
}
