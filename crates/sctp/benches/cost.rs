//! Benchmarks against regressions: `cargo bench -p thinstream-sctp`. `docs/performance.md` says
//! what they show. A cost that should not grow with what is outstanding is measured at three sizes.

#![allow(missing_docs, reason = "criterion's macros")]

use std::hint::black_box;
use std::sync::Arc;

use base::{Duration, Instant};
use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use recovery::ledger::Ledger;
use recovery::{Feedback, GapRanges, PathId, Recovery, RecoveryPolicy, Silence};
use sctp::wire::chunk::{Data, DataFlags, GapAckBlock, OutgoingSack};
use sctp::wire::{Chunk, CommonHeader, Packet, PacketBuilder};
use sctp::{AssociationOptions, Ppid, Ssn, StreamId, Tsn, VerificationTag};

#[allow(dead_code, reason = "uses a part of the shared harness")]
#[path = "../examples/cost/pair.rs"]
mod pair;

const HEADER: CommonHeader = CommonHeader {
    source_port: 5000,
    destination_port: 5000,
    verification_tag: VerificationTag(0x1234_5678),
};

fn data(payload: &[u8]) -> Data<&[u8]> {
    Data {
        tsn: Tsn(7),
        stream: StreamId(0),
        ssn: Ssn(3),
        ppid: Ppid(0),
        flags: DataFlags::WHOLE,
        payload,
    }
}

fn packets(c: &mut Criterion) {
    let mut group = c.benchmark_group("packet");
    for size in [100, 1444] {
        let payload = vec![7; size];
        group.throughput(Throughput::Bytes(size as u64));
        let mut buffer = Vec::with_capacity(2048);
        group.bench_function(BenchmarkId::new("emit", size), |b| {
            b.iter(|| {
                buffer.clear();
                let mut packet = PacketBuilder::start(&mut buffer, HEADER, 1472);
                let _ = black_box(packet.append(data(&payload)));
                packet.finish()
            });
        });
        let datagram = Bytes::from(buffer.clone());
        group.bench_function(BenchmarkId::new("parse", size), |b| {
            b.iter(|| {
                let packet = Packet::parse(datagram.clone());
                packet.map_or(0, |packet| {
                    packet.chunks().filter(|chunk| matches!(chunk, Ok(Chunk::Data(_)))).count()
                })
            });
        });
    }
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::start(&mut buffer, HEADER, 1472);
    let _ = packet.append(OutgoingSack {
        cumulative_tsn_ack: Tsn(1),
        a_rwnd: 1 << 20,
        gap_ack_blocks: (1..=300).map(|n| GapAckBlock { start: 3 * n, end: 3 * n }),
        duplicate_tsns: [],
    });
    packet.finish();
    let datagram = Bytes::from(buffer);
    group.throughput(Throughput::Elements(300));
    group.bench_function("parse a SACK of 300 gap ack blocks", |b| {
        b.iter(|| {
            let packet = Packet::parse(datagram.clone());
            packet.map_or(0, |packet| match packet.chunks().next() {
                Some(Ok(Chunk::Sack(sack))) => sack.gap_ack_blocks().count(),
                _ => 0,
            })
        });
    });
    group.finish();
}

/// A ledger with `outstanding` packets of one unit each.
fn ledger(outstanding: u64) -> Ledger {
    let mut ledger = Ledger::new(1);
    for packet in 0..outstanding {
        ledger.draft_new(PathId::FIRST, 1, 1000);
        ledger.commit(Instant::from_millis(packet), PathId::FIRST);
    }
    ledger
}

fn acknowledgements(c: &mut Criterion) {
    let mut group = c.benchmark_group("ledger");
    for outstanding in [10, 1_000, 10_000] {
        let mut book = ledger(outstanding);
        let mut now = Instant::from_millis(100_000);
        group.bench_function(BenchmarkId::new("on_ack of two, two sent", outstanding), |b| {
            b.iter(|| {
                now += Duration::from_micros(10);
                let gaps = GapRanges::new();
                let cumulative = book.cumulative() + 2;
                let view = Feedback::of_all(cumulative, &gaps);
                let report = book.on_feedback(now, &view);
                for _ in 0..2 {
                    book.draft_new(PathId::FIRST, 1, 1000);
                    book.commit(now, PathId::FIRST);
                }
                report
            });
        });
    }
    for outstanding in [1_000, 10_000] {
        // Every other unit arrived, and now one more: what it costs to find the one that is new.
        let gaps = |count: u64| -> GapRanges { (0..count).map(|n| 2 + 2 * n..3 + 2 * n).collect() };
        let mut lossy =
            Recovery::new(Arc::new(RecoveryPolicy::sctp_rfc()), Silence::Missing, 1452, 1);
        let now = Instant::from_millis(1);
        for _ in 0..outstanding {
            lossy.draft_new(PathId::FIRST, 1, 1000);
            lossy.on_sent(now, PathId::FIRST);
        }
        let later = now + Duration::from_millis(100);
        let before = gaps(300);
        lossy.on_feedback(later, &Feedback::of_all(1, &before), 0);
        let after = gaps(301);
        let view = Feedback::of_all(1, &after);
        let name = BenchmarkId::new("SACK with 301 gap ack blocks, one of them new", outstanding);
        group.bench_function(name, |b| {
            b.iter_batched_ref(
                || lossy.clone(),
                |recovery| recovery.on_feedback(later, &view, 0),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn messages(c: &mut Criterion) {
    let mut group = c.benchmark_group("message");
    let mut policy = RecoveryPolicy::sctp_thin();
    policy.acknowledgement.delay = None;
    let options = AssociationOptions { policy: Arc::new(policy), ..AssociationOptions::default() };
    let mut pair = pair::Pair::new(&options, 1);
    let message = Bytes::from(vec![7; 100]);
    group.bench_function("thin: send, deliver, acknowledge", |b| {
        b.iter(|| {
            pair.advance(Duration::from_millis(250));
            let sent = pair.send(pair.associations[0], message.clone());
            pair.exchange();
            sent
        });
    });
    group.finish();
}

criterion_group!(benches, packets, acknowledgements, messages);
criterion_main!(benches);
