//! Parts common to the harnesses of TCP: addresses, and the outputs of an endpoint.

use core::net::{IpAddr, SocketAddr};

use base::{DatagramMeta, Ecn, Instant, Machine};
use bytes::Bytes;
use tcp::Endpoint;

use crate::air::{self, Spoilable};

/// More segments than any endpoint may send after one input.
const BURST: usize = 5_000;

/// Bytes of a segment in an IP packet of 1500.
const LARGEST: usize = 1_480;

/// IPv4 address of a party: its index ends it.
#[must_use]
pub fn host(index: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, index])
}

/// A segment that left an end and has not arrived.
#[derive(Clone, Debug)]
pub struct Flying {
    /// Source address in the IP header.
    pub from: IpAddr,
    /// Destination address in the IP header.
    pub to: IpAddr,
    /// Bytes of the segment, header included.
    pub bytes: Bytes,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
}

impl Spoilable for Flying {
    fn flip(&mut self, bit: usize) {
        let mut bytes = self.bytes.to_vec();
        air::flip(&mut bytes, bit);
        self.bytes = bytes.into();
    }

    fn mark(&mut self) {
        if self.ecn != Ecn::NotEct {
            self.ecn = Ecn::Ce;
        }
    }
}

/// Gives an endpoint a segment.
pub fn give(end: &mut Endpoint, now: Instant, flying: &Flying) {
    let meta = DatagramMeta {
        local: SocketAddr::new(flying.to, 0),
        remote: SocketAddr::new(flying.from, 0),
        ecn: flying.ecn,
        origin: None,
    };
    end.handle_datagram(now, meta, flying.bytes.clone().into());
}

/// All segments that an endpoint sends now.
pub fn transmits(end: &mut Endpoint, now: Instant) -> Vec<Flying> {
    let mut sent = Vec::new();
    let mut buffer = Vec::new();
    while let Some(transmit) = end.poll_transmit(now, &mut buffer) {
        assert_eq!(transmit.size, buffer.len(), "the size that it says");
        assert!(transmit.size <= LARGEST, "larger than the path's packets");
        let Some(local) = transmit.local else { panic!("no address to send from") };
        let bytes = Bytes::from(core::mem::take(&mut buffer));
        let (from, to) = (local.ip(), transmit.remote.ip());
        sent.push(Flying { from, to, bytes, ecn: transmit.ecn });
        assert!(sent.len() < BURST, "sends without end");
    }
    sent
}
