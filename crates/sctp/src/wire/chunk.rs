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

/// A row for each known chunk: its meaning, its type, its variant, and how the fixed fields of
/// `raw`, which is part of `datagram`, are parsed.
macro_rules! chunks {
    ($lifetime:lifetime $raw:ident $datagram:ident:
        $($(#[$meaning:meta])+ $number:ident $name:ident($chunk:ty) = $parsed:expr;)+) => {
        /// A received chunk, parsed by its type.
        #[derive(Clone, Debug)]
        pub enum Chunk<$lifetime> {
            $($(#[$meaning])+ $name($chunk),)+
            /// An unknown chunk; [`ChunkType::unrecognized_action`] gives its treatment.
            Unrecognized(RawChunk<$lifetime>),
        }

        impl<$lifetime> Chunk<$lifetime> {
            #[inline]
            pub(super) fn parse(
                $raw: RawChunk<$lifetime>,
                $datagram: &Bytes,
            ) -> Result<Self, ParseError> {
                Ok(match $raw.chunk_type {
                    $(ChunkType::$number => Chunk::$name($parsed),)+
                    _ => Chunk::Unrecognized($raw),
                })
            }

            /// The first byte on the wire, also of an unknown chunk.
            pub const fn chunk_type(&self) -> ChunkType {
                match self {
                    $(Chunk::$name(_) => ChunkType::$number,)+
                    Chunk::Unrecognized(raw) => raw.chunk_type,
                }
            }
        }
    };
}

chunks! { 'a raw datagram:
    /// User data (RFC 9260, section 3.3.1).
    DATA Data(Data) = Data::parse(raw, datagram)?;
    /// Begins an association (RFC 9260, section 3.3.2).
    INIT Init(Init<Parameters<'a>>) = Init::parse(raw)?;
    /// Answers INIT, with the state cookie (RFC 9260, section 3.3.3).
    INIT_ACK InitAck(InitAck<Parameters<'a>>) = InitAck(Init::parse(raw)?);
    /// Selective acknowledgement of user data (RFC 9260, section 3.3.4).
    SACK Sack(Sack<'a>) = Sack::parse(raw)?;
    /// Probes a path (RFC 9260, section 3.3.5).
    HEARTBEAT Heartbeat(Heartbeat<'a>) = Heartbeat::parse(raw)?;
    /// Answers HEARTBEAT, with its info (RFC 9260, section 3.3.6).
    HEARTBEAT_ACK HeartbeatAck(HeartbeatAck<'a>) = HeartbeatAck::parse(raw)?;
    /// Ends an association at once.
    ABORT Abort(Abort<Causes<'a>>) = Abort::parse(raw);
    /// Begins a graceful shutdown (RFC 9260, section 3.3.8).
    SHUTDOWN Shutdown(Shutdown) = Shutdown::parse(raw)?;
    /// Answers SHUTDOWN (RFC 9260, section 3.3.9).
    SHUTDOWN_ACK ShutdownAck(ShutdownAck) = ShutdownAck;
    /// Reports an error that does not end the association.
    ERROR Error(OperationError<Causes<'a>>) = OperationError::parse(raw);
    /// Returns the state cookie of INIT ACK (RFC 9260, section 3.3.11).
    COOKIE_ECHO CookieEcho(CookieEcho<'a>) = CookieEcho { cookie: raw.value() };
    /// Answers COOKIE ECHO (RFC 9260, section 3.3.12).
    COOKIE_ACK CookieAck(CookieAck) = CookieAck;
    /// Answers SHUTDOWN ACK (RFC 9260, section 3.3.13).
    SHUTDOWN_COMPLETE ShutdownComplete(ShutdownComplete) =
        ShutdownComplete { t_bit: raw.flags & T_BIT != 0 };
    /// User data that interleaves (RFC 8260).
    I_DATA IData(IData) = IData::parse(raw, datagram)?;
    /// Reports abandoned messages (RFC 3758).
    FORWARD_TSN ForwardTsn(ForwardTsn<Skips<'a>>) = ForwardTsn::parse(raw)?;
    /// Reports abandoned messages with interleaving (RFC 8260).
    I_FORWARD_TSN IForwardTsn(IForwardTsn<ISkips<'a>>) = IForwardTsn::parse(raw)?;
    /// Fills a packet up, and has no meaning (RFC 4820).
    PAD Pad(Pad) = Pad(raw.value().len());
    /// Authenticates the chunks after it (RFC 4895).
    AUTH Auth(Auth<'a>) = Auth::parse(raw)?;
    /// Changes the sender's addresses (RFC 5061).
    ASCONF Asconf(Asconf<AddressRequests<'a>>) = Asconf::parse(raw)?;
    /// Answers ASCONF, request by request (RFC 5061, section 4.1.2).
    ASCONF_ACK AsconfAck(AsconfAck<AddressAnswers<'a>>) = AsconfAck::parse(raw)?;
    /// Resets and adds streams (RFC 6525).
    RE_CONFIG ReConfig(ReConfig<ReconfigParameters<'a>>) = ReConfig::parse(raw);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_stays_small_enough_to_pass_around() {
        assert!(size_of::<Chunk<'_>>() <= 64, "{}", size_of::<Chunk<'_>>());
    }
}
