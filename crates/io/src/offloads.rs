//! Capabilities of the system's UDP sockets: batches of datagrams in one call, and buffer sizes.

use std::io;

use quinn_udp::{UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};

use crate::udp::SOCKET_BUFFER;

/// Capabilities of a UDP socket of this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UdpOffloads {
    /// Most datagrams in one sending call (GSO); 1 without GSO.
    pub send_segments: usize,
    /// Most datagrams that the system merges into one on receiving (GRO); 1 without GRO.
    pub receive_segments: usize,
    /// Requested buffer size of each direction, in bytes.
    pub wanted_buffer: usize,
    /// Granted receive buffer, in bytes.
    pub receive_buffer: usize,
    /// Granted send buffer, in bytes.
    pub send_buffer: usize,
}

/// Opens a UDP socket and queries its capabilities; nothing is sent.
///
/// # Errors
/// The system provides no UDP socket.
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

/// Opens a raw socket of SCTP and closes it again; nothing is sent.
///
/// # Errors
/// The system refuses, as without root or CAP_NET_RAW.
pub fn try_raw_socket() -> io::Result<()> {
    let protocol = Protocol::from(i32::from(crate::ip::SCTP));
    Socket::new(Domain::IPV4, Type::RAW, Some(protocol)).map(|_| ())
}

/// Asks for the times at which the kernel received datagrams (SO_TIMESTAMPNS, socket(7)); nothing
/// is sent.
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
