//! Parts common to the harnesses: addresses, packets with a correct checksum, and the outputs of an
//! endpoint.

use core::net::SocketAddr;

use base::{DatagramMeta, Ecn, Instant, Machine, Transmit};
use bytes::Bytes;
use sctp::{AssociationId, Endpoint, Event};

use crate::PORT;

/// More packets than any endpoint may send after one input.
const BURST: usize = 3_000;

/// Bytes of a UDP datagram on a path of 1500.
const LARGEST: usize = 1_472;

/// Address of a party: its index ends the IP address, the port is 9899.
#[must_use]
pub fn host(index: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, index], 9899))
}

/// An address of host `index` on network `path`.
#[must_use]
pub fn home(index: u8, path: u8) -> SocketAddr {
    SocketAddr::from(([10, path, 0, index], 9899))
}

/// Makes the checksum of a packet right.
pub fn fix_checksum(packet: &mut [u8]) {
    if packet.len() < 12 {
        return;
    }
    packet[8..12].fill(0);
    let checksum = crc32c::crc32c(packet);
    packet[8..12].copy_from_slice(&checksum.to_le_bytes());
}

/// A packet with `chunks` behind its header.
#[must_use]
pub fn packet(source_port: u16, tag: [u8; 4], chunks: &[u8]) -> Vec<u8> {
    let mut packet = source_port.to_be_bytes().to_vec();
    packet.extend_from_slice(&PORT.to_be_bytes());
    packet.extend_from_slice(&tag);
    packet.extend_from_slice(&[0; 4]);
    packet.extend_from_slice(chunks);
    packet.resize(packet.len().next_multiple_of(4), 0);
    fix_checksum(&mut packet);
    packet
}

/// A chunk with its header and padding.
#[must_use]
pub fn chunk(chunk_type: u8, flags: u8, value: &[u8]) -> Vec<u8> {
    let value = &value[..value.len().min(4_000)];
    let mut chunk = vec![chunk_type, flags];
    chunk.extend_from_slice(&(value.len() as u16 + 4).to_be_bytes());
    chunk.extend_from_slice(value);
    chunk.resize(chunk.len().next_multiple_of(4), 0);
    chunk
}

/// Gives an endpoint at `local` a packet from `remote`.
pub fn give(end: &mut Endpoint, now: Instant, local: SocketAddr, remote: SocketAddr, bytes: &[u8]) {
    let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
    end.handle_datagram(now, meta, Bytes::copy_from_slice(bytes).into());
}

/// A packet that leaves an endpoint.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Source, if the endpoint says.
    pub local: Option<SocketAddr>,
    /// Destination address, which chooses the endpoint.
    pub remote: SocketAddr,
    /// The SCTP packet, from its common header on.
    pub bytes: Vec<u8>,
    /// Whether it must arrive in one piece.
    pub dont_fragment: bool,
}

/// All packets that an endpoint sends now.
pub fn transmits(end: &mut Endpoint, now: Instant) -> Vec<Packet> {
    let mut sent = Vec::new();
    let mut buffer = Vec::new();
    while let Some(transmit) = end.poll_transmit(now, &mut buffer) {
        assert_eq!(transmit.size, buffer.len(), "the size that it says");
        assert!(transmit.size <= LARGEST, "larger than the path's packets");
        let bytes = core::mem::take(&mut buffer);
        let Transmit { local, remote, dont_fragment, .. } = transmit;
        sent.push(Packet { local, remote, bytes, dont_fragment });
        assert!(sent.len() < BURST, "sends without end");
    }
    sent
}

/// Drains the events of an endpoint.
pub fn events(end: &mut Endpoint) -> Vec<(AssociationId, Event)> {
    core::iter::from_fn(|| end.poll_event()).collect()
}

/// Runs the timers of an endpoint that are due at `now`.
pub fn run_timers(end: &mut Endpoint, now: Instant) {
    end.handle_timeout(now);
}

/// The earliest deadline of several endpoints.
pub fn next_timeout<'a>(ends: impl IntoIterator<Item = &'a Endpoint>) -> Option<Instant> {
    ends.into_iter().filter_map(Machine::poll_timeout).min()
}
