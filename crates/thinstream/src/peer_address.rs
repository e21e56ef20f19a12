//! A peer's addresses, and the key that identifies it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use sctp::PeerAddresses;
use secure::Trust;

use crate::options::DEFAULT_PORT;

/// Addresses of a peer, and the keys that it may have.
///
/// Text such as `"game.example:9899"`, `"[2001:db8::1]:9899"` or `"192.0.2.1"` becomes one (without
/// a port it means [`DEFAULT_PORT`]); so do a socket address, and several for a peer that has more
/// than one. Unless packets travel unencrypted, it also takes a trust: [`PeerAddress::trusting`],
/// or a pair of the place and a fingerprint or a trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    /// IP addresses and, over UDP, the ports of the encapsulation; the first is the primary.
    pub addresses: PeerAddresses,
    /// A host and a port that are looked up when the association is set up; then `addresses` is
    /// empty. Of the addresses found, IPv6 and IPv4, the one that answers first is taken.
    pub host: Option<String>,
    /// Port of the peer's SCTP endpoint, inside of UDP or IP.
    pub sctp_port: u16,
    /// The keys that the peer may have, on every path. Required, except for unencrypted packets,
    /// which prove no key.
    pub trust: Option<Trust>,
}

impl PeerAddress {
    /// The peer at `addresses`, the primary first, and this SCTP port.
    pub fn new(addresses: impl Into<PeerAddresses>, sctp_port: u16) -> PeerAddress {
        PeerAddress { addresses: addresses.into(), host: None, sctp_port, trust: None }
    }

    /// This peer, with a fingerprint or a trust that its key must match.
    pub fn trusting(self, trust: impl Into<Trust>) -> PeerAddress {
        PeerAddress { trust: Some(trust.into()), ..self }
    }

    /// The address given first, which becomes the primary path.
    pub(crate) fn first(&self) -> Option<SocketAddr> {
        self.addresses.as_slice().first().copied()
    }

    /// This peer at one address that was found for its host.
    pub(crate) fn at(&self, address: SocketAddr) -> PeerAddress {
        PeerAddress { addresses: address.into(), host: None, ..self.clone() }
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.first()) {
            (Some(host), _) => f.pad(host),
            (None, Some(first)) => write!(f, "{first}"),
            (None, None) => f.pad("no address"),
        }
    }
}

impl From<&str> for PeerAddress {
    /// The peer at this host, IP address or name, and SCTP port [`DEFAULT_PORT`]. A name, and any
    /// text that is no address, is looked up when the association is set up, which fails with the
    /// error of the lookup.
    fn from(text: &str) -> PeerAddress {
        let alone = || text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, DEFAULT_PORT));
        if let Some(address) = text.parse().ok().or_else(alone) {
            return PeerAddress::from(address);
        }
        // An address that names its interface.
        let zoned = text.split_once('%').filter(|(ip, _)| ip.parse::<Ipv6Addr>().is_ok());
        let has_port = text.rfind(':').is_some_and(|at| !text[at..].contains(']'));
        let host = match (zoned, has_port) {
            (Some(_), _) => format!("[{text}]:{DEFAULT_PORT}"),
            (None, true) => text.to_owned(),
            (None, false) => format!("{text}:{DEFAULT_PORT}"),
        };
        PeerAddress { host: Some(host), ..PeerAddress::new(&[][..], DEFAULT_PORT) }
    }
}

impl From<String> for PeerAddress {
    /// Parses the text as `From<&str>` does.
    fn from(text: String) -> PeerAddress {
        PeerAddress::from(text.as_str())
    }
}

impl From<SocketAddr> for PeerAddress {
    /// The peer at SCTP port [`DEFAULT_PORT`].
    fn from(address: SocketAddr) -> PeerAddress {
        PeerAddress::new(address, DEFAULT_PORT)
    }
}

impl<A: Into<PeerAddress>, T: Into<Trust>> From<(A, T)> for PeerAddress {
    /// The peer at this place, with a fingerprint or a trust that its key must match.
    fn from((place, trust): (A, T)) -> PeerAddress {
        place.into().trusting(trust)
    }
}

impl From<&[SocketAddr]> for PeerAddress {
    /// The peer at these addresses and SCTP port [`DEFAULT_PORT`].
    fn from(addresses: &[SocketAddr]) -> PeerAddress {
        PeerAddress::new(addresses, DEFAULT_PORT)
    }
}

impl<const N: usize> From<[SocketAddr; N]> for PeerAddress {
    /// The peer at these addresses and SCTP port [`DEFAULT_PORT`].
    fn from(addresses: [SocketAddr; N]) -> PeerAddress {
        PeerAddress::new(addresses, DEFAULT_PORT)
    }
}

impl From<Vec<SocketAddr>> for PeerAddress {
    /// The peer at these addresses and SCTP port [`DEFAULT_PORT`].
    fn from(addresses: Vec<SocketAddr>) -> PeerAddress {
        PeerAddress::new(addresses, DEFAULT_PORT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_an_address_where_it_can_be_one_and_else_a_host_to_look_up() {
        for (text, address) in [
            ("127.0.0.1:7", "127.0.0.1:7"),
            ("127.0.0.1", "127.0.0.1:9899"),
            ("[::1]:7", "[::1]:7"),
            ("::1", "[::1]:9899"),
        ] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(PeerAddress::from(text), PeerAddress::from(address), "{text}");
        }
        for (text, host) in [
            ("game.example:7", "game.example:7"),
            ("game", "game:9899"),
            ("fe80::1%eth0", "[fe80::1%eth0]:9899"),
            ("[fe80::1%eth0]:7", "[fe80::1%eth0]:7"),
        ] {
            let peer = PeerAddress::from(text.to_owned());
            assert_eq!((peer.host.as_deref(), peer.first()), (Some(host), None));
            assert_eq!(peer.to_string(), host);
        }
    }
}
