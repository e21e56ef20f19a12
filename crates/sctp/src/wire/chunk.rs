//! Chunks: what an SCTP packet carries (RFC 9260, sections 3.2 and 3.3).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type          | flags         | length: header and value      |
//! +---------------+---------------+-------------------------------+
//! | value, then 0 to 3 bytes of padding that the length leaves out|
//! +---------------------------------------------------------------+
//! ```

mod abort;
mod cookie;
mod data;
mod error;
mod heartbeat;
mod init;
mod sack;
mod shutdown;

use core::fmt;

use bytes::Bytes;

pub use abort::Abort;
pub use cookie::{CookieAck, CookieEcho};
pub use data::{Data, DataFlags};
pub use error::OperationError;
pub use heartbeat::{Heartbeat, HeartbeatAck};
pub use init::{Init, InitAck, InitFault};
pub use sack::{GapAckBlock, OutgoingSack, Sack};
pub use shutdown::{Shutdown, ShutdownAck, ShutdownComplete};

use super::cause::Causes;
use super::error::{Item, ParseError};
use super::parameter::Parameters;
use super::tlv::{HEADER, Tlv, UnrecognizedAction};

/// The number that says what a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkType(pub u8);

impl ChunkType {
    /// User data.
    pub const DATA: ChunkType = ChunkType(0);
    /// Begins an association.
    pub const INIT: ChunkType = ChunkType(1);
    /// Answers INIT.
    pub const INIT_ACK: ChunkType = ChunkType(2);
    /// Selective acknowledgement.
    pub const SACK: ChunkType = ChunkType(3);
    /// Asks whether a path works.
    pub const HEARTBEAT: ChunkType = ChunkType(4);
    /// Answers HEARTBEAT.
    pub const HEARTBEAT_ACK: ChunkType = ChunkType(5);
    /// Ends an association at once.
    pub const ABORT: ChunkType = ChunkType(6);
    /// Begins a graceful end.
    pub const SHUTDOWN: ChunkType = ChunkType(7);
    /// Answers SHUTDOWN.
    pub const SHUTDOWN_ACK: ChunkType = ChunkType(8);
    /// Reports an error that ends nothing.
    pub const ERROR: ChunkType = ChunkType(9);
    /// Returns the state cookie.
    pub const COOKIE_ECHO: ChunkType = ChunkType(10);
    /// Answers COOKIE ECHO.
    pub const COOKIE_ACK: ChunkType = ChunkType(11);
    /// Reserved for an explicit congestion notification echo.
    pub const ECNE: ChunkType = ChunkType(12);
    /// Reserved for a notice that the congestion window was reduced.
    pub const CWR: ChunkType = ChunkType(13);
    /// Answers SHUTDOWN ACK.
    pub const SHUTDOWN_COMPLETE: ChunkType = ChunkType(14);

    /// As RFC 9260 calls it, if it does.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            ChunkType::DATA => "DATA",
            ChunkType::INIT => "INIT",
            ChunkType::INIT_ACK => "INIT ACK",
            ChunkType::SACK => "SACK",
            ChunkType::HEARTBEAT => "HEARTBEAT",
            ChunkType::HEARTBEAT_ACK => "HEARTBEAT ACK",
            ChunkType::ABORT => "ABORT",
            ChunkType::SHUTDOWN => "SHUTDOWN",
            ChunkType::SHUTDOWN_ACK => "SHUTDOWN ACK",
            ChunkType::ERROR => "ERROR",
            ChunkType::COOKIE_ECHO => "COOKIE ECHO",
            ChunkType::COOKIE_ACK => "COOKIE ACK",
            ChunkType::ECNE => "ECNE",
            ChunkType::CWR => "CWR",
            ChunkType::SHUTDOWN_COMPLETE => "SHUTDOWN COMPLETE",
            _ => return None,
        })
    }

    /// What to do with a chunk of this type if it is not recognized.
    ///
    /// ECNE and CWR are assigned and mean nothing to whoever did not negotiate them, so they are
    /// skipped, although their upper bits would stop the packet.
    pub const fn unrecognized_action(self) -> UnrecognizedAction {
        match self {
            ChunkType::ECNE | ChunkType::CWR => UnrecognizedAction::Skip,
            ChunkType(number) => UnrecognizedAction::from_bits(number >> 6),
        }
    }

    /// The error of a chunk of this type that lacks bytes.
    const fn too_short(self) -> ParseError {
        ParseError::TooShort(Item::Chunk, self.0 as u16)
    }
}

impl fmt::Display for ChunkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("chunk {:#04x}", self.0)),
        }
    }
}

/// The bit that says that a packet carries the tag of its sender's peer reflected, for lack of a tag
/// of its own (ABORT and SHUTDOWN COMPLETE; RFC 9260, section 8.5.1).
const T_BIT: u8 = 0x01;

