//! AUTH: authenticates the chunks after it (RFC 4895, section 4.1).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type 15       | flags 0       | length                        |
//! +-------------------------------+-------------------------------+
//! | shared key identifier         | HMAC identifier               |
//! +-------------------------------+-------------------------------+
//! | HMAC: 20 bytes of SHA-1, 32 of SHA-256                        |
//! ```
//!
//! [`super::super::PacketBuilder`] writes the chunk, since its HMAC covers the chunks appended
//! after it.

use super::super::error::ParseError;
use super::super::ids::KeyId;
use super::super::signing::HmacId;
use super::raw::RawChunk;

/// A received AUTH chunk, whose HMAC is not verified yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auth<'a> {
    /// Identifier of the shared key.
    pub key: KeyId,
    /// Hash function of the HMAC.
    pub hmac_id: HmacId,
    /// HMAC of this chunk, with zeros as its own HMAC, and of all chunks after it.
    pub hmac: &'a [u8],
}

impl<'a> Auth<'a> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Result<Self, ParseError> {
        let (&[k0, k1, h0, h1], hmac) = raw.split_fields::<4>()?;
        Ok(Auth {
            key: KeyId(u16::from_be_bytes([k0, k1])),
            hmac_id: HmacId(u16::from_be_bytes([h0, h1])),
            hmac,
        })
    }
}
