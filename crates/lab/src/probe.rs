//! The payload of a measuring message.
//!
//! ```text
//! offset  0        4        8                 16                24       28
//!         +--------+--------+-----------------+-----------------+--------+---------- - -
//!         | magic  | flow   | message index   | due time (ns)   | check  | filler
//!         +--------+--------+-----------------+-----------------+--------+---------- - -
//! ```
//! All numbers are in network byte order. The check covers the other fields and the size; the
//! filler follows from the check, so that a receiver can verify each byte of an unknown message.

use base::Instant;

use crate::hash::{mix, mix_all};

/// First bytes of a measuring message: "TSp" and a version.
const MAGIC: [u8; 4] = *b"TSp\x01";

/// The fields of a measuring message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Number of the flow among all of the run.
    pub flow: u32,
    /// Number of the message within its flow, from 0.
    pub index: u64,
    /// Time at which the message was due, by the clock of the sender.
    pub due: Instant,
}

/// A payload that is no intact measuring message, or a size that cannot hold one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// There is no room for the header.
    #[error("a measuring message needs {min} bytes or more, this one has {size}", min = Probe::MIN_SIZE)]
    TooShort {
        /// Size of the message in bytes.
        size: usize,
    },
    /// The payload does not begin with the magic number.
    #[error("this is no measuring message")]
    Foreign,
    /// The header or the size changed on the way.
    #[error("the header or the size of a measuring message changed on the way")]
    BadHeader,
    /// The filler changed on the way.
    #[error("a measuring message changed on the way, at byte {at}")]
    BadFiller {
        /// Offset of the first eight bytes of filler (or the rest of it) that differ.
        at: usize,
    },
}

impl Probe {
    /// Smallest size of a measuring message in bytes: its header.
    pub const MIN_SIZE: usize = 28;

    /// Appends the message with a total of `size` bytes to `buffer`.
    ///
    /// # Errors
    /// When `size` is below [`Probe::MIN_SIZE`]; `buffer` is then as before.
    pub fn encode_into(&self, size: usize, buffer: &mut Vec<u8>) -> Result<(), ProbeError> {
        if size < Self::MIN_SIZE {
            return Err(ProbeError::TooShort { size });
        }
        let hash = self.hash(size);
        buffer.reserve(size);
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&self.flow.to_be_bytes());
        buffer.extend_from_slice(&self.index.to_be_bytes());
        buffer.extend_from_slice(&self.due.as_nanos().to_be_bytes());
        buffer.extend_from_slice(&check(hash));
        let mut left = size - Self::MIN_SIZE;
        for filler in filler(hash) {
            if left == 0 {
                break;
            }
            let take = left.min(filler.len());
            buffer.extend_from_slice(&filler[..take]);
            left -= take;
        }
        Ok(())
    }

    /// Reads a message and verifies every byte.
    ///
    /// # Errors
    /// The bytes are not a measuring message, or were changed on the way.
    pub fn decode(payload: &[u8]) -> Result<Probe, ProbeError> {
        let (probe, claimed) = Self::split_header(payload)?;
        let hash = probe.hash(payload.len());
        if claimed != check(hash) {
            return Err(ProbeError::BadHeader);
        }
        let chunks = payload[Self::MIN_SIZE..].chunks(8);
        match chunks.zip(filler(hash)).position(|(have, want)| *have != want[..have.len()]) {
            Some(index) => Err(ProbeError::BadFiller { at: Self::MIN_SIZE + 8 * index }),
            None => Ok(probe),
        }
    }

    /// Reads the header alone, unverified: for an observer that sees only the beginning of a
    /// message, such as an observer of packets ([`crate::fate`]).
    ///
    /// # Errors
    /// When the payload is too short or no measuring message.
    pub fn peek(payload: &[u8]) -> Result<Probe, ProbeError> {
        Self::split_header(payload).map(|(probe, _)| probe)
    }

    fn split_header(payload: &[u8]) -> Result<(Probe, [u8; 4]), ProbeError> {
        let short = ProbeError::TooShort { size: payload.len() };
        let (magic, rest) = payload.split_first_chunk().ok_or(short)?;
        let (flow, rest) = rest.split_first_chunk().ok_or(short)?;
        let (index, rest) = rest.split_first_chunk().ok_or(short)?;
        let (due, rest) = rest.split_first_chunk().ok_or(short)?;
        let (claimed, _) = rest.split_first_chunk().ok_or(short)?;
        if *magic != MAGIC {
            return Err(ProbeError::Foreign);
        }
        let probe = Probe {
            flow: u32::from_be_bytes(*flow),
            index: u64::from_be_bytes(*index),
            due: Instant::from_nanos(u64::from_be_bytes(*due)),
        };
        Ok((probe, *claimed))
    }

    fn hash(&self, size: usize) -> u64 {
        mix_all(&[u64::from(self.flow), self.index, self.due.as_nanos(), size as u64])
    }
}

