//! Control messages of a datagram: ECN codepoint and local address (Linux).

use std::net::{IpAddr, SocketAddr};

use base::Transmit;
use nix::libc;
use nix::sys::socket::ControlMessage;

use crate::ip::to_bits;

/// Control messages of the datagrams that a system call sends.
pub(crate) struct Controls {
    codepoint: u8,
    class: i32,
    is_ipv4: bool,
    source: Source,
}

/// The address to send from.
enum Source {
    Any,
    V4(libc::in_pktinfo),
    V6(libc::in6_pktinfo),
}

impl Controls {
    /// Control messages that carry the ECN codepoint of `transmit`, and the address to send it
    /// from, if it is named.
    pub(crate) fn of(transmit: &Transmit, source: Option<IpAddr>) -> Controls {
        let codepoint = to_bits(transmit.ecn);
        Controls {
            codepoint,
            class: i32::from(codepoint),
            is_ipv4: matches!(transmit.remote, SocketAddr::V4(_)),
            source: match source {
                Some(IpAddr::V4(ip)) => {
                    let ipi_spec_dst = libc::in_addr { s_addr: u32::from(ip).to_be() };
                    let ipi_addr = libc::in_addr { s_addr: 0 };
                    Source::V4(libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst, ipi_addr })
                }
                Some(IpAddr::V6(ip)) => {
                    let ipi6_addr = libc::in6_addr { s6_addr: ip.octets() };
                    Source::V6(libc::in6_pktinfo { ipi6_addr, ipi6_ifindex: 0 })
                }
                None => Source::Any,
            },
        }
    }

    /// The messages, one or two.
    pub(crate) fn messages(&self) -> Vec<ControlMessage<'_>> {
        let class = match self.is_ipv4 {
            true => ControlMessage::Ipv4Tos(&self.codepoint),
            false => ControlMessage::Ipv6TClass(&self.class),
        };
        match &self.source {
            Source::Any => vec![class],
            Source::V4(info) => vec![class, ControlMessage::Ipv4PacketInfo(info)],
            Source::V6(info) => vec![class, ControlMessage::Ipv6PacketInfo(info)],
        }
    }

    /// A buffer of the size of the messages.
    pub(crate) fn space(&self) -> Vec<u8> {
        match (self.is_ipv4, &self.source) {
            (true, Source::Any) => nix::cmsg_space!(u8),
            (true, Source::V4(_)) => nix::cmsg_space!(u8, libc::in_pktinfo),
            (true, Source::V6(_)) => nix::cmsg_space!(u8, libc::in6_pktinfo),
            (false, Source::Any) => nix::cmsg_space!(i32),
            (false, Source::V4(_)) => nix::cmsg_space!(i32, libc::in_pktinfo),
            (false, Source::V6(_)) => nix::cmsg_space!(i32, libc::in6_pktinfo),
        }
    }
}
