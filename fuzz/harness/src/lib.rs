//! Harnesses of the fuzz targets: functions that panic when something is wrong. libFuzzer calls
//! them with inputs that it makes up (`make fuzz`), the smoke test with seeded ones (`make test`),
//! and the example `replay` with files.
//!
//! - [`parser`]: a packet is read, written again and read once more.
//! - [`segment`]: the same with a TCP segment.
//! - [`packet`]: an IP packet from a TUN device, and an ICMP message in it.
//! - [`offload`]: large packets through a TUN device, in and out.
//! - [`trace`]: a packet capture.
//! - [`sdp`]: a session description of a browser.
//! - [`signalling`]: the exchange of offer and answer, over HTTP.
//! - [`stun`]: datagrams at a server that waits for a browser.
//! - [`dtls`]: a server with encrypted sessions, a client, and a hostile network between them.
//! - [`association`]: two endpoints and an attacker who knows their tags and TSNs.
//! - [`endpoint`]: a listener, clients, forgers and thieves.
//! - [`pair`]: two associations with a hostile network between them, judged by a model.
//! - [`tcp_connection`]: a TCP endpoint and a peer who knows the numbers but not its manners.
//! - [`tcp_pair`]: two ends of a TCP connection with a hostile network between them, judged by a
//!   model.
//! - [`flow`]: what an edge carries between a client and a service, judged by a model, with a model
//!   for a client or the TCP stack.
//! - [`tcp_policy`]: the recovery policies of both, by numbers.
//! - [`advice`]: advice to recovery, by numbers.
//! - [`air`]: the hostile network of both pairs.
//! - [`corpus`]: the inputs of usrsctp's fuzzers in the shapes that they are made for.

#![allow(clippy::panic, reason = "a harness fails by panicking")]

pub mod advice;
pub mod air;
pub mod association;
pub mod corpus;
pub mod dtls;
pub mod endpoint;
pub mod flow;
pub mod network;
pub mod offload;
pub mod packet;
pub mod pair;
pub mod parser;
pub mod sdp;
pub mod segment;
pub mod signalling;
pub mod stun;
pub mod tcp_connection;
pub mod tcp_network;
pub mod tcp_pair;
pub mod tcp_policy;
pub mod trace;

mod input;

use arbitrary::{Arbitrary, Unstructured};

pub use self::input::{Blob, Steps};

/// The SCTP port of every endpoint here.
pub const PORT: u16 = 5000;

/// Reads a value of a target's input type from bytes, as libFuzzer does; none if they are too few.
pub fn read<'a, T: Arbitrary<'a>>(bytes: &'a [u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(bytes)).ok()
}
