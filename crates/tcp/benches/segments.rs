//! Benchmarks against regressions: `cargo bench -p thinstream-tcp --bench segments`. A cost that
//! should not grow with the number of holes is measured at three sizes.

#![allow(missing_docs, reason = "criterion's macros")]

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use base::Instant;
use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tcp::rx::{Incoming, Receiver, ReceiverOptions};
use tcp::wire::{Flags, Options, Pseudo, SackBlock, Segment, SeqNumber, Timestamps};

const ADDRESSES: Pseudo =
    Pseudo::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));

fn segment(payload: usize, blocks: u32) -> Segment {
    let block = |i| SackBlock { start: SeqNumber(2000 * i), end: SeqNumber(2000 * i + 1000) };
    Segment {
        seq: SeqNumber(7),
        ack: SeqNumber(9),
        flags: Flags::ACK,
        window: 500,
        options: Options {
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            sack: (1..=blocks).map(block).collect(),
            ..Options::default()
        },
        payload: Bytes::from(vec![7; payload]),
        ..Segment::new(5000, 5001)
    }
}

fn segments(c: &mut Criterion) {
    let mut group = c.benchmark_group("segment");
    for (name, payload, blocks) in
        [("ack", 0, 0), ("sack 3", 0, 3), ("100", 100, 0), ("1448", 1448, 0)]
    {
        let segment = segment(payload, blocks);
        group.throughput(Throughput::Bytes(payload as u64));
        let mut buffer = Vec::with_capacity(2048);
        group.bench_function(BenchmarkId::new("emit", name), |b| {
            b.iter(|| {
                buffer.clear();
                black_box(&segment).emit(ADDRESSES, &mut buffer);
                buffer.len()
            });
        });
        let datagram = Bytes::from(buffer.clone());
        group.bench_function(BenchmarkId::new("parse", name), |b| {
            b.iter(|| Segment::parse(black_box(&datagram).clone(), ADDRESSES));
        });
    }
    group.finish();
}

fn receiver() -> Receiver {
    let options = ReceiverOptions { buffer: 1 << 30, ..ReceiverOptions::default() };
    let mut receiver = Receiver::new(&options, 1);
    receiver.set_window_scale(options.window_scale());
    receiver.acknowledge(0);
    receiver
}

fn incoming(start: u64, payload: &Bytes) -> Incoming {
    Incoming { start, payload: payload.clone(), ..Incoming::default() }
}

fn receiving(c: &mut Criterion) {
    let payload = Bytes::from(vec![7; 1448]);
    let length = payload.len() as u64;
    let mut group = c.benchmark_group("receive");
    group.bench_function("in order, read and acknowledged", |b| {
        let (mut receiver, mut next) = (receiver(), 1);
        b.iter(|| {
            receiver.on_segment(Instant::ZERO, incoming(next, &payload));
            next += length;
            (receiver.read(u64::MAX), receiver.acknowledge(3))
        });
    });
    for holes in [1, 100, 10_000u64] {
        group.bench_function(BenchmarkId::new("behind holes", holes), |b| {
            let prepare = || {
                let mut receiver = receiver();
                for i in 1..=holes {
                    receiver.on_segment(Instant::ZERO, incoming(1 + 2 * length * i, &payload));
                }
                receiver
            };
            let one = |receiver: &mut Receiver| {
                let start = 1 + 2 * length * (holes / 2) + length;
                receiver.on_segment(Instant::ZERO, incoming(start, &payload));
                receiver.acknowledge(3)
            };
            b.iter_batched_ref(prepare, one, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, segments, receiving);
criterion_main!(benches);
