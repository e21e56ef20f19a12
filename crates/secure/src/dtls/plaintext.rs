//! Plaintext records, which any sender can forge: those that a handshake does not need are kept
//! from the engine, in which they would end the handshake.

use super::context::Role;
use crate::hello::{HANDSHAKE, RECORD as HEADER};

/// Content type of an alert (RFC 9147, section 4.1).
const ALERT: u8 = 21;

/// The records in plaintext at the beginning of a datagram: content type, and of a handshake
/// message its type.
fn records(mut datagram: &[u8]) -> impl Iterator<Item = (u8, Option<u8>)> {
    core::iter::from_fn(move || {
        // A record's type, version, epoch and number, then its length (RFC 9147, section 4). Epoch
        // 0 has no keys.
        let [kind @ 20..=31, _, _, 0, 0, _, _, _, _, _, _, high, low] = datagram.get(..HEADER)?
        else {
            return None;
        };
        let (kind, length) = (*kind, usize::from(u16::from_be_bytes([*high, *low])));
        let content = datagram.get(HEADER..)?;
        datagram = content.get(length..).unwrap_or_default();
        Some((kind, content.first().copied()))
    })
}

/// Whether a plaintext record is an alert. Our ends send none.
pub(super) fn holds_alert(datagram: &[u8]) -> bool {
    records(datagram).any(|(kind, _)| kind == ALERT)
}

/// Whether all records in plaintext are parts of the other end's hello, the only unprotected
/// message of DTLS 1.3.
pub(super) fn holds_hellos_alone(datagram: &[u8], role: Role) -> bool {
    let hello = match role {
        Role::Client => 2,
        Role::Server => 1,
    };
    records(datagram).all(|record| record == (HANDSHAKE, Some(hello)))
}

/// Whether there is a record in plaintext.
pub(super) fn holds_any(datagram: &[u8]) -> bool {
    records(datagram).next().is_some()
}
