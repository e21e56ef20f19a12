//! The sockets of an endpoint, and which of them each shard has.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use io::{BindError, Carrier as _, CarrierStatistics, RawCarrier, Sockets, Steering, UdpCarrier};

use crate::options::{Encapsulation, EndpointOptions};

/// Open sockets, by their carrier.
#[derive(Debug)]
pub(super) enum OpenCarrier {
    /// The sockets of each shard, at the same addresses; or those of the first, which receives for
    /// all.
    Udp(Box<[Arc<Sockets<UdpCarrier>>]>),
    /// One raw socket for all shards, since it receives every packet to its address.
    RawIp(Arc<Sockets<RawCarrier>>),
}

impl OpenCarrier {
    /// Opens sockets at all addresses: those of one shard, or those of each if they are `grouped`.
    pub(super) fn open(
        addresses: &[SocketAddr],
        options: &EndpointOptions,
        grouped: bool,
    ) -> Result<OpenCarrier, BindError> {
        let count = if grouped { options.shards } else { NonZeroUsize::MIN };
        // What waits apart, unread, must be for the shard that reads it.
        let one_receives = count < options.shards;
        let steering = match options.encapsulation.is_secure() {
            _ if one_receives => Steering::Addresses,
            true => Steering::Records,
            false => Steering::VerificationTag,
        };
        let bind = |at| io::bind_group(at, count, steering);
        let udp = match options.encapsulation {
            Encapsulation::PlainRawIp => {
                let sockets = Sockets::bind(addresses, RawCarrier::bind)?;
                return Ok(OpenCarrier::RawIp(Arc::new(sockets)));
            }
            // Servers have no use for what ICMP says of their answers.
            Encapsulation::Secure | Encapsulation::PlainUdp if !options.listen => {
                vec![Sockets::bind(addresses, UdpCarrier::bind_with_icmp)?]
            }
            Encapsulation::Secure | Encapsulation::PlainUdp => {
                Sockets::bind_groups(addresses, bind)?
            }
        };
        Ok(OpenCarrier::Udp(udp.into_iter().map(Arc::new).collect()))
    }

    /// Whether several shards have sockets.
    pub(super) fn is_of_several(&self) -> bool {
        matches!(self, OpenCarrier::Udp(udp) if udp.len() > 1)
    }

    /// The address of the first socket.
    pub(super) fn local_addr(&self) -> SocketAddr {
        match self {
            OpenCarrier::Udp(udp) => udp[0].local_addr(),
            OpenCarrier::RawIp(raw) => raw.local_addr(),
        }
    }

    /// The addresses of all sockets, each once.
    pub(super) fn local_addrs(&self) -> Vec<SocketAddr> {
        match self {
            OpenCarrier::Udp(udp) => udp[0].local_addrs().collect(),
            OpenCarrier::RawIp(raw) => raw.local_addrs().collect(),
        }
    }

    /// The addresses that peers are told of: those of several sockets.
    pub(super) fn named_addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.local_addrs();
        if addresses.len() > 1 { addresses } else { Vec::new() }
    }

    /// Counters of all sockets, added up.
    pub(super) fn statistics(&self) -> CarrierStatistics {
        match self {
            OpenCarrier::Udp(udp) => {
                let mut sum = CarrierStatistics::default();
                udp.iter().for_each(|sockets| sum.add(sockets.statistics()));
                sum
            }
            OpenCarrier::RawIp(raw) => raw.statistics(),
        }
    }
}
