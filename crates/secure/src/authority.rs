//! Verification of certificates that an authority signed (RFC 5280): the owner of a key, and the
//! period of validity.

use core::fmt;

use base::Duration;
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use pki_types::pem::PemObject;
use pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, ServerName,
    SignatureVerificationAlgorithm, TrustAnchor, UnixTime, alg_id,
};
use sha2::{Digest, Sha256, Sha384};
use webpki::{EndEntityCert, Error, KeyUsage, anchor_from_trusted_cert};

/// Authorities, and the peers that they vouch for.
///
/// A peer's certificate must be signed by one of the authorities directly: the DTLS crate passes on
/// no chain, so that intermediate authorities have to be listed. Signatures are ECDSA, of P-256 or
/// P-384 with SHA-256 or SHA-384. Revocation is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    anchors: Vec<TrustAnchor<'static>>,
    /// Name or address that a server's certificate must have, as text and parsed; none for
    /// clients, whose names are ignored.
    server: Option<(String, ServerName<'static>)>,
}

/// Reason for which a text is not a list of authorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorityError {
    /// The text has no certificate in PEM.
    Nothing,
    /// This certificate, counted from 1, cannot be read.
    Certificate(usize),
    /// The server's name is neither a DNS name nor an IP address.
    Name(String),
}

impl fmt::Display for AuthorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuthorityError::Nothing => {
                f.write_str("no certificate of an authority: expected BEGIN CERTIFICATE (PEM)")
            }
            AuthorityError::Certificate(number) => {
                write!(f, "certificate {number} cannot be read: expected X.509, version 3, in PEM")
            }
            AuthorityError::Name(name) => {
                write!(f, "{name:?} is neither a DNS name nor an IP address")
            }
        }
    }
}

impl core::error::Error for AuthorityError {}

impl Authority {
    /// Trust in servers whose certificate is for `name`, a DNS name or an IP address, and signed by
    /// one of the certificates in `pem`.
    pub fn for_server(pem: &str, name: &str) -> Result<Authority, AuthorityError> {
        let server = ServerName::try_from(name.to_owned());
        let server = server.map_err(|_| AuthorityError::Name(name.to_owned()))?;
        Ok(Authority { anchors: anchors(pem)?, server: Some((name.to_owned(), server)) })
    }

    /// Trust in clients whose certificate is signed by one of the certificates in `pem`.
    pub fn for_clients(pem: &str) -> Result<Authority, AuthorityError> {
        Ok(Authority { anchors: anchors(pem)?, server: None })
    }

    /// Verifies a peer's certificate, in DER, at this time since 1970 (UTC); the error says what is
    /// wrong.
    pub(crate) fn judge(&self, certificate: &[u8], since_epoch: Duration) -> Result<(), String> {
        let der = CertificateDer::from(certificate);
        let leaf = EndEntityCert::try_from(&der).map_err(|error| self.explain(&error))?;
        let time = UnixTime::since_unix_epoch(since_epoch.into());
        let usage = match self.server {
            Some(_) => KeyUsage::server_auth(),
            None => KeyUsage::client_auth(),
        };
        leaf.verify_for_usage(ALGORITHMS, &self.anchors, &[], time, usage, None, None)
            .map_err(|error| self.explain(&error))?;
        let named =
            self.server.as_ref().map(|(_, name)| leaf.verify_is_valid_for_subject_name(name));
        named.unwrap_or(Ok(())).map_err(|error| self.explain(&error))
    }

