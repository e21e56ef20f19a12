//! An address of a path in compact form.

use core::net::{IpAddr, SocketAddr, SocketAddrV6};

/// An IP address with its scope and a port. It takes three quarters of the memory of a `SocketAddr`
/// and omits only the flow label, which the system sets in sent packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) ip: IpAddr,
    /// The scope of an IPv6 address of one link, otherwise 0.
    scope: u32,
    pub(super) port: u16,
}

impl From<SocketAddr> for Place {
    #[inline]
    fn from(address: SocketAddr) -> Place {
        let scope = match address {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(address) => address.scope_id(),
        };
        Place { ip: address.ip(), scope, port: address.port() }
    }
}

impl From<Place> for SocketAddr {
    #[inline]
    fn from(place: Place) -> SocketAddr {
        match place.ip {
            IpAddr::V4(ip) => (ip, place.port).into(),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, place.port, 0, place.scope).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_names_what_the_address_did_in_less_memory() {
        for address in ["192.0.2.1:0", "[2001:db8::1]:9899", "[fe80::1%7]:9899"] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(SocketAddr::from(Place::from(address)), address);
        }
        assert!(size_of::<Option<Place>>() <= 24);
    }
}
