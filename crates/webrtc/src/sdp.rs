//! Session descriptions of data channels: reading and writing offers and answers (RFC 8866; RFC
//! 8839, 8841, 8842 and 8122 for the attributes; RFC 9429 for the form of browsers).

mod candidate;
mod error;
mod parse;
#[cfg(test)]
mod tests;

use core::fmt;
use std::collections::BTreeSet;

use base64ct::{Base64, Encoding};
use secure::Fingerprint;

pub use self::candidate::{Candidate, CandidateAddress};
pub use self::error::SdpError;
use crate::ice::Credentials;

/// Longest accepted description, in bytes.
pub const MAX_DESCRIPTION: usize = 64 << 10;

/// Longest message, in bytes, of a side that names no limit (RFC 8841, section 6.1).
const MAX_MESSAGE_UNSAID: u64 = 64 << 10;

/// The end of DTLS that a side takes or offers (RFC 8842, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// Either, which the answerer chooses; only in offers.
    ActPass,
    /// The client, which sends the ClientHello.
    Active,
    /// The server, which waits for the ClientHello.
    Passive,
}

impl Setup {
    /// The role of the answering side: `wanted` if the offer leaves the choice.
    pub fn answer(self, wanted: secure::Role) -> secure::Role {
        match self {
            Setup::ActPass => wanted,
            Setup::Active => secure::Role::Server,
            Setup::Passive => secure::Role::Client,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Setup::ActPass => "actpass",
            Setup::Active => "active",
            Setup::Passive => "passive",
        }
    }
}

impl From<secure::Role> for Setup {
    fn from(role: secure::Role) -> Setup {
        match role {
            secure::Role::Client => Setup::Active,
            secure::Role::Server => Setup::Passive,
        }
    }
}

/// A description of the one association that carries data channels, an offer or an answer.
///
/// Parses the text of a browser and ignores unknown attributes; prints the text that a browser
/// accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Number of the session, chosen by the side that describes itself.
    pub session: u64,
    /// Name of the section (`a=mid`); an answer repeats that of the offer.
    pub mid: Option<String>,
    /// Whether the section is alone in a BUNDLE group.
    pub bundled: bool,
    /// Whether the side is a lite ICE agent.
    pub lite: bool,
    /// User fragment and password of the side's ICE agent.
    pub credentials: Credentials,
    /// SHA-256 fingerprints of the certificates that the side may present.
    pub fingerprints: BTreeSet<Fingerprint>,
    /// The end of the DTLS handshake that the side takes, or leaves to the other (RFC 8842).
    pub setup: Setup,
    /// SCTP port inside DTLS (RFC 8841); WebRTC uses 5000.
    pub sctp_port: u16,
    /// Bytes of the longest message that the side accepts; none: not stated.
    pub max_message: Option<u64>,
    /// SCTP's INIT chunk, with which the association needs no packets for its set-up
    /// (`a=sctp-init`, draft-hancke-tsvwg-snap).
    pub sctp_init: Option<Vec<u8>>,
    /// Addresses of the side; further ones may follow by other means. May be empty.
    pub candidates: Vec<Candidate>,
}

impl fmt::Display for Description {
    /// Prints the description with SDP's line ends, CR LF.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Section 5.2.1 of RFC 9429: browsers name no address and use port 9 where candidates tell.
        write!(f, "v=0\r\no=- {} 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n", self.session)?;
        if self.bundled {
            write!(f, "a=group:BUNDLE {}\r\n", self.mid.as_deref().unwrap_or("0"))?;
        }
        if self.lite {
            f.write_str("a=ice-lite\r\n")?;
        }
        f.write_str("m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n")?;
        if let Some(mid) = &self.mid {
            write!(f, "a=mid:{mid}\r\n")?;
        }
        let Credentials { ufrag, password } = &self.credentials;
        write!(f, "a=ice-ufrag:{ufrag}\r\na=ice-pwd:{password}\r\n")?;
        for fingerprint in &self.fingerprints {
            write!(f, "a=fingerprint:{}\r\n", fingerprint.sdp())?;
        }
        write!(f, "a=setup:{}\r\na=sctp-port:{}\r\n", self.setup.name(), self.sctp_port)?;
        write!(f, "a=max-message-size:{}\r\n", self.max_message.unwrap_or(0))?;
        if let Some(init) = &self.sctp_init {
            write!(f, "a=sctp-init:{}\r\n", Base64::encode_string(init))?;
        }
        for candidate in &self.candidates {
            write!(f, "a=candidate:{candidate}\r\n")?;
        }
        f.write_str("a=end-of-candidates\r\n")
    }
}
