//! Options and statistics of a TUN device.

use std::net::IpAddr;

/// Options of a TUN device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunOptions {
    /// Name of the device, at most 15 bytes; none leaves the choice to the system.
    pub name: Option<String>,
    /// Addresses of *this machine* on the device, with the lengths of their networks' prefixes:
    /// the system routes these networks to it. At most one is IPv4. The machine has other
    /// addresses in these networks.
    pub host: Vec<(IpAddr, u8)>,
    /// Largest IP packet in bytes, headers included.
    pub mtu: u16,
    /// Number of queues, each with its own carrier; at least one. The system keeps the packets of
    /// one connection in one queue.
    pub queues: usize,
    /// Whether large packets pass unsegmented (GSO, GRO), if the system can.
    pub offload: bool,
}

impl Default for TunOptions {
    fn default() -> TunOptions {
        TunOptions { name: None, host: Vec::new(), mtu: 1500, queues: 1, offload: true }
    }
}

/// Counters of a carrier over a TUN device, in addition to those of its datagrams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TunStatistics {
    /// Received packets of every kind.
    pub packets_received: u64,
    /// Packets passed to the device; several segments that left as one count once.
    pub packets_sent: u64,
    /// Packets to an address that is not the machine's.
    pub not_ours: u64,
    /// Packets of protocols that the machine does not speak.
    pub other_protocol: u64,
    /// Fragments, all of which are dropped.
    pub fragments: u64,
    /// Packets that are truncated, damaged, or have unknown headers that require their discard.
    pub malformed: u64,
    /// ICMP errors passed to the machine.
    pub icmp_errors: u64,
    /// Echo requests answered without the machine.
    pub echo_replies: u64,
}
