//! Authentication of chunks on the wire (RFC 4895, sections 3 and 6): sets of chunk types, HMACs,
//! and the signing of packets being built.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac as _};
use sha1::Sha1;
use sha2::Sha256;

use super::ids::KeyId;
use super::registry::ChunkType;

/// Bytes of an AUTH chunk before its HMAC.
const AUTH_HEADER: usize = 8;

/// Identifier of an HMAC algorithm (RFC 4895, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HmacId(pub u16);

impl HmacId {
    /// SHA-1 (FIPS 180-2), which is mandatory.
    pub const SHA_1: HmacId = HmacId(1);
    /// SHA-256 (FIPS 180-2), which is optional.
    pub const SHA_256: HmacId = HmacId(3);
}

/// A set of chunk types.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct ChunkTypes([u64; 4]);

impl ChunkTypes {
    /// Adds a type; has no effect if the set contains it.
    pub fn insert(&mut self, ChunkType(number): ChunkType) {
        self.0[usize::from(number >> 6)] |= 1 << (number & 63);
    }

    /// Deletes a type; has no effect if the set lacks it.
    pub fn remove(&mut self, ChunkType(number): ChunkType) {
        self.0[usize::from(number >> 6)] &= !(1 << (number & 63));
    }

    /// Whether the set contains a type.
    pub fn contains(&self, ChunkType(number): ChunkType) -> bool {
        self.0[usize::from(number >> 6)] & (1 << (number & 63)) != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Types of the set, with ascending numbers.
    pub fn iter(&self) -> impl Iterator<Item = ChunkType> + '_ {
        (0..=u8::MAX).map(ChunkType).filter(|chunk_type| self.contains(*chunk_type))
    }
}

impl FromIterator<ChunkType> for ChunkTypes {
    fn from_iter<I: IntoIterator<Item = ChunkType>>(types: I) -> Self {
        let mut set = ChunkTypes::default();
        types.into_iter().for_each(|chunk_type| set.insert(chunk_type));
        set
    }
}

impl fmt::Debug for ChunkTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|chunk_type| chunk_type.to_string())).finish()
    }
}

/// An HMAC with its key.
#[derive(Clone)]
pub(crate) enum Mac {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mac({}, secret)", self.id().0)
    }
}

impl Mac {
    /// `None` if the identifier is unknown.
    pub(crate) fn new(id: HmacId, key: &[u8]) -> Option<Mac> {
        // HMAC takes keys of any length.
        match id {
            HmacId::SHA_1 => Hmac::new_from_slice(key).ok().map(Mac::Sha1),
            HmacId::SHA_256 => Hmac::new_from_slice(key).ok().map(Mac::Sha256),
            _ => None,
        }
    }

    pub(crate) fn id(&self) -> HmacId {
        match self {
            Mac::Sha1(_) => HmacId::SHA_1,
            Mac::Sha256(_) => HmacId::SHA_256,
        }
    }

    /// Length of the HMAC in bytes.
    fn len(&self) -> usize {
        match self {
            Mac::Sha1(_) => 20,
            Mac::Sha256(_) => 32,
        }
    }

    /// Whether `covered`, which begins with an AUTH chunk, is signed with this key. Takes constant
    /// time, wherever the two differ.
    pub(crate) fn verify(&self, covered: &[u8], hmac: &[u8]) -> bool {
        let behind = covered.get(AUTH_HEADER + self.len()..);
        let (Some(header), Some(behind)) = (covered.get(..AUTH_HEADER), behind) else {
            return false;
        };
        let zeros = [0; 32];
        let zeros = zeros.get(..self.len()).unwrap_or_default();
        match self.clone() {
            Mac::Sha1(mac) => {
                mac.chain_update(header).chain_update(zeros).chain_update(behind).verify_slice(hmac)
            }
            Mac::Sha256(mac) => {
                mac.chain_update(header).chain_update(zeros).chain_update(behind).verify_slice(hmac)
            }
        }
        .is_ok()
    }

    /// Signs `covered`, which begins with an AUTH chunk whose HMAC is zero.
    fn sign(&self, covered: &mut [u8]) {
        let at = AUTH_HEADER..AUTH_HEADER + self.len();
        match self.clone() {
            Mac::Sha1(mac) => {
                put(covered, at, &mac.chain_update(&*covered).finalize().into_bytes())
            }
            Mac::Sha256(mac) => {
                put(covered, at, &mac.chain_update(&*covered).finalize().into_bytes());
            }
        }
    }
}

fn put(covered: &mut [u8], at: core::ops::Range<usize>, hmac: &[u8]) {
    if let Some(field) = covered.get_mut(at) {
        field.copy_from_slice(hmac);
    }
}

/// Signs the chunks of a packet that the peer requires to be authenticated.
#[derive(Clone, Debug)]
pub struct Signer {
    pub(crate) types: ChunkTypes,
    pub(crate) key: KeyId,
    pub(crate) mac: Mac,
}

