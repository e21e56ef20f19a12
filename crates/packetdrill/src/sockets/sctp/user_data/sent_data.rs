//! Comparison of sent data with the application's.

use std::collections::BTreeMap;

use super::{Chunk, Written, message_byte};

/// Written messages, and the TSNs that carried them.
#[derive(Debug, Default)]
pub(super) struct SentData {
    written: Vec<Written>,
    /// Whether the first byte of each message was sent.
    begun: Vec<bool>,
    /// Contents of each chunk by its TSN.
    by_tsn: BTreeMap<u32, Piece>,
    /// Continuation of each message in I-DATA: next fragment and offset, by stream, order and
    /// message identifier.
    interleaved: BTreeMap<(u16, bool, u32), (u32, Piece)>,
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    message: usize,
    offset: usize,
    length: usize,
}

impl Piece {
    fn end(self) -> usize {
        self.offset + self.length
    }
}

impl SentData {
    /// Number of messages that the application has written.
    pub(super) fn written(&self) -> u32 {
        self.written.len() as u32
    }

    pub(super) fn note_written(&mut self, message: Written) {
        self.written.push(message);
        self.begun.push(false);
    }

    pub(super) fn restart(&mut self) {
        self.by_tsn.clear();
        self.interleaved.clear();
        self.written.iter_mut().for_each(|message| message.may_expire = true);
    }

    /// Checks a chunk: the same contents for a TSN that was sent before, otherwise the next ones.
    pub(super) fn check(&mut self, chunk: Chunk<'_>) -> Result<(), String> {
        let piece = match self.by_tsn.get(&chunk.tsn) {
            Some(piece) if piece.length != chunk.payload.len() => {
                return Err(format!(
                    "a chunk that was sent before has another length, {}",
                    piece.length
                ));
            }
            Some(piece) => *piece,
            None if chunk.begins => self.begin(&chunk)?,
            None => self.go_on(&chunk)?,
        };
        if !is_of(piece.message, piece.offset, chunk.payload) {
            return Err("other user data than the application wrote".to_owned());
        }
        let length = self.written[piece.message].length;
        if chunk.ends != (piece.end() == length) {
            return Err(format!(
                "a fragment up to byte {} of {length} has the wrong E bit",
                piece.end()
            ));
        }
        self.begun[piece.message] = true;
        self.by_tsn.insert(chunk.tsn, piece);
        if let Some(fragment) = chunk.fragment {
            let key = (chunk.stream, chunk.unordered, chunk.number);
            self.interleaved.insert(key, (fragment.wrapping_add(1), piece));
        }
        Ok(())
    }

    /// The message of a first fragment: the next one of its stream, unless earlier ones may have
    /// been abandoned.
    fn begin(&self, chunk: &Chunk<'_>) -> Result<Piece, String> {
        let of_stream = |message: &&(usize, &Written)| {
            let (index, written) = **message;
            !self.begun[index]
                && written.stream == chunk.stream
                && written.unordered == chunk.unordered
        };
        let all: Vec<_> = self.written.iter().enumerate().collect();
        for (index, written) in all.iter().filter(of_stream) {
            let length = chunk.payload.len();
            if length <= written.length && is_of(*index, 0, chunk.payload) {
                return Ok(Piece { message: *index, offset: 0, length });
            }
            if !written.may_expire && !written.unordered {
                break;
            }
        }
        Err(format!(
            "user data on stream {} that is not the beginning of the message to be sent next",
            chunk.stream
        ))
    }

    /// Position of a further fragment: after the one with the previous TSN or fragment number.
    fn go_on(&self, chunk: &Chunk<'_>) -> Result<Piece, String> {
        let before = match chunk.fragment {
            None => self.by_tsn.get(&chunk.tsn.wrapping_sub(1)),
            Some(fragment) => {
                let key = (chunk.stream, chunk.unordered, chunk.number);
                let open = self.interleaved.get(&key).filter(|(next, _)| *next == fragment);
                open.map(|(_, piece)| piece)
            }
        };
        let before = before.ok_or("a fragment without the one before it")?;
        Ok(Piece { offset: before.end(), length: chunk.payload.len(), ..*before })
    }
}

/// Whether bytes are the user data that [`message_byte`] gives from there on.
fn is_of(message: usize, offset: usize, bytes: &[u8]) -> bool {
    let mut bytes = (offset..).zip(bytes);
    bytes.all(|(offset, byte)| message_byte(message as u32, offset) == *byte)
}
