//! Addresses of this machine's network interfaces.

use std::io;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;

/// Each address of this machine, with the name of its interface.
///
/// # Errors
/// The system cannot list them.
pub fn interface_addresses() -> io::Result<Vec<(String, IpAddr)>> {
    let named = getifaddrs()?.filter_map(|one| {
        let address = one.address?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        let v6 = || address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip()));
        Some((one.interface_name, v4.or_else(v6)?))
    });
    Ok(named.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_its_address() {
        let all = interface_addresses().unwrap();
        assert!(all.iter().any(|(name, ip)| name == "lo" && ip.is_loopback()), "{all:?}");
    }
}
