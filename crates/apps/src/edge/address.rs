//! Addresses as an edge takes them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use base::ParseQuantityError;

/// An address of the edge and the network that it shares with this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Address of the edge in the network, at which services listen.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Length of the network's prefix.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// This machine's address in the network: the first that is not the edge's.
    pub fn host(&self) -> IpAddr {
        let first =
            |network: u128, address: u128| network + if network + 1 == address { 2 } else { 1 };
        match self.address {
            IpAddr::V4(v4) => {
                let address = u128::from(u32::from(v4));
                let size = 32 - u32::from(self.prefix);
                Ipv4Addr::from(first(address >> size << size, address) as u32).into()
            }
            IpAddr::V6(v6) => {
                let address = u128::from(v6);
                let size = 128 - u32::from(self.prefix);
                Ipv6Addr::from(first(address >> size << size, address)).into()
            }
        }
    }

    /// Whether an address shares the network's prefix.
    pub fn has(&self, address: IpAddr) -> bool {
        let common = match (self.address, address) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                (u32::from(one) ^ u32::from(other)).leading_zeros()
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => {
                (u128::from(one) ^ u128::from(other)).leading_zeros()
            }
            _ => return false,
        };
        common >= u32::from(self.prefix)
    }

    /// Whether the address is neither the network itself nor, with IPv4, its broadcast address (RFC
    /// 1122, section 3.2.1.3).
    fn is_of_a_host(&self) -> bool {
        match self.address {
            IpAddr::V4(v4) => {
                let host = u32::from(v4) & (u32::MAX >> self.prefix);
                host != 0 && host != u32::MAX >> self.prefix
            }
            IpAddr::V6(v6) => u128::from(v6) & (u128::MAX >> self.prefix) != 0,
        }
    }

    /// The network alone, as routes name it: `10.78.0.0/24`.
    pub fn route(&self) -> String {
        let network = match self.address {
            IpAddr::V4(v4) => {
                let size = 32 - u32::from(self.prefix);
                IpAddr::V4(Ipv4Addr::from((u64::from(u32::from(v4)) >> size << size) as u32))
            }
            IpAddr::V6(v6) => {
                let size = 128 - u32::from(self.prefix);
                IpAddr::V6(Ipv6Addr::from(u128::from(v6) >> size << size))
            }
        };
        format!("{network}/{}", self.prefix)
    }
}

impl FromStr for Network {
    type Err = ParseQuantityError;

    /// Reads an address with a prefix length, such as `10.78.0.2/24` or `fd78::2/64`.
    fn from_str(text: &str) -> Result<Network, ParseQuantityError> {
        const FORM: &str = "a host's address and the length of its network's prefix, at least two bits short of the \
                            whole, such as 10.78.0.2/24 or fd78::2/64";
        let parse = || {
            let (address, prefix) = text.split_once('/')?;
            let (address, prefix): (IpAddr, u8) = (address.parse().ok()?, prefix.parse().ok()?);
            let longest = if address.is_ipv4() { 30 } else { 126 };
            let is_fine = (1..=longest).contains(&prefix)
                && !address.is_unspecified()
                && !address.is_multicast()
                && !matches!(address, IpAddr::V4(v4) if v4.octets()[0] >= 240)
                && !address.is_loopback();
            is_fine.then_some(Network { address, prefix })
        };
        let network = parse().filter(Network::is_of_a_host);
        network.ok_or_else(|| ParseQuantityError::new(text, FORM))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Place at which a service listens: a port at every address of the edge, or at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The address; none means all.
    pub address: Option<IpAddr>,
    /// TCP port that clients connect to.
    pub port: u16,
}

impl Listen {
    /// The listeners that it takes, at the addresses of the edge.
    pub fn at(&self, addresses: &[Network]) -> Vec<SocketAddr> {
        let mine = addresses.iter().map(Network::address);
        let wanted = mine.filter(|ip| self.address.is_none_or(|address| address == *ip));
        wanted.map(|ip| SocketAddr::new(ip, self.port)).collect()
    }
}

impl FromStr for Listen {
    type Err = ParseQuantityError;

    /// Reads a port, or an address with one, such as `22`, `10.78.0.2:22` or `[fd78::2]:22`.
    fn from_str(text: &str) -> Result<Listen, ParseQuantityError> {
        let port = |port: &str| port.parse::<u16>().ok().filter(|port| *port != 0);
        let alone = port(text).map(|port| Listen { address: None, port });
        let both = || {
            let address: SocketAddr = text.parse().ok().filter(|at: &SocketAddr| at.port() != 0)?;
            Some(Listen { address: Some(address.ip()), port: address.port() })
        };
        let form = "a port from 1 to 65535, or an address of the edge with one, such as 22 or 10.78.0.2:22";
        alone.or_else(both).ok_or_else(|| ParseQuantityError::new(text, form))
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            None => write!(f, "{}", self.port),
            Some(address) => SocketAddr::new(address, self.port).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_of_its_prefix() {
        let network: Network = "10.78.0.2/24".parse().unwrap();
        for (address, is_in) in [
            ("10.78.0.1", true),
            ("10.78.0.255", true),
            ("10.78.1.1", false),
            ("::ffff:10.78.0.1", false),
        ] {
            assert_eq!(network.has(address.parse().unwrap()), is_in, "{address}");
        }
        let network: Network = "fd78::2/64".parse().unwrap();
        assert!(network.has("fd78::ffff".parse().unwrap()));
        assert!(!network.has("fd78:1::1".parse().unwrap()));
    }

    #[test]
    fn this_machine_gets_the_first_address_of_the_network_that_is_free() {
        for (network, host, route) in [
            ("10.78.0.2/24", "10.78.0.1", "10.78.0.0/24"),
            ("10.78.0.1/24", "10.78.0.2", "10.78.0.0/24"),
            ("10.78.9.2/16", "10.78.0.1", "10.78.0.0/16"),
            ("fd78::2/64", "fd78::1", "fd78::/64"),
            ("fd78::1/64", "fd78::2", "fd78::/64"),
        ] {
            let network: Network = network.parse().unwrap();
            assert_eq!((network.host().to_string(), network.route()), (host.into(), route.into()));
        }
    }

    #[test]
    fn what_is_no_address_with_a_network_around_it_is_refused_with_an_example() {
        for text in [
            "",
            "10.78.0.2",
            "10.78.0.2/31",
            "10.78.0.0/24",
            "10.78.0.2/0",
            "127.0.0.1/8",
            "240.0.0.2/8",
            "fd78::/64",
            "x/24",
        ] {
            let error = text.parse::<Network>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("10.78.0.2/24"), "{error}");
        }
    }

    #[test]
    fn a_service_listens_at_a_port_of_all_addresses_or_of_one() {
        let mine: Vec<Network> =
            ["10.78.0.2/24", "fd78::2/64"].map(|text| text.parse().unwrap()).into();
        let at = |text: &str| {
            let all = text.parse::<Listen>().unwrap().at(&mine);
            all.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(at("22"), ["10.78.0.2:22", "[fd78::2]:22"]);
        assert_eq!(at("10.78.0.2:22"), ["10.78.0.2:22"]);
        assert_eq!(at("10.78.0.9:22"), [""; 0]);
        for text in ["0", "65536", "10.78.0.2", "10.78.0.2:0", "ssh"] {
            assert!(text.parse::<Listen>().unwrap_err().to_string().contains("10.78.0.2:22"));
        }
    }
}
