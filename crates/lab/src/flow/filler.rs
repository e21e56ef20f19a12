//! Payload of messages that are identified by their position.

use bytes::Bytes;

/// Bytes that applications send; their values do not matter.
pub(crate) static FILLER: [u8; 1 << 16] = [0x74; 1 << 16];

/// Filler of `size` bytes, of 64 KiB at most.
pub(super) fn filler(size: usize) -> Bytes {
    Bytes::from_static(&FILLER).slice(..size.min(FILLER.len()))
}
