//! Parts common to all transports of the crate.

use std::net::SocketAddr;

use base::{Ecn, IpService, Purpose, RandomStream, Transmit, TransmitBuffer};
use lab::peers::Place;

/// One side of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// Address of the other side.
    pub(crate) remote: SocketAddr,
    /// Whether it waits for the other side to connect.
    pub(crate) server: bool,
    /// Seed of the side's random numbers.
    pub(crate) seed: u64,
}

impl Side {
    /// The receiver's side of a flow, or the sender's.
    pub(crate) fn of(place: &Place, server: bool) -> Side {
        let remote = if server { place.sender } else { place.receiver };
        let index = u64::from(place.number) * 2 + u64::from(server);
        let seed = RandomStream::new(place.seed, Purpose("peer", index)).below(u64::MAX);
        Side { remote, server, seed }
    }
}

/// The address as stacks want it that take none without a port: hosts of the laboratory have none.
pub(crate) fn with_port(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), 5000)
}

/// Hands a datagram for `remote` to the network.
pub(crate) fn transmit(
    remote: SocketAddr,
    datagram: &[u8],
    buffer: &mut dyn TransmitBuffer,
) -> Transmit {
    buffer.head().extend_from_slice(datagram);
    Transmit {
        local: None,
        remote,
        ecn: Ecn::NotEct,
        dont_fragment: false,
        service: IpService::default(),
        size: datagram.len(),
    }
}
