//! A receiver never reneges: data that a SACK block reported is delivered in the end.

use std::collections::{BTreeMap, BTreeSet};

use base::{Ecn, Purpose, RandomStream};
use bytes::Bytes;
use tcp::wire::{Flags, Segment, SeqNumber};
use tcp::{ConnectionOptions, Received};

use super::support::Bench;

/// The sequence number of the SYN that the test sends by hand.
const ISS: SeqNumber = SeqNumber(u32::MAX - 99);

const BUFFER: u64 = 10_000;

fn options() -> ConnectionOptions {
    ConnectionOptions { sack: true, receive_buffer: BUFFER as usize, ..Bench::plain() }
}

/// A sender of random segments, and what acknowledgements told it.
struct Sender {
    bench: Bench,
    random: RandomStream,
    /// The byte sent at each offset before it was reported; the SYN has offset 0.
    sent: BTreeMap<u64, Vec<u8>>,
    /// Offsets that a SACK block or the acknowledgment number reported.
    told: BTreeSet<u64>,
    acked: u64,
    edge: u64,
    read: u64,
}

impl Sender {
    fn new(seed: u64) -> Sender {
        let mut bench = Bench::listening(options());
        bench.inject("S 0:0(0) win 65535 <mss 1460,sackOK>");
        bench.inject(". 1:1(0) ack 1 win 65535");
        bench.sent.clear();
        let random = RandomStream::new(seed, Purpose("sender", 0));
        let (sent, told) = (BTreeMap::new(), BTreeSet::new());
        Sender { bench, random, sent, told, acked: 1, edge: 1 + BUFFER, read: 1 }
    }

    /// A segment anywhere around the window, with random content.
    fn send(&mut self, number: u64) {
        let from = self.acked.saturating_sub(300).max(1);
        let start = match self.random.below(4) {
            0 => self.acked,
            _ => from + self.random.below(self.edge + 300 - from),
        };
        let length = [1, 3, 100, 600, 1_400][self.random.below(5) as usize];
        self.inject(start, vec![number as u8; length as usize]);
    }

    fn inject(&mut self, start: u64, content: Vec<u8>) {
        for (offset, byte) in (start..self.edge).zip(&content) {
            if !self.told.contains(&offset) {
                self.sent.entry(offset).or_default().push(*byte);
            }
        }
        let segment = Segment {
            seq: ISS.advance(start as u32),
            ack: self.bench.iss.next(),
            flags: Flags::ACK,
            window: u16::MAX,
            payload: Bytes::from(content),
            ..Segment::new(1, 80)
        };
        self.bench.inject_segment(&segment, Ecn::NotEct);
        self.hear();
    }

    /// Checks and records the cumulative acknowledgements and SACK blocks that were sent.
    fn hear(&mut self) {
        for (_, segment, _) in std::mem::take(&mut self.bench.sent) {
            let ack = u64::from(segment.ack.distance_from(ISS));
            assert!(ack >= self.acked, "{ack} after {}", self.acked);
            let edge = ack + u64::from(segment.window);
            assert!(edge >= self.edge && edge <= self.read + BUFFER, "{edge} after {}", self.edge);
            for block in &segment.options.sack {
                let block = block.start.distance_from(ISS)..block.end.distance_from(ISS);
                assert!(!block.is_empty() && u64::from(block.end) <= edge);
                self.tell(block.start.into()..block.end.into());
            }
            self.tell(self.acked..ack);
            (self.acked, self.edge) = (ack, edge);
        }
    }

    fn tell(&mut self, range: std::ops::Range<u64>) {
        for offset in range {
            assert!(self.sent.contains_key(&offset), "{offset} was never sent");
            self.told.insert(offset);
        }
    }

    /// The application reads all available data.
    fn read(&mut self) {
        while let Received::Data(bytes) = self.bench.receive() {
            for byte in &bytes {
                assert!(self.sent[&self.read].contains(byte), "{byte} at {}", self.read);
                self.read += 1;
            }
        }
        self.hear();
    }

    /// Fills the holes between the reported ranges only.
    fn fill(&mut self) {
        while let Some(last) = self.told.last().copied().filter(|last| *last >= self.acked) {
            let before = self.acked;
            let hole = (before..last).take_while(|offset| !self.told.contains(offset));
            let content = vec![0xff; hole.take(1_460).count().max(1)];
            self.inject(before, content);
            self.bench.wait(200);
            self.read();
            assert!(self.acked > before, "stuck at {before} of {last}");
        }
    }
}

#[test]
fn what_was_told_of_is_kept_and_read_as_it_came_first() {
    for seed in 0..10 {
        let mut sender = Sender::new(seed);
        for number in 0..200 {
            sender.send(number);
            if number % 7 == 0 {
                sender.read();
            }
        }
        sender.read();
        sender.fill();
        assert!(sender.read > BUFFER / 2, "seed {seed}: {} bytes", sender.read);
    }
}
