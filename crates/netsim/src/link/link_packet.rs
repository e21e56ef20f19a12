//! Properties of packets that a link uses, in addition to their size.

use base::{Ecn, HashKey};

/// A packet that a link carries. By default it is not ECN-capable.
pub trait LinkPacket {
    /// Whether its sender understands marks (RFC 3168: ECT(0), ECT(1) or already CE).
    fn is_ecn_capable(&self) -> bool {
        false
    }

    /// Marks the packet (RFC 3168: congestion experienced). Called only if it is ECN-capable.
    fn mark_congestion(&mut self) {}

    /// A keyed hash of the properties that packets of one flow share, such as addresses and ports.
    /// By default all packets belong to one flow.
    fn flow(&self, key: &HashKey) -> u64 {
        let _ = key;
        0
    }
}

impl<P: LinkPacket> LinkPacket for Box<P> {
    fn is_ecn_capable(&self) -> bool {
        (**self).is_ecn_capable()
    }

    fn mark_congestion(&mut self) {
        (**self).mark_congestion();
    }

    fn flow(&self, key: &HashKey) -> u64 {
        (**self).flow(key)
    }
}

/// A codepoint alone, for packets that contain one.
impl LinkPacket for Ecn {
    fn is_ecn_capable(&self) -> bool {
        *self != Ecn::NotEct
    }

    fn mark_congestion(&mut self) {
        *self = Ecn::Ce;
    }
}

#[cfg(test)]
impl LinkPacket for u64 {}
