//! Reading ahead: the next packets of a link are known, and so are their receivers.
//!
//! The state of many hosts fits no cache, and a packet's processing reads it piece by piece, each
//! piece after the pointer to it: it would wait for memory dozens of times. So the receivers of the
//! next packets read theirs while the packets before are processed, at a distance of one packet for
//! each pointer that leads to it. The processor does not wait for values that nothing depends on.

use core::hint::black_box;

use super::{Host, Simulation};
use crate::event_queue::Source;
use crate::packet::{LinkId, Receiver};

/// Number of hosts whose state a second-level cache holds, so that reading ahead would be in vain.
const CACHED: usize = 64;

impl<H: Host, C> Simulation<H, C> {
    /// Lets the receivers of the next packets of a link read ahead, before its first packet is
    /// taken.
    pub(super) fn warm_receivers(&self, id: LinkId) {
        if self.hosts.len() > CACHED {
            self.warm_many(id);
        }
    }

    #[inline(never)]
    fn warm_many(&self, id: LinkId) {
        let Some(link) = self.network.links.get(id.0 as usize) else { return };
        for depth in 0..=H::DEPTHS {
            // The packet at the front is processed now.
            let Some(packet) = link.arriving(H::DEPTHS - depth + 1) else { continue };
            let Some(Receiver { host, .. }) = packet.receiver.filter(|_| packet.route.is_empty())
            else {
                continue;
            };
            let Some(receiver) = self.hosts.get(host.0 as usize) else { continue };
            match depth {
                0 => {
                    black_box(core::mem::discriminant(receiver));
                    self.network.warm(host);
                    self.queue.warm(Source::Host(host.0));
                }
                _ => receiver.warm(depth),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;
    use core::net::SocketAddr;

    use base::{Datagram, DatagramMeta, Duration, Icmp, Instant, Machine, Transmit};

    use super::*;
    use crate::link::LinkConfig;

    /// Sends a datagram at a time, or receives one.
    #[derive(Default)]
    struct Toy {
        sends: Option<(Instant, SocketAddr)>,
        due: Option<SocketAddr>,
        depths: RefCell<Vec<usize>>,
        /// Depths read before the datagram arrived.
        before: Option<Vec<usize>>,
    }

    impl Machine for Toy {
        fn handle_datagram(&mut self, _: Instant, _: DatagramMeta, _: Datagram) {
            self.before = Some(self.depths.take());
        }

        fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

        fn handle_timeout(&mut self, now: Instant) {
            let sends = self.sends.take_if(|(at, _)| *at <= now);
            self.due = sends.map(|(_, peer)| peer);
        }

        fn poll_transmit(
            &mut self,
            _: Instant,
            buffer: &mut dyn base::TransmitBuffer,
        ) -> Option<Transmit> {
            let remote = self.due.take()?;
            buffer.head().push(7);
            let (local, ecn, service) = (None, base::Ecn::NotEct, base::IpService::default());
            Some(Transmit { local, remote, ecn, dont_fragment: false, service, size: 1 })
        }

        fn poll_timeout(&self) -> Option<Instant> {
            self.sends.map(|(at, _)| at)
        }
    }

    impl Host for Toy {
        fn warm(&self, depth: usize) {
            self.depths.borrow_mut().push(depth);
        }
    }

    /// The depths that each of `pairs` receivers read before its datagram arrived.
    fn depths(pairs: u8) -> Vec<Vec<usize>> {
        let mut simulation = Simulation::new(1);
        let link = LinkConfig::with_delay(Duration::from_secs(1));
        let link = simulation.add_link(link).unwrap();
        let address = |side, number| SocketAddr::from(([10, 0, side, number], 9));
        for number in 0..pairs {
            let (from, to) = (address(0, number), address(1, number));
            simulation.add_route(from.ip(), to.ip(), &[link]);
            let sends = Some((Instant::from_millis(number.into()), to));
            simulation.add_host(Toy { sends, ..Toy::default() }, &[from]);
            simulation.add_host(Toy::default(), &[to]);
        }
        simulation.run_until_idle(Instant::from_millis(5000)).unwrap();
        let receivers = simulation.hosts().iter().skip(1).step_by(2);
        receivers.map(|toy| toy.before.clone().unwrap()).collect()
    }

    #[test]
    fn a_receiver_reads_from_the_outside_in_while_the_packets_before_its_own_are_processed() {
        let many = depths(100);
        assert_eq!(many[..4], [&[][..], &[3], &[2, 3], &[1, 2, 3]]);
        assert!(many[4..].iter().all(|depths| *depths == [1, 2, 3]));
    }

    #[test]
    fn few_hosts_read_nothing_ahead() {
        assert!(depths(30).iter().all(Vec::is_empty));
    }
}
