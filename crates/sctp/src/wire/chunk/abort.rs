//! ABORT: the association ends at once (RFC 9260, section 3.3.7).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+-------------+-+-------------------------------+
//! | type 6        | 0           |T| length                        |
//! +---------------+-------------+-+-------------------------------+
//! | error causes, none or more                                    |
//! ```

use super::super::builder::EmitChunk;
use super::super::cause::{Cause, Causes};
use super::super::registry::ChunkType;
use super::super::tlv;
use super::raw::{RawChunk, T_BIT};

/// Ends an association at once.
///
/// A received chunk holds [`Causes`]; one to be sent holds anything that iterates over [`Cause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort<C> {
    /// T: the packet carries the verification tag of the packet that it answers.
    pub t_bit: bool,
    /// Causes of the abort; may be empty.
    pub causes: C,
}

impl<'a> Abort<Causes<'a>> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Self {
        Abort { t_bit: raw.flags & T_BIT != 0, causes: Causes::new(raw.value()) }
    }
}

impl<'c, C: IntoIterator<Item = Cause<'c>>> EmitChunk for Abort<C> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::ABORT, if self.t_bit { T_BIT } else { 0 })
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        tlv::emit_list(buffer, self.causes, Cause::emit);
    }
}