impl Signer {
    /// A signer of chunks of `types` with the association shared key `secret`, which the peer knows
    /// as `key`; `None` if the HMAC identifier is unknown.
    pub fn new(types: ChunkTypes, key: KeyId, hmac_id: HmacId, secret: &[u8]) -> Option<Signer> {
        Some(Signer { types, key, mac: Mac::new(hmac_id, secret)? })
    }

    /// Bytes of the AUTH chunk before a chunk of this type: 0 if the peer accepts it
    /// unauthenticated.
    pub(crate) fn auth_len_before(&self, chunk_type: ChunkType) -> usize {
        if self.types.contains(chunk_type) { self.auth_len() } else { 0 }
    }

    /// Bytes of the AUTH chunk.
    pub(super) fn auth_len(&self) -> usize {
        AUTH_HEADER + self.mac.len()
    }

    /// Appends an AUTH chunk whose HMAC is zero.
    pub(super) fn open(&self, buffer: &mut Vec<u8>) {
        let start = buffer.len();
        let [k0, k1] = self.key.0.to_be_bytes();
        let [h0, h1] = self.mac.id().0.to_be_bytes();
        let length = self.auth_len() as u8;
        buffer.extend_from_slice(&[ChunkType::AUTH.0, 0, 0, length, k0, k1, h0, h1]);
        buffer.resize(start + self.auth_len(), 0);
    }

    /// Signs everything after the AUTH chunk at the beginning of `covered`.
    pub(super) fn close(&self, covered: &mut [u8]) {
        self.mac.sign(covered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_types_holds_each_of_the_256() {
        let mut set = ChunkTypes::default();
        for number in 0..=u8::MAX {
            assert!(!set.contains(ChunkType(number)));
            set.insert(ChunkType(number));
            assert!(set.contains(ChunkType(number)) && set.iter().count() == 1);
            set.remove(ChunkType(number));
        }
        assert!(set.is_empty());
    }

    #[test]
    fn the_hmacs_are_those_of_rfc_2202_and_rfc_4231() {
        let first_bytes = |id, key: &[u8]| {
            // Eight bytes of header, zeros for the HMAC: what the RFCs hash is put in place of all.
            match Mac::new(id, key).unwrap() {
                Mac::Sha1(mac) => {
                    mac.chain_update(b"Hi There").finalize().into_bytes()[..4].to_vec()
                }
                Mac::Sha256(mac) => {
                    mac.chain_update(b"Hi There").finalize().into_bytes()[..4].to_vec()
                }
            }
        };
        assert_eq!(first_bytes(HmacId::SHA_1, &[0x0b; 20]), [0xb6, 0x17, 0x31, 0x86]);
        assert_eq!(first_bytes(HmacId::SHA_256, &[0x0b; 20]), [0xb0, 0x34, 0x4c, 0x61]);
        assert!(Mac::new(HmacId(2), b"").is_none());
    }

    #[test]
    fn an_auth_chunk_ends_with_its_hmac_a_multiple_of_four_bytes_that_needs_no_padding() {
        for (id, digest) in [(HmacId::SHA_1, 20), (HmacId::SHA_256, 32)] {
            let signer = Signer::new(ChunkTypes::default(), KeyId(7), id, b"secret").unwrap();
            let mut bytes = Vec::new();
            signer.open(&mut bytes);
            signer.close(&mut bytes);
            assert_eq!((bytes.len(), bytes[3]), (8 + digest, 8 + digest as u8));
            assert!(bytes.len().is_multiple_of(4) && bytes[4 + digest..] != [0; 4]);
        }
    }

    #[test]
    fn what_is_signed_verifies_and_no_flipped_bit_does() {
        for id in [HmacId::SHA_1, HmacId::SHA_256] {
            let signer = Signer::new(ChunkTypes::default(), KeyId(7), id, b"secret").unwrap();
            let mut bytes = Vec::new();
            signer.open(&mut bytes);
            bytes.extend_from_slice(b"whatever follows");
            signer.close(&mut bytes);
            let verifies = |bytes: &[u8]| signer.mac.verify(bytes, &bytes[8..signer.auth_len()]);
            assert!(verifies(&bytes));
            for bit in 0..bytes.len() * 8 {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(!verifies(&changed), "{bit}");
            }
            let other = Mac::new(id, b"another").unwrap();
            assert!(!other.verify(&bytes, &bytes[8..signer.auth_len()]));
            assert!(!signer.mac.verify(&bytes, &bytes[8..20]), "half an HMAC");
            assert!(!signer.mac.verify(&bytes[..10], &[]));
        }
        assert_eq!(format!("{:?}", Mac::new(HmacId::SHA_1, b"key")), "Some(Mac(1, secret))");
    }
}
