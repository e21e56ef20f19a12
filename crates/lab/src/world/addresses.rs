//! Addresses of the two ends of each flow.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Bits of an address that number the flow.
const FLOW_BITS: u32 = 21;

/// The address of one side of a flow on a path, with port 0: 10.0.0.0/8 has room for two million
/// flows.
pub(super) fn address(side: u32, path: usize, flow: u32) -> SocketAddr {
    let host = side << 23 | (path as u32 & 3) << FLOW_BITS | (flow & ((1 << FLOW_BITS) - 1));
    SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(10 << 24 | host)), 0)
}

/// Flow that an IPv4 address belongs to, by the address's lowest bits; none for IPv6.
pub(super) fn flow_of(address: SocketAddr) -> Option<u32> {
    match address.ip() {
        IpAddr::V4(ip) => Some(ip.to_bits() & ((1 << FLOW_BITS) - 1)),
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_flow_side_and_path() {
        let all = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 3, 7), (0, 2, 2_000_000)];
        let mut seen: Vec<SocketAddr> =
            all.map(|(side, path, flow)| address(side, path, flow)).to_vec();
        for ((_, _, flow), address) in all.iter().zip(&seen) {
            assert_eq!(flow_of(*address), Some(*flow));
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all.len());
        assert_eq!(address(0, 0, 1).to_string(), "10.0.0.1:0");
    }
}
