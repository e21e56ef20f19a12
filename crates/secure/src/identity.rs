//! The key by which a host is known, and the certificate that shows it.

use core::fmt;

use base::RandomStream;
use p256::SecretKey;
use p256::ecdsa::SigningKey;
use p256::pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding};

use crate::certificate::self_signed;
use crate::fingerprint::Fingerprint;

/// An ECDSA P-256 key and its self-signed certificate, which follows from the key alone: the key is all there is to keep.
#[derive(Clone)]
pub struct Identity {
    key: SigningKey,
    certificate: Vec<u8>,
}

/// Reason for which a text is no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdentityError;

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an unencrypted P-256 key in PEM (PKCS #8, BEGIN PRIVATE KEY)")
    }
}

impl core::error::Error for IdentityError {}

impl Identity {
    /// A new identity. `random` decides the key: seed it with 256 bits of the system's randomness, except in tests and in
    /// virtual time.
    pub fn generate(random: &mut RandomStream) -> Identity {
        loop {
            let mut scalar = [0; 32];
            random.fill(&mut scalar);
            // Zero and numbers beyond the group's order, 1 in 2^32, are no keys.
            if let Ok(key) = SigningKey::from_slice(&scalar) {
                return Identity::of_key(key);
            }
        }
    }

    /// Parses the text that [`Identity::to_pem`] returns; other PKCS #8 keys for P-256 are read, too.
    pub fn from_pem(text: &str) -> Result<Identity, IdentityError> {
        let key = SecretKey::from_pkcs8_pem(text).map_err(|_| IdentityError)?;
        Ok(Identity::of_key(key.into()))
    }

    fn of_key(key: SigningKey) -> Identity {
        let certificate = self_signed(&key, "thinstream");
        Identity { key, certificate }
    }

    /// The private key in PEM (PKCS #8), as it is kept in a file that only its owner may read. The text is not wiped from
    /// memory.
    pub fn to_pem(&self) -> Result<String, IdentityError> {
        let text = self.secret_key().to_pkcs8_pem(LineEnding::LF).map_err(|_| IdentityError)?;
        Ok(text.to_string())
    }

    /// The private key in DER (PKCS #8), as DTLS takes it.
    pub(crate) fn key_der(&self) -> Result<Vec<u8>, IdentityError> {
        Ok(self.secret_key().to_pkcs8_der().map_err(|_| IdentityError)?.as_bytes().to_vec())
    }

    fn secret_key(&self) -> SecretKey {
        SecretKey::from(&self.key)
    }

    /// The certificate in DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Fingerprint of the certificate, and thereby of the key.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_certificate(&self.certificate)
    }

    #[cfg(test)]
    pub(crate) fn with_common_name(&self, name: &str) -> Identity {
        self.with_certificate(self_signed(&self.key, name))
    }

    #[cfg(test)]
    pub(crate) fn with_certificate(&self, certificate: Vec<u8>) -> Identity {
        Identity { key: self.key.clone(), certificate }
    }
}

impl fmt::Debug for Identity {
    /// Prints the fingerprint, never the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.fingerprint()).finish()
    }
}

#[cfg(test)]
mod tests {
    use base::Purpose;

    use super::*;

    fn identity(seed: u64) -> Identity {
        Identity::generate(&mut RandomStream::new(seed, Purpose("identity", 0)))
    }

    #[test]
    fn an_identity_survives_its_text_with_the_same_certificate() {
        let identity = identity(1);
        let text = identity.to_pem().unwrap();
        assert!(text.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{text}");
        let again = Identity::from_pem(&text).unwrap();
        assert_eq!(again.certificate(), identity.certificate());
        assert_ne!(again.fingerprint(), super::tests::identity(2).fingerprint());
    }

    #[test]
    fn texts_without_a_key_are_refused() {
        let text = identity(1).to_pem().unwrap();
        for wrong in [
            "",
            "key",
            &text[..80],
            &text.replace("PRIVATE", "PUBLIC"),
            &text.replacen('M', "N", 1),
        ] {
            assert_eq!(Identity::from_pem(wrong).unwrap_err(), IdentityError, "{wrong}");
        }
    }

    #[test]
    fn the_key_is_not_printed() {
        let identity = identity(1);
        assert_eq!(format!("{identity:?}"), format!("Identity({})", identity.fingerprint()));
    }
}
