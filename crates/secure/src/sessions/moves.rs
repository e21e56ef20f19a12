//! Whether a peer is at the source of its latest record: its NAT may have assigned another port, or
//! an attacker was faster.

use core::net::SocketAddr;

use base::{Duration, Instant};

/// A peer that has moved does not move back within this time: records from its old port are
/// reordered ones.
const SETTLED: Duration = Duration::from_millis(250);
/// Time after a move, and after a datagram from the address before it, in which datagrams go to
/// both addresses.
const DOUBTED: Duration = Duration::from_secs(1);

/// The latest move of a session to another port of the peer's host.
///
/// A record proves that the peer made it, not from where: an attacker who is faster than the record
/// can send a copy from a port of its own choice. To keep an attacker from cutting the peer off,
/// the address before the move receives the same datagrams as the new one, as long as datagrams
/// from there show that the peer may be there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    before: SocketAddr,
    at: Instant,
    doubted_until: Instant,
}

impl Move {
    /// The move from `current` to another address. Of several moves in a row, the address before
    /// the first stays the doubted one.
    pub(super) fn from(current: SocketAddr, now: Instant, last: Option<Move>) -> Move {
        let doubted = last.and_then(|last| last.doubted(now, current));
        Move { before: doubted.unwrap_or(current), at: now, doubted_until: now + DOUBTED }
    }

    /// Whether a record from this address is from before the move.
    pub(super) fn is_late(&self, now: Instant, from: SocketAddr) -> bool {
        self.before == from && now.since(self.at) < SETTLED
    }

    /// The address at which the peer may still be, if it is at `current`.
    pub(super) fn doubted(&self, now: Instant, current: SocketAddr) -> Option<SocketAddr> {
        (now < self.doubted_until && self.before != current).then_some(self.before)
    }

    /// A datagram opened nothing: it may be the record of which an attacker has sent a copy.
    pub(super) fn note_unopened(&mut self, now: Instant, from: SocketAddr) {
        if self.before == from && now < self.doubted_until {
            self.doubted_until = now + DOUBTED;
        }
    }
}
