//! Addresses of the two hosts of a script.

use core::net::{IpAddr, Ipv6Addr};

use crate::sockets::{EPHEMERAL_PORT, LOCAL, REMOTE};

/// IPv6 address of the stack, as packetdrill has it.
const LOCAL_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1));
/// IPv6 address of the peer, as packetdrill has it.
const REMOTE_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

/// Addresses of the two hosts of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hosts {
    /// Address of the stack's host.
    pub(crate) local: IpAddr,
    /// Address of the peer's host.
    pub(crate) remote: IpAddr,
    /// The stack's port in a conversation that it opened and that has ended.
    pub(crate) active_port: u16,
}

impl Default for Hosts {
    fn default() -> Self {
        Hosts { local: LOCAL, remote: REMOTE, active_port: EPHEMERAL_PORT }
    }
}

impl Hosts {
    /// Switches both to the other family.
    pub(crate) fn set_v6(&mut self) {
        (self.local, self.remote) = (LOCAL_V6, REMOTE_V6);
    }

    /// Payload in bytes of a segment without options that fills a packet.
    pub(crate) fn largest_segment(&self, path_mtu: u16) -> usize {
        let headers = if self.local.is_ipv4() { 40 } else { 60 };
        usize::from(path_mtu).saturating_sub(headers).max(1)
    }
}
