//! Keys that are parsed only when they sign: a session that only sends a cookie does not sign, and
//! parses no key.

use core::fmt;

use dimpl::CryptoError;
use dimpl::crypto::rust_crypto::default_provider;
use dimpl::crypto::{Buf, HashAlgorithm, KeyProvider, SignatureAlgorithm, SigningKey};

/// Assumes that every key is ECDSA P-256, as those of an identity are.
#[derive(Debug)]
pub(crate) struct LateKeys;

impl KeyProvider for LateKeys {
    fn load_private_key(&self, der: &[u8]) -> Result<Box<dyn SigningKey>, CryptoError> {
        Ok(Box::new(LateKey(der.to_vec())))
    }
}

/// A key in PKCS #8.
struct LateKey(Vec<u8>);

impl fmt::Debug for LateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LateKey").finish_non_exhaustive()
    }
}

impl SigningKey for LateKey {
    fn sign(&mut self, data: &[u8], hash: HashAlgorithm, out: &mut Buf) -> Result<(), CryptoError> {
        default_provider().key_provider.load_private_key(&self.0)?.sign(data, hash, out)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }

    fn supported_hash_algorithms(&self) -> &[HashAlgorithm] {
        &[HashAlgorithm::SHA256, HashAlgorithm::SHA384]
    }
}
