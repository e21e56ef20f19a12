//! Binding requests of connectivity checks and their answers (RFC 8489; RFC 8445, section 7), over
//! the codec of the crate `is`, which docs/webrtc.md judges. No other module uses that crate.

use core::net::SocketAddr;

use hmac::{Hmac, KeyInit, Mac};
use is::stun::StunMessage;
use sha1::Sha1;

/// Bytes of the longest answer: header, mapped address or error, integrity, fingerprint.
const ANSWER: usize = 128;

/// Longest accepted request, in bytes; real ones have about 100.
const REQUEST: usize = 1024;

/// A well-formed binding request of a connectivity check, not yet authentic.
pub struct Request<'a>(StunMessage<'a>);

impl<'a> Request<'a> {
    /// Parses a datagram; none if it is anything but a binding request with the attributes of a
    /// check: USERNAME, PRIORITY and MESSAGE-INTEGRITY. Attributes behind MESSAGE-INTEGRITY
    /// have no effect.
    pub fn parse(datagram: &'a [u8]) -> Option<Request<'a>> {
        if datagram.len() > REQUEST {
            return None;
        }
        let message = StunMessage::parse(datagram).ok()?;
        message.is_binding_request().then_some(Request(message))
    }

    /// Username fragments of the request's receiver and sender.
    pub fn usernames(&self) -> Option<(&str, &str)> {
        self.0.split_username()
    }

    /// Whether the request's sender knows the receiver's password.
    pub fn is_authentic(&self, password: &str) -> bool {
        self.0.verify(password.as_bytes(), hmac_sha1)
    }

    /// Whether the request nominates its pair of addresses (USE-CANDIDATE).
    pub fn nominates(&self) -> bool {
        self.0.use_candidate()
    }

    /// Whether the request's sender takes itself for the controlled agent, which a lite agent
    /// always is.
    pub fn is_of_controlled(&self) -> bool {
        self.0.ice_controlled().is_some()
    }

    /// The answer to a request that came from `source`, authenticated with the receiver's password.
    pub fn answer(&self, source: SocketAddr, password: &str) -> Option<Vec<u8>> {
        emit(StunMessage::binding_reply(self.0.trans_id(), source), password)
    }

    /// The answer 487, Role Conflict (RFC 8445, section 7.3.1.1).
    pub fn answer_role_conflict(&self, password: &str) -> Option<Vec<u8>> {
        emit(StunMessage::binding_role_conflict_reply(self.0.trans_id()), password)
    }
}

fn emit(message: StunMessage<'_>, password: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![0; ANSWER];
    let length = message.to_bytes(Some(password.as_bytes()), &mut bytes, hmac_sha1).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

/// HMAC-SHA1 of the concatenated payloads (RFC 8489, section 14.5).
fn hmac_sha1(key: &[u8], payloads: &[&[u8]]) -> [u8; 20] {
    // A key may have any length: the error never occurs.
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(key) else { return [0; 20] };
    payloads.iter().for_each(|payload| mac.update(payload));
    mac.finalize().into_bytes().into()
}

/// A check that a browser would send, for tests.
#[cfg(test)]
pub(crate) fn check(names: &str, password: &str, nominates: bool, is_controlling: bool) -> Vec<u8> {
    let id = is::stun::TransId::new();
    let message = StunMessage::binding_request(names, id, is_controlling, 1, 1, nominates);
    let mut bytes = vec![0; 500];
    let length = message.to_bytes(Some(password.as_bytes()), &mut bytes, hmac_sha1).unwrap();
    bytes.truncate(length);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5769, section 2.1: a request with the password below.
    const REQUEST: [u8; 108] = [
        0x00, 0x01, 0x00, 0x58, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6,
        0x86, 0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x10, 0x53, 0x54, 0x55, 0x4e, 0x20, 0x74,
        0x65, 0x73, 0x74, 0x20, 0x63, 0x6c, 0x69, 0x65, 0x6e, 0x74, 0x00, 0x24, 0x00, 0x04, 0x6e,
        0x00, 0x01, 0xff, 0x80, 0x29, 0x00, 0x08, 0x93, 0x2f, 0xf9, 0xb1, 0x51, 0x26, 0x3b, 0x36,
        0x00, 0x06, 0x00, 0x09, 0x65, 0x76, 0x74, 0x6a, 0x3a, 0x68, 0x36, 0x76, 0x59, 0x20, 0x20,
        0x20, 0x00, 0x08, 0x00, 0x14, 0x9a, 0xea, 0xa7, 0x0c, 0xbf, 0xd8, 0xcb, 0x56, 0x78, 0x1e,
        0xf2, 0xb5, 0xb2, 0xd3, 0xf2, 0x49, 0xc1, 0xb5, 0x71, 0xa2, 0x80, 0x28, 0x00, 0x04, 0xe5,
        0x7a, 0x3b, 0xcf,
    ];
    const PASSWORD: &str = "VOkJxbRl1RmTxUk/WvJxBt";

    #[test]
    fn the_published_request_is_read_and_authentic_with_its_password_only() {
        let request = Request::parse(&REQUEST).unwrap();
        assert_eq!(request.usernames(), Some(("evtj", "h6vY")));
        assert!(request.is_authentic(PASSWORD));
        assert!(!request.is_authentic("VOkJxbRl1RmTxUk/WvJxBT"));
        assert!(request.is_of_controlled());
        assert!(!request.nominates());
    }

    #[test]
    fn a_changed_bit_ahead_of_the_fingerprint_is_found() {
        for at in 20..REQUEST.len() - 8 {
            let mut changed = REQUEST;
            changed[at] ^= 1;
            let authentic =
                Request::parse(&changed).is_some_and(|request| request.is_authentic(PASSWORD));
            assert!(!authentic, "byte {at}");
        }
    }

    #[test]
    fn an_attribute_behind_the_integrity_nominates_nothing() {
        let mut longer = REQUEST[..100].to_vec();
        longer.extend([0x00, 0x25, 0x00, 0x00]);
        longer[3] = (longer.len() - 20) as u8;
        let request = Request::parse(&longer).unwrap();
        assert!(request.is_authentic(PASSWORD) && !request.nominates());
    }

    #[test]
    fn truncated_requests_and_answers_are_no_requests() {
        for length in 0..REQUEST.len() {
            assert!(Request::parse(&REQUEST[..length]).is_none(), "{length}");
        }
        let request = Request::parse(&REQUEST).unwrap();
        let source = "192.0.2.1:32853".parse().unwrap();
        for answer in [request.answer(source, PASSWORD), request.answer_role_conflict(PASSWORD)] {
            let answer = answer.unwrap();
            assert!(Request::parse(&answer).is_none());
            // Nothing to gain for a forger of source addresses.
            assert!(answer.len() <= REQUEST.len(), "{}", answer.len());
        }
    }

    #[test]
    fn the_answer_names_the_address_that_the_request_came_from() {
        let request = Request::parse(&REQUEST).unwrap();
        for source in ["192.0.2.1:32853", "[2001:db8::5]:7"] {
            let source = source.parse().unwrap();
            let answer = request.answer(source, PASSWORD).unwrap();
            let read = StunMessage::parse(&answer).unwrap();
            assert!(read.is_successful_binding_response());
            assert_eq!(read.mapped_address(), Some(source));
            assert!(read.verify(PASSWORD.as_bytes(), hmac_sha1));
        }
    }
}
