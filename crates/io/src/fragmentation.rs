//! The don't-fragment bit of a socket's datagrams.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

/// Trait of sockets on this system, so that the functions below have one signature.
#[cfg(target_os = "linux")]
pub(crate) use std::os::fd::AsFd as Socket;
#[cfg(not(target_os = "linux"))]
pub(crate) trait Socket {}
#[cfg(not(target_os = "linux"))]
impl<S> Socket for S {}

/// The present setting of a socket.
#[derive(Debug, Default)]
pub(crate) struct Fragmentation(AtomicU8);

const UNKNOWN: u8 = 0;
const ALLOWED: u8 = 1;
const FORBIDDEN: u8 = 2;

impl Fragmentation {
    /// Prepares `socket`, of IPv4 or IPv6, for datagrams that must not (or may) be fragmented, here
    /// or by routers. Takes a system call only if the setting changes; nearly all datagrams of
    /// an endpoint have the same.
    pub(crate) fn prepare<S: Socket>(&self, socket: &S, is_ipv4: bool, dont_fragment: bool) {
        let wanted = if dont_fragment { FORBIDDEN } else { ALLOWED };
        if self.0.load(Ordering::Relaxed) != wanted {
            let known = set(socket, is_ipv4, dont_fragment).is_ok();
            self.0.store(if known { wanted } else { UNKNOWN }, Ordering::Relaxed);
        }
    }
}

/// Sets DF regardless of the system's estimate of the path MTU, which probes must be able to
/// exceed; or fragments to this estimate.
#[cfg(target_os = "linux")]
fn set<S: Socket>(socket: &S, is_ipv4: bool, dont_fragment: bool) -> io::Result<()> {
    use rustix::net::sockopt;
    use rustix::net::sockopt::{Ipv4PathMtuDiscovery as V4, Ipv6PathMtuDiscovery as V6};
    let v4 = sockopt::set_ip_mtu_discover(socket, if dont_fragment { V4::PROBE } else { V4::DONT });
    if is_ipv4 {
        return Ok(v4?);
    }
    // An IPv6 socket that takes IPv4 as well has both settings; any other has no setting for IPv4.
    sockopt::set_ipv6_mtu_discover(socket, if dont_fragment { V6::PROBE } else { V6::DONT })?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn set<S: Socket>(_socket: &S, _is_ipv4: bool, _dont_fragment: bool) -> io::Result<()> {
    Ok(())
}
