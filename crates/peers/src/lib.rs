//! Transports of others in virtual time, for plans of the laboratory: QUIC (quinn-proto), KCP, ENet
//! (`rusty_enet`), dcsctp, sctp-proto and usrsctp, and two oracles, which know at once what was
//! lost: bounds that no transport can beat without sending more than they do.
//!
//! [`register`] makes them known to the laboratory; [`lab::peers::PeerEnd`] is all that a transport
//! has to offer. None of them is part of what ships: `thinstream` has them if it is built with the
//! feature `peers`.

mod datagram;
mod ends;
mod enet;
mod kcp;
mod oracle;
mod other_sctp;
mod quic;
mod usrsctp;

use lab::peers::{Described, Pair, PeerEnd, Peers, Place};

use crate::ends::Side;

/// The transports, each with its tuning.
pub const ALL: [Described; 8] = [
    other("quic"),
    other("kcp"),
    other("enet"),
    Described { speaks_sctp: true, ..other("dcsctp") },
    Described { speaks_sctp: true, ..other("sctp-proto") },
    Described { speaks_sctp: true, ..other("usrsctp") },
    oracle("oracle-retransmission"),
    oracle("oracle-bundling"),
];

const fn other(name: &'static str) -> Described {
    Described { name, speaks_sctp: false, has_tuned: true, is_bound: false }
}

const fn oracle(name: &'static str) -> Described {
    Described { has_tuned: false, is_bound: true, ..other(name) }
}

/// Makes all transports of this crate known to the laboratory.
pub fn register() {
    lab::peers::register(&Registry);
}

/// The transports of this crate.
#[derive(Clone, Copy, Debug)]
pub struct Registry;

impl Peers for Registry {
    fn all(&self) -> &'static [Described] {
        &ALL
    }

    fn missing(&self, name: &str) -> Option<String> {
        (name == "usrsctp").then(usrsctp::missing).flatten()
    }

    fn pair(&self, name: &str, tuned: bool, place: &Place) -> Option<Pair> {
        let make: fn(Side, bool) -> Option<Box<dyn PeerEnd>> = match name {
            "quic" => |side, tuned| Some(Box::new(quic::QuicEnd::new(side, tuned))),
            "kcp" => |side, tuned| Some(Box::new(kcp::KcpEnd::new(side, tuned))),
            "enet" => |side, tuned| Some(Box::new(enet::EnetEnd::new(side, tuned)?)),
            "dcsctp" => |side, tuned| Some(Box::new(other_sctp::dcsctp(side, tuned))),
            "sctp-proto" => |side, tuned| Some(Box::new(other_sctp::sctp_proto(side, tuned))),
            "usrsctp" => |side, tuned| Some(Box::new(usrsctp::UsrsctpEnd::new(side, tuned)?)),
            "oracle-retransmission" => return Some(oracle::pair(place, false)),
            "oracle-bundling" => return Some(oracle::pair(place, true)),
            _ => return None,
        };
        let sender = make(Side::of(place, false), tuned)?;
        let receiver = make(Side::of(place, true), tuned)?;
        Some(Pair { sender, receiver, watcher: None })
    }
}
