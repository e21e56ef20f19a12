//! Peers that a session accepts, by the fingerprint of their key.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use base::Duration;

use crate::authority::Authority;
use crate::fingerprint::Fingerprint;

/// The peers that a session accepts.
///
/// The key is the identity: validity and names of a certificate are ignored, as ssh and WebRTC do
/// it (RFC 8827, section 5.1), and no clock is needed, except with an authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Any key: packets are encrypted, and the peer's key is known afterwards. For servers of
    /// unknown clients; used by a client it stops no attacker on the path.
    Any,
    /// Peers with one of these fingerprints.
    Listed(BTreeSet<Fingerprint>),
    /// The peer known by this name; a name that is not known yet accepts any key, once.
    FirstUse {
        /// Name by which the user addresses the peer, such as a host and a port.
        name: String,
        /// Keys that are remembered from earlier sessions.
        known: PeerList,
    },
    /// Peers with a certificate of an authority.
    Authority(Authority),
}

/// Reason for which a peer's key was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The key is not listed.
    NotListed(Fingerprint),
    /// The name is known with another key.
    Changed {
        /// Name by which the user addresses the peer.
        name: String,
        /// Fingerprint that the peer presented.
        presented: Fingerprint,
    },
    /// No authority has signed the certificate for this peer and time.
    Certificate {
        /// Fingerprint that the peer presented.
        presented: Fingerprint,
        /// Fault of the certificate, in words.
        reason: String,
    },
    /// The name cannot be written to a line of known peers: it is empty, has blanks, or begins with
    /// `#`.
    BadName(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotListed(fingerprint) => {
                write!(f, "the peer's key {fingerprint} is not among those accepted")
            }
            Refusal::Changed { name, presented } => write!(
                f,
                "{name} presented the key {presented}, not the one it is known by: it has a new key, or another host answers"
            ),
            Refusal::Certificate { presented, reason } => {
                write!(f, "the peer's certificate {presented} is not accepted: {reason}")
            }
            Refusal::BadName(name) => {
                write!(f, "{name:?} cannot name a peer: it is empty, has blanks, or begins with #")
            }
        }
    }
}

impl core::error::Error for Refusal {}

impl Refusal {
    /// The key that the peer presented; none if the name was invalid.
    pub fn presented(&self) -> Option<Fingerprint> {
        match self {
            Refusal::NotListed(presented)
            | Refusal::Changed { presented, .. }
            | Refusal::Certificate { presented, .. } => Some(*presented),
            Refusal::BadName(_) => None,
        }
    }
}

impl From<Authority> for Trust {
    fn from(authority: Authority) -> Trust {
        Trust::Authority(authority)
    }
}

impl From<Fingerprint> for Trust {
    /// The peer with this key alone.
    fn from(fingerprint: Fingerprint) -> Trust {
        Trust::Listed([fingerprint].into())
    }
}

impl Trust {
    /// Accepts or refuses a certificate in DER at this time since 1970 (UTC); returns the line to
    /// add to the known peers, if any.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn judge_certificate(
        &self,
        certificate: &[u8],
        since_epoch: Duration,
    ) -> Result<Option<String>, Refusal> {
        let presented = Fingerprint::of_certificate(certificate);
        match self {
            Trust::Authority(authority) => match authority.judge(certificate, since_epoch) {
                Ok(()) => Ok(None),
                Err(reason) => Err(Refusal::Certificate { presented, reason }),
            },
            _ => self.judge(presented),
        }
    }

    /// This trust after a peer has proved this key: an unknown name becomes known.
    #[must_use]
    pub fn after(self, proved: Fingerprint) -> Trust {
        match self {
            Trust::FirstUse { name, mut known } => {
                known.0.entry(name.clone()).or_default().insert(proved);
                Trust::FirstUse { name, known }
            }
            other => other,
        }
    }

    /// Judges as [`Trust::judge_certificate`] does, by the fingerprint alone, which an authority
    /// always refuses.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn judge(&self, fingerprint: Fingerprint) -> Result<Option<String>, Refusal> {
        match self {
            Trust::Any => Ok(None),
            Trust::Listed(accepted) if accepted.contains(&fingerprint) => Ok(None),
            Trust::Listed(_) | Trust::Authority(_) => Err(Refusal::NotListed(fingerprint)),
            Trust::FirstUse { name, .. } if !is_name(name) => Err(Refusal::BadName(name.clone())),
            Trust::FirstUse { name, known } => match known.0.get(name) {
                None => Ok(Some(format!("{name} {fingerprint}"))),
                Some(keys) if keys.contains(&fingerprint) => Ok(None),
                Some(_) => Err(Refusal::Changed { name: name.clone(), presented: fingerprint }),
            },
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('#') && !name.contains(char::is_whitespace)
}

