//! The socket interface of the script's application, on sans-IO endpoints: what both protocols share.

mod descriptors;
mod hosts;
pub(crate) mod sctp;
pub(crate) mod tcp;

use core::net::{IpAddr, Ipv4Addr};
use std::collections::VecDeque;

use base::{Ecn, Instant};

pub(crate) use self::hosts::Hosts;
use crate::expression::Expression;
use crate::stop::Stop;

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
    /// It waits for something to happen; ask again then.
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

/// The number of an argument.
///
/// # Errors
/// The script is skipped if it is none that we know.
fn integer(call: &str, argument: Option<&Expression>) -> Result<i64, Stop> {
    argument
        .and_then(|argument| argument.number(&constant))
        .ok_or_else(|| Stop::skip(format!("an argument of {call} is not supported: {argument:?}")))
}

/// Whether an address that a call is given is the one that it would have without: `...`, or the same written out. Which
/// socket it is of is the caller's affair.
///
/// # Errors
/// The script is skipped if it names another port or something else.
fn is_usual(address: Option<&Expression>, port: u16) -> Result<bool, Stop> {
    match address {
        None | Some(Expression::Any) => return Ok(true),
        Some(given) if sctp::address_of(given).is_some() => {}
        Some(other) => {
            return Err(Stop::skip(format!("the address {other:?} is not supported")));
        }
    }
    let named = |name| address.and_then(|address| sctp::part(address, name));
    let given = named("sin_port").or_else(|| named("sin6_port"));
    match given.map(|given| given.number(&constant)) {
        None => Ok(false),
        Some(given) if given == Some(port.into()) => Ok(false),
        Some(_) => Err(Stop::skip(format!("another port than {port} is not supported"))),
    }
}

/// Constants that are flags, for arguments that combine them.
pub(crate) fn constant(name: &str) -> Option<i64> {
    Some(match name {
        "O_RDONLY" => 0,
        "O_RDWR" => 2,
        "O_NONBLOCK" => 0x800,
        "SHUT_RD" => 0,
        "SHUT_WR" => 1,
        "SHUT_RDWR" => 2,
        "POLLIN" => 1,
        "POLLOUT" => 4,
        "POLLERR" => 8,
        "POLLHUP" => 16,
        "IP_PMTUDISC_DONT" => 0,
        "IP_PMTUDISC_WANT" => 1,
        "IP_PMTUDISC_DO" => 2,
        "IPTOS_DSCP_CS1" => 0x20,
        "IPTOS_DSCP_CS7" => 0xe0,
        "SPP_HB_ENABLE" => 1,
        "SPP_HB_DISABLE" => 2,
        "SPP_HB_DEMAND" => 4,
        "SPP_PMTUD_ENABLE" => 8,
        "SPP_PMTUD_DISABLE" => 0x10,
        "SCTP_UNORDERED" => 1,
        "SCTP_SACK_IMMEDIATELY" => 2,
        "SCTP_SEND_SNDINFO_VALID" => 1,
        "SCTP_SEND_PRINFO_VALID" => 2,
        "SCTP_SEND_AUTHINFO_VALID" => 4,
        "SCTP_RECVV_NOINFO" => 0,
        "SCTP_RECVV_RCVINFO" => 1,
        "SCTP_RECVV_NXTINFO" => 2,
        "SCTP_RECVV_RN" => 3,
        "SCTP_COMPLETE" => 0x20,
        "SCTP_EDMID_NONE" => 0,
        "SCTP_EDMID_LOWER_LAYER_DTLS" => 1,
        "SCTP_ENABLE_RESET_STREAM_REQ" => 1,
        "SCTP_ENABLE_RESET_ASSOC_REQ" => 2,
        "SCTP_ENABLE_CHANGE_ASSOC_REQ" => 4,
        "SCTP_STREAM_RESET_INCOMING" | "SCTP_STREAM_RESET_INCOMING_SSN" => 1,
        "SCTP_STREAM_RESET_OUTGOING" | "SCTP_STREAM_RESET_OUTGOING_SSN" => 2,
        "SCTP_STREAM_RESET_DENIED" | "SCTP_ASSOC_RESET_DENIED" | "SCTP_STREAM_CHANGE_DENIED" => 4,
        "SCTP_STREAM_RESET_FAILED" | "SCTP_ASSOC_RESET_FAILED" | "SCTP_STREAM_CHANGE_FAILED" => 8,
        _ => return None,
    })
}
