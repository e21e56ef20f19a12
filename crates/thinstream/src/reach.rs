//! Search for what answers at a host's name: its addresses are tried one after the other until one
//! answers (RFC 8305).

use std::net::SocketAddr;
use std::time::Duration;

use io::attempts::{self, Weight};

use crate::error::ConnectError;
use crate::peer_address::PeerAddress;

/// Makes the attempt at the peer's addresses, or at those of its host that `reaches` holds
/// possible, until one works.
pub(crate) async fn reach<T, F>(
    peer: PeerAddress,
    reaches: impl Fn(SocketAddr) -> bool,
    attempt: impl Fn(PeerAddress) -> F,
) -> Result<T, ConnectError>
where
    F: Future<Output = Result<T, ConnectError>>,
{
    let Some(host) = &peer.host else { return attempt(peer).await };
    let lookup = |reason: std::io::Error| ConnectError::Lookup {
        host: host.clone(),
        reason: reason.to_string(),
    };
    // Without the brackets the system knows an address with its interface, too.
    let found = match io::host_and_port(host) {
        Some(place) => tokio::net::lookup_host(place).await.map(Iterator::collect::<Vec<_>>),
        None => tokio::net::lookup_host(host).await.map(Iterator::collect),
    };
    let found: Vec<SocketAddr> = found.map_err(lookup)?;
    let addresses = in_turn(found.into_iter().filter(|address| reaches(*address)));
    let attempts = addresses.into_iter().map(|address| attempt(peer.at(address)));
    // A wrong key says more than silence.
    let weigh = |_, error: &ConnectError| match error {
        ConnectError::Untrusted { .. } => Weight::Telling,
        _ => Weight::Ordinary,
    };
    attempts::first(attempts, weigh).await.map_err(|error| error.unwrap_or(ConnectError::NoAddress))
}

/// The result of `connecting`, which has this time.
pub(crate) async fn within<T>(
    after: Duration,
    peer: String,
    connecting: impl Future<Output = Result<T, ConnectError>>,
) -> Result<T, ConnectError> {
    let elapsed = |_| ConnectError::TimedOut { peer, after };
    tokio::time::timeout(after, connecting).await.map_err(elapsed)?
}

/// Addresses of both families in turn, each family in its order, beginning with that of the first
/// (RFC 8305, section 4).
fn in_turn(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut found: Vec<SocketAddr> = Vec::new();
    addresses.for_each(|address| {
        if !found.contains(&address) {
            found.push(address)
        }
    });
    let first_is_ipv4 = found.first().is_some_and(SocketAddr::is_ipv4);
    let (own, other): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|address| address.is_ipv4() == first_is_ipv4);
    let (mut own, mut other) = (own.into_iter(), other.into_iter());
    let mut mixed = Vec::new();
    loop {
        let before = mixed.len();
        mixed.extend(own.next());
        mixed.extend(other.next());
        if mixed.len() == before {
            return mixed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns_and_each_address_is_tried_once() {
        let found =
            addresses(&["[::1]:1", "[::1]:1", "[::2]:1", "1.1.1.1:1", "1.1.1.2:1", "[::3]:1"]);
        let wanted = addresses(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "1.1.1.2:1", "[::3]:1"]);
        assert_eq!(in_turn(found.into_iter()), wanted);
        assert!(in_turn(std::iter::empty()).is_empty());
    }
}
