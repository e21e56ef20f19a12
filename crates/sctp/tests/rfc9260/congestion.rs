//! Section 7.2 and Max.Burst of section 6.1.

use base::Duration;
use bytes::Bytes;
use sctp::{Ppid, SendOptions, StreamId};

use crate::support::wire::{Any, Bench};
use crate::support::{Pair, plain};

/// Payload of a full packet; PMDCS is 1460.
const FULL: usize = 1444;

fn cwnd(pair: &Pair) -> u64 {
    pair.stats().paths[0].recovery.cwnd
}

#[test]
fn slow_start_adds_what_is_acknowledged_while_the_window_is_full() {
    let mut pair = Pair::established(plain(), &[]);
    assert_eq!(cwnd(&pair), 4404);
    pair.send_at(FULL, [0; 12]);
    assert_eq!(pair.data_sent().len(), 4, "the fourth exceeds the window by less than a packet");
    // The SACKs of all four come together. Only the first finds the window full: 5776 ≥ 4404, and
    // the new data that it lets go fills it for the next.
    pair.at(100_000);
    assert_eq!(cwnd(&pair), 4404 + 4 * FULL as u64);
}

#[test]
fn a_window_that_is_not_full_does_not_grow() {
    let mut pair = Pair::established(plain(), &[]);
    pair.send_at(FULL, (0..20).map(|index| index * 100_000));
    pair.at(3_000_000);
    assert_eq!(cwnd(&pair), 4404);
}

#[test]
fn fast_recovery_halves_once_and_ends_when_what_was_outstanding_is_acknowledged() {
    // Twenty small messages, 5 ms apart; the 5th and the 8th get lost.
    let mut pair = Pair::established(plain(), &[5, 8]);
    pair.send_at(100, (0..20).map(|index| index * 5_000));
    pair.at(3_000_000);
    let stats = pair.stats();
    assert_eq!(stats.recovery.fast_recoveries, 1);
    assert_eq!(stats.recovery.retransmissions.fast, 2);
    assert_eq!(stats.recovery.timeouts, 0);
    let path = stats.paths[0].recovery;
    // Half of 4404 is less than four packets.
    assert_eq!((path.cwnd, path.ssthresh), (5840, 5840));
}

#[test]
fn a_timeout_leaves_one_packet_of_window() {
    let mut pair = Pair::established(plain(), &[1]);
    pair.send_at(FULL, [0]);
    pair.at(1_000_000);
    let path = pair.stats().paths[0].recovery;
    assert_eq!((path.cwnd, path.ssthresh), (1460, 5840));
    pair.at(2_000_000);
    assert_eq!(cwnd(&pair), 1460, "1444 in flight did not fill it");
}

/// A transfer that opens the window wide.
fn opened() -> Pair {
    let mut pair = Pair::established(plain(), &[]);
    for index in 0..60u64 {
        pair.at(index * 10_000);
        (0..4).for_each(|_| pair.send(vec![1; FULL]).unwrap());
    }
    pair.at(1_500_000);
    assert!(cwnd(&pair) > 20_000, "{}", cwnd(&pair));
    pair
}

#[test]
fn an_idle_window_halves_once_per_rto() {
    let mut pair = opened();
    let before = cwnd(&pair);
    let last = pair.data_sent().last().unwrap().0 as u64;
    // Two RTOs of 1 s, and half of one.
    pair.send_at(100, [last + 2_500_000]);
    assert_eq!(cwnd(&pair), (before / 4).max(5840));
}

#[test]
fn one_sack_releases_no_more_than_max_burst() {
    let mut bench = Bench::established();
    let id = bench.id();
    for _ in 0..200 {
        let (payload, options) = (Bytes::from(vec![1; FULL]), SendOptions::default());
        bench
            .endpoint
            .association_mut(id)
            .unwrap()
            .send(bench.now, StreamId(0), Ppid(0), payload, options)
            .unwrap();
    }
    let mut sent = bench.drain().len();
    let mut most = 0;
    while sent < 200 {
        bench.pass(Duration::from_millis(100));
        // Everything that was sent is acknowledged at once.
        let mut sack = bench.tsn.0.wrapping_add(sent as u32 - 1).to_be_bytes().to_vec();
        sack.extend_from_slice(&[0, 16, 0, 0, 0, 0, 0, 0]);
        let released = bench.give_right(|p| p.append(Any(3, 0, &sack)).unwrap()).len();
        assert!(released > 0);
        most = most.max(released);
        sent += released;
    }
    // 4 · PMDCS = 5840 bytes; four packets of 1444 leave 64 of them, and rule B of section 6.1 lets
    // the last packet exceed the limit.
    assert_eq!(most, 5);
}
