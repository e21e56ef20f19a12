//! ICMP messages that the script sends, about packets of the stack.

use core::net::SocketAddr;

use base::IcmpError;

use super::super::state::Runner;
use super::Sctp;
use crate::mapping::Side;
use crate::script::{IcmpMessage, Quoted};
use crate::sockets::PORT;
use crate::stop::Stop;

/// Meaning of a message, and the tag of the quoted packet, if this crate supports it.
pub(super) fn read(message: &IcmpMessage) -> Option<(IcmpError, u32)> {
    let words: Vec<&str> = message.words.iter().map(String::as_str).collect();
    let error = match words.as_slice() {
        ["unreachable", "frag_needed", "mtu", mtu] | ["packet_too_big", "mtu", mtu] => {
            IcmpError::PacketTooBig { mtu: mtu.parse().ok()? }
        }
        ["unreachable", "protocol_unreachable"] => IcmpError::NoListener,
        // SCTP over IP has no port for ICMP (RFC 9260, section 10, rule ICMP3).
        [
            "unreachable",
            "net_unreachable" | "host_unreachable" | "port_unreachable" | "net_unknown"
            | "host_unknown",
        ]
        | ["unreachable", "net_prohibited" | "host_prohibited" | "packet_filtered"] => {
            IcmpError::Unreachable
        }
        _ => return None,
    };
    match message.quoted? {
        Quoted::Tag(tag) => Some((error, tag)),
        Quoted::Sequence(_) => None,
    }
}

impl Runner<'_, Sctp> {
    /// Quotes the minimum that routers quote, ports and tag, and the stack's own tag if the packet
    /// was an INIT, which has no other.
    pub(super) fn inject_icmp(&mut self, message: &IcmpMessage) -> Result<(), Stop> {
        let Some((error, tag)) = read(message) else {
            return Err(Stop::skip("this ICMP message is not supported"));
        };
        self.party.switch_to(self.party.sockets.hosts.remote);
        let mut quoted = Vec::new();
        quoted.extend(self.party.sockets.port().to_be_bytes());
        quoted.extend(PORT.to_be_bytes());
        quoted.extend(self.party.talk.mapping.live_tag(Side::Script, tag).to_be_bytes());
        if tag == 0 {
            quoted.extend([0, 0, 0, 0, 1, 0, 0, 20]);
            quoted.extend(self.party.talk.mapping.stack_tag().unwrap_or_default().to_be_bytes());
        }
        let remote = SocketAddr::new(self.party.sockets.hosts.remote, 0);
        self.party.sockets.handle_icmp(self.now, remote, error, &quoted);
        self.drain()
    }
}
