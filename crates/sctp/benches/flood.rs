//! Cost to the victim of a packet of a flood: `cargo bench -p thinstream-sctp --bench flood`.
//! Criterion prints the rate on one core beside the time. The cost includes parsing, checksums and
//! the answer, but not the sockets.

#![allow(missing_docs, reason = "criterion's macros")]

use core::net::SocketAddr;
use std::hint::black_box;

use base::{DatagramMeta, Ecn, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sctp::wire::chunk::{Abort, CookieEcho, Init};
use sctp::wire::{Cause, CommonHeader, EmitChunk, PacketBuilder, Parameter};
use sctp::{Endpoint, EndpointOptions, Tsn, VerificationTag};

const PORT: u16 = 5000;

fn packet(tag: u32, chunk: impl EmitChunk) -> Bytes {
    let mut buffer = Vec::new();
    let verification_tag = VerificationTag(tag);
    let header = CommonHeader { source_port: 6000, destination_port: PORT, verification_tag };
    let mut packet = PacketBuilder::start(&mut buffer, header, 1_472);
    let _ = packet.append(chunk);
    packet.finish();
    buffer.into()
}

/// Gives a listening endpoint the same packet from ever other hosts, and fetches the answer.
fn flood(c: &mut Criterion, name: &str, datagram: &Bytes) {
    let options = EndpointOptions { port: PORT, listen: true, ..EndpointOptions::default() };
    let mut endpoint = Endpoint::new(options, RandomStream::new(1, Purpose("flood", 0)));
    let local = SocketAddr::from(([10, 0, 0, 1], 9899));
    let (mut host, mut buffer) = (0u32, Vec::with_capacity(2_048));
    let mut group = c.benchmark_group("flood");
    group.throughput(Throughput::Elements(1));
    group.bench_function(name, |b| {
        b.iter(|| {
            host = host.wrapping_add(1);
            let remote = SocketAddr::from((host.to_be_bytes(), 9899));
            let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
            endpoint.handle_datagram(Instant::from_millis(1), meta, datagram.clone().into());
            while endpoint.poll_transmit(Instant::from_millis(1), &mut buffer).is_some() {
                black_box(&buffer);
                buffer.clear();
            }
        });
    });
    group.finish();
}

fn floods(c: &mut Criterion) {
    let init = Init {
        initiate_tag: VerificationTag(9),
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(1),
        parameters: [] as [Parameter<'static>; 0],
    };
    flood(c, "INIT", &packet(0, init));
    flood(c, "COOKIE ECHO, forged", &packet(7, CookieEcho { cookie: &[7; 120] }));
    let abort = Abort { t_bit: false, causes: [] as [Cause<'static>; 0] };
    flood(c, "ABORT without association", &packet(7, abort));
}

criterion_group!(benches, floods);
criterion_main!(benches);
