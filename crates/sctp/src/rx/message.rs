//! What the application receives: a message and its payload.

use ::endpoint::footprint;
use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

use crate::wire::ids::{Mid, Ppid, Ssn, StreamId, Tsn};

/// The bytes of a message, in the pieces in which they arrived: nothing is copied to join them.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    parts: SmallVec<[Bytes; 1]>,
}

impl Payload {
    /// Adds `part` at the end.
    pub(crate) fn push(&mut self, part: Bytes) {
        self.parts.push(part);
    }

    /// Bytes that the list of its pieces takes apart from itself.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let spilled = self.parts.spilled();
        if spilled { footprint::of_vec(self.parts.capacity(), size_of::<Bytes>()) } else { 0 }
    }

    /// Length of the message in bytes.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Whether there are no bytes: true of [`Part::Abandoned`], never of what arrived.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(Bytes::is_empty)
    }

    /// The pieces in order, for a vectored write.
    pub fn parts(&self) -> &[Bytes] {
        &self.parts
    }

    /// The message in one piece: free of cost when it came in one DATA chunk, else one copy.
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

impl From<Bytes> for Payload {
    fn from(part: Bytes) -> Payload {
        Payload { parts: SmallVec::from_buf([part]) }
    }
}

/// Equal when the bytes are, however they are cut into parts.
impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        let bytes = |payload: &Payload| payload.parts.clone().into_iter().flatten();
        bytes(self).eq(bytes(other))
    }
}

impl Eq for Payload {}

/// Which part of a message is delivered. All are [`Part::Last`] unless
/// [`AssociationOptions::partial_delivery`](crate::AssociationOptions::partial_delivery) is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Part {
    /// The last part, or the whole message (MSG_EOR of RFC 6458, section 3.1.4).
    #[default]
    Last,
    /// More parts follow, with the same [`Message::tsn`]; other messages may come in between.
    More,
    /// No part follows: the peer gave the message up (SCTP_PARTIAL_DELIVERY_EVENT of RFC 6458,
    /// section 6.1.7). There is no payload.
    Abandoned,
}

/// A user message as it is delivered, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The stream it came on.
    pub stream: StreamId,
    /// What its sender says it carries (of the first fragment, should they differ).
    pub ppid: Ppid,
    /// Whether it was sent without regard to order.
    pub unordered: bool,
    /// Number of the message in the stream: where messages interleave its message identifier, and ordered and
    /// unordered ones count apart (RFC 8260, section 2.1); elsewhere its SSN, which means nothing
    /// when it is unordered.
    pub mid: Mid,
    /// TSN of its first fragment: tells apart what stream and number do not (RFC 6458, section 5.3.2).
    pub tsn: Tsn,
    /// Whether this is all of it, or the end.
    pub part: Part,
    /// Bytes of the message, at least one.
    pub payload: Payload,
}

impl Message {
    /// SSN of the message, or the low 16 bits of its message identifier (sinfo_ssn of RFC 6458, section 5.3.2).
    pub fn ssn(&self) -> Ssn {
        Ssn(self.mid.0 as u16)
    }

    /// What has arrived of a message that goes on: takes the payload out and leaves the rest.
    pub(crate) fn take_part(&mut self) -> Message {
        let payload = core::mem::take(&mut self.payload);
        Message { part: Part::More, payload, ..*self }
    }

    /// The word that a message of which parts were delivered never ends.
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
