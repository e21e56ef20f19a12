//! ICMP messages that the script sends, about segments of the stack.

use base::IcmpError;

use super::super::Runner;
use super::Tcp;
use crate::script::{IcmpMessage, Quoted};
use crate::stop::Stop;

/// What a message means to the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    /// None: it does not reach a transport protocol, or says nothing about one (RFC 1122, section 3.2.2;
    /// RFC 6633).
    error: Option<IcmpError>,
    /// What the socket interface calls it.
    errno: &'static str,
    sequence: u32,
}

/// What a message says and the segment that it quotes, if this crate knows it.
pub(super) fn read(message: &IcmpMessage) -> Option<Meaning> {
    let words: Vec<&str> = message.words.iter().map(String::as_str).collect();
    let refused = (Some(IcmpError::NobodyThere), "ECONNREFUSED");
    let (error, errno) = match words.as_slice() {
        ["unreachable", "frag_needed", "mtu", mtu] | ["packet_too_big", "mtu", mtu] => {
            (Some(IcmpError::PacketTooBig { mtu: mtu.parse().ok()? }), "EMSGSIZE")
        }
        ["unreachable", reason] => match *reason {
            "protocol_unreachable"
            | "port_unreachable"
            | "net_prohibited"
            | "host_prohibited"
            | "packet_filtered"
            | "admin_prohibited" => refused,
            _ => (Some(IcmpError::Unreachable), "EHOSTUNREACH"),
        },
        ["parameter_problem", "unknown_next_header"] => refused,
        ["time_exceeded", "ttl_exceeded_in_transit" | "exceeded_hop_limit"] => {
            (Some(IcmpError::NobodyThere), "EHOSTUNREACH")
        }
        ["time_exceeded" | "parameter_problem" | "redirect" | "source_quench", ..] => (None, ""),
        _ => return None,
    };
    match message.quoted? {
        Quoted::Sequence(sequence) => Some(Meaning { error, errno, sequence }),
        Quoted::Tag(_) => None,
    }
}

impl Runner<'_, Tcp> {
    /// Quotes of the segment what each router quotes at the least: ports and sequence number.
    pub(super) fn inject_icmp(&mut self, message: &IcmpMessage) -> Result<(), Stop> {
        let Some(Meaning { error, errno, sequence }) = read(message) else {
            return Err(Stop::skip("this ICMP message is not supported"));
        };
        // A system may be told to take no refusal from a router.
        let heeded = self.party.sockets.config.icmp_refusals;
        let error = match error {
            Some(IcmpError::NobodyThere) if !heeded => Some(IcmpError::Unreachable),
            error => error,
        };
        let Some(error) = error else { return Ok(()) };
        let (local, remote) = self.party.sockets.ports();
        let mut quoted = Vec::new();
        quoted.extend(local.to_be_bytes());
        quoted.extend(remote.to_be_bytes());
        quoted.extend(self.party.numbers.live_of_stack(sequence).to_be_bytes());
        self.party.sockets.handle_icmp(self.now, error, errno, &quoted);
        self.drain()
    }
}
