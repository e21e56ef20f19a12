#![expect(clippy::single_range_in_vec_init, reason = "lists of ranges are compared")]
//! The receiver by rule; against a model in [`model`], against hostile peers in [`hostile`].

use super::*;

mod hostile;
mod model;
mod rules;
mod sack;
mod urgent;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn options() -> ReceiverOptions {
    ReceiverOptions { buffer: 10_000, mss: 1000, ..ReceiverOptions::default() }
}

fn receiver() -> Receiver {
    Receiver::new(&options(), 1)
}

/// Bytes that tell their offset.
fn payload(start: u64, length: u64) -> Bytes {
    (start..start + length).map(|offset| offset as u8).collect()
}

fn segment(range: Range<u64>) -> Incoming {
    let payload = payload(range.start, range.end - range.start);
    Incoming { start: range.start, payload, ..Incoming::default() }
}

fn fin(range: Range<u64>) -> Incoming {
    Incoming { fin: true, ..segment(range) }
}

fn outcome(receiver: &mut Receiver, segment: Incoming) -> Outcome {
    receiver.on_segment(at(0), segment).outcome
}

/// Fields of an acknowledgement without SACK blocks.
fn plain(ack: u64, window: u16) -> AckFields {
    AckFields { ack, window, ..AckFields::default() }
}

/// Reads all bytes that wait for the application.
fn drain(receiver: &mut Receiver) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(bytes) = receiver.read(1 << 20) {
        all.extend_from_slice(&bytes);
    }
    all
}