/// The check field of a message with this hash.
fn check(hash: u64) -> [u8; 4] {
    ((hash >> 32) as u32).to_be_bytes()
}

/// The endless filler of a message with this hash, eight bytes at a time.
fn filler(hash: u64) -> impl Iterator<Item = [u8; 8]> {
    (0..).map(move |word: u64| mix(hash ^ word).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(probe: Probe, size: usize) -> Vec<u8> {
        let mut buffer = Vec::new();
        probe.encode_into(size, &mut buffer).unwrap();
        buffer
    }

    #[test]
    fn the_layout_is_as_documented() {
        let bytes = encoded(Probe { flow: 1, index: 2, due: Instant::from_nanos(3) }, 28);
        let numbers = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3];
        assert_eq!(bytes[..4], MAGIC);
        assert_eq!(bytes[4..24], numbers);
        assert_eq!(bytes.len(), Probe::MIN_SIZE);
    }

    #[test]
    fn a_size_below_the_header_is_refused_and_leaves_the_buffer_alone() {
        let probe = Probe { flow: 1, index: 2, due: Instant::ZERO };
        let mut buffer = vec![7];
        assert_eq!(probe.encode_into(27, &mut buffer), Err(ProbeError::TooShort { size: 27 }));
        assert_eq!(buffer, [7]);
    }

    #[test]
    fn fillers_of_neighbours_differ() {
        let message = |index| encoded(Probe { flow: 1, index, due: Instant::ZERO }, 100);
        assert_ne!(message(1)[28..], message(2)[28..]);
    }

    proptest! {
        #[test]
        fn any_probe_reads_back(flow: u32, index: u64, due: u64, size in 28usize..300) {
            let probe = Probe { flow, index, due: Instant::from_nanos(due) };
            let bytes = encoded(probe, size);
            prop_assert_eq!(bytes.len(), size);
            prop_assert_eq!(Probe::decode(&bytes), Ok(probe));
            prop_assert_eq!(Probe::peek(&bytes[..28]), Ok(probe));
        }

        #[test]
        fn any_flipped_bit_is_noticed(index: u64, size in 28usize..100, bit in 0usize..800) {
            let mut bytes = encoded(Probe { flow: 9, index, due: Instant::ZERO }, size);
            let bit = bit % (8 * size);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Probe::decode(&bytes).is_err());
        }

        #[test]
        fn a_message_cut_short_or_prolonged_is_noticed(size in 29usize..100, cut in 28usize..100) {
            let mut bytes = encoded(Probe { flow: 9, index: 1, due: Instant::ZERO }, size);
            prop_assume!(cut != size);
            bytes.resize(cut, 0);
            prop_assert_eq!(Probe::decode(&bytes), Err(ProbeError::BadHeader));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Probe::decode(&bytes);
            let _ = Probe::decode(&[&MAGIC[..], &bytes].concat());
        }
    }
}
