//! Packets of the simulated network.

use core::net::SocketAddr;
use core::ops::Range;

use base::{Ecn, HashKey, Instant};
use bytes::Bytes;

use crate::link::LinkPacket;
/// A host of a simulation, numbered in the order of their making.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(pub u32);

/// A host that has an address under the name that the network has for it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receiver {
    pub(crate) host: HostId,
    /// Version of the network's names for which this holds.
    pub(crate) version: u32,
}

/// A link of a simulation, numbered in the order of their making.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u32);

/// Addresses, ECN codepoint and payload of a datagram, in UDP or (with ports 0) directly over IP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressedDatagram {
    /// Source address, as the network sees it.
    pub source: SocketAddr,
    /// Destination address, as the network sees it.
    pub destination: SocketAddr,
    /// Codepoint in the IP header.
    pub ecn: Ecn,
    /// Whether the datagram must not be fragmented.
    pub dont_fragment: bool,
    /// Payload of the UDP or IP header.
    pub payload: Bytes,
    /// Bytes that follow it, shared with the sender; empty unless the simulation
    /// [gathers](crate::Simulation::set_gathering).
    pub tail: Bytes,
}

impl AddressedDatagram {
    /// Bytes of the IP and UDP headers: 20 (IPv4) or 40 (IPv6), and 8 for UDP unless the ports are
    /// 0.
    pub fn header_size(&self) -> u64 {
        let ip = if self.destination.is_ipv4() { 20 } else { 40 };
        let udp = if is_raw_ip(self.source, self.destination) { 0 } else { 8 };
        ip + udp
    }

    /// Bytes behind the UDP or IP header.
    pub fn payload_size(&self) -> u64 {
        self.payload.len() as u64 + self.tail.len() as u64
    }
}

/// Whether datagrams between these addresses travel without UDP.
pub(crate) fn is_raw_ip(source: SocketAddr, destination: SocketAddr) -> bool {
    source.port() == 0 && destination.port() == 0
}

/// A datagram between two hosts, with the facts of its transmission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Number of the datagram in the simulation, from 0; duplicates share it.
    pub number: u64,
    /// Host that sent the packet.
    pub sender: HostId,
    /// Time at which the sender's machine emitted it.
    pub sent: Instant,
    /// Whether a link has flipped bits of it.
    pub corrupted: bool,
    /// Source and destination address, and the payload.
    pub datagram: AddressedDatagram,
    /// The remaining links of its route, in the list of all routes.
    pub(crate) route: Range<u32>,
    /// The destination host, if known when the packet was sent.
    pub(crate) receiver: Option<Receiver>,
}

impl Packet {
    /// Datagram number `number`, which `sender` sent at `sent`: for observers of a network other
    /// than a simulation.
    pub fn seen(number: u64, sender: HostId, sent: Instant, datagram: AddressedDatagram) -> Packet {
        Packet { number, sender, sent, corrupted: false, datagram, route: 0..0, receiver: None }
    }
}

impl LinkPacket for Packet {
    fn is_ecn_capable(&self) -> bool {
        self.datagram.ecn.is_ecn_capable()
    }

    fn mark_congestion(&mut self) {
        self.datagram.ecn.mark_congestion();
    }

    fn flow(&self, key: &HashKey) -> u64 {
        let AddressedDatagram { source, destination, .. } = self.datagram;
        key.hash_addresses(source, destination, u64::from(is_raw_ip(source, destination)))
    }
}
