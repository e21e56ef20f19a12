//! The last datagrams of a session, which prove that the sender of an ICMP message saw one of them.

use std::collections::VecDeque;

use bytes::Bytes;

/// Datagrams that are remembered; ICMP errors about older ones are not recognised.
const LAST: usize = 16;
/// Bytes of a datagram that are remembered: those that ICMP has to quote at least, and as many
/// again. A record's header has up to 13 bytes, the rest is ciphertext, which cannot be guessed.
const QUOTED: usize = 24;
const SEALED: usize = 2 * QUOTED;
/// Bytes of an unencrypted packet that identify it to a machine: SCTP's header, and that of INIT
/// with its tag.
const PLAIN: usize = 20;

/// The beginnings of the last datagrams of a session, sealed and unencrypted.
#[derive(Debug, Default)]
pub(super) struct Sent(VecDeque<([u8; SEALED], [u8; PLAIN])>);

impl Sent {
    /// Remembers a datagram that left, and forgets the oldest of [`LAST`].
    pub(super) fn note(&mut self, sealed: &[u8], plain: &[u8]) {
        if self.0.len() == LAST {
            self.0.pop_front();
        }
        self.0.push_back((beginning(sealed), beginning(plain)));
    }

    /// The beginning of the plain packet in the datagram that begins with `quoted`.
    pub(super) fn plain(&self, quoted: &[u8]) -> Option<Bytes> {
        let quoted = quoted.get(..quoted.len().min(SEALED)).filter(|part| part.len() >= QUOTED)?;
        let found = self.0.iter().rev().find(|(sealed, _)| sealed.starts_with(quoted));
        found.map(|(_, plain)| Bytes::copy_from_slice(plain))
    }
}

/// The first bytes, padded with zeros.
fn beginning<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut first = [0; N];
    let length = bytes.len().min(N);
    first[..length].copy_from_slice(&bytes[..length]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_quotation_of_enough_ciphertext_names_a_packet() {
        let mut sent = Sent::default();
        for number in 0..20_u8 {
            sent.note(&[number; 100], &[number; 12]);
        }
        assert_eq!(sent.plain(&[19; 24]).unwrap()[..13], [&[19; 12][..], &[0]].concat());
        assert_eq!(sent.plain(&[19; 100]).unwrap()[0], 19);
        for unknown in [&[19; 23][..], &[3; 100], &[20; 100]] {
            assert_eq!(sent.plain(unknown), None);
        }
    }
}
