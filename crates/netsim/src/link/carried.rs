//! What a link must know of a packet besides its size.

use base::{Ecn, HashKey};

/// A packet that a link carries. Without more said, it cannot bear marks.
pub trait Carried {
    /// Whether its sender understands marks (RFC 3168: ECT(0), ECT(1) or already CE).
    fn is_ecn_capable(&self) -> bool {
        false
    }

    /// A queue marks it instead of dropping it (RFC 3168: congestion experienced). Asked only of one that
    /// can bear it.
    fn mark_congestion(&mut self) {}

    /// A hash under this key of what packets of one flow have in common, such as addresses and ports. Without more said,
    /// all packets are of one flow.
    fn flow(&self, key: &HashKey) -> u64 {
        let _ = key;
        0
    }
}

/// A codepoint by itself, for packets that hold one.
impl Carried for Ecn {
    fn is_ecn_capable(&self) -> bool {
        *self != Ecn::NotEct
    }

    fn mark_congestion(&mut self) {
        *self = Ecn::Ce;
    }
}

#[cfg(test)]
impl Carried for u64 {}
