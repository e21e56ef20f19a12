//! A self-signed certificate for a P-256 key (RFC 5280), in DER.

use p256::ecdsa::signature::Signer;
use p256::ecdsa::{DerSignature, SigningKey};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const UTF8_STRING: u8 = 0x0c;
const GENERALIZED_TIME: u8 = 0x18;
/// Tag `[0]` around the version.
const VERSION: u8 = 0xa0;

/// ecPublicKey (RFC 5480, section 2.1.1), with its tag and length.
const EC_PUBLIC_KEY: &[u8] = &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
/// secp256r1 (RFC 5480, section 2.1.1.1).
const P256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
/// ecdsa-with-SHA256 (RFC 5758, section 3.2).
const ECDSA_WITH_SHA256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
/// commonName (RFC 5280, appendix A).
const COMMON_NAME: &[u8] = &[6, 3, 0x55, 4, 3];

/// The certificate of `key` in DER with this serial number (an INTEGER's content), signed by the
/// key itself. It never expires (RFC 5280, section 4.1.2.5), and is always the same for one key,
/// since the signature is deterministic (RFC 6979), so that the fingerprint identifies the key.
pub(crate) fn self_signed(key: &SigningKey, common_name: &str, serial: &[u8]) -> Vec<u8> {
    let algorithm = element(SEQUENCE, &[ECDSA_WITH_SHA256]);
    let common_name =
        element(SEQUENCE, &[COMMON_NAME, &element(UTF8_STRING, &[common_name.as_bytes()])]);
    let name = element(SEQUENCE, &[&element(SET, &[&common_name])]);
    let validity = element(
        SEQUENCE,
        &[
            &element(GENERALIZED_TIME, &[b"19700101000000Z"]),
            &element(GENERALIZED_TIME, &[b"99991231235959Z"]),
        ],
    );
    let point = key.verifying_key().to_sec1_point(false);
    let public_key = element(
        SEQUENCE,
        &[
            &element(SEQUENCE, &[EC_PUBLIC_KEY, P256]),
            &element(BIT_STRING, &[&[0], point.as_bytes()]),
        ],
    );
    let body = element(
        SEQUENCE,
        &[
            &element(VERSION, &[&element(INTEGER, &[&[2]])]),
            &element(INTEGER, &[serial]),
            &algorithm,
            &name,
            &validity,
            &name,
            &public_key,
        ],
    );
    let signature: DerSignature = key.sign(&body);
    element(SEQUENCE, &[&body, &algorithm, &element(BIT_STRING, &[&[0], signature.as_bytes()])])
}

/// Tag, length and content of a DER element of less than 65,536 bytes.
fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let [high, low] = (content.len() as u16).to_be_bytes();
    let length: &[u8] = match content.len() {
        0..=127 => &[low],
        128..=255 => &[0x81, low],
        _ => &[0x82, high, low],
    };
    [&[tag], length, &content].concat()
}
