//! What the system does for UDP sockets: whether it takes and gives many datagrams at once, and how much it keeps.

use std::io;

use quinn_udp::{UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};

use crate::udp::SOCKET_BUFFER;

/// What a UDP socket of this system can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UdpOffloads {
    /// Datagrams that one call may send (GSO); 1: no more than one.
    pub send_segments: usize,
    /// Datagrams that the system may join into one on receiving (GRO); 1: it joins none.
    pub receive_segments: usize,
    /// Bytes that each direction of the socket was asked to keep.
    pub wanted_buffer: usize,
    /// Bytes that the system keeps on receiving, of those asked for.
    pub receive_buffer: usize,
    /// Bytes that the system keeps on sending, of those asked for.
    pub send_buffer: usize,
}

/// Opens a UDP socket and asks what it can do; nothing is sent.
///
/// # Errors
/// Where the system gives no UDP socket.
pub fn udp_offloads() -> io::Result<UdpOffloads> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    // A refusal is no error: the system grants what it grants, which is read below.
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    // Linux counts its own bookkeeping, too, and says twice what was asked for (socket(7)).
    let share = if cfg!(target_os = "linux") { 2 } else { 1 };
    Ok(UdpOffloads {
        send_segments: state.max_gso_segments(),
        receive_segments: state.gro_segments(),
        wanted_buffer: SOCKET_BUFFER,
        receive_buffer: socket.recv_buffer_size()? / share,
        send_buffer: socket.send_buffer_size()? / share,
    })
}

/// Asks for a raw socket of SCTP and closes it again; nothing is sent.
///
/// # Errors
/// Where the system gives none: without root or CAP_NET_RAW.
pub fn try_raw_socket() -> io::Result<()> {
    let protocol = Protocol::from(i32::from(crate::ip::SCTP));
    Socket::new(Domain::IPV4, Type::RAW, Some(protocol)).map(|_| ())
}

/// Asks for the times at which the kernel received datagrams (SO_TIMESTAMPNS, socket(7)); nothing is sent.
///
/// # Errors
/// Where the system has no such time stamps.
#[cfg(target_os = "linux")]
pub fn try_time_stamps() -> io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt::ReceiveTimestampns};
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    Ok(setsockopt(&socket, ReceiveTimestampns, &true)?)
}

/// No time stamps are known of other systems than Linux.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn try_time_stamps() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_stamps_datagrams_as_they_come() {
        try_time_stamps().unwrap();
    }

    #[test]
    fn a_socket_says_what_it_can_do() {
        let offloads = udp_offloads().unwrap();
        assert!(offloads.send_segments >= 1 && offloads.receive_segments >= 1, "{offloads:?}");
        let granted = [offloads.receive_buffer, offloads.send_buffer];
        // Root may exceed the system's limits; no system grants more than was asked for by much.
        assert!(
            granted.iter().all(|bytes| (1024..=2 * SOCKET_BUFFER).contains(bytes)),
            "{granted:?}"
        );
    }
}