    fn explain(&self, error: &Error) -> String {
        match error {
            Error::CertExpired { .. } => "it has expired".to_owned(),
            Error::CertNotValidYet { .. } => {
                "it is not valid yet, if the clock of this machine is right".to_owned()
            }
            Error::UnknownIssuer => "none of the authorities signed it".to_owned(),
            Error::CertNotValidForName(_) => match &self.server {
                Some((name, _)) => format!("it is not for {name}"),
                None => "it is for another name".to_owned(),
            },
            Error::InvalidCertValidity => "it ends before it begins".to_owned(),
            Error::UnsupportedCertVersion => "it is no X.509 of version 3".to_owned(),
            Error::CaUsedAsEndEntity => "it is an authority's own".to_owned(),
            Error::RequiredEkuNotFoundContext(_) => match self.server {
                Some(_) => "it is not for servers".to_owned(),
                None => "it is not for clients".to_owned(),
            },
            Error::UnsupportedSignatureAlgorithmContext(_)
            | Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
                "it is signed by other means than ECDSA with P-256 or P-384".to_owned()
            }
            other => format!("it cannot be used ({other})"),
        }
    }
}

/// A certificate in DER, and the key in it (SubjectPublicKeyInfo).
pub(crate) struct Certificate {
    pub(crate) der: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

/// The first certificate in a PEM text, if it has one.
pub(crate) fn first_certificate(pem: &str) -> Option<Result<Certificate, AuthorityError>> {
    let der = CertificateDer::pem_slice_iter(pem.as_bytes()).next()?;
    Some(der.map_err(|_| AuthorityError::Certificate(1)).and_then(|der| {
        let parsed = EndEntityCert::try_from(&der).map_err(|_| AuthorityError::Certificate(1))?;
        Ok(Certificate { der: der.to_vec(), key: parsed.subject_public_key_info().to_vec() })
    }))
}

fn anchors(pem: &str) -> Result<Vec<TrustAnchor<'static>>, AuthorityError> {
    let anchor = |(index, der): (usize, Result<CertificateDer<'_>, _>)| {
        let wrong = AuthorityError::Certificate(index + 1);
        let der = der.map_err(|_| wrong.clone())?;
        anchor_from_trusted_cert(&der).map(|anchor| anchor.to_owned()).map_err(|_| wrong)
    };
    let all = CertificateDer::pem_slice_iter(pem.as_bytes()).enumerate().map(anchor);
    let anchors: Vec<_> = all.collect::<Result<_, _>>()?;
    if anchors.is_empty() { Err(AuthorityError::Nothing) } else { Ok(anchors) }
}

/// Signatures of authorities that are verified.
const ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = &[
    &Ecdsa { curve: Curve::P256, hash: Hash::Sha256 },
    &Ecdsa { curve: Curve::P256, hash: Hash::Sha384 },
    &Ecdsa { curve: Curve::P384, hash: Hash::Sha256 },
    &Ecdsa { curve: Curve::P384, hash: Hash::Sha384 },
];

#[derive(Clone, Copy, Debug)]
enum Curve {
    P256,
    P384,
}

#[derive(Clone, Copy, Debug)]
enum Hash {
    Sha256,
    Sha384,
}

/// ECDSA (RFC 5758, section 3.2) by the crates that DTLS uses.
#[derive(Debug)]
struct Ecdsa {
    curve: Curve,
    hash: Hash,
}

impl Ecdsa {
    fn is_valid(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Option<()> {
        let digest = match self.hash {
            Hash::Sha256 => Sha256::digest(message).to_vec(),
            Hash::Sha384 => Sha384::digest(message).to_vec(),
        };
        match self.curve {
            Curve::P256 => {
                let signature = p256::ecdsa::Signature::from_der(signature).ok()?;
                let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
                key.verify_prehash(&digest, &signature).ok()
            }
            Curve::P384 => {
                let signature = p384::ecdsa::Signature::from_der(signature).ok()?;
                let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
                key.verify_prehash(&digest, &signature).ok()
            }
        }
    }
}

impl SignatureVerificationAlgorithm for Ecdsa {
    fn verify_signature(
        &self,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.is_valid(key, message, signature).ok_or(InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        match self.curve {
            Curve::P256 => alg_id::ECDSA_P256,
            Curve::P384 => alg_id::ECDSA_P384,
        }
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        match self.hash {
            Hash::Sha256 => alg_id::ECDSA_SHA256,
            Hash::Sha384 => alg_id::ECDSA_SHA384,
        }
    }
}

#[cfg(test)]
mod tests;
