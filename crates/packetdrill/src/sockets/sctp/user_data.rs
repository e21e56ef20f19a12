//! User data, byte by byte.
//!
//! Scripts say how long messages are, not what is in them. Here each byte that the application writes is a function of
//! the message and of its place in it, and each byte that the script sends one of its chunk and of its place there.
//! What the stack sends must then be what was written, each message once and in its order; what it delivers must be
//! what came. None of this asks the stack.

mod arrived;
mod carried;

use self::arrived::Arrived;
use self::carried::Carried;

/// The user data of a run, both ways.
#[derive(Debug, Default)]
pub(crate) struct UserData {
    carried: Carried,
    arrived: Arrived,
}

/// A DATA or I-DATA chunk.
#[derive(Clone, Copy, Debug)]
struct Chunk<'a> {
    tsn: u32,
    stream: u16,
    unordered: bool,
    begins: bool,
    ends: bool,
    /// SSN or message identifier.
    number: u32,
    /// Number of the fragment, of I-DATA.
    fragment: Option<u32>,
    payload: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// Reads a chunk (RFC 9260, section 3.3.1; RFC 8260, section 2.1); none if it carries no user data.
    fn read(bytes: &'a [u8]) -> Option<Chunk<'a>> {
        let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (code, flags) = (*bytes.first()?, *bytes.get(1)?);
        let (begins, ends) = (flags & 2 != 0, flags & 1 != 0);
        let (tsn, second, third) = (word(4)?, word(8)?, word(12)?);
        let (number, fragment, payload) = match code {
            0 => (second & 0xffff, None, bytes.get(16..)?),
            64 => {
                let fragment = if begins { 0 } else { word(16)? };
                (third, Some(fragment), bytes.get(20..)?)
            }
            _ => return None,
        };
        let stream = (second >> 16) as u16;
        Some(Chunk {
            tsn,
            stream,
            unordered: flags & 4 != 0,
            begins,
            ends,
            number,
            fragment,
            payload,
        })
    }
}

/// A message that the application wrote.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) stream: u16,
    pub(super) unordered: bool,
    pub(super) length: usize,
    /// Whether it may never be sent: it may be given up, or its association ended.
    pub(super) may_expire: bool,
}

impl UserData {
    /// The bytes of the message that is written next.
    pub(super) fn next_message(&self, length: usize) -> Vec<u8> {
        let number = self.carried.written();
        (0..length).map(|offset| message_byte(number, offset)).collect()
    }

    /// The stack took that message.
    pub(super) fn note_written(&mut self, message: Written) {
        self.carried.note_written(message);
    }

    /// Judges the chunks of a packet that the stack sent.
    ///
    /// # Errors
    /// What is wrong with the user data in it.
    pub(crate) fn check_sent(&mut self, chunks: &[&[u8]]) -> Result<(), String> {
        let mut data = chunks.iter().filter_map(|chunk| Chunk::read(chunk));
        data.try_for_each(|chunk| self.carried.check(chunk))
    }

    /// The script sends these chunks.
    pub(crate) fn note_arrived(&mut self, chunks: &[&[u8]]) {
        for chunk in chunks {
            match Chunk::read(chunk) {
                Some(chunk) => self.arrived.note(chunk),
                None if chunk.first() == Some(&RECONFIG) => self.arrived.begin_epoch(),
                None => {}
            }
        }
    }

    /// Judges a message that the stack delivers.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn check_delivered(
        &mut self,
        stream: u16,
        unordered: bool,
        payload: &[u8],
    ) -> Result<(), String> {
        self.arrived.check(stream, unordered, payload)
    }

    /// The association is another one, or begins again: TSNs mean something else, and what was written for the one
    /// before may be lost with it.
    pub(crate) fn restart(&mut self) {
        self.carried.restart();
        self.arrived = Arrived::default();
    }
}

/// Chunk type of RE-CONFIG, behind which SSNs may begin anew (RFC 6525).
const RECONFIG: u8 = 130;

/// The byte at `offset` of the message written as number `message`.
fn message_byte(message: u32, offset: usize) -> u8 {
    let place =
        message.wrapping_mul(0x9e37_79b1).wrapping_add((offset as u32).wrapping_mul(0x85eb_ca77));
    (place >> 23) as u8
}

#[cfg(test)]
mod tests;
