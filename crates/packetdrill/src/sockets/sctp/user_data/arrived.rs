//! Comparison of delivered data with the script's.

use std::collections::BTreeMap;

use super::Chunk;

/// User data that the script sent.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    chunks: BTreeMap<u32, Kept>,
    /// Number of times that streams may have restarted.
    epoch: u32,
}

/// A chunk of the script.
#[derive(Debug)]
struct Kept {
    stream: u16,
    unordered: bool,
    begins: bool,
    ends: bool,
    number: u32,
    fragment: Option<u32>,
    payload: Vec<u8>,
    epoch: u32,
    /// Whether the message that begins here was delivered.
    delivered: bool,
}

impl Arrived {
    /// Records a chunk that the script sends. A repeated one has no effect.
    pub(super) fn note(&mut self, chunk: Chunk<'_>) {
        let kept = Kept {
            stream: chunk.stream,
            unordered: chunk.unordered,
            begins: chunk.begins,
            ends: chunk.ends,
            number: chunk.number,
            fragment: chunk.fragment,
            payload: chunk.payload.to_vec(),
            epoch: self.epoch,
            delivered: false,
        };
        self.chunks.entry(chunk.tsn).or_insert(kept);
    }

    /// Streams may restart from here on.
    pub(super) fn begin_epoch(&mut self) {
        self.epoch += 1;
    }

    /// Checks a message: complete, not delivered before, and the next one of its stream if it is
    /// ordered.
    pub(super) fn check(
        &mut self,
        stream: u16,
        unordered: bool,
        payload: &[u8],
    ) -> Result<(), String> {
        let waiting: Vec<(u32, Vec<u8>)> = self
            .chunks
            .iter()
            .filter(|(_, chunk)| chunk.begins && !chunk.delivered)
            .filter(|(_, chunk)| chunk.stream == stream && chunk.unordered == unordered)
            .filter_map(|(tsn, _)| Some((*tsn, self.assembled(*tsn)?)))
            .collect();
        let Some((tsn, _)) = waiting.iter().find(|(_, message)| message == payload) else {
            return Err(format!("the message read on stream {stream} is none that was sent"));
        };
        let found = &self.chunks[tsn];
        let earlier = |(other, _): &&(u32, Vec<u8>)| {
            let other = &self.chunks[other];
            other.epoch == found.epoch && is_before(other, found)
        };
        if !unordered && let Some((other, _)) = waiting.iter().find(earlier) {
            let (number, first) = (found.number, self.chunks[other].number);
            return Err(format!(
                "message {number} of stream {stream} was read before message {first}"
            ));
        }
        if let Some(chunk) = self.chunks.get_mut(tsn) {
            chunk.delivered = true;
        }
        Ok(())
    }

    /// The message that begins with a chunk, if it arrived completely.
    fn assembled(&self, first: u32) -> Option<Vec<u8>> {
        let mut tsn = first;
        let mut chunk = self.chunks.get(&tsn)?;
        let mut message = chunk.payload.clone();
        while !chunk.ends {
            chunk = match chunk.fragment {
                None => {
                    tsn = tsn.wrapping_add(1);
                    self.chunks
                        .get(&tsn)
                        .filter(|next| next.stream == chunk.stream && !next.begins)?
                }
                Some(fragment) => self.chunks.values().find(|next| {
                    next.fragment == Some(fragment.wrapping_add(1))
                        && (next.stream, next.unordered) == (chunk.stream, chunk.unordered)
                        && (next.number, next.epoch) == (chunk.number, chunk.epoch)
                })?,
            };
            message.extend(&chunk.payload);
        }
        Some(message)
    }
}

/// Whether a message of a stream precedes another, by SSN or message identifier.
fn is_before(one: &Kept, other: &Kept) -> bool {
    let distance = other.number.wrapping_sub(one.number);
    match one.fragment {
        None => (distance as u16).cast_signed() > 0,
        Some(_) => distance.cast_signed() > 0,
    }
}