/// Names and fingerprints of peers, one of each per line: the format of files of authorised and of
/// known peers.
///
/// A line is a name without blanks, blanks, and a fingerprint. Empty lines and lines that begin
/// with `#` are skipped. A name may have several keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerList(BTreeMap<String, BTreeSet<Fingerprint>>);

/// The line at which a list of peers could not be parsed, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerListError {
    /// Number of the line, from 1.
    pub line: usize,
}

impl fmt::Display for PeerListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected a name and a fingerprint", self.line)
    }
}

impl core::error::Error for PeerListError {}

impl PeerList {
    /// Parses a list. One invalid line makes the whole list invalid, so that no key is ignored
    /// silently.
    pub fn parse(text: &str) -> Result<PeerList, PeerListError> {
        let mut peers = PeerList::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = line.split_once(char::is_whitespace);
            let entry = entry.and_then(|(name, rest)| Some((name, rest.trim().parse().ok()?)));
            let (name, fingerprint) = entry.ok_or(PeerListError { line: index + 1 })?;
            peers.0.entry(name.to_owned()).or_default().insert(fingerprint);
        }
        Ok(peers)
    }

    /// Whether the list has a key of a peer with this name.
    pub fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Trust in every peer of the list, under any name: a file of authorised peers.
    pub fn authorised(&self) -> Trust {
        Trust::Listed(self.0.values().flatten().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(of: &str) -> Fingerprint {
        Fingerprint::of_certificate(of.as_bytes())
    }

    #[test]
    fn a_list_is_read_with_its_comments_in_both_forms_of_fingerprints() {
        let text = format!(
            "# games\n\n  alice {}\r\nbob\t{}\nbob {}\n",
            key("a"),
            key("b").sdp(),
            key("c")
        );
        let trust = PeerList::parse(&text).unwrap().authorised();
        for known in ["a", "b", "c"] {
            assert_eq!(trust.judge(key(known)), Ok(None));
        }
        assert_eq!(trust.judge(key("d")), Err(Refusal::NotListed(key("d"))));
    }

    #[test]
    fn a_bad_line_is_named() {
        for line in [
            "alice",
            "alice SHA256:abc",
            &format!("{}", key("a")),
            &format!("alice {} x", key("a")),
        ] {
            let text = format!("bob {}\n{line}\n", key("b"));
            assert_eq!(PeerList::parse(&text), Err(PeerListError { line: 2 }), "{line}");
        }
    }

    #[test]
    fn an_empty_list_accepts_no_key() {
        assert!(PeerList::default().authorised().judge(key("a")).is_err());
    }

    #[test]
    fn a_name_is_bound_to_the_key_of_its_first_use() {
        let name = "host:9".to_owned();
        let trust = |known: &str| Trust::FirstUse {
            name: name.clone(),
            known: PeerList::parse(known).unwrap(),
        };
        let line = trust("").judge(key("a")).unwrap().expect("a line to add");
        assert_eq!(trust(&line).judge(key("a")), Ok(None));
        let changed = Refusal::Changed { name: name.clone(), presented: key("b") };
        assert_eq!(trust(&line).judge(key("b")), Err(changed));
    }

    #[test]
    fn a_name_is_known_after_its_first_use() {
        let name = "host:9".to_owned();
        let trust = Trust::FirstUse { name, known: PeerList::default() }.after(key("a"));
        assert_eq!(trust.judge(key("a")), Ok(None));
        assert!(matches!(trust.judge(key("b")), Err(Refusal::Changed { .. })));
        assert_eq!(Trust::from(key("a")).after(key("b")), Trust::from(key("a")));
    }

    #[test]
    fn a_name_cannot_smuggle_in_another_line() {
        for name in ["", "#a", "a b", "a\nroot"] {
            let trust = Trust::FirstUse { name: name.to_owned(), known: PeerList::default() };
            assert_eq!(trust.judge(key("a")), Err(Refusal::BadName(name.to_owned())));
        }
    }
}
