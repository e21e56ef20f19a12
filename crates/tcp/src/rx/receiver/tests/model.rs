//! The receiver against a map of bytes.

use std::collections::BTreeMap;

use super::*;
use proptest::prelude::*;

const BUFFER: u64 = 300;

#[derive(Clone, Debug)]
enum Step {
    /// A segment whose start is relative to RCV.NXT.
    Segment {
        step: i64,
        length: u64,
        fin: bool,
    },
    Read(u64),
    Acknowledge(usize),
    Buffer(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let segment = (-60i64..350, 0u64..80, prop::bool::weighted(0.02));
    let step = prop_oneof![
        8 => segment.prop_map(|(step, length, fin)| Step::Segment { step, length, fin }),
        4 => (0u64..100).prop_map(|length| Step::Segment { step: 0, length, fin: false }),
        3 => (1u64..200).prop_map(Step::Read),
        3 => (0usize..5).prop_map(Step::Acknowledge),
        1 => (100u64..400).prop_map(Step::Buffer),
    ];
    prop::collection::vec(step, 1..150)
}

/// Expected contents, byte by byte.
#[derive(Default)]
struct Model {
    bytes: BTreeMap<u64, u8>,
    fin: Option<u64>,
    read: u64,
}

impl Model {
    /// Offset of the first byte that is missing; FIN counts.
    fn rcv_nxt(&self) -> u64 {
        let missing = (1..).find(|offset| !self.bytes.contains_key(offset)).unwrap();
        missing + u64::from(self.fin == Some(missing))
    }

    fn on_segment(&mut self, start: u64, bytes: &[u8], fin: bool, edge: u64) {
        let next = self.rcv_nxt();
        let end = start + bytes.len() as u64;
        let bare_fin = fin && bytes.is_empty() && start == next;
        if end + u64::from(fin) <= next || (start >= edge && !bare_fin) {
            return;
        }
        let behind = self.bytes.last_key_value().map_or(1, |(offset, _)| *offset + 1);
        if fin && self.fin.is_none() && end >= behind && end <= edge {
            self.fin = Some(end);
        }
        let stop = edge.min(self.fin.unwrap_or(u64::MAX));
        for (offset, byte) in (start..stop).zip(bytes) {
            self.bytes.entry(offset).or_insert(*byte);
        }
    }

    /// Bytes beyond the first hole, without FIN.
    fn behind(&self) -> u64 {
        self.bytes.range(self.rcv_nxt()..).count() as u64
    }
}

fn check(steps: Vec<Step>) -> Result<(), TestCaseError> {
    // So few segments fit the buffer that memory never runs out: it is charged for otherwise.
    let options = ReceiverOptions { buffer: BUFFER, mss: 50, ..ReceiverOptions::default() };
    let mut receiver = Receiver::new(&options, 1);
    let mut model = Model { read: 1, ..Model::default() };
    let mut largest = BUFFER;
    for (number, step) in steps.into_iter().enumerate() {
        let edge = receiver.window_edge();
        match step {
            Step::Segment { step, length, fin } => {
                let start = receiver.rcv_nxt().saturating_add_signed(step).max(1);
                let bytes = vec![number as u8; length as usize];
                let payload = Bytes::from(bytes.clone());
                let arrival = receiver
                    .on_segment(at(0), Incoming { start, payload, fin, ..Incoming::default() });
                if receiver.stats().dropped > 0 {
                    return Ok(());
                }
                model.on_segment(start, &bytes, fin, edge);
                let empty = arrival.outcome == Outcome::Empty;
                prop_assert_eq!(empty, length == 0 && !fin);
                prop_assert!(empty || receiver.ack_due().is_some());
            }
            Step::Read(limit) => {
                while let Some(bytes) = receiver.read(limit) {
                    prop_assert!(bytes.len() as u64 <= limit);
                    for byte in &bytes {
                        prop_assert_eq!(model.bytes.get(&model.read), Some(byte));
                        model.read += 1;
                    }
                }
                prop_assert_eq!(model.fin == Some(model.read), receiver.is_finished());
            }
            Step::Acknowledge(room) => {
                let fields = receiver.acknowledge(room);
                prop_assert_eq!(fields.ack, model.rcv_nxt());
                prop_assert!(fields.sack.len() <= room);
                prop_assert!(fields.ack + u64::from(fields.window) <= receiver.window_edge());
                prop_assert_eq!(receiver.ack_due(), None);
            }
            Step::Buffer(bytes) => {
                receiver.set_buffer(bytes);
                largest = largest.max(bytes);
            }
        }
        prop_assert_eq!(receiver.rcv_nxt(), model.rcv_nxt());
        prop_assert_eq!(receiver.behind_holes(), model.behind());
        prop_assert!(receiver.window_edge() >= edge);
        prop_assert!(receiver.window_edge() <= model.read + largest + 1);
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_receiver_does_what_a_map_of_bytes_does(steps in steps()) {
        check(steps)?;
    }
}
