//! What a TUN device is to be, and what it did.

use std::net::IpAddr;

/// How a TUN device is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunOptions {
    /// Name of the device, at most 15 bytes; none leaves it to the system.
    pub name: Option<String>,
    /// Addresses of *this machine* on the device, with the lengths of their networks' prefixes: the system routes
    /// these networks to it. At most one is IPv4. The machine's addresses are others in these networks.
    pub host: Vec<(IpAddr, u8)>,
    /// Largest IP packet.
    pub mtu: u16,
    /// Queues, each with a carrier of its own; at least one. The system keeps the packets of one connection in one
    /// queue.
    pub queues: usize,
    /// Whether large packets that the system would cut or join anyway pass whole (GSO, GRO), where it can.
    pub offload: bool,
}

impl Default for TunOptions {
    fn default() -> TunOptions {
        TunOptions { name: None, host: Vec::new(), mtu: 1500, queues: 1, offload: true }
    }
}

/// Counts of a carrier over a TUN device, beside those of its datagrams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TunStatistics {
    /// Packets that came, of every kind.
    pub packets_received: u64,
    /// Packets handed to the device; several segments that left as one count once.
    pub packets_sent: u64,
    /// Packets that came for an address that is not the machine's.
    pub not_ours: u64,
    /// Packets of protocols that the machine does not speak.
    pub other_protocol: u64,
    /// Fragments, none of which is accepted.
    pub fragments: u64,
    /// Packets that are cut off, damaged, or have headers that must be understood and are not.
    pub malformed: u64,
    /// ICMP errors handed to the machine.
    pub icmp_errors: u64,
    /// Pings answered.
    pub echo_replies: u64,
}
