//! Fingerprints of certificates, in the forms of SDP and ssh.

use core::fmt;
use core::str::FromStr;

use base::Origin;
use base64ct::{Base64Unpadded, Encoding};
use sha2::{Digest, Sha256};

/// SHA-256 of a certificate in DER (RFC 8122, section 5).
///
/// Prints as ssh does, `SHA256:` and base64 without padding; [`Fingerprint::sdp`] is the form of
/// SDP. Both are parsed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// SHA-256 of the certificate's encoding in DER.
    pub fn of_certificate(der: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(der).into())
    }

    /// The fingerprint in the form of machines: its first 128 bits, which another key matches with
    /// negligible probability.
    pub fn origin(&self) -> Origin {
        let mut half = [0; 16];
        half.copy_from_slice(&self.0[..16]);
        Origin(half)
    }

    /// Value of SDP's attribute `fingerprint`: `sha-256` and pairs of hexadecimal digits (RFC 8122,
    /// section 5).
    pub fn sdp(&self) -> String {
        let pairs: Vec<String> = self.0.iter().map(|byte| format!("{byte:02X}")).collect();
        format!("sha-256 {}", pairs.join(":"))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SHA256:{}", Base64Unpadded::encode_string(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Error for a text that is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseFingerprintError;

impl fmt::Display for ParseFingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fingerprint is SHA256: and 43 characters of base64, or sha-256 and 32 pairs of hexadecimal digits")
    }
}

impl core::error::Error for ParseFingerprintError {}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Fingerprint, ParseFingerprintError> {
        let mut bytes = [0; 32];
        if let Some(base64) = text.strip_prefix("SHA256:") {
            let decoded =
                Base64Unpadded::decode(base64, &mut bytes).map_err(|_| ParseFingerprintError)?;
            if decoded.len() != 32 {
                return Err(ParseFingerprintError);
            }
            return Ok(Fingerprint(bytes));
        }
        let (algorithm, pairs) = text.split_once(' ').ok_or(ParseFingerprintError)?;
        let pairs: Vec<&str> = pairs.split(':').collect();
        if !algorithm.eq_ignore_ascii_case("sha-256") || pairs.len() != bytes.len() {
            return Err(ParseFingerprintError);
        }
        for (byte, pair) in bytes.iter_mut().zip(pairs) {
            let digits = pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit());
            *byte = u8::from_str_radix(pair, 16)
                .ok()
                .filter(|_| digits)
                .ok_or(ParseFingerprintError)?;
        }
        Ok(Fingerprint(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of "abc" (FIPS 180-4, the published example).
    const ABC: &str = "sha-256 BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD";

    #[test]
    fn both_forms_are_printed_and_parsed() {
        let fingerprint = Fingerprint::of_certificate(b"abc");
        assert_eq!(fingerprint.sdp(), ABC);
        assert_eq!(fingerprint.to_string(), "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0");
        assert_eq!(ABC.parse(), Ok(fingerprint));
        assert_eq!(ABC.to_lowercase().parse(), Ok(fingerprint));
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
    }

    #[test]
    fn other_texts_are_refused() {
        let with_signs = ABC.replace("BA:78", "+A:78");
        let short = ABC.replace("BA:78", "BA");
        for text in
            ["", "SHA256:", "SHA256:ungW", "SHA1:abc", "sha-1 BA", &with_signs, &short, "sha-256 é"]
        {
            assert_eq!(text.parse::<Fingerprint>(), Err(ParseFingerprintError), "{text}");
        }
    }
}
