//! The mark that a message over another implementation's transport begins with: number and size of
//! the message.

/// First bytes of a mark: a sequence unlikely to occur in headers.
const MAGIC: [u8; 6] = *b"\xa7thin\xb5";
/// Bytes of a mark: six of magic, four of the message's size, six of its index, little-endian. No
/// marked message is shorter.
pub const MARK: usize = 16;

/// The contents of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Number of the message in its flow, from 0.
    pub index: u64,
    /// Bytes of the message, mark included.
    pub size: usize,
}

impl Mark {
    /// Reads the mark at the beginning of these bytes.
    pub fn read(bytes: &[u8]) -> Option<Mark> {
        let (magic, rest) = bytes.split_first_chunk::<6>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let low = rest.first_chunk::<6>()?;
        let size = u32::from_le_bytes(*size) as usize;
        let mut index = [0; 8];
        index[..6].copy_from_slice(low);
        let mark = Mark { index: u64::from_le_bytes(index), size };
        (*magic == MAGIC && size >= MARK).then_some(mark)
    }

    /// The message: the mark, and filler up to its size.
    pub fn message(self) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.size.max(MARK));
        message.extend(MAGIC);
        message.extend((self.size.max(MARK) as u32).to_le_bytes());
        message.extend(&self.index.to_le_bytes()[..6]);
        message.resize(self.size.max(MARK), b'.');
        message
    }
}

/// The marks of all messages that begin in a packet, in order, each with the offset at which its
/// message begins.
pub fn marks_in(packet: &[u8]) -> impl Iterator<Item = (usize, Mark)> {
    let places = packet.windows(MARK).enumerate().filter(|(_, bytes)| bytes[0] == MAGIC[0]);
    places.filter_map(|(place, bytes)| Some((place, Mark::read(bytes)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_shows_the_messages_that_begin_in_it() {
        let message = |index, size| Mark { index, size }.message();
        let mut packet = b"header".to_vec();
        packet.extend(message(7, 30));
        packet.extend(message(3, 16));
        packet.extend(&message(9, 30)[..15]);
        let found: Vec<(usize, Mark)> = marks_in(&packet).collect();
        assert_eq!(found, [(6, Mark { index: 7, size: 30 }), (36, Mark { index: 3, size: 16 })]);
    }

    #[test]
    fn rubbish_has_no_mark() {
        assert_eq!(Mark::read(&MAGIC), None);
        assert_eq!(Mark::read(&[0xa7; 40]), None);
        // A size that is too short for the mark itself.
        let mut short = Mark { index: 1, size: 20 }.message();
        short[6] = 15;
        assert_eq!(Mark::read(&short), None);
    }
}
