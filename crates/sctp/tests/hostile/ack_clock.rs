//! A receiver that lies in its SACKs to get more than its share (Savage et al., 1999, for TCP):
//! the window grows by the bytes that it acknowledges, not by the number of SACKs.

use base::Duration;
use sctp::{AssociationOptions, EndpointOptions};

use crate::foe::{Foe, SentData, a_stranger_is_served, memory};
use crate::support::wire::{Bench, PEER_TAG, names};

const WIDE: u32 = 10 << 20;

/// An endpoint with 900 kB to send to a peer with a large window, and its first packets.
fn loaded() -> (Foe, Vec<SentData>) {
    loaded_in(10_000)
}

fn loaded_in(message: usize) -> (Foe, Vec<SentData>) {
    let accepted = AssociationOptions { heartbeat_interval: None, ..AssociationOptions::default() };
    let options = EndpointOptions { listen: true, accepted, ..EndpointOptions::default() };
    let mut bench = Bench::new(options);
    let cookie = bench.init(PEER_TAG);
    bench.give_right(|packet| {
        packet.append(sctp::wire::chunk::CookieEcho { cookie: &cookie }).unwrap();
    });
    let mut foe = Foe::with(bench);
    let mut sent = Vec::new();
    for _ in 0..900_000 / message {
        sent.extend(foe.endpoint_sends(message).unwrap());
    }
    (foe, sent)
}

fn cwnd(foe: &Foe) -> u64 {
    foe.stats().paths[0].recovery.cwnd
}

/// Records the contents of packets.
fn note(sent: &mut Vec<SentData>, packets: &[Vec<u8>]) {
    for data in crate::foe::sent_data(packets) {
        if !sent.contains(&data) {
            sent.push(data);
        }
    }
}

fn lengths(sent: &[SentData], count: usize) -> u64 {
    sent[..count].iter().map(|data| data.length as u64).sum()
}

#[test]
fn a_sack_of_what_was_never_sent_ends_the_association_or_is_dropped() {
    let (mut foe, sent) = loaded();
    let count = sent.len() as u32;
    let before = cwnd(&foe);
    // Reversed and overlapping gap ack blocks have no effect.
    for gaps in [&[(3, 2)][..], &[(2, 3), (2, 3)], &[(3, 3), (2, 2)]] {
        let answers = foe.sack(0, WIDE, gaps);
        assert!(answers.is_empty(), "{gaps:?}");
        assert_eq!((cwnd(&foe), foe.bench.state()), (before, "ESTABLISHED"), "{gaps:?}");
    }
    // A cumulative TSN ack beyond the data sent: an optimistic acknowledgement.
    let answers = foe.sack(count + 1, WIDE, &[]);
    assert_eq!(names(&answers[0]), ["ABORT"]);
    assert_eq!(foe.bench.state(), "CLOSED");
    a_stranger_is_served(&mut foe.bench);
    // Nor is such a gap ack block accepted (section 12.4).
    let (mut foe, sent) = loaded();
    let answers = foe.sack(0, WIDE, &[(2, sent.len() as u16 + 5)]);
    assert_eq!((names(&answers[0]), foe.bench.state()), (vec!["ABORT".to_owned()], "CLOSED"));
}

#[test]
fn acknowledging_in_many_small_steps_grows_the_window_by_bytes_only() {
    // Ack division: one SACK for each DATA chunk of 100 bytes instead of one for fourteen of them.
    let (mut foe, mut sent) = loaded_in(100);
    let before = cwnd(&foe);
    let mut acknowledged = 0;
    for count in 1..=2_000u32 {
        foe.bench.now += Duration::from_micros(100);
        let packets = foe.sack(count, WIDE, &[]);
        note(&mut sent, &packets);
        acknowledged = lengths(&sent, count as usize);
        assert!(cwnd(&foe) <= before + acknowledged, "after {count} SACKs");
    }
    assert!(acknowledged >= 200_000);
}

#[test]
fn the_same_sack_again_and_again_moves_nothing() {
    let (mut foe, mut sent) = loaded();
    let packets = foe.sack(1, WIDE, &[]);
    note(&mut sent, &packets);
    let (window, count) = (cwnd(&foe), sent.len());
    let used = memory(|| {
        for _ in 0..10_000 {
            let packets = foe.sack(1, WIDE, &[]);
            note(&mut sent, &packets);
        }
    });
    assert_eq!((cwnd(&foe), sent.len()), (window, count));
    assert!(used.bytes_current < 1_024, "{} bytes stay", used.bytes_current);
}

