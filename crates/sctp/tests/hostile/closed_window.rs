//! Receivers that accept no data, or hardly any, forever: the sender probes at the pace of its
//! back-off, cuts no tiny fragments, and its memory is its send buffer.

use base::Duration;
use sctp::SendError;

use crate::foe::{Foe, a_stranger_is_served, hour, memory, sent_data};

#[test]
fn a_window_of_nothing_for_ever_costs_a_probe_a_minute() {
    let mut foe = Foe::new();
    let first = foe.endpoint_sends(100).unwrap();
    assert_eq!(first.len(), 1);
    foe.sack(1, 0, &[]);
    let used = memory(|| while foe.endpoint_sends(1_000) != Err(SendError::BufferFull) {});
    assert!(used.bytes_max < 8 << 20, "{} bytes for a send buffer of 1 MiB", used.bytes_max);
    let mut probes = 0;
    for second in 0..3_600 * 4 {
        let sent = sent_data(&foe.bench.pass(Duration::from_secs(1)));
        probes += sent.len();
        // The back-off begins at RTO.Min, which may be less than a second.
        assert!(sent.len() <= 1 || second < 10, "a probe is one chunk");
        let answers = foe.sack(1, 0, &[]);
        assert!(answers.is_empty());
    }
    // Back-off up to RTO.Max of 60 s: about one a minute, and a few before that.
    assert!((200..300).contains(&probes), "{probes} probes in four hours");
    assert_eq!(foe.bench.state(), "ESTABLISHED", "a peer that answers is alive (section 6.1)");
    // The application may abort at any time, which releases the memory.
    let id = foe.bench.id();
    foe.bench.endpoint.release(id);
    foe.bench.drain();
    assert_eq!(foe.bench.endpoint.association_count(), 0);
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn a_window_of_nothing_and_no_answer_ends_the_association() {
    let mut foe = Foe::new();
    foe.endpoint_sends(100).unwrap();
    foe.sack(1, 0, &[]);
    foe.endpoint_sends(100).unwrap();
    let sent = hour(&mut foe.bench);
    assert!(sent.len() < 30, "{} packets", sent.len());
    assert_eq!(foe.bench.state(), "CLOSED");
}

#[test]
fn a_tiny_window_makes_no_tiny_chunks() {
    // Silly window: each SACK offers one more byte. Fragments keep their size.
    let mut foe = Foe::new();
    foe.endpoint_sends(100).unwrap();
    foe.sack(1, 1, &[]);
    let mut sent = foe.endpoint_sends(100_000).unwrap();
    let mut packets = 0;
    for _ in 0..400 {
        let count = 1 + sent.len() as u32;
        let answers = foe.sack(count, 1, &[]);
        packets += answers.len();
        sent.extend(sent_data(&answers));
    }
    assert_eq!(sent.iter().map(|data| data.length).sum::<usize>(), 100_000);
    assert_eq!(sent.len(), 100_000usize.div_ceil(1_444), "fragments of full size");
    assert!(packets <= sent.len());
    assert!(sent.iter().rev().skip(1).rev().skip(1).all(|data| data.length == 1_444));
}

#[test]
fn a_window_that_opens_and_shuts_with_every_sack_brings_no_more_than_it_grants() {
    let mut foe = Foe::new();
    foe.endpoint_sends(100).unwrap();
    foe.sack(1, 0, &[]);
    foe.endpoint_sends(200_000).unwrap();
    let mut granted = 1_444; // the probe
    let mut sent = 0;
    for step in 0..1_000u32 {
        let window = if step % 2 == 0 { 3_000 } else { 0 };
        let answers = foe.sack(1, window, &[]);
        let bytes: usize = sent_data(&answers).iter().map(|data| data.length).sum();
        sent += bytes;
        granted = granted.max(3_000);
        assert!(foe.stats().outstanding_bytes <= granted + 1_444);
    }
    assert!(sent <= granted + 1_444, "{sent} bytes for {granted}");
}
