//! A chunk with user data in the receiving side's form, and the errors in one.

use bytes::Bytes;

use super::message::{Message, Part};
use crate::wire::chunk::{self, DataFlags};
use crate::wire::ids::{Fsn, Mid, Ppid, StreamId, Tsn};

/// Longest payload that is copied when it is kept: each payload is a slice of its datagram, and ten
/// bytes would keep all of it in memory. Longer payloads are worth the datagram, and copying them
/// would cost more.
pub(crate) const SMALL_PAYLOAD: usize = 256;

/// Whether a payload is not worth the memory of its packet: less than three quarters of it.
fn is_sparse(payload: &Bytes, packet_len: usize) -> bool {
    payload.len() < packet_len - packet_len / 4
}

/// Most bytes of a packet that may be retained needlessly until the application can read.
const SPARE: usize = 2048;

/// A DATA or I-DATA chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Data {
    /// Transmission sequence number of the chunk.
    pub(crate) tsn: Tsn,
    /// The stream of its message.
    pub(crate) stream: StreamId,
    /// Number of its message in the stream: the MID of I-DATA, the SSN of DATA.
    pub(crate) mid: Mid,
    /// Number of the fragment in its message; always 0 for DATA, whose TSN has this role.
    pub(crate) fsn: Fsn,
    /// Payload protocol identifier set by its sender.
    pub(crate) ppid: Ppid,
    /// B bit: the first fragment of its message.
    pub(crate) beginning: bool,
    /// E bit: the last fragment of its message.
    pub(crate) ending: bool,
    /// U bit: its message is unordered.
    pub(crate) unordered: bool,
    /// I bit: its sender requests an immediate SACK (RFC 7053).
    pub(crate) immediate: bool,
    /// Whether the payload is a small part of the packet that it is a slice of.
    pub(crate) sparse: bool,
    /// Whether the packet is too large compared with the payload to be kept at all.
    pub(crate) wasteful: bool,
    /// User data of the chunk, a slice of its datagram; at least one byte.
    pub(crate) payload: Bytes,
}

impl Data {
    /// Converts a DATA chunk: its SSN becomes the MID. `packet_len` counts the packet's bytes.
    pub(crate) fn from_data(data: chunk::Data<Bytes>, packet_len: usize) -> Data {
        let chunk::Data { tsn, stream, ssn, ppid, flags, payload } = data;
        let (mid, fsn) = (Mid(u32::from(ssn.0)), Fsn(0));
        let data = chunk::IData { tsn, stream, mid, ppid, fsn, flags, payload };
        Data::from_i_data(data, packet_len)
    }

    /// Converts an I-DATA chunk. `packet_len` counts the packet's bytes.
    pub(crate) fn from_i_data(data: chunk::IData<Bytes>, packet_len: usize) -> Data {
        Data {
            tsn: data.tsn,
            stream: data.stream,
            mid: data.mid,
            fsn: data.fsn,
            ppid: data.ppid,
            beginning: data.flags.contains(DataFlags::BEGINNING),
            ending: data.flags.contains(DataFlags::ENDING),
            unordered: data.flags.contains(DataFlags::UNORDERED),
            immediate: data.flags.contains(DataFlags::IMMEDIATE),
            sparse: is_sparse(&data.payload, packet_len),
            wasteful: data.payload.len() + SPARE < packet_len,
            payload: data.payload,
        }
    }

    /// Copies a payload that is not worth its datagram.
    pub(crate) fn detach(&mut self) {
        if self.sparse || self.payload.len() <= SMALL_PAYLOAD {
            self.payload = Bytes::copy_from_slice(&self.payload);
            self.sparse = false;
        }
    }

    /// A message with the payload of this chunk.
    pub(crate) fn into_message(self) -> Message {
        let Data { tsn, stream, mid, ppid, unordered, payload, .. } = self;
        let payload = payload.into();
        Message { stream, ppid, unordered, mid, tsn, part: Part::Last, payload }
    }
}

/// A peer's violation of the rules of fragmentation and order. The association is aborted with the
/// cause Protocol Violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// A first fragment while the previous message is incomplete.
    UnfinishedMessage,
    /// A middle or last fragment without a first one.
    OrphanFragment,
    /// Consecutive fragments of one message name different streams, SSNs or orders.
    MixedFragments,
    /// An ordered message that is not the next of its stream although no earlier TSN is missing.
    SsnOutOfSequence,
    /// Two chunks with different TSNs are the same fragment of one message.
    RepeatedFragment,
    /// A fragment beyond the last of its message, or two last ones.
    BeyondLastFragment,
    /// A fragment with FSN 0 that does not begin its message.
    UnmarkedBeginning,
    /// An ordered message with a MID that was delivered before.
    RepeatedMid,
}

impl Violation {
    /// Additional information of the error cause, one line.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Violation::UnfinishedMessage => "DATA begins a message before the last one ended",
            Violation::OrphanFragment => "DATA continues a message that never began",
            Violation::MixedFragments => "fragments of one message differ in stream, SSN or U bit",
            Violation::SsnOutOfSequence => "SSN is out of sequence although no TSN is missing",
            Violation::RepeatedFragment => "I-DATA repeats a MID and FSN with another TSN",
            Violation::BeyondLastFragment => "I-DATA goes on beyond the last fragment",
            Violation::UnmarkedBeginning => "I-DATA with FSN 0 does not begin its message",
            Violation::RepeatedMid => "I-DATA repeats a MID that was delivered",
        }
    }
}

/// Reason for which a chunk cannot be part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The peer violated a rule.
    Violation(Violation),
    /// The message is longer than this side accepts.
    MessageTooLarge,
}

impl From<Violation> for Fault {
    fn from(violation: Violation) -> Fault {
        Fault::Violation(violation)
    }
}

/// Messages of a stream up to one that the peer abandoned (RFC 3758, section 3.2; RFC 8260, section
/// 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Stream in which messages are skipped.
    pub(crate) stream: StreamId,
    /// Whether they are unordered, which are numbered separately if messages interleave.
    pub(crate) unordered: bool,
    /// The last of them: a MID or an SSN.
    pub(crate) mid: Mid,
}

impl From<chunk::Skip> for Skipped {
    fn from(skip: chunk::Skip) -> Skipped {
        Skipped { stream: skip.stream, unordered: false, mid: Mid(u32::from(skip.ssn.0)) }
    }
}

impl From<chunk::ISkip> for Skipped {
    fn from(skip: chunk::ISkip) -> Skipped {
        Skipped { stream: skip.stream, unordered: skip.unordered, mid: skip.mid }
    }
}

#[cfg(test)]
impl Data {
    /// The first chunk of message `mid` of a stream for a test; `flags` are letters of B, E and U.
    pub(crate) fn sample(stream: u16, mid: u32, flags: &str, payload: Bytes) -> Data {
        Data {
            tsn: Tsn(0),
            stream: StreamId(stream),
            mid: Mid(mid),
            fsn: Fsn(0),
            ppid: Ppid(0),
            beginning: flags.contains('B'),
            ending: flags.contains('E'),
            unordered: flags.contains('U'),
            immediate: false,
            sparse: false,
            wasteful: false,
            payload,
        }
    }
}
