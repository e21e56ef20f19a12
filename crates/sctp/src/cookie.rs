//! The state cookie (RFC 9260, sections 5.1.3 to 5.1.5 and 5.2.4): all data that an endpoint needs
//! to create an association, signed, and kept by the peer between INIT ACK and COOKIE ECHO, so that
//! an INIT costs the endpoint no memory.
//!
//! The layout is private, since only this implementation reads it: a version, the fields in
//! big-endian order, and an HMAC-SHA256 over both. It is signed and not encrypted: it contains no
//! secret.
//!
//! ```text
//!   1 version          8 created at, ns      8 lifetime, ns
//!   4 local tag        4 peer tag            4 local initial TSN    4 peer initial TSN
//!   4 peer a_rwnd      2 outbound streams    2 inbound streams
//!   2 local port       2 peer port           4 local tie-tag        4 peer tie-tag
//!   4 extensions       5 or 17 remote address, 2 UDP port, 4 scope
//!   1 count of further addresses, then 5 or 17 each (4 or 6, and the address)
//!   with authentication only: the key vector of either side, ours first
//!  32 HMAC-SHA256
//! ```

use core::fmt;
use core::net::{IpAddr, SocketAddr, SocketAddrV6};

use base::{Duration, Instant};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::authentication::vector::{KeyVector, KeyVectors};
use crate::extensions::Extensions;
use crate::wire::{Tsn, VerificationTag};

/// Version of the cookie's layout, which its signature covers.
const VERSION: u8 = 2;
/// Bytes of the HMAC at the end of a cookie.
const SIGNATURE: usize = 32;
/// Usual length without further IPv6 addresses, for one allocation.
const USUAL_LENGTH: usize = 160;

/// Key of the HMAC that signs cookies (RFC 9260, section 5.1.3).
#[derive(Clone)]
pub(crate) struct CookieKey(Hmac<Sha256>);

impl CookieKey {
    /// A key from 256 random bits.
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        // The block of SHA-256 has 64 bytes, so the array holds the whole key and no key is
        // rejected.
        let mut block = [0; 64];
        if let Some(start) = block.first_chunk_mut() {
            *start = secret;
        }
        CookieKey(Hmac::new(&block.into()))
    }
}

impl CookieKey {
    /// Tie-tags in place of a pair of verification tags: anyone on the path can read a cookie, and
    /// the tags themselves would allow them to speak for either side.
    pub(crate) fn tie_tags(
        &self,
        local: VerificationTag,
        peer: VerificationTag,
    ) -> (VerificationTag, VerificationTag) {
        let tags = self.0.clone().chain_update(local.0.to_be_bytes());
        let digest = tags.chain_update(peer.0.to_be_bytes()).finalize().into_bytes();
        let word = |at: usize| {
            let bytes = digest.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            VerificationTag(u32::from_be_bytes(bytes.unwrap_or_default()))
        };
        (word(0), word(4))
    }
}

impl fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieKey(secret)")
    }
}