#[test]
fn gap_blocks_split_as_finely_as_can_be_open_no_window() {
    // Every second TSN, one block more in each SACK: the cumulative point never moves, so that the
    // window must not grow, and the missing data is soon declared lost, once.
    let (mut foe, mut sent) = loaded_in(100);
    let before = cwnd(&foe);
    let mut blocks = Vec::new();
    for step in 0..400u16 {
        let offset = 2 + 2 * step;
        if usize::from(offset) > sent.len() {
            break;
        }
        blocks.push((offset, offset));
        foe.bench.now += Duration::from_micros(100);
        let packets = foe.sack(0, WIDE, &blocks);
        note(&mut sent, &packets);
        // Section 7.2.3: where loss is found, the window becomes four packets at the least.
        assert!(cwnd(&foe) <= before.max(4 * 1_460), "after {} blocks", blocks.len());
    }
    assert!(blocks.len() >= 15, "{}", blocks.len());
    assert!(foe.stats().recovery.fast_recoveries <= 1);
}

#[test]
fn taking_gap_reports_back_and_giving_them_again_gains_nothing_and_costs_no_memory() {
    // A peer that reneges (section 6.2.1 of RFC 9260 allows it) endlessly. The bytes that it
    // reports again were acknowledged before, and count once.
    let (mut foe, mut sent) = loaded_in(1_000);
    // Out of slow start by one honest loss, and out of fast recovery again.
    let mut count = 0;
    for _ in 0..6 {
        foe.bench.now += Duration::from_millis(100);
        count = sent.len() as u32;
        let packets = foe.sack(count, WIDE, &[]);
        note(&mut sent, &packets);
    }
    let last = (sent.len() as u32 - count) as u16;
    for end in 2..=last.min(6) {
        let packets = foe.sack(count, WIDE, &[(2, end)]);
        note(&mut sent, &packets);
    }
    assert_eq!(foe.stats().recovery.fast_recoveries, 1);
    let all = sent.len() as u32;
    let packets = foe.sack(all, WIDE, &[]);
    note(&mut sent, &packets);
    let (window, flight) = (cwnd(&foe), (sent.len() as u32 - all) as u16);
    assert!(flight >= 4, "{flight}");
    let mut highest = window;
    let used = memory(|| {
        for _ in 0..5_000 {
            foe.bench.now += Duration::from_micros(10);
            let packets = foe.sack(all, WIDE, &[(2, flight)]);
            note(&mut sent, &packets);
            let packets = foe.sack(all, WIDE, &[]);
            note(&mut sent, &packets);
            highest = highest.max(cwnd(&foe));
        }
    });
    let gained = highest.saturating_sub(window);
    assert!(gained <= 1_460, "the window grew by {gained} bytes for nothing");
    assert!(used.bytes_current < 256 << 10, "{} bytes stay", used.bytes_current);
    // Once it acknowledges honestly, the transfer completes.
    for _ in 0..2_000 {
        if foe.stats().outstanding_bytes == 0 {
            break;
        }
        foe.bench.now += Duration::from_millis(10);
        let count = sent.len() as u32;
        let packets = foe.sack(count, WIDE, &[]);
        note(&mut sent, &packets);
    }
    assert_eq!(lengths(&sent, sent.len()), 900_000);
    assert_eq!(foe.bench.state(), "ESTABLISHED");
}

#[test]
fn a_sack_flood_is_answered_by_nothing_but_data_that_may_go() {
    let (mut foe, mut sent) = loaded();
    let mut packets_out = 0;
    for step in 0..20_000u32 {
        let gaps: &[(u16, u16)] = if step % 2 == 0 { &[(2, 2)] } else { &[] };
        let packets = foe.sack(0, WIDE, gaps);
        packets_out += packets.len();
        note(&mut sent, &packets);
    }
    // In one instant, with nothing acknowledged, a fast retransmission and what limited transmit
    // and the freed flight allow.
    assert!(packets_out <= 16, "{packets_out} packets");
}
