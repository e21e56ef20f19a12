//! The socket interface of the script's application, on sans-IO endpoints: the part common to both
//! protocols.

mod arguments;
mod calls;
mod descriptors;
mod hosts;
pub(crate) mod sctp;
pub(crate) mod tcp;

use core::net::{IpAddr, Ipv4Addr};
use std::collections::VecDeque;

use base::{Ecn, Instant, Transmit};

pub(crate) use self::arguments::address_of;
pub(crate) use self::calls::{Calls, Options, Transfer};
pub(crate) use self::hosts::Hosts;

/// Port of the stack and of the peer, if the script binds none.
pub(crate) const PORT: u16 = 8080;
/// Port of a stack that connects without bind().
const EPHEMERAL_PORT: u16 = 49_152;
/// The seed with which the TSNs of both sides wrap soon.
pub(crate) const WRAPPING_SEED: u64 = 1;
/// IPv4 address of the stack, as packetdrill has it.
pub(crate) const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1));
/// IPv4 address of the peer, as packetdrill has it.
pub(crate) const REMOTE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// The sockets of one protocol as a machine.
pub(crate) trait Application {
    /// Earliest deadline of the sockets.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Runs the timers due at `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// Takes the stack's packets and events.
    fn drain(&mut self, now: Instant, emitted: &mut VecDeque<Emitted>);
}

/// Result of a call: its return, or that it blocks.
#[derive(Debug)]
pub(crate) enum Outcome {
    Returned(Returned),
    /// The call blocks: it is resumed after the next input.
    Blocks,
}

/// Return value of a call, with its outputs.
#[derive(Debug, Default)]
pub(crate) struct Returned {
    pub(crate) value: i64,
    pub(crate) errno: Option<&'static str>,
    /// Outputs, by the position of the argument.
    pub(crate) outputs: Vec<(usize, Output)>,
}

/// Output of a call in an argument.
#[derive(Clone, Debug)]
pub(crate) enum Output {
    Number(i64),
    /// The size of a buffer.
    Size(i64),
    /// A TSN of the script's side, on the wire.
    Tsn(u32),
    /// A TSN of the stack's side, on the wire.
    OwnTsn(u32),
    Name(&'static str),
    Address(IpAddr),
    /// One of several numbers, which differ among systems.
    OneOf(&'static [i64]),
    /// Names of the flags that are set.
    Names(&'static [&'static str]),
    List(Vec<Output>),
    /// An output that this crate does not support, by name.
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

    /// Output of getsockopt(): the option, and its size if it is a number.
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

/// Size of an int in bytes.
const INT_SIZE: i64 = 4;

/// A packet sent by a stack.
#[derive(Debug)]
pub(crate) struct Emitted {
    pub(crate) at: Instant,
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Vec<u8>,
    /// Room in the receive buffer at that time; TCP only.
    pub(crate) room: u64,
    /// Peer's port of the UDP encapsulation, if any.
    pub(crate) udp: Option<u16>,
}

impl Emitted {
    /// A packet without encapsulation of the stack whose usual address is `local`.
    fn new(at: Instant, transmit: &Transmit, local: IpAddr, bytes: Vec<u8>) -> Emitted {
        Emitted {
            at,
            local: transmit.local.map_or(local, |local| local.ip()),
            remote: transmit.remote.ip(),
            ecn: transmit.ecn,
            bytes,
            room: 0,
            udp: None,
        }
    }
}
