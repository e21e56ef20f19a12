//! COOKIE ECHO and COOKIE ACK: the last two steps of the handshake (RFC 9260, sections 3.3.11 and
//! 3.3.12).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type 10 or 11 | flags 0       | length (4 for COOKIE ACK)     |
//! +---------------+---------------+-------------------------------+
//! | COOKIE ECHO: the state cookie of the INIT ACK, unchanged      |
//! ```

use super::super::builder::EmitChunk;
use super::super::registry::ChunkType;

/// Returns the state cookie of INIT ACK (RFC 9260, section 3.3.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieEcho<'a> {
    /// The cookie as the INIT ACK carried it.
    pub cookie: &'a [u8],
}

/// Answers [`CookieEcho`]: the association is set up (RFC 9260, section 3.3.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieAck;

impl EmitChunk for CookieEcho<'_> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::COOKIE_ECHO, 0)
    }

    fn least_len(&self) -> usize {
        self.cookie.len()
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        buffer.extend_from_slice(self.cookie);
    }
}

impl EmitChunk for CookieAck {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::COOKIE_ACK, 0)
    }

    fn emit_value(self, _buffer: &mut Vec<u8>, _room: usize) {}
}
