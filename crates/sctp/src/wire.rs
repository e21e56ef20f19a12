//! The wire format of SCTP (RFC 9260, section 3): packets, chunks, parameters and error causes.
//!
//! Reading: [`Packet::parse`] verifies a datagram, and [`Packet::chunks`] iterates its chunks.
//! Nothing is copied or allocated: user data is a slice of the datagram, everything else borrows
//! from the packet. Lists inside a chunk (parameters, causes, gap ack blocks) are iterated in the
//! same way.
//!
//! Writing: [`PacketBuilder`] appends to a buffer. A chunk is written by the type that parses it,
//! through [`EmitChunk`].
//!
//! A value longer than its known fields is parsed as far as they go; a shorter one, and every
//! inconsistent length, is an error and ends the iteration.

pub mod builder;
pub mod cause;
mod checksum;
pub mod chunk;
pub mod error;
mod header;
pub mod ids;
pub mod packet;
pub mod parameter;
mod registry;
pub mod signing;
#[cfg(test)]
mod tests;
mod tlv;

pub use builder::{DoesNotFit, EmitChunk, PacketBuilder};
pub use cause::{Cause, Causes};
pub use chunk::Chunk;
pub use error::{Item, ParseError};
pub use header::CommonHeader;
pub use ids::{AsconfSerial, Fsn, KeyId, Mid, Ppid, Rsn, Ssn, StreamId, Tsn, VerificationTag};
pub use packet::Packet;
pub use parameter::{Parameter, Parameters};
pub use registry::{CauseCode, ChunkType, ParameterType, UnrecognizedAction};
