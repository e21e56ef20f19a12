//! The key that identifies a host, and its certificate.

use core::fmt;

use base::RandomStream;
use p256::SecretKey;
use p256::ecdsa::SigningKey;
use p256::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};

use crate::authority::first_certificate;
use crate::certificate::self_signed;
use crate::fingerprint::Fingerprint;

/// Name in self-signed certificates, and their serial number.
const NAME: &str = "thinstream";
const SERIAL: &[u8] = &[1];

/// An ECDSA P-256 key and its certificate: a self-signed one, which follows from the key alone, so
/// that only the key has to be stored, or one that an authority signed.
#[derive(Clone)]
pub struct Identity {
    key: SigningKey,
    certificate: Vec<u8>,
}

/// Reason for which a text is not an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityError {
    /// The text has no usable key.
    Key,
    /// The certificate cannot be read.
    Certificate,
    /// The certificate belongs to another key.
    OtherKey,
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IdentityError::Key => {
                "not an unencrypted P-256 key in PEM (PKCS #8, BEGIN PRIVATE KEY)"
            }
            IdentityError::Certificate => {
                "its first certificate cannot be read: expected X.509, version 3 (with extensions), in PEM"
            }
            IdentityError::OtherKey => {
                "its first certificate is for another key than the one beside it"
            }
        })
    }
}

impl core::error::Error for IdentityError {}

impl Identity {
    /// A new identity. `random` determines the key: seed it with 256 bits of the system's
    /// randomness, except in tests and in virtual time.
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

    /// Parses the text that [`Identity::to_pem`] returns; other PKCS #8 keys for P-256 are read,
    /// too. If the text has certificates, the first one becomes the identity's, as signed by an
    /// authority; others are skipped.
    pub fn from_pem(text: &str) -> Result<Identity, IdentityError> {
        const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
        let from = text.find(BEGIN).ok_or(IdentityError::Key)?;
        let key = text[from..].split_inclusive('\n').scan(false, |ended, line| {
            let before = *ended;
            *ended = line.starts_with("-----END");
            (!before).then_some(line)
        });
        let key = SecretKey::from_pkcs8_pem(&key.collect::<String>());
        let own = Identity::of_key(key.map_err(|_| IdentityError::Key)?.into());
        let Some(certificate) = first_certificate(text) else { return Ok(own) };
        let certificate = certificate.map_err(|_| IdentityError::Certificate)?;
        let public = own.key.verifying_key().to_public_key_der();
        match public.is_ok_and(|public| public.as_bytes() == certificate.key) {
            true => Ok(Identity { certificate: certificate.der, ..own }),
            false => Err(IdentityError::OtherKey),
        }
    }

    fn of_key(key: SigningKey) -> Identity {
        let certificate = self_signed(&key, NAME, SERIAL);
        Identity { key, certificate }
    }

    /// This identity with a certificate whose serial number is derived from its key: Firefox
    /// rejects a second certificate with the name and the serial number of another (RFC 5280,
    /// section 4.1.2.2), and would connect to one server only. A certificate from an authority is
    /// kept. The fingerprint changes.
    pub fn for_browsers(self) -> Identity {
        if self.certificate != self_signed(&self.key, NAME, SERIAL) {
            return self;
        }
        let point = self.key.verifying_key().to_sec1_point(false);
        let mut serial = Fingerprint::of_certificate(point.as_bytes()).origin().0;
        // A positive number of 16 bytes.
        serial[0] = serial[0] & 0x3f | 0x40;
        Identity { certificate: self_signed(&self.key, NAME, &serial), ..self }
    }

    /// The private key in PEM (PKCS #8), without a certificate, for a file that only its owner may
    /// read. The text is not wiped from memory.
    pub fn to_pem(&self) -> Result<String, IdentityError> {
        let text =
            self.secret_key().to_pkcs8_pem(LineEnding::LF).map_err(|_| IdentityError::Key)?;
        Ok(text.to_string())
    }

    /// The private key in DER (PKCS #8), as DTLS takes it.
    pub(crate) fn key_der(&self) -> Result<Vec<u8>, IdentityError> {
        Ok(self.secret_key().to_pkcs8_der().map_err(|_| IdentityError::Key)?.as_bytes().to_vec())
    }

    fn secret_key(&self) -> SecretKey {
        SecretKey::from(&self.key)
    }

    /// Certificate of the identity's key, in DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Fingerprint of the certificate, and thereby of the key.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_certificate(&self.certificate)
    }

    #[cfg(test)]
    pub(crate) fn with_common_name(&self, name: &str) -> Identity {
        self.with_certificate(self_signed(&self.key, name, SERIAL))
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
    fn for_browsers_each_key_has_a_serial_number_of_its_own_and_certificates_of_authorities_stay() {
        let [one, other] = [1, 2].map(|seed| identity(seed).for_browsers());
        // Behind two heads of elements and the version.
        let serial = |identity: &Identity| identity.certificate()[12..30].to_vec();
        assert_eq!(serial(&one)[..2], [2, 16], "an INTEGER of 16 bytes");
        assert_ne!(serial(&one), serial(&other));
        assert_eq!(one.clone().for_browsers().certificate(), one.certificate());
        assert_ne!(one.fingerprint(), identity(1).fingerprint());
        let signed = identity(1).with_common_name("signed");
        assert_eq!(signed.clone().for_browsers().certificate(), signed.certificate());
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
            assert_eq!(Identity::from_pem(wrong).unwrap_err(), IdentityError::Key, "{wrong}");
        }
    }

    #[test]
    fn a_certificate_beside_the_key_counts_if_it_is_for_that_key() {
        let (own, other) = (identity(1).with_common_name("signed"), identity(2));
        let pem = |der: &[u8]| {
            use base64ct::{Base64, Encoding};
            let text = Base64::encode_string(der);
            format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
        };
        let key = own.to_pem().unwrap();
        for text in [
            format!("{}{key}", pem(own.certificate())),
            format!("{key}{}{}", pem(own.certificate()), pem(other.certificate())),
        ] {
            assert_eq!(Identity::from_pem(&text).unwrap().certificate(), own.certificate());
        }
        for (certificate, wrong) in [
            (pem(other.certificate()), IdentityError::OtherKey),
            (pem(b"rubbish"), IdentityError::Certificate),
            (pem(&own.certificate()[1..]), IdentityError::Certificate),
        ] {
            assert_eq!(Identity::from_pem(&format!("{key}{certificate}")).unwrap_err(), wrong);
        }
    }

    #[test]
    fn the_key_is_not_printed() {
        let identity = identity(1);
        assert_eq!(format!("{identity:?}"), format!("Identity({})", identity.fingerprint()));
    }
}
