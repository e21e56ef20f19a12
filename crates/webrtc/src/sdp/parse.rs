//! Parsing a description: its one section, and the attributes of the session.

use core::str::FromStr;
use std::collections::BTreeSet;

use base64ct::{Base64, Encoding};
use sctp::SignalledInit;
use secure::Fingerprint;

use super::{
    Candidate, Credentials, Description, MAX_DESCRIPTION, MAX_MESSAGE_UNSAID, SdpError, Setup,
};

/// Most candidates kept; further ones are ignored.
const CANDIDATES: usize = 64;
/// Most fingerprints kept; further ones are an error.
const FINGERPRINTS: usize = 16;
/// Bytes of the name of a section.
const MID: usize = 64;

const SECTION: &str = "one section, m=application PORT UDP/DTLS/SCTP webrtc-datachannel: only data channels are spoken here";
const UFRAG: &str = "a=ice-ufrag with 4 to 256 letters, digits, + or /";
const PASSWORD: &str = "a=ice-pwd with 22 to 256 letters, digits, + or /";
const FINGERPRINT: &str =
    "a=fingerprint:sha-256 and 32 pairs of hexadecimal digits, 16 such lines at most";
const SETUP: &str = "a=setup:actpass, active or passive";
const SCTP_PORT: &str = "a=sctp-port with 1 to 65535";
const MAX_MESSAGE: &str = "a=max-message-size with a number of bytes, 0 for any";
const SCTP_INIT: &str = "a=sctp-init with an INIT chunk in base64";
const MID_TOKEN: &str = "a=mid with a token of 1 to 64 characters";
const BUNDLE: &str = "a=group:BUNDLE with the a=mid of the section, or no such group";
const CANDIDATE: &str = "a=candidate:FOUNDATION COMPONENT PROTOCOL PRIORITY ADDRESS PORT typ KIND";

/// A line, and its number from 1.
type Line<'a> = (usize, &'a str);

/// Attributes of one level: of the session or of its section (RFC 8866, section 5.13).
#[derive(Default)]
struct Attributes<'a> {
    ufrag: Option<&'a str>,
    password: Option<&'a str>,
    /// The last line with a fingerprint of another kind than SHA-256.
    other_fingerprint: Option<Line<'a>>,
    fingerprints: BTreeSet<Fingerprint>,
    setup: Option<Setup>,
    lite: bool,
}

/// The section, with attributes that no session has.
#[derive(Default)]
struct Section<'a> {
    attributes: Attributes<'a>,
    mid: Option<&'a str>,
    sctp_port: Option<u16>,
    max_message: Option<u64>,
    sctp_init: Option<Vec<u8>>,
    candidates: Vec<Candidate>,
}

impl FromStr for Description {
    type Err = SdpError;

    /// Parses a description of at most 65,536 bytes. Unknown attributes are ignored; the error
    /// names a wrong or missing required attribute and what would be right.
    fn from_str(text: &str) -> Result<Description, SdpError> {
        if text.len() > MAX_DESCRIPTION {
            let found = format!("{} bytes", text.len());
            return Err(SdpError::new(1, &found, "a description of 65536 bytes at most"));
        }
        let mut session = Attributes::default();
        let mut session_id = 0;
        let mut group: Option<Line<'_>> = None;
        let mut media: Option<(Line<'_>, Section<'_>)> = None;
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_end()));
        let mut begun = false;
        for line @ (number, content) in lines.filter(|(_, content)| !content.is_empty()) {
            let wrong = |expected| SdpError::new(number, content, expected);
            let (kind, value) = content.split_once('=').ok_or_else(|| wrong("TYPE=VALUE"))?;
            if !core::mem::replace(&mut begun, true) && content != "v=0" {
                return Err(wrong("v=0 in the first line"));
            }
            match kind {
                "o" => {
                    let id = value.split(' ').nth(1).and_then(|id| id.parse().ok());
                    session_id =
                        id.ok_or_else(|| wrong("o=USER SESSION VERSION IN IP4 ADDRESS"))?;
                }
                "m" if media.is_some() || !is_data_channel(value) => return Err(wrong(SECTION)),
                "m" => media = Some((line, Section::default())),
                "a" => match &mut media {
                    Some((_, section)) => section.attribute(line, value)?,
                    None if value.starts_with("group:BUNDLE") => group = Some(line),
                    None => _ = session.attribute(line, value)?,
                },
                _ => {}
            }
        }
        let Some((line, section)) = media else {
            let (number, last) = text.lines().enumerate().last().unwrap_or((0, ""));
            return Err(SdpError::new(number + 1, last, SECTION));
        };
        section.describe(line, session, session_id, group)
    }
}

/// Whether the value of an `m=` line is of data channels (RFC 8841, section 5).
fn is_data_channel(value: &str) -> bool {
    let mut fields = value.split(' ');
    let is =
        |field: Option<&str>, wanted: &[&str]| field.is_some_and(|field| wanted.contains(&field));
    is(fields.next(), &["application"])
        && fields.next().is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port != 0))
        && is(fields.next(), &["UDP/DTLS/SCTP"])
        && is(fields.next(), &["webrtc-datachannel"])
        && fields.next().is_none()
}

