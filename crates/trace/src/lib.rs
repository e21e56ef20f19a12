//! Packet traces: reads pcap and pcapng of any size, and reports the TCP connections and SCTP associations
//! in them what matters for thin streams: how much they send and how often, what was lost and what was sent
//! again and why, how long it took until it was acknowledged; with a second capture at the receiver, how
//! late it arrived and when the application could have it.
//!
//! [`capture`] reads a file, [`analyse`] and [`compare`] make a [`report::Report`] of it. Nothing here grows
//! with the length of a capture, and no capture can make it panic.
//!
//! A frame's way: `capture` (which bytes, when) -> `packet` (link layer, IP, UDP) -> `flow::connection`
//! or `flow::association` (the wire formats of `tcp` and `sctp`) -> `table` (which connection) -> `sender` (what was
//! sent again, and why) -> `receiver`, if there is a second capture (what arrived, and when) -> `report`.

pub mod capture;
pub mod details;
pub mod messages;
pub mod observer;
pub mod report;
pub mod waiting;
mod way;

mod analysis;
mod distribution;
mod flow;
mod packet;
mod ranges;
mod receiver;
mod sender;
mod serial;
mod table;

pub use analysis::{
    AddressRule, End, Interfaces, Observer, Options, analyse, clock_difference, compare,
};
pub use packet::{Protocol, SCTP_OVER_UDP};