/// A chunk as it stands on the wire, without its padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// What it is.
    pub chunk_type: ChunkType,
    /// What they mean depends on the type.
    pub flags: u8,
    /// Header and value.
    pub bytes: &'a [u8],
}

impl<'a> RawChunk<'a> {
    #[inline]
    pub(super) fn from_tlv(tlv: Tlv<'a>) -> Self {
        let [chunk_type, flags] = tlv.head.to_be_bytes();
        RawChunk { chunk_type: ChunkType(chunk_type), flags, bytes: tlv.bytes }
    }

    /// What follows the header.
    #[inline]
    pub fn value(&self) -> &'a [u8] {
        self.bytes.get(HEADER..).unwrap_or_default()
    }

    /// The fixed fields at the beginning of the value, and what follows them.
    #[inline]
    fn split_fields<const N: usize>(&self) -> Result<(&'a [u8; N], &'a [u8]), ParseError> {
        self.value().split_first_chunk().ok_or(self.chunk_type.too_short())
    }
}

/// A chunk that came in a packet.
#[derive(Clone, Debug)]
pub enum Chunk<'a> {
    /// User data.
    Data(Data),
    /// Begins an association.
    Init(Init<Parameters<'a>>),
    /// Answers INIT.
    InitAck(InitAck<Parameters<'a>>),
    /// Selective acknowledgement.
    Sack(Sack<'a>),
    /// Asks whether a path works.
    Heartbeat(Heartbeat<'a>),
    /// Answers HEARTBEAT.
    HeartbeatAck(HeartbeatAck<'a>),
    /// Ends an association at once.
    Abort(Abort<Causes<'a>>),
    /// Begins a graceful end.
    Shutdown(Shutdown),
    /// Answers SHUTDOWN.
    ShutdownAck(ShutdownAck),
    /// Reports an error that ends nothing.
    Error(OperationError<Causes<'a>>),
    /// Returns the state cookie.
    CookieEcho(CookieEcho<'a>),
    /// Answers COOKIE ECHO.
    CookieAck(CookieAck),
    /// Answers SHUTDOWN ACK.
    ShutdownComplete(ShutdownComplete),
    /// None of these; [`ChunkType::unrecognized_action`] says what to do with it.
    Unrecognized(RawChunk<'a>),
}

impl<'a> Chunk<'a> {
    /// Reads the fixed fields of `raw`, which is part of `datagram`.
    #[inline]
    pub(super) fn parse(raw: RawChunk<'a>, datagram: &Bytes) -> Result<Self, ParseError> {
        Ok(match raw.chunk_type {
            ChunkType::DATA => Chunk::Data(Data::parse(raw, datagram)?),
            ChunkType::INIT => Chunk::Init(Init::parse(raw)?),
            ChunkType::INIT_ACK => Chunk::InitAck(InitAck(Init::parse(raw)?)),
            ChunkType::SACK => Chunk::Sack(Sack::parse(raw)?),
            ChunkType::HEARTBEAT => Chunk::Heartbeat(Heartbeat::parse(raw)?),
            ChunkType::HEARTBEAT_ACK => Chunk::HeartbeatAck(HeartbeatAck::parse(raw)?),
            ChunkType::ABORT => Chunk::Abort(Abort::parse(raw)),
            ChunkType::SHUTDOWN => Chunk::Shutdown(Shutdown::parse(raw)?),
            ChunkType::SHUTDOWN_ACK => Chunk::ShutdownAck(ShutdownAck),
            ChunkType::ERROR => Chunk::Error(OperationError::parse(raw)),
            ChunkType::COOKIE_ECHO => Chunk::CookieEcho(CookieEcho { cookie: raw.value() }),
            ChunkType::COOKIE_ACK => Chunk::CookieAck(CookieAck),
            ChunkType::SHUTDOWN_COMPLETE => {
                Chunk::ShutdownComplete(ShutdownComplete { t_bit: raw.flags & T_BIT != 0 })
            }
            _ => Chunk::Unrecognized(raw),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_congestion_chunks_are_skipped_in_silence() {
        for reserved in [ChunkType::ECNE, ChunkType::CWR] {
            assert_eq!(reserved.unrecognized_action(), UnrecognizedAction::Skip);
        }
    }

    #[test]
    fn unknown_types_follow_their_upper_bits() {
        let action = |number| ChunkType(number).unrecognized_action();
        assert_eq!(action(0x3f), UnrecognizedAction::Stop);
        assert_eq!(action(0x40), UnrecognizedAction::StopAndReport);
        assert_eq!(action(0x80), UnrecognizedAction::Skip);
        assert_eq!(action(0xc0), UnrecognizedAction::SkipAndReport);
    }

    #[test]
    fn a_chunk_stays_small_enough_to_pass_around() {
        assert!(size_of::<Chunk<'_>>() <= 56, "{}", size_of::<Chunk<'_>>());
    }
}
