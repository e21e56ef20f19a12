//! What the application receives: a message and its payload.

use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

use crate::wire::ids::{Ppid, Ssn, StreamId, Tsn};

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

    /// Length of the message in bytes.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Whether there are no bytes; never true of a message that arrived.
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

/// A user message as it is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The stream it came on.
    pub stream: StreamId,
    /// What its sender says it carries (of the first fragment, should they differ).
    pub ppid: Ppid,
    /// Whether it was sent without regard to order.
    pub unordered: bool,
    /// Its number in the stream; without meaning when unordered.
    pub ssn: Ssn,
    /// TSN of its first fragment: tells apart what stream and number do not (RFC 6458, section 5.3.2).
    pub tsn: Tsn,
    /// Its bytes, at least one.
    pub payload: Payload,
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
