//! Memory of a packet: no allocation of its own, and none that stays.

use core::net::SocketAddr;

use allocation_counter::measure;
use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Transmit};
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, LinkConfig, Simulation};

/// Sends 1000 bytes each millisecond and keeps no received packet.
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
        buffer.resize(buffer.len() + 1_000, 1);
        Some(Transmit {
            local: None,
            remote: self.peer,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            service: base::IpService::default(),
            size: 1_000,
        })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.next)
    }
}

impl Host for Sender {}

#[test]
fn packets_share_blocks_of_memory_and_leave_nothing_behind() {
    let addresses: [SocketAddr; 2] = ["10.0.0.1:1".parse().unwrap(), "10.0.0.2:1".parse().unwrap()];
    let sender = |peer| Sender { peer, next: Instant::ZERO, is_due: false };
    let mut simulation = Simulation::new(1);
    let link = LinkConfig::lossy(Duration::from_millis(50), "5%".parse().unwrap());
    let first = Placed::at(sender(addresses[1]), addresses[0]);
    let second = Placed::at(sender(addresses[0]), addresses[1]);
    pair(&mut simulation, first, second, &[Directions::both(link)]).unwrap();
    simulation.run_until(Instant::from_millis(1_000)).unwrap();

    let before = simulation.packets_sent();
    let memory = measure(|| simulation.run_until(Instant::from_millis(51_000)).unwrap());
    let packets = simulation.packets_sent() - before;
    assert_eq!(packets, 100_000);
    assert!(memory.count_total < packets, "{memory:?}");
    // Packets in flight at the end may occupy one block more than at the beginning.
    assert!(memory.bytes_current.abs() <= 16 * 1_024, "{memory:?}");
    assert!(memory.bytes_max < 64 * 1_024, "{memory:?}");
}
