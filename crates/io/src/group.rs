//! Several UDP sockets at one address, over which the system distributes arriving datagrams.

use std::net::SocketAddr;
use std::num::NonZeroUsize;

use crate::carrier::BindError;
use crate::udp::UdpCarrier;

/// How the system distributes datagrams over a group of sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// By a hash of both addresses and ports.
    Addresses,
    /// By the verification tag of the SCTP packet in the datagram: the remainder of the tag by the number of sockets is the
    /// number of the socket. Without a tag, as in INIT, by addresses.
    VerificationTag,
}

/// Whether this system can distribute datagrams over several sockets as [`Steering`] says: Linux
/// can.
pub fn can_group() -> bool {
    cfg!(target_os = "linux")
}

/// Opens `count` sockets at `address`, over which the system distributes datagrams as `steering`
/// says; port 0 means a free one. No other socket may be there, as with [`UdpCarrier::bind`]. Needs
/// a tokio runtime with I/O enabled.
///
/// The order of the sockets is that of their numbers; it changes as soon as one of them is closed, so that all should be
/// kept until none is needed. What distributes them is a hint: a datagram may come to any.
///
/// # Errors
/// When the address is not available, or several were asked for and [`can_group`] is false.
pub fn bind_group(
    address: SocketAddr,
    count: NonZeroUsize,
    steering: Steering,
) -> Result<Vec<UdpCarrier>, BindError> {
    let first = UdpCarrier::bind(address)?;
    if count.get() == 1 {
        return Ok(vec![first]);
    }
    #[cfg(target_os = "linux")]
    let group = linux::group(first, count.get(), steering);
    #[cfg(not(target_os = "linux"))]
    let group = {
        let _ = (first, steering);
        Err(std::io::ErrorKind::Unsupported.into())
    };
    group.map_err(|source| BindError::new("UDP", address, source))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use nix::libc::{self, sock_filter, sock_fprog};
    use nix::sys::socket::{setsockopt, sockopt};

    use super::Steering;
    use crate::carrier::Carrier;
    use crate::udp::UdpCarrier;

    /// Adds `count - 1` sockets to `first`, which is alone at its address: the system refuses an address for several sockets
    /// unless each of them agreed, and the first one agrees once it has the address.
    pub(super) fn group(
        first: UdpCarrier,
        count: usize,
        steering: Steering,
    ) -> io::Result<Vec<UdpCarrier>> {
        let address = first.local_addr();
        setsockopt(first.socket(), sockopt::ReusePort, &true)?;
        let mut group = vec![first];
        for _ in 1..count {
            group.push(UdpCarrier::bind_beside(address)?);
        }
        if steering == Steering::VerificationTag {
            let modulus = u32::try_from(count).map_err(|_| io::ErrorKind::InvalidInput)?;
            attach(&group[0], &mut by_tag(modulus))?;
        }
        Ok(group)
    }

    /// Classic BPF over the payload of UDP, an SCTP packet: returns the number of a socket. For
    /// numbers that are too large the system falls back to the hash of the addresses; for a payload
    /// that is too short the program returns 0.
    fn by_tag(sockets: u32) -> [sock_filter; 5] {
        const TAG: u32 = 4;
        let operation = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let load = operation(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, TAG);
        let is_zero = operation(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0);
        let remainder = operation(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, sockets);
        let number = operation(libc::BPF_RET | libc::BPF_A, 0);
        let none = operation(libc::BPF_RET | libc::BPF_K, u32::MAX);
        [load, sock_filter { jt: 2, ..is_zero }, remainder, number, none]
    }

    fn attach(socket: &UdpCarrier, program: &mut [sock_filter]) -> io::Result<()> {
        let len = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let program = sock_fprog { len, filter: program.as_mut_ptr() };
        Ok(setsockopt(socket.socket(), sockopt::AttachReusePortCbpf, &program)?)
    }
}

#[cfg(test)]
mod tests;
