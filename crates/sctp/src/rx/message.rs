//! Messages that the application receives, and their payload.

use ::endpoint::footprint;
use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

use crate::wire::ids::{Mid, Ppid, Ssn, StreamId, Tsn};

/// The bytes of a message, in the pieces in which they arrived, without copies.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    parts: SmallVec<[Bytes; 1]>,
}

impl Payload {
    /// Adds `part` at the end.
    pub(crate) fn push(&mut self, part: Bytes) {
        self.parts.push(part);
    }

    /// Allocated bytes of the list of its pieces.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let spilled = self.parts.spilled();
        if spilled { footprint::of_vec(self.parts.capacity(), size_of::<Bytes>()) } else { 0 }
    }

    /// Length of the message in bytes.
    pub fn len(&self) -> usize {
        // Most messages arrive in one piece, and the length of each is asked for more than once.
        match self.parts.as_slice() {
            [whole] => whole.len(),
            parts => length_of(parts),
        }
    }

    /// Whether there are no bytes: only in [`Part::Abandoned`].
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(Bytes::is_empty)
    }

    /// The pieces in order, for a vectored write.
    pub fn parts(&self) -> &[Bytes] {
        &self.parts
    }

    /// The message in one piece: without a copy if it arrived in one DATA chunk, otherwise with
    /// one.
    pub fn into_bytes(mut self) -> Bytes {
        if self.parts.len() <= 1 {
            return self.parts.pop().unwrap_or_default();
        }
        let mut whole = BytesMut::with_capacity(self.len());
        for part in &self.parts {
            whole.extend_from_slice(part);
        }
        whole.freeze()
    }
}

#[inline(never)]
fn length_of(parts: &[Bytes]) -> usize {
    parts.iter().map(Bytes::len).sum()
}

impl From<Bytes> for Payload {
    fn from(part: Bytes) -> Payload {
        Payload { parts: SmallVec::from_buf([part]) }
    }
}

/// Payloads with the same bytes are equal, whatever their pieces.
impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        let bytes = |payload: &Payload| payload.parts.clone().into_iter().flatten();
        bytes(self).eq(bytes(other))
    }
}

impl Eq for Payload {}

/// Part of a message. Every message is [`Part::Last`] unless
/// [`AssociationOptions::partial_delivery`](crate::AssociationOptions::partial_delivery) is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Part {
    /// The last part, or the whole message (MSG_EOR of RFC 6458, section 3.1.4).
    #[default]
    Last,
    /// More parts follow, with the same [`Message::tsn`]; other messages may come between them.
    More,
    /// No part follows: the peer abandoned the message (SCTP_PARTIAL_DELIVERY_EVENT of RFC 6458,
    /// section 6.1.7). There is no payload.
    Abandoned,
}

/// A received message, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Stream on which the peer sent it: 0 to the number of inbound streams less one.
    pub stream: StreamId,
    /// Payload protocol identifier set by its sender (in the first fragment, if they differ).
    pub ppid: Ppid,
    /// Whether the message was sent unordered.
    pub unordered: bool,
    /// Number of the message in the stream: with interleaving its message identifier, numbered
    /// separately for ordered and unordered messages (RFC 8260, section 2.1); otherwise its
    /// SSN, which is meaningless if it is unordered.
    pub mid: Mid,
    /// TSN of its first fragment, which distinguishes messages with equal stream and number (RFC
    /// 6458, section 5.3.2).
    pub tsn: Tsn,
    /// Whether it is the whole message, its end, or an earlier part.
    pub part: Part,
    /// Bytes of the message, at least one.
    pub payload: Payload,
}

impl Message {
    /// SSN of the message, or the low 16 bits of its message identifier (sinfo_ssn of RFC 6458,
    /// section 5.3.2).
    pub fn ssn(&self) -> Ssn {
        Ssn(self.mid.0 as u16)
    }

    /// Removes the received payload of an incomplete message, and returns it as a part.
    pub(crate) fn take_part(&mut self) -> Message {
        let payload = core::mem::take(&mut self.payload);
        Message { part: Part::More, payload, ..*self }
    }

    /// The notification that a message delivered in parts never ends.
    pub(crate) fn abandoned(&self) -> Message {
        Message { part: Part::Abandoned, payload: Payload::default(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_of_one_part_is_handed_over_without_a_copy() {
        let part = Bytes::from(vec![7; 100]);
        let whole = Payload::from(part.clone()).into_bytes();
        assert_eq!(whole.as_ptr(), part.as_ptr());
    }

    #[test]
    fn parts_are_joined_in_order_and_compare_by_their_bytes() {
        let mut payload = Payload::from(Bytes::from_static(b"thin"));
        payload.push(Bytes::from_static(b"str"));
        payload.push(Bytes::from_static(b"eam"));
        assert_eq!((payload.len(), payload.parts().len()), (10, 3));
        assert_eq!(payload, Payload::from(Bytes::from_static(b"thinstream")));
        assert_ne!(payload, Payload::from(Bytes::from_static(b"thinstreak")));
        assert_eq!(payload.into_bytes(), Bytes::from_static(b"thinstream"));
        assert!(Payload::default().is_empty());
    }
}