/// All data needed to create an association. *Local* is the endpoint that made the cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateCookie {
    /// Instant at which the INIT ACK with the cookie was made.
    pub(crate) created_at: Instant,
    /// Time from its creation for which the cookie is accepted (Valid.Cookie.Life).
    pub(crate) lifetime: Duration,
    /// The tag in packets to this endpoint.
    pub(crate) local_tag: VerificationTag,
    /// The tag in packets to the peer.
    pub(crate) peer_tag: VerificationTag,
    /// TSN of this side's first DATA chunk.
    pub(crate) local_initial_tsn: Tsn,
    /// TSN of the peer's first DATA chunk.
    pub(crate) peer_initial_tsn: Tsn,
    /// The peer's receive window, in bytes.
    pub(crate) peer_a_rwnd: u32,
    /// Streams on which this side may send: the minimum of its wish and the peer's limit.
    pub(crate) outbound_streams: u16,
    /// Streams on which the peer may send.
    pub(crate) inbound_streams: u16,
    /// SCTP port of this endpoint.
    pub(crate) local_port: u16,
    /// SCTP port of the peer.
    pub(crate) peer_port: u16,
    /// Local tie-tag of the association that the INIT met, 0 if there was none (section 5.2.2).
    pub(crate) local_tie_tag: VerificationTag,
    /// Peer's tie-tag of that association, 0 if there was none.
    pub(crate) peer_tie_tag: VerificationTag,
    /// Extensions that both sides support.
    pub(crate) extensions: Extensions,
    /// Source of the INIT; its port is that of the UDP encapsulation, or 0. The flow label of an
    /// IPv6 address is not included.
    pub(crate) remote: SocketAddr,
    /// Addresses that the INIT listed, at most [`StateCookie::FURTHER_ADDRESSES_MAX`].
    pub(crate) further_addresses: Vec<IpAddr>,
    /// Key vectors of both sides, if they authenticate.
    pub(crate) key_vectors: Option<Box<KeyVectors>>,
}

/// Reason for which a cookie was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CookieError {
    /// The cookie does not have the form of this endpoint's cookies.
    Malformed,
    /// The cookie was not signed with any of the keys, or was changed.
    BadSignature,
    /// The cookie is genuine, but expired.
    Stale {
        /// Time by which the cookie is too old: the staleness in the error cause.
        by: Duration,
        /// Contents of the cookie: a cookie with the tags of the existing association is valid
        /// nevertheless (section 5.2.4).
        cookie: Box<StateCookie>,
    },
}

impl fmt::Display for CookieError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CookieError::Malformed => f.write_str("the state cookie is malformed"),
            CookieError::BadSignature => f.write_str("the state cookie's signature is wrong"),
            CookieError::Stale { by, .. } => write!(f, "the state cookie is stale by {by}"),
        }
    }
}

impl core::error::Error for CookieError {}

impl StateCookie {
    /// Most further addresses in a cookie.
    pub(crate) const FURTHER_ADDRESSES_MAX: usize = 16;

    /// Encodes the cookie and signs it with `key`.
    pub(crate) fn seal(&self, key: &CookieKey) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(USUAL_LENGTH);
        self.emit(&mut bytes);
        let signature = key.0.clone().chain_update(&bytes).finalize().into_bytes();
        bytes.extend_from_slice(&signature);
        bytes
    }

    /// Decodes a cookie that was signed with one of `keys`: the current one or the previous one, so
    /// that a handshake in progress survives a change of keys.
    ///
    /// # Errors
    /// [`CookieError`]; nothing is decoded before the signature is verified.
    pub(crate) fn open(
        bytes: &[u8],
        keys: &[CookieKey],
        now: Instant,
    ) -> Result<StateCookie, CookieError> {
        let (fields, signature) =
            bytes.split_last_chunk::<SIGNATURE>().ok_or(CookieError::Malformed)?;
        let signed_with = |key: &CookieKey| {
            // Constant time, wherever the two differ.
            key.0.clone().chain_update(fields).verify_slice(signature).is_ok()
        };
        if !keys.iter().any(signed_with) {
            return Err(CookieError::BadSignature);
        }
        let mut reader = Reader(fields);
        let cookie = reader.cookie().filter(|_| reader.0.is_empty());
        let cookie = cookie.ok_or(CookieError::Malformed)?;
        let age = now.since(cookie.created_at);
        if age > cookie.lifetime {
            let by = age - cookie.lifetime;
            return Err(CookieError::Stale { by, cookie: Box::new(cookie) });
        }
        Ok(cookie)
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.created_at.as_nanos().to_be_bytes());
        bytes.extend_from_slice(&self.lifetime.as_nanos().to_be_bytes());
        bytes.extend_from_slice(&self.local_tag.0.to_be_bytes());
        bytes.extend_from_slice(&self.peer_tag.0.to_be_bytes());
        bytes.extend_from_slice(&self.local_initial_tsn.0.to_be_bytes());
        bytes.extend_from_slice(&self.peer_initial_tsn.0.to_be_bytes());
        bytes.extend_from_slice(&self.peer_a_rwnd.to_be_bytes());
        bytes.extend_from_slice(&self.outbound_streams.to_be_bytes());
        bytes.extend_from_slice(&self.inbound_streams.to_be_bytes());
        bytes.extend_from_slice(&self.local_port.to_be_bytes());
        bytes.extend_from_slice(&self.peer_port.to_be_bytes());
        bytes.extend_from_slice(&self.local_tie_tag.0.to_be_bytes());
        bytes.extend_from_slice(&self.peer_tie_tag.0.to_be_bytes());
        bytes.extend_from_slice(&self.extensions.bits().to_be_bytes());
        emit_address(bytes, self.remote.ip());
        bytes.extend_from_slice(&self.remote.port().to_be_bytes());
        let scope = match self.remote {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(address) => address.scope_id(),
        };
        bytes.extend_from_slice(&scope.to_be_bytes());
        let further = self.further_addresses.iter().take(Self::FURTHER_ADDRESSES_MAX);
        bytes.push(further.len() as u8);
        for address in further {
            emit_address(bytes, *address);
        }
        if let Some(vectors) = &self.key_vectors {
            vectors.own.emit(bytes);
            vectors.peer.emit(bytes);
        }
    }
}

