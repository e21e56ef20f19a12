//! Packet traces: reads pcap and pcapng of any size, and reports the TCP connections and SCTP
//! associations in them what matters for thin streams: how much they send and how often, what was
//! lost and what was sent again and why, how long it took until it was acknowledged; with a second
//! capture at the receiver, how late it arrived and when the application could have it.
//!
//! [`capture`] reads a file, [`analyse`] and [`compare`] make a [`report::Report`] of it. Nothing
//! here grows with the length of a capture, and no capture can make it panic.
//!
//! A frame's way: `capture` (which bytes, when) -> `packet` (link layer, IP, UDP) ->
//! `flow::connection` or `flow::association` (the wire formats of `tcp` and `sctp`) -> `table`
//! (which connection) -> `sender` (what was sent again, and why) -> `receiver`, if there is a
//! second capture (what arrived, and when) -> `report`.
//!
//! ```
//! use trace::capture::Capture;
//!
//! // A file as tcpdump writes it, with one packet: five bytes over TCP.
//! let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101, 0, 0, 45, 45];
//! let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
//! file.extend([0x45, 0, 0, 45, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
//! file.extend([0x13, 0x88, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
//! file.extend(b"hello");
//! let (report, ()) = trace::analyse(&mut Capture::open(&file[..])?, trace::Options::default(), ());
//! assert_eq!((report.streams.len(), report.all.payload_bytes.max), (1, 5.0));
//! # Ok::<(), trace::capture::OpenError>(())
//! ```

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
