//! HEARTBEAT and HEARTBEAT ACK (RFC 9260, sections 3.3.5 and 3.3.6).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type 4 or 5   | flags 0       | length                        |
//! +---------------+---------------+-------------------------------+
//! | parameter 1: Heartbeat Info   | its length                    |
//! +-------------------------------+-------------------------------+
//! | what the sender of the HEARTBEAT wants to see again           |
//! ```

use super::super::builder::EmitChunk;
use super::super::error::{Item, ParseError};
use super::super::registry::ChunkType;
use super::super::registry::ParameterType;
use super::super::tlv::{self, TlvIter};
use super::raw::RawChunk;

/// Asks whether a path works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    /// Data that only the sender of the HEARTBEAT interprets.
    pub info: &'a [u8],
}

/// Answers [`Heartbeat`] (RFC 9260, section 3.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatAck<'a> {
    /// The info of the HEARTBEAT, unchanged.
    pub info: &'a [u8],
}

impl<'a> Heartbeat<'a> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Result<Self, ParseError> {
        parse_info(raw).map(|info| Heartbeat { info })
    }
}

impl<'a> HeartbeatAck<'a> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Result<Self, ParseError> {
        parse_info(raw).map(|info| HeartbeatAck { info })
    }
}

/// Heartbeat Info, the only parameter (RFC 9260, section 3.3.5); an error if it is missing.
fn parse_info(raw: RawChunk<'_>) -> Result<&[u8], ParseError> {
    match TlvIter::new(raw.value(), Item::Parameter).next().transpose()? {
        Some(tlv) if tlv.head == ParameterType::HEARTBEAT_INFO.0 => Ok(tlv.value()),
        _ => Err(ParseError::MissingParameter(raw.chunk_type, ParameterType::HEARTBEAT_INFO)),
    }
}

fn emit_info(info: &[u8], buffer: &mut Vec<u8>) {
    tlv::emit(buffer, ParameterType::HEARTBEAT_INFO.0, |buffer| buffer.extend_from_slice(info));
}

impl EmitChunk for Heartbeat<'_> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::HEARTBEAT, 0)
    }

    fn least_len(&self) -> usize {
        tlv::HEADER + self.info.len()
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        emit_info(self.info, buffer);
    }
}

impl EmitChunk for HeartbeatAck<'_> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::HEARTBEAT_ACK, 0)
    }

    fn least_len(&self) -> usize {
        tlv::HEADER + self.info.len()
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        emit_info(self.info, buffer);
    }
}