fn emit_address(bytes: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            bytes.push(4);
            bytes.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            bytes.push(6);
            bytes.extend_from_slice(&address.octets());
        }
    }
}

/// Reads fields from the front of the remaining bytes; `None` if there are too few.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_be_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn tag(&mut self) -> Option<VerificationTag> {
        self.u32().map(VerificationTag)
    }

    fn address(&mut self) -> Option<IpAddr> {
        match self.u8()? {
            4 => self.take::<4>().map(IpAddr::from),
            6 => self.take::<16>().map(IpAddr::from),
            _ => None,
        }
    }

    fn vector(&mut self) -> Option<KeyVector> {
        let (vector, rest) = KeyVector::read(self.0)?;
        self.0 = rest;
        Some(vector)
    }

    fn remote(&mut self) -> Option<SocketAddr> {
        let (address, port, scope) = (self.address()?, self.u16()?, self.u32()?);
        Some(match address {
            IpAddr::V4(_) => SocketAddr::new(address, port),
            IpAddr::V6(address) => SocketAddrV6::new(address, port, 0, scope).into(),
        })
    }

    fn cookie(&mut self) -> Option<StateCookie> {
        if self.u8()? != VERSION {
            return None;
        }
        // Fields of a struct expression are evaluated in the order written here, which is the
        // layout's.
        Some(StateCookie {
            created_at: Instant::from_nanos(self.u64()?),
            lifetime: Duration::from_nanos(self.u64()?),
            local_tag: self.tag()?,
            peer_tag: self.tag()?,
            local_initial_tsn: Tsn(self.u32()?),
            peer_initial_tsn: Tsn(self.u32()?),
            peer_a_rwnd: self.u32()?,
            outbound_streams: self.u16()?,
            inbound_streams: self.u16()?,
            local_port: self.u16()?,
            peer_port: self.u16()?,
            local_tie_tag: self.tag()?,
            peer_tie_tag: self.tag()?,
            extensions: Extensions::from_bits(self.u32()?),
            remote: self.remote()?,
            further_addresses: {
                let count = usize::from(self.u8()?);
                if count > StateCookie::FURTHER_ADDRESSES_MAX {
                    return None;
                }
                (0..count).map(|_| self.address()).collect::<Option<_>>()?
            },
            key_vectors: match self.0 {
                [] => None,
                _ => Some(Box::new(KeyVectors { own: self.vector()?, peer: self.vector()? })),
            },
        })
    }
}

#[cfg(test)]
mod tests;
