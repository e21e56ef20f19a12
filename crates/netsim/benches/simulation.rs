//! Cost of a packet in the virtual network: `cargo bench -p thinstream-netsim`.

#![allow(missing_docs, reason = "criterion's macros")]

use core::net::SocketAddr;

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Transmit};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, LinkConfig, Simulation};

/// Sends 100 bytes each millisecond and keeps nothing of what it gets.
struct Sender {
    peer: SocketAddr,
    next: Instant,
    is_due: bool,
}

impl Machine for Sender {
    fn handle_datagram(&mut self, _: Instant, _: DatagramMeta, _: base::Datagram) {}
    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}
    fn handle_timeout(&mut self, now: Instant) {
        self.next = now + Duration::from_millis(1);
        self.is_due = true;
    }
    fn poll_transmit(
        &mut self,
        _: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<Transmit> {
        if !core::mem::take(&mut self.is_due) {
            return None;
        }
        let buffer = buffer.head();
        buffer.resize(buffer.len() + 100, 1);
        Some(Transmit {
            local: None,
            remote: self.peer,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            service: base::IpService::default(),
            size: 100,
        })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.next)
    }
}

impl Host for Sender {}

fn address(host: u32) -> SocketAddr {
    let [_, b, c, d] = host.to_be_bytes();
    SocketAddr::from(([10, b, c, d], 1))
}

/// `pairs` pairs of senders, each pair over a lossy link of its own.
fn network(pairs: u32) -> Option<Simulation<Sender>> {
    let mut simulation = Simulation::new(1);
    let link = LinkConfig::lossy(Duration::from_millis(50), base::Probability::from_ratio(5, 100));
    for index in 0..pairs {
        let ends = [address(2 * index), address(2 * index + 1)];
        let sender = |peer| Sender { peer, next: Instant::ZERO, is_due: false };
        let first = Placed::at(sender(ends[1]), ends[0]);
        let second = Placed::at(sender(ends[0]), ends[1]);
        pair(&mut simulation, first, second, &[Directions::both(link.clone())]).ok()?;
    }
    Some(simulation)
}

fn packets(c: &mut Criterion) {
    let mut group = c.benchmark_group("a packet over a lossy link");
    for pairs in [1, 100, 1_000] {
        let Some(mut simulation) = network(pairs) else { continue };
        // Each host sends one packet a millisecond.
        group.throughput(Throughput::Elements(2 * u64::from(pairs)));
        let mut until = Instant::from_millis(100);
        let _ = simulation.run_until(until);
        group.bench_function(BenchmarkId::new("pairs", pairs), |b| {
            b.iter(|| {
                until += Duration::from_millis(1);
                simulation.run_until(until).is_ok()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
