//! Choice of addresses for paths, and pairing of local with remote addresses.
//!
//! A list comes from an unverified peer. An address that denotes many hosts or none is ignored, and
//! so is one that denotes another host here than there (RFC 9260, sections 5.1.2 and 11.2.4.1).

use core::net::{IpAddr, SocketAddr};

use smallvec::SmallVec;

use crate::wire::{Parameter, Parameters};

/// Most addresses of a peer that are recorded.
pub(crate) const LISTED_MAX: usize = 16;

/// The addresses of a peer, the primary first, to which [`Endpoint::connect`] opens an association.
/// One address converts to a list of one.
///
/// [`Endpoint::connect`]: crate::Endpoint::connect
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddresses(SmallVec<[SocketAddr; 1]>);

impl PeerAddresses {
    /// The addresses, the primary first.
    pub fn as_slice(&self) -> &[SocketAddr] {
        &self.0
    }
}

impl From<SocketAddr> for PeerAddresses {
    fn from(address: SocketAddr) -> Self {
        PeerAddresses(SmallVec::from_iter([address]))
    }
}

impl From<&[SocketAddr]> for PeerAddresses {
    fn from(addresses: &[SocketAddr]) -> Self {
        PeerAddresses(addresses.iter().copied().collect())
    }
}

impl<const N: usize> From<[SocketAddr; N]> for PeerAddresses {
    fn from(addresses: [SocketAddr; N]) -> Self {
        PeerAddresses::from(addresses.as_slice())
    }
}

impl From<Vec<SocketAddr>> for PeerAddresses {
    fn from(addresses: Vec<SocketAddr>) -> Self {
        PeerAddresses::from(addresses.as_slice())
    }
}

/// Scope in which an address denotes one host, the narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Loopback,
    Link,
    /// Global addresses, including private ones: peers within one private network list them.
    Global,
}

/// Whether an address denotes all hosts of a group or of a link.
pub(crate) fn is_group(address: IpAddr) -> bool {
    address.is_multicast() || matches!(address, IpAddr::V4(v4) if v4.is_broadcast())
}

/// Whether an address may denote one host.
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    let reserved =
        matches!(address, IpAddr::V4(v4) if v4.octets()[0] == 0 || v4.octets()[0] >= 240);
    !address.is_unspecified() && !is_group(address) && !reserved
}

/// Scope of an address; `None` unless it denotes one host.
fn scope(address: IpAddr) -> Option<Scope> {
    let mapped = matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
    if mapped || !is_unicast(address) {
        return None;
    }
    let link = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    Some(match address.is_loopback() {
        true => Scope::Loopback,
        false if link => Scope::Link,
        false => Scope::Global,
    })
}

/// Whether `address`, given by a peer that sends from `speaker` (or to be given to one that
/// receives there), denotes the same host on both sides.
pub(crate) fn is_meaningful(address: IpAddr, speaker: IpAddr) -> bool {
    match (scope(address), scope(speaker)) {
        (Some(address), Some(speaker)) => address >= speaker,
        _ => false,
    }
}

/// The addresses that an INIT or INIT ACK of a peer at `speaker` lists: each once, at most
/// [`LISTED_MAX`], without those that denote another host here.
pub(crate) fn listed_addresses(parameters: &Parameters<'_>, speaker: IpAddr) -> Vec<IpAddr> {
    let mut listed = Vec::new();
    for parameter in parameters.iter() {
        let address = match parameter {
            Ok(Parameter::Ipv4Address(address)) => IpAddr::V4(address),
            Ok(Parameter::Ipv6Address(address)) => IpAddr::V6(address),
            Ok(_) => continue,
            Err(_) => break,
        };
        if is_meaningful(address, speaker) && !listed.contains(&address) {
            listed.push(address);
        }
        if listed.len() == LISTED_MAX {
            break;
        }
    }
    listed
}

/// The addresses as parameters for a peer at `listener`, without those that it cannot reach.
pub(crate) fn address_parameters<'p>(
    addresses: &[SocketAddr],
    listener: IpAddr,
) -> impl Iterator<Item = Parameter<'p>> {
    let named = addresses.iter().map(SocketAddr::ip).filter(move |ip| is_meaningful(*ip, listener));
    named.take(LISTED_MAX).map(|address| match address {
        IpAddr::V4(address) => Parameter::Ipv4Address(address),
        IpAddr::V6(address) => Parameter::Ipv6Address(address),
    })
}

/// The socket address of a further address of a peer whose primary address is `primary`: its UDP
/// port is initially that of the primary (RFC 6951, section 5.4), and a link-local one is on the
/// same interface.
pub(crate) fn beside(primary: SocketAddr, address: IpAddr) -> SocketAddr {
    let mut socket = primary;
    socket.set_ip(address);
    socket
}

/// The local address of path number `index` to `remote`: the one in turn among the addresses of its
/// family. `None` if none is known.
pub(crate) fn local_for(
    locals: &[SocketAddr],
    index: usize,
    remote: SocketAddr,
) -> Option<SocketAddr> {
    let family = || {
        let fits = move |local: &&SocketAddr| {
            local.is_ipv4() == remote.is_ipv4() && is_meaningful(local.ip(), remote.ip())
        };
        locals.iter().filter(fits)
    };
    let count = family().count();
    if count == 0 {
        return None;
    }
    family().nth(index % count).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_must_mean_the_same_host_on_both_sides() {
        for (address, speaker, expected) in [
            ("192.0.2.1", "198.51.100.1", true),
            ("10.0.0.1", "198.51.100.1", true),
            ("10.0.0.1", "127.0.0.1", true),
            ("127.0.0.2", "127.0.0.1", true),
            ("127.0.0.1", "10.0.0.1", false),
            ("169.254.1.1", "10.0.0.1", false),
            ("169.254.1.1", "169.254.2.2", true),
            ("fe80::1", "2001:db8::1", false),
            ("fe80::1", "fe80::2", true),
            ("::1", "2001:db8::1", false),
            ("2001:db8::2", "192.0.2.1", true),
            ("0.0.0.0", "127.0.0.1", false),
            ("::", "::1", false),
            ("0.1.2.3", "192.0.2.1", false),
            ("255.255.255.255", "127.0.0.1", false),
            ("224.0.0.1", "127.0.0.1", false),
            ("240.0.0.1", "192.0.2.1", false),
            ("ff02::1", "fe80::2", false),
            ("::ffff:127.0.0.1", "2001:db8::1", false),
        ] {
            assert_eq!(is_meaningful(ip(address), ip(speaker)), expected, "{address} of {speaker}");
        }
    }

    #[test]
    fn local_addresses_take_turns_within_the_family() {
        let locals: Vec<SocketAddr> = ["10.0.0.1:9", "[2001:db8::1]:9", "10.1.0.1:9"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        let remote = "10.0.0.2:9".parse().unwrap();
        let turns: Vec<_> = (0..3).map(|index| local_for(&locals, index, remote)).collect();
        assert_eq!(turns, [Some(locals[0]), Some(locals[2]), Some(locals[0])]);
        assert_eq!(local_for(&[], 0, remote), None);
        assert_eq!(local_for(&locals[..1], 0, "[2001:db8::2]:9".parse().unwrap()), None);
    }
}
