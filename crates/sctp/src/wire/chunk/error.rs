//! ERROR: an operation error that does not end the association (RFC 9260, section 3.3.10).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type 9        | flags 0       | length                        |
//! +---------------+---------------+-------------------------------+
//! | error causes, one or more                                     |
//! ```

use super::super::builder::EmitChunk;
use super::super::cause::{Cause, Causes};
use super::super::registry::ChunkType;
use super::super::tlv;
use super::raw::RawChunk;

/// Reports errors to the peer.
///
/// A received chunk holds [`Causes`]; one to be sent holds anything that iterates over [`Cause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationError<C> {
    /// The reported errors, in order.
    pub causes: C,
}

impl<'a> OperationError<Causes<'a>> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Self {
        OperationError { causes: Causes::new(raw.value()) }
    }
}

impl<'c, C: IntoIterator<Item = Cause<'c>>> EmitChunk for OperationError<C> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::ERROR, 0)
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        tlv::emit_list(buffer, self.causes, Cause::emit);
    }
}
