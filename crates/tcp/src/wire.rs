//! Segments on the wire (RFC 9293, section 3.1): parsed without a copy, emitted with their
//! checksum.
//!
//! Sequence numbers only wrap here: [`SequenceMap`] converts them to the offsets of 64 bits that
//! all other code uses, and back.

mod checksum;
mod error;
mod flags;
mod options;
mod segment;
mod sequence;

pub use checksum::Pseudo;
pub use error::ParseError;
pub use flags::Flags;
pub use options::{
    MAX_OPTIONS_LENGTH, MAX_SACK_BLOCKS, MAX_WINDOW_SCALE, Options, SackBlock, SackBlocks, Skipped,
    Timestamps, UserTimeout, sack_blocks_that_fit,
};
pub use segment::{HEADER_LENGTH, Quoted, Segment};
pub use sequence::{SeqNumber, SequenceMap};
