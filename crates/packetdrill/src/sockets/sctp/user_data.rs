//! Verification of user data, byte by byte.
//!
//! Scripts give the length of messages, not their contents. Here each byte that the application
//! writes is a function of the message and of its position in it, and each byte that the script
//! sends one of its chunk and of its position there. The stack must send what was written, each
//! message once and in order, and deliver what arrived. The check does not rely on the stack.

mod arrived;
mod sent_data;

use self::arrived::Arrived;
use self::sent_data::SentData;

/// The user data of a run in both directions.
#[derive(Debug, Default)]
pub(crate) struct UserData {
    sent: SentData,
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
    /// SSN of DATA, message identifier of I-DATA.
    number: u32,
    /// Number of the fragment, of I-DATA.
    fragment: Option<u32>,
    payload: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// Parses a chunk (RFC 9260, section 3.3.1; RFC 8260, section 2.1); `None` if it carries no
    /// user data.
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

/// A message written by the application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) stream: u16,
    pub(super) unordered: bool,
    pub(super) length: usize,
    /// Whether it may never be sent, because it may be abandoned or its association ended.
    pub(super) may_expire: bool,
}

impl UserData {
    /// The bytes of the next message.
    pub(super) fn next_message(&self, length: usize) -> Vec<u8> {
        let number = self.sent.written();
        (0..length).map(|offset| message_byte(number, offset)).collect()
    }

    /// The stack accepted that message.
    pub(super) fn note_written(&mut self, message: Written) {
        self.sent.note_written(message);
    }

    /// Checks the chunks of a packet from the stack.
    ///
    /// # Errors
    /// The error in the user data.
    pub(crate) fn check_sent(&mut self, chunks: &[&[u8]]) -> Result<(), String> {
        let mut data = chunks.iter().filter_map(|chunk| Chunk::read(chunk));
        data.try_for_each(|chunk| self.sent.check(chunk))
    }

    /// Records chunks that the script sends.
    pub(crate) fn note_arrived(&mut self, chunks: &[&[u8]]) {
        for chunk in chunks {
            match Chunk::read(chunk) {
                Some(chunk) => self.arrived.note(chunk),
                None if chunk.first() == Some(&RECONFIG) => self.arrived.begin_epoch(),
                None => {}
            }
        }
    }

    /// Checks a message that the stack delivers.
    ///
    /// # Errors
    /// The error in it.
    pub(super) fn check_delivered(
        &mut self,
        stream: u16,
        unordered: bool,
        payload: &[u8],
    ) -> Result<(), String> {
        self.arrived.check(stream, unordered, payload)
    }

    /// The association was replaced or restarted: TSNs have a new meaning, and messages written for
    /// the old one may be lost.
    pub(crate) fn restart(&mut self) {
        self.sent.restart();
        self.arrived = Arrived::default();
    }
}

/// Chunk type of RE-CONFIG, after which SSNs may restart (RFC 6525).
const RECONFIG: u8 = 130;

/// User data at a place in a message, a hash of both, so that a wrong place shows.
fn message_byte(message: u32, offset: usize) -> u8 {
    let place =
        message.wrapping_mul(0x9e37_79b1).wrapping_add((offset as u32).wrapping_mul(0x85eb_ca77));
    (place >> 23) as u8
}

#[cfg(test)]
mod tests;