impl<'a> Attributes<'a> {
    /// Takes an attribute; false if it is not known here.
    fn attribute(
        &mut self,
        (number, line): Line<'a>,
        attribute: &'a str,
    ) -> Result<bool, SdpError> {
        let wrong = |expected| SdpError::new(number, line, expected);
        let (name, value) = attribute.split_once(':').unwrap_or((attribute, ""));
        match name {
            "ice-ufrag" if is_ice_text(value, 4) => self.ufrag = Some(value),
            "ice-ufrag" => return Err(wrong(UFRAG)),
            "ice-pwd" if is_ice_text(value, 22) => self.password = Some(value),
            "ice-pwd" => return Err(wrong(PASSWORD)),
            "ice-lite" => self.lite = true,
            "setup" => {
                let all = [Setup::ActPass, Setup::Active, Setup::Passive];
                let setup = all.into_iter().find(|setup| setup.name() == value);
                self.setup = Some(setup.ok_or_else(|| wrong(SETUP))?);
            }
            "fingerprint" => {
                let algorithm = value.split(' ').next().unwrap_or_default();
                if !algorithm.eq_ignore_ascii_case("sha-256") {
                    self.other_fingerprint = Some((number, line));
                    return Ok(true);
                }
                let fingerprint = value.parse().map_err(|_| wrong(FINGERPRINT))?;
                if self.fingerprints.len() >= FINGERPRINTS {
                    return Err(wrong(FINGERPRINT));
                }
                self.fingerprints.insert(fingerprint);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl<'a> Section<'a> {
    fn attribute(&mut self, line: Line<'a>, attribute: &'a str) -> Result<(), SdpError> {
        if self.attributes.attribute(line, attribute)? {
            return Ok(());
        }
        let wrong = |expected| SdpError::new(line.0, line.1, expected);
        let Some((name, value)) = attribute.split_once(':') else { return Ok(()) };
        match name {
            "mid" if is_token(value) => self.mid = Some(value),
            "mid" => return Err(wrong(MID_TOKEN)),
            "sctp-port" => {
                let port = value.parse().ok().filter(|port| *port != 0);
                self.sctp_port = Some(port.ok_or_else(|| wrong(SCTP_PORT))?);
            }
            "max-message-size" => {
                self.max_message = Some(value.parse().map_err(|_| wrong(MAX_MESSAGE))?);
            }
            "sctp-init" => {
                let init = Base64::decode_vec(value).ok();
                let init = init.filter(|init| SignalledInit::parse(init).is_ok());
                self.sctp_init = Some(init.ok_or_else(|| wrong(SCTP_INIT))?);
            }
            "candidate" => {
                let candidate = Candidate::parse(value).map_err(|()| wrong(CANDIDATE))?;
                let room = CANDIDATES - self.candidates.len();
                self.candidates.extend(candidate.into_iter().take(room));
            }
            _ => {}
        }
        Ok(())
    }

    /// The description of a section, with the session's attributes as defaults.
    fn describe(
        self,
        (number, line): Line<'_>,
        session: Attributes<'_>,
        session_id: u64,
        group: Option<Line<'_>>,
    ) -> Result<Description, SdpError> {
        let missing = |expected| SdpError::new(number, line, expected);
        let own = self.attributes;
        let ufrag = own.ufrag.or(session.ufrag).ok_or_else(|| missing(UFRAG))?;
        let password = own.password.or(session.password).ok_or_else(|| missing(PASSWORD))?;
        let setup = own.setup.or(session.setup).ok_or_else(|| missing(SETUP))?;
        let sctp_port = self.sctp_port.ok_or_else(|| missing(SCTP_PORT))?;
        let (fingerprints, other) =
            match own.fingerprints.is_empty() && own.other_fingerprint.is_none() {
                true => (session.fingerprints, session.other_fingerprint),
                false => (own.fingerprints, own.other_fingerprint),
            };
        if fingerprints.is_empty() {
            let (number, line) = other.unwrap_or((number, line));
            return Err(SdpError::new(number, line, FINGERPRINT));
        }
        if let Some((number, line)) = group {
            let mut members = line.split(' ').skip(1);
            if !self.mid.is_some_and(|mid| members.any(|member| member == mid)) {
                return Err(SdpError::new(number, line, BUNDLE));
            }
        }
        Ok(Description {
            session: session_id,
            mid: self.mid.map(str::to_owned),
            bundled: group.is_some(),
            lite: own.lite || session.lite,
            credentials: Credentials { ufrag: ufrag.to_owned(), password: password.to_owned() },
            fingerprints,
            setup,
            sctp_port,
            max_message: match self.max_message {
                None => Some(MAX_MESSAGE_UNSAID),
                Some(0) => None,
                Some(bytes) => Some(bytes),
            },
            sctp_init: self.sctp_init,
            candidates: self.candidates,
        })
    }
}

/// A username fragment or a password with `least` to 256 characters (RFC 8839, section 5.4).
fn is_ice_text(text: &str, least: usize) -> bool {
    (least..=256).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// A token (RFC 8866, section 9) that is not too long.
fn is_token(text: &str) -> bool {
    (1..=MID).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]".contains(&byte))
}
