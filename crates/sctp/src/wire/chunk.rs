//! Chunks: the contents of an SCTP packet (RFC 9260, sections 3.2 and 3.3).
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
mod asconf;
mod auth;
mod cookie;
mod data;
mod error;
mod forward_tsn;
mod heartbeat;
mod i_data;
mod init;
mod pad;
mod raw;
mod reconfig;
mod sack;
mod shutdown;

use bytes::Bytes;

pub use abort::Abort;
pub use asconf::{
    AddressAnswer, AddressAnswers, AddressRequest, AddressRequests, Asconf, AsconfAck,
};
pub use auth::Auth;
pub use cookie::{CookieAck, CookieEcho};
pub use data::{Data, DataFlags};
pub use error::OperationError;
pub use forward_tsn::{ForwardTsn, IForwardTsn, ISkip, ISkips, Skip, Skips};
pub use heartbeat::{Heartbeat, HeartbeatAck};
pub use i_data::IData;
pub use init::{Init, InitAck, InitFault};
pub use pad::Pad;
pub use raw::RawChunk;
pub use reconfig::{ReConfig, ReconfigParameter, ReconfigParameters, ReconfigResult, StreamIds};
pub use sack::{GapAckBlock, OutgoingSack, Sack};
pub use shutdown::{Shutdown, ShutdownAck, ShutdownComplete};

use super::cause::Causes;
use super::error::ParseError;
use super::parameter::Parameters;
use super::registry::ChunkType;
use raw::T_BIT;

/// A received chunk.
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
    /// Probes a path.
    Heartbeat(Heartbeat<'a>),
    /// Answers HEARTBEAT.
    HeartbeatAck(HeartbeatAck<'a>),
    /// Ends an association at once.
    Abort(Abort<Causes<'a>>),
    /// Begins a graceful shutdown.
    Shutdown(Shutdown),
    /// Answers SHUTDOWN.
    ShutdownAck(ShutdownAck),
    /// Reports an error that does not end the association.
    Error(OperationError<Causes<'a>>),
    /// Returns the state cookie.
    CookieEcho(CookieEcho<'a>),
    /// Answers COOKIE ECHO.
    CookieAck(CookieAck),
    /// Answers SHUTDOWN ACK.
    ShutdownComplete(ShutdownComplete),
    /// User data that interleaves (RFC 8260).
    IData(IData),
    /// Reports abandoned messages (RFC 3758).
    ForwardTsn(ForwardTsn<Skips<'a>>),
    /// Reports abandoned messages with interleaving (RFC 8260).
    IForwardTsn(IForwardTsn<ISkips<'a>>),
    /// Padding (RFC 4820).
    Pad(Pad),
    /// Authenticates the chunks after it (RFC 4895).
    Auth(Auth<'a>),
    /// Changes the sender's addresses (RFC 5061).
    Asconf(Asconf<AddressRequests<'a>>),
    /// Answers ASCONF (RFC 5061).
    AsconfAck(AsconfAck<AddressAnswers<'a>>),
    /// Resets and adds streams (RFC 6525).
    ReConfig(ReConfig<ReconfigParameters<'a>>),
    /// An unknown chunk; [`ChunkType::unrecognized_action`] gives its treatment.
    Unrecognized(RawChunk<'a>),
}

impl<'a> Chunk<'a> {
    /// Parses the fixed fields of `raw`, which is part of `datagram`.
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
            ChunkType::I_DATA => Chunk::IData(IData::parse(raw, datagram)?),
            ChunkType::FORWARD_TSN => Chunk::ForwardTsn(ForwardTsn::parse(raw)?),
            ChunkType::I_FORWARD_TSN => Chunk::IForwardTsn(IForwardTsn::parse(raw)?),
            ChunkType::PAD => Chunk::Pad(Pad(raw.value().len())),
            ChunkType::AUTH => Chunk::Auth(Auth::parse(raw)?),
            ChunkType::ASCONF => Chunk::Asconf(Asconf::parse(raw)?),
            ChunkType::ASCONF_ACK => Chunk::AsconfAck(AsconfAck::parse(raw)?),
            ChunkType::RE_CONFIG => Chunk::ReConfig(ReConfig::parse(raw)),
            _ => Chunk::Unrecognized(raw),
        })
    }

    /// The first byte on the wire, also of an unknown chunk.
    pub const fn chunk_type(&self) -> ChunkType {
        match self {
            Chunk::Data(_) => ChunkType::DATA,
            Chunk::Init(_) => ChunkType::INIT,
            Chunk::InitAck(_) => ChunkType::INIT_ACK,
            Chunk::Sack(_) => ChunkType::SACK,
            Chunk::Heartbeat(_) => ChunkType::HEARTBEAT,
            Chunk::HeartbeatAck(_) => ChunkType::HEARTBEAT_ACK,
            Chunk::Abort(_) => ChunkType::ABORT,
            Chunk::Shutdown(_) => ChunkType::SHUTDOWN,
            Chunk::ShutdownAck(_) => ChunkType::SHUTDOWN_ACK,
            Chunk::Error(_) => ChunkType::ERROR,
            Chunk::CookieEcho(_) => ChunkType::COOKIE_ECHO,
            Chunk::CookieAck(_) => ChunkType::COOKIE_ACK,
            Chunk::ShutdownComplete(_) => ChunkType::SHUTDOWN_COMPLETE,
            Chunk::IData(_) => ChunkType::I_DATA,
            Chunk::ForwardTsn(_) => ChunkType::FORWARD_TSN,
            Chunk::IForwardTsn(_) => ChunkType::I_FORWARD_TSN,
            Chunk::Pad(_) => ChunkType::PAD,
            Chunk::Auth(_) => ChunkType::AUTH,
            Chunk::Asconf(_) => ChunkType::ASCONF,
            Chunk::AsconfAck(_) => ChunkType::ASCONF_ACK,
            Chunk::ReConfig(_) => ChunkType::RE_CONFIG,
            Chunk::Unrecognized(raw) => raw.chunk_type,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_stays_small_enough_to_pass_around() {
        assert!(size_of::<Chunk<'_>>() <= 64, "{}", size_of::<Chunk<'_>>());
    }
}
