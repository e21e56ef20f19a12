//! INIT and INIT ACK: the first two steps of the handshake (RFC 9260, sections 3.3.2 and 3.3.3).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type 1 or 2   | flags 0       | length                        |
//! +---------------+---------------+-------------------------------+
//! | initiate tag                                                  |
//! +---------------------------------------------------------------+
//! | advertised receiver window credit (a_rwnd), in bytes          |
//! +-------------------------------+-------------------------------+
//! | number of outbound streams    | number of inbound streams     |
//! +-------------------------------+-------------------------------+
//! | initial TSN                                                   |
//! +---------------------------------------------------------------+
//! | parameters                                                    |
//! ```

use super::super::builder::EmitChunk;
use super::super::error::ParseError;
use super::super::ids::{Tsn, VerificationTag};
use super::super::parameter::{Parameter, Parameters};
use super::super::registry::ChunkType;
use super::super::tlv;
use super::raw::RawChunk;

/// Bytes of the fixed fields after the chunk header.
const FIELDS: usize = 16;

/// The smallest permitted a_rwnd, in bytes.
const A_RWND_MIN: u32 = 1500;

/// The sender's parameters of the association to be set up.
///
/// A received chunk holds [`Parameters`]; one to be sent holds anything that iterates over
/// [`Parameter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Init<P> {
    /// Verification tag of packets to the sender of this chunk.
    pub initiate_tag: VerificationTag,
    /// Receive buffer of the sender of this chunk, in bytes.
    pub a_rwnd: u32,
    /// Number of streams on which the sender of this chunk wants to send.
    pub outbound_streams: u16,
    /// Largest number of streams on which the sender of this chunk can receive.
    pub inbound_streams: u16,
    /// TSN of its first DATA chunk.
    pub initial_tsn: Tsn,
    /// Parameters after the fixed part, such as addresses and extensions.
    pub parameters: P,
}

/// The answer to [`Init`]: the same fields, of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitAck<P>(pub Init<P>);

/// A value of INIT or INIT ACK with which no association can be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitFault {
    /// The initiate tag is 0. An INIT is discarded silently, since no packet could answer it.
    ZeroInitiateTag,
    /// A number of streams is 0. Answered with ABORT.
    ZeroStreams,
    /// a_rwnd is below 1500 bytes. Answered with ABORT.
    WindowTooSmall,
}

impl<P> Init<P> {
    /// Checks the fixed fields against the limits of sections 3.3.2 and 3.3.3.
    ///
    /// # Errors
    /// The first fault; a fault that forbids an answer takes precedence.
    pub fn validate(&self) -> Result<(), InitFault> {
        if self.initiate_tag.0 == 0 {
            return Err(InitFault::ZeroInitiateTag);
        }
        if self.outbound_streams == 0 || self.inbound_streams == 0 {
            return Err(InitFault::ZeroStreams);
        }
        if self.a_rwnd < A_RWND_MIN {
            return Err(InitFault::WindowTooSmall);
        }
        Ok(())
    }
}

impl<'a> Init<Parameters<'a>> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Result<Self, ParseError> {
        let (fields, parameters) = raw.split_fields::<FIELDS>()?;
        let &[t0, t1, t2, t3, w0, w1, w2, w3, o0, o1, i0, i1, n0, n1, n2, n3] = fields;
        Ok(Init {
            initiate_tag: VerificationTag(u32::from_be_bytes([t0, t1, t2, t3])),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            outbound_streams: u16::from_be_bytes([o0, o1]),
            inbound_streams: u16::from_be_bytes([i0, i1]),
            initial_tsn: Tsn(u32::from_be_bytes([n0, n1, n2, n3])),
            parameters: Parameters::new(parameters),
        })
    }
}

impl<'p, P: IntoIterator<Item = Parameter<'p>>> EmitChunk for Init<P> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::INIT, 0)
    }

    fn least_len(&self) -> usize {
        FIELDS
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        buffer.extend_from_slice(&self.initiate_tag.0.to_be_bytes());
        buffer.extend_from_slice(&self.a_rwnd.to_be_bytes());
        buffer.extend_from_slice(&self.outbound_streams.to_be_bytes());
        buffer.extend_from_slice(&self.inbound_streams.to_be_bytes());
        buffer.extend_from_slice(&self.initial_tsn.0.to_be_bytes());
        tlv::emit_list(buffer, self.parameters, Parameter::emit);
    }
}

impl<'p, P: IntoIterator<Item = Parameter<'p>>> EmitChunk for InitAck<P> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::INIT_ACK, 0)
    }

    fn least_len(&self) -> usize {
        self.0.least_len()
    }

    fn emit_value(self, buffer: &mut Vec<u8>, room: usize) {
        self.0.emit_value(buffer, room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_no_association_can_begin_with_are_faults() {
        let good = Init {
            initiate_tag: VerificationTag(1),
            a_rwnd: 1500,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: Tsn(0),
            parameters: (),
        };
        assert_eq!(good.validate(), Ok(()));
        let untagged = Init { initiate_tag: VerificationTag(0), a_rwnd: 0, ..good };
        assert_eq!(untagged.validate(), Err(InitFault::ZeroInitiateTag));
        assert_eq!(Init { a_rwnd: 1499, ..good }.validate(), Err(InitFault::WindowTooSmall));
        assert_eq!(Init { inbound_streams: 0, ..good }.validate(), Err(InitFault::ZeroStreams));
        assert_eq!(Init { outbound_streams: 0, ..good }.validate(), Err(InitFault::ZeroStreams));
    }
}
