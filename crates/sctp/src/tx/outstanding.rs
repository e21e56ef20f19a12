//! Chunks that were sent and not acknowledged cumulatively.

use std::collections::VecDeque;

use ::endpoint::footprint::{self, ALLOCATION};
use bytes::Bytes;

use super::message::{Fragment, MessageKey};
use crate::wire::chunk::{Data, DataFlags, IData};
use crate::wire::ids::{Fsn, Mid, Ppid, Ssn, StreamId, Tsn};

/// Number of chunks for which an idle association keeps its memory.
const IDLE_CAPACITY: usize = 1;

/// Overhead of a chunk's payload: chunks that are slices of one message share an allocation.
const PAYLOAD_COST: usize = ALLOCATION;

/// Whether the message of a chunk may be abandoned, or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The chunk is retransmitted until it arrives.
    Reliable,
    /// The message of the chunk may be abandoned.
    Partial,
    /// The message of the chunk was abandoned: it has no bytes any more.
    Abandoned,
}

/// A DATA or I-DATA chunk that may have to be retransmitted.
#[derive(Clone, Debug)]
pub(super) struct OutstandingChunk {
    payload: Bytes,
    ppid: Ppid,
    mid: Mid,
    fsn: Fsn,
    stream: StreamId,
    flags: DataFlags,
    fate: Fate,
}

impl OutstandingChunk {
    pub(super) fn new(fragment: Fragment, flags: DataFlags, partial: bool) -> Self {
        OutstandingChunk {
            payload: fragment.payload,
            ppid: fragment.ppid,
            mid: fragment.message.mid,
            fsn: fragment.fsn,
            stream: fragment.message.stream,
            flags,
            fate: if partial { Fate::Partial } else { Fate::Reliable },
        }
    }

    /// Stands for the end of a message that was abandoned before all of it was sent.
    pub(super) fn abandoned_end(key: MessageKey) -> Self {
        let unordered = if key.unordered { DataFlags::UNORDERED } else { DataFlags::default() };
        OutstandingChunk {
            payload: Bytes::new(),
            ppid: Ppid::default(),
            mid: key.mid,
            fsn: Fsn::default(),
            stream: key.stream,
            flags: unordered.with(DataFlags::ENDING),
            fate: Fate::Abandoned,
        }
    }

    /// Bytes of user data in it.
    pub(super) fn payload_len(&self) -> usize {
        self.payload.len()
    }

    /// Key of the message that the chunk is a fragment of.
    pub(super) fn message(&self) -> MessageKey {
        let unordered = self.flags.contains(DataFlags::UNORDERED);
        MessageKey { stream: self.stream, unordered, mid: self.mid }
    }

    pub(super) fn is_partial(&self) -> bool {
        self.fate == Fate::Partial
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.fate == Fate::Abandoned
    }

    pub(super) fn is_end(&self) -> bool {
        self.flags.contains(DataFlags::ENDING)
    }

    /// User data of the chunk.
    pub(super) fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// The fields before the user data without interleaving, where unordered messages have no
    /// number (RFC 9260, section 3.3.1).
    pub(super) fn data(&self, tsn: Tsn) -> Data<[u8; 0]> {
        let unordered = self.flags.contains(DataFlags::UNORDERED);
        Data {
            tsn,
            stream: self.stream,
            ssn: if unordered { Ssn(0) } else { ssn(self.mid) },
            ppid: self.ppid,
            flags: self.flags,
            payload: [],
        }
    }

    /// The fields before the user data with interleaving.
    pub(super) fn i_data(&self, tsn: Tsn) -> IData<[u8; 0]> {
        IData {
            tsn,
            stream: self.stream,
            mid: self.mid,
            ppid: self.ppid,
            fsn: self.fsn,
            flags: self.flags,
            payload: [],
        }
    }
}

/// The stream sequence number of a message in DATA.
pub(super) fn ssn(mid: Mid) -> Ssn {
    Ssn(mid.0 as u16)
}

/// The chunks, in TSN order without gaps.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    chunks: VecDeque<OutstandingChunk>,
    bytes: usize,
    /// Acknowledged bytes of the message whose rest is outstanding: its chunks are slices of one
    /// allocation.
    kept_along: usize,
}

impl Outstanding {
    /// Bytes of user data sent and not acknowledged cumulatively.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Memory in bytes, including user data.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        let chunks = footprint::of_vec(self.chunks.capacity(), size_of::<OutstandingChunk>());
        chunks + self.bytes + self.kept_along + self.chunks.len() * PAYLOAD_COST
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The chunk at distance `index` from the cumulative point.
    #[inline]
    pub(super) fn get(&self, index: u64) -> Option<&OutstandingChunk> {
        self.chunks.get(usize::try_from(index).ok()?)
    }

    pub(super) fn push(&mut self, chunk: OutstandingChunk) {
        self.bytes += chunk.payload.len();
        self.chunks.push_back(chunk);
    }

    /// Removes the first chunk, which was acknowledged.
    pub(super) fn pop(&mut self) -> Option<OutstandingChunk> {
        let chunk = self.chunks.pop_front()?;
        self.bytes -= chunk.payload.len();
        self.kept_along = if chunk.is_end() { 0 } else { self.kept_along + chunk.payload.len() };
        if self.chunks.is_empty() && self.chunks.capacity() > IDLE_CAPACITY {
            self.chunks.shrink_to(IDLE_CAPACITY);
        }
        Some(chunk)
    }

    /// Abandons a chunk and frees its bytes.
    pub(super) fn abandon(&mut self, index: u64) {
        let Ok(index) = usize::try_from(index) else { return };
        if let Some(chunk) = self.chunks.get_mut(index) {
            self.bytes -= core::mem::take(&mut chunk.payload).len();
            chunk.fate = Fate::Abandoned;
        }
    }

    /// Number of last chunks of messages that were not abandoned.
    pub(super) fn ends(&self) -> u64 {
        let ends = |chunk: &&OutstandingChunk| chunk.is_end() && !chunk.is_abandoned();
        self.chunks.iter().filter(ends).count() as u64
    }

    /// Distance of the last chunk of one of these streams from the cumulative point.
    pub(super) fn last_of(&self, wanted: impl Fn(StreamId) -> bool) -> Option<u64> {
        let last = self.chunks.iter().rposition(|chunk| wanted(chunk.stream))?;
        Some(last as u64)
    }
}
