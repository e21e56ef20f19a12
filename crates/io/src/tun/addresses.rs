//! Packets of a TUN device that are the machine's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The machine's addresses, and the networks of its device.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    own: Vec<IpAddr>,
    /// Networks of the device, with the lengths of their prefixes. Other addresses in them are not
    /// the machine's.
    networks: Vec<(IpAddr, u8)>,
}

impl Addresses {
    pub(super) fn new(own: &[IpAddr], networks: Vec<(IpAddr, u8)>) -> Addresses {
        Addresses { own: own.to_vec(), networks }
    }

    /// Whether `address` is named as the machine's.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        self.own.contains(&address)
    }

    /// Whether packets to `address` are for the machine: `address` is one of its own, or it is
    /// outside the device's networks and the machine has the unspecified address of its family.
    pub(super) fn take(&self, address: IpAddr) -> bool {
        let any = match address {
            IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        };
        let is_elsewhere = || {
            !address.is_multicast()
                && !self.networks.iter().any(|network| is_within(*network, address))
        };
        self.has(address) || (self.has(any) && is_elsewhere())
    }

    /// The machine's default source address for a peer of this family.
    pub(super) fn source_for(&self, destination: IpAddr) -> Option<IpAddr> {
        let of_family = |ip: &&IpAddr| ip.is_ipv4() == destination.is_ipv4();
        self.own.iter().find(of_family).copied()
    }

    /// The address given first, of either family.
    pub(super) fn first(&self) -> Option<IpAddr> {
        self.own.first().copied()
    }
}

/// Whether `address` has the network's prefix; never for the other family.
fn is_within((network, prefix): (IpAddr, u8), address: IpAddr) -> bool {
    let common = match (network, address) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (u32::from(one) ^ u32::from(other)).leading_zeros(),
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            (u128::from(one) ^ u128::from(other)).leading_zeros()
        }
        _ => return false,
    };
    common >= u32::from(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_unspecified_address_stands_for_all_outside_the_devices_networks() {
        let networks = vec![(ip("10.78.0.1"), 24), (ip("fd78::1"), 64)];
        let named = Addresses::new(&[ip("10.78.0.2"), ip("fd78::2")], networks.clone());
        let any = [ip("10.78.0.2"), ip("fd78::2"), ip("0.0.0.0"), ip("::")];
        let all = Addresses::new(&any, networks);
        for (address, is_named, is_taken) in [
            ("10.78.0.2", true, true),
            ("fd78::2", true, true),
            ("192.0.2.10", false, true),
            ("2001:db8::1", false, true),
            ("10.78.0.7", false, false),
            ("10.78.0.255", false, false),
            ("fd78::7", false, false),
            ("ff02::2", false, false),
            ("224.0.0.1", false, false),
        ] {
            assert_eq!(
                (named.take(ip(address)), all.take(ip(address))),
                (is_named, is_taken),
                "{address}"
            );
        }
        assert_eq!(all.source_for(ip("192.0.2.1")), Some(ip("10.78.0.2")));
    }
}
