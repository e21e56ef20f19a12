//! ICMP messages that the script sends, about segments of the stack.

use base::IcmpError;

use super::super::state::Runner;
use super::Tcp;
use crate::script::{IcmpMessage, Quoted};
use crate::stop::Stop;

/// Meaning of a message for the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    /// `None` if it does not reach a transport protocol or does not concern one (RFC 1122, section
    /// 3.2.2; RFC 6633).
    error: Option<IcmpError>,
    /// Name of the error in the socket interface.
    errno: &'static str,
    sequence: u32,
}

/// The error that the stack receives, if any, and its name in the socket interface.
type Report = (Option<IcmpError>, &'static str);

const REFUSED: Report = (Some(IcmpError::NoListener), "ECONNREFUSED");
const UNREACHABLE: Report = (Some(IcmpError::Unreachable), "EHOSTUNREACH");
const NOTHING: Report = (None, "");

/// Meaning of a message and of the segment that it quotes, if this crate supports it. A message
/// without a quote is about the SYN, as in packetdrill itself. Numbers are those of ICMP, not of
/// ICMPv6.
pub(super) fn read(message: &IcmpMessage, is_ipv6: bool) -> Option<Meaning> {
    let words: Vec<&str> = message.words.iter().map(String::as_str).collect();
    let (error, errno) = match words.as_slice() {
        ["unreachable", "frag_needed", "mtu", mtu] | ["packet_too_big", "mtu", mtu] => {
            (Some(IcmpError::PacketTooBig { mtu: mtu.parse().ok()? }), "EMSGSIZE")
        }
        ["unreachable"] => UNREACHABLE,
        ["unreachable", reason] => unreachable(reason, is_ipv6)?,
        ["parameter_problem", "unknown_next_header"] => REFUSED,
        ["time_exceeded", "ttl_exceeded_in_transit" | "exceeded_hop_limit"] | ["time_exceeded"] => {
            (Some(IcmpError::NoListener), "EHOSTUNREACH")
        }
        [kind, ..] if reaches_no_transport(kind, is_ipv6) => NOTHING,
        _ => return None,
    };
    match message.quoted {
        None => Some(Meaning { error, errno, sequence: 0 }),
        Some(Quoted::Sequence(sequence)) => Some(Meaning { error, errno, sequence }),
        Some(Quoted::Tag(_)) => None,
    }
}

/// *Destination unreachable*, by its code (RFC 792, RFC 1812, section 5.2.7.1; RFC 4443, section
/// 3.1).
fn unreachable(reason: &str, is_ipv6: bool) -> Option<Report> {
    const SOFT: [&str; 14] = [
        "net_unreachable",
        "host_unreachable",
        "source_route_failed",
        "net_unknown",
        "host_unknown",
        "source_host_isolated",
        "net_unreachable_for_tos",
        "host_unreachable_for_tos",
        "precedence_violation",
        "precedence_cutoff",
        "no_route",
        "not_neighbour",
        "address_unreachable",
        "reject_route",
    ];
    const HARD: [&str; 6] = [
        "protocol_unreachable",
        "port_unreachable",
        "net_prohibited",
        "host_prohibited",
        "packet_filtered",
        "admin_prohibited",
    ];
    if HARD.contains(&reason) {
        return Some(REFUSED);
    }
    if SOFT.contains(&reason) {
        return Some(UNREACHABLE);
    }
    match reason.strip_prefix("code_")?.parse().ok()? {
        _ if is_ipv6 => None,
        0u8 | 1 | 5..=8 | 11 | 12 | 14 | 15 => Some(UNREACHABLE),
        2 | 3 | 9 | 10 | 13 => Some(REFUSED),
        // *Fragmentation needed* requires a size.
        4 => None,
        16.. => Some(NOTHING),
    }
}

/// Whether messages of this type do not reach a transport protocol, or may be ignored by one (RFC
/// 1122, section 3.2.2; RFC 6633).
fn reaches_no_transport(kind: &str, is_ipv6: bool) -> bool {
    const NAMES: [&str; 13] = [
        "time_exceeded",
        "parameter_problem",
        "redirect",
        "source_quench",
        "echo_request",
        "echo_reply",
        "timestamp_request",
        "timestamp_reply",
        "information_request",
        "information_reply",
        "address_mask_request",
        "address_mask_reply",
        "router_advertisement",
    ];
    let number = || kind.strip_prefix("type_").and_then(|number| number.parse().ok());
    NAMES.contains(&kind)
        || (!is_ipv6 && number().is_some_and(|number: u8| ![3, 11].contains(&number)))
}

impl Runner<'_, Tcp> {
    /// Quotes the minimum that routers quote: ports and sequence number.
    pub(super) fn inject_icmp(&mut self, message: &IcmpMessage) -> Result<(), Stop> {
        let is_ipv6 = self.party.sockets.hosts.local.is_ipv6();
        let Some(Meaning { error, errno, sequence }) = read(message, is_ipv6) else {
            return Err(Stop::skip("this ICMP message is not supported"));
        };
        // A system may be configured to ignore refusals from routers.
        let heeded = self.party.sockets.config.icmp_refusals;
        let error = match error {
            Some(IcmpError::NoListener) if !heeded => Some(IcmpError::Unreachable),
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
