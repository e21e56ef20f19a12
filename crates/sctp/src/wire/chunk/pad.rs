//! PAD (RFC 4820, section 3) enlarges a packet and has no other effect. A receiver that does not
//! know the chunk skips it, as the upper bits of its type say, so that no agreement is needed.
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type 132      | flags 0       | length                        |
//! +---------------+---------------+-------------------------------+
//! | any bytes
//! ```

use super::super::builder::EmitChunk;
use super::super::registry::ChunkType;

/// Padding: its length in bytes without the header of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pad(pub usize);

impl EmitChunk for Pad {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::PAD, 0)
    }

    fn least_len(&self) -> usize {
        self.0
    }

    fn emit_value(self, buffer: &mut Vec<u8>, room: usize) {
        // The builder has checked that the chunk fits.
        buffer.resize(buffer.len() + self.0.min(room), 0);
    }
}
