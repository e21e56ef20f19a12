//! Segments that belong to no connection of the endpoint, for other endpoints at the same
//! addresses.
//!
//! Endpoints behind the queues of one device divide the connections among them. A system keeps the
//! packets of a connection in one queue, but for a hint only: packets of one connection may reach
//! two queues, as those of IPv6 do whose flow labels differ.

use core::net::SocketAddr;

use base::{Ecn, Instant};

use super::Endpoint;
use crate::wire::Segment;

/// A segment that an endpoint has no connection for.
#[derive(Debug)]
pub struct Stray {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) segment: Segment,
    pub(super) ecn: Ecn,
}

/// Most strays that wait; further ones are dropped, as a full queue of a network drops packets.
const STRAYS_MAX: usize = 1024;

impl Endpoint {
    /// Keeps a segment for [`Endpoint::take_stray`].
    pub(super) fn put_aside(&mut self, stray: Stray) {
        if self.strays.len() < STRAYS_MAX {
            self.strays.push_back(stray);
        } else {
            self.stats.strays_dropped += 1;
        }
    }

    /// Output: the next segment that another endpoint may have a connection for
    /// ([`EndpointOptions::hands_over`]).
    ///
    /// [`EndpointOptions::hands_over`]: crate::EndpointOptions::hands_over
    pub fn take_stray(&mut self) -> Option<Stray> {
        self.strays.pop_front()
    }

    /// Input: a segment that another endpoint had no connection for. `is_last` if no other endpoint
    /// is left that may have one: the segment is refused if there is none here either.
    pub fn handle_stray(&mut self, now: Instant, stray: Stray, is_last: bool) {
        self.dispatch(now, stray, is_last);
    }
}
