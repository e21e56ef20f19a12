//! Speed of the virtual network: `cargo run --release -p thinstream-netsim --example throughput`.
//!
//! Prints packets per second of wall time and the memory held, for runs of different lengths.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "measures real time")]

use core::net::SocketAddr;
use std::time::Instant as WallClock;

use base::{DatagramMeta, Duration, Instant, Machine, Transmit};
use netsim::topology::{Directions, DumbbellConfig, Placed, dumbbell};
use netsim::{Host, LinkConfig, Simulation};
use results::text_table::Table;

/// Sends 100 bytes at an interval, or echoes what it gets.
#[derive(Default)]
struct Toy {
    peer: Option<SocketAddr>,
    next: Option<Instant>,
    outgoing: Option<SocketAddr>,
}

const INTERVAL: Duration = Duration::from_millis(250);

impl Machine for Toy {
    fn handle_datagram(&mut self, _: Instant, meta: DatagramMeta, _: base::Datagram) {
        if self.peer.is_none() {
            self.outgoing = Some(meta.remote);
        }
    }
    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}
    fn handle_timeout(&mut self, now: Instant) {
        self.next = Some(now + INTERVAL);
        self.outgoing = self.peer;
    }
    fn poll_transmit(
        &mut self,
        _: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<Transmit> {
        let remote = self.outgoing.take()?;
        let buffer = buffer.head();
        buffer.resize(buffer.len() + 100, 0);
        Some(Transmit {
            local: None,
            remote,
            ecn: base::Ecn::NotEct,
            dont_fragment: false,
            service: base::IpService::default(),
            size: 100,
        })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }
}

impl Host for Toy {}

fn main() {
    let mut table = Table::headed(&["pairs", "packets", "packets/s", "memory KiB"]);
    for (pairs, packets) in
        [(1, 1_000_000), (1, 4_000_000), (1_000, 1_000_000), (10_000, 4_000_000)]
    {
        let link = LinkConfig::lossy(Duration::from_millis(50), "5%".parse().unwrap_or_default());
        let mut simulation = Simulation::new(1);
        let address = |side: u8, index: u32| {
            let [_, _, high, low] = index.to_be_bytes();
            SocketAddr::from(([10, side, high, low], 9899))
        };
        let left = (0..pairs).map(|index| {
            let peer = Some(address(1, index));
            let next = Some(Instant::from_nanos(u64::from(index) * 10_000));
            Placed::at(Toy { peer, next, outgoing: None }, address(0, index))
        });
        let right = (0..pairs).map(|index| Placed::at(Toy::default(), address(1, index)));
        let config = DumbbellConfig {
            bottleneck: Directions::both(link),
            left_access: None,
            right_access: None,
        };
        dumbbell(&mut simulation, left.collect(), right.collect(), &config).expect("valid links");
        let start = WallClock::now();
        simulation
            .run_until_done(Instant::FAR_FUTURE, |run| run.packets_sent() >= packets)
            .expect("time goes on");
        let rate = packets as f64 / start.elapsed().as_secs_f64();
        let [pairs, packets] = [u64::from(pairs), packets].map(|number| number.to_string());
        table.row([pairs, packets, format!("{rate:.0}"), resident_kib().to_string()]);
    }
    print!("{table}");
}

/// Resident memory where the system tells it.
fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4
}
