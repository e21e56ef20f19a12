//! Identity of a host for limits and fair shares.

use core::net::{IpAddr, Ipv6Addr};

/// A host as far as its address tells: with IPv6 the network of 64 bits in which it may choose as
/// many addresses as it likes (RFC 4291, section 2.5.1), with IPv4 the address. An IPv4 address
/// mapped into IPv6 is the IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(Ipv6Addr);

impl Host {
    /// The bytes that tell it from others.
    pub fn octets(self) -> [u8; 16] {
        self.0.octets()
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Host {
        Host(match address.to_canonical() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_of_ipv6_are_one_host_and_those_of_ipv4_are_one_each() {
        let host = |text: &str| Host::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(host("2001:db8:0:1::7"), host("2001:db8:0:1:ffff::9"));
        assert_ne!(host("2001:db8:0:1::7"), host("2001:db8:0:2::7"));
        assert_ne!(host("192.0.2.1"), host("192.0.2.2"));
        assert_eq!(host("::ffff:192.0.2.1"), host("192.0.2.1"));
        assert_ne!(
            host("::ffff:192.0.2.1"),
            host("::"),
            "mapped addresses share their first 64 bits"
        );
    }
}
