//! The two sides of a flow.

use std::net::SocketAddr;

use base::{Purpose, RandomStream};
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
