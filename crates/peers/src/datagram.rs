//! Datagrams as the virtual network takes them from stacks that know nothing of it.

use std::net::SocketAddr;

use base::{Ecn, IpService, Transmit, TransmitBuffer};

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
