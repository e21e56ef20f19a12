//! The socket interface of the script's application, on sans-IO endpoints: what both protocols share.

mod arguments;
mod descriptors;
mod hosts;
pub(crate) mod sctp;
pub(crate) mod tcp;

use core::net::{IpAddr, Ipv4Addr};
use std::collections::VecDeque;

use base::{Ecn, Instant};

pub(crate) use self::arguments::address_of;
pub(crate) use self::hosts::Hosts;

/// The stack's port, and the peer's, where the script binds none.
pub(crate) const PORT: u16 = 8080;
/// A port of a stack that connects without being bound.
const EPHEMERAL_PORT: u16 = 49_152;
/// The seed with which the TSNs of both sides wrap soon.
pub(crate) const WRAPPING_SEED: u64 = 1;
/// The stack's address.
pub(crate) const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1));
/// The peer's.
pub(crate) const REMOTE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// The sockets of one protocol as the machine that they are.
pub(crate) trait Application {
    /// When they want to be called next.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Time has come to `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// Takes what the stack sends, and notes what it announces.
    fn drain(&mut self, now: Instant, emitted: &mut VecDeque<Emitted>);
}

/// What became of a call.
#[derive(Debug)]
pub(crate) enum Outcome {
    Returned(Returned),
    /// The call blocks: ask again once something has happened.
    Blocks,
}

/// What a call returned.
#[derive(Debug, Default)]
pub(crate) struct Returned {
    pub(crate) value: i64,
    pub(crate) errno: Option<&'static str>,
    /// What it wrote to its arguments, by their position.
    pub(crate) outputs: Vec<(usize, Output)>,
}

/// What a call wrote to an argument.
#[derive(Clone, Debug)]
pub(crate) enum Output {
    Number(i64),
    /// The size of a buffer.
    Size(i64),
    /// A TSN of the script's side, as on the wire.
    Tsn(u32),
    /// A TSN of the stack's side, as on the wire.
    OwnTsn(u32),
    Name(&'static str),
    Address(IpAddr),
    /// One of these, which differ from system to system.
    OneOf(&'static [i64]),
    /// Flags that are set.
    Names(&'static [&'static str]),
    List(Vec<Output>),
    /// What only some scripts ask for and this crate does not have, by name.
    Unsupported(&'static str),
    Struct(Vec<(&'static str, Output)>),
}

impl Returned {
    fn value(value: i64) -> Outcome {
        Outcome::Returned(Returned { value, ..Returned::default() })
    }

    fn error(errno: &'static str) -> Outcome {
        Outcome::Returned(Returned { value: -1, errno: Some(errno), outputs: Vec::new() })
    }

    /// What getsockopt() writes: the option, and the size of one that is a number.
    fn option(output: Output) -> Outcome {
        let size = match output {
            Output::Struct(_) => None,
            _ => Some((4, Output::Number(INT_SIZE))),
        };
        let outputs = [(3, output)].into_iter().chain(size).collect();
        Outcome::Returned(Returned { outputs, ..Returned::default() })
    }

    fn output(position: usize, output: Output) -> Outcome {
        Outcome::Returned(Returned { outputs: vec![(position, output)], ..Returned::default() })
    }
}

/// Bytes of an int.
const INT_SIZE: i64 = 4;

/// A packet that a stack sent.
#[derive(Debug)]
pub(crate) struct Emitted {
    pub(crate) at: Instant,
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Vec<u8>,
    /// Room in the receive buffer when it was sent, of TCP.
    pub(crate) room: u64,
    /// The peer's port of the UDP encapsulation, if there is one.
    pub(crate) udp: Option<u16>,
}
