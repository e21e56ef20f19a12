//! SHUTDOWN, SHUTDOWN ACK and SHUTDOWN COMPLETE: the graceful end (RFC 9260, sections 3.3.8, 3.3.9
//! and 3.3.13).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+-------------+-+-------------------------------+
//! | type 7, 8, 14 | 0           |T| length 8, 4, 4                |
//! +---------------+-------------+-+-------------------------------+
//! | SHUTDOWN: cumulative TSN ack                                  |
//! +---------------------------------------------------------------+
//! ```
//!
//! Only SHUTDOWN COMPLETE has the T bit.

use super::super::builder::EmitChunk;
use super::super::error::ParseError;
use super::super::ids::Tsn;
use super::super::registry::ChunkType;
use super::raw::{RawChunk, T_BIT};

/// The sender has no more data to send, and all its data is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shutdown {
    /// The last TSN before the first gap, as in a SACK without blocks.
    pub cumulative_tsn_ack: Tsn,
}

/// Answers [`Shutdown`] once this side has no outstanding data either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownAck;

/// Answers [`ShutdownAck`]: the association has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownComplete {
    /// T: the packet carries the verification tag of the packet that it answers.
    pub t_bit: bool,
}

impl Shutdown {
    pub(super) fn parse(raw: RawChunk<'_>) -> Result<Self, ParseError> {
        let (tsn, _) = raw.split_fields()?;
        Ok(Shutdown { cumulative_tsn_ack: Tsn(u32::from_be_bytes(*tsn)) })
    }
}

impl EmitChunk for Shutdown {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::SHUTDOWN, 0)
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        buffer.extend_from_slice(&self.cumulative_tsn_ack.0.to_be_bytes());
    }
}

impl EmitChunk for ShutdownAck {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::SHUTDOWN_ACK, 0)
    }

    fn emit_value(self, _buffer: &mut Vec<u8>, _room: usize) {}
}

impl EmitChunk for ShutdownComplete {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::SHUTDOWN_COMPLETE, if self.t_bit { T_BIT } else { 0 })
    }

    fn emit_value(self, _buffer: &mut Vec<u8>, _room: usize) {}
}
