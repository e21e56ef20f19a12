//! Addresses that a test gives to one socket after another.
#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "helpers of tests fail as tests do, in several modules"
)]

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// An address of loopback with a port that is free, below those that systems give to sockets
/// without one: no other test gets it while no socket has it.
pub fn reserved_address() -> SocketAddr {
    const PORTS: std::ops::Range<u32> = 10_000..30_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Tests of several processes begin at different places.
    let begin = std::process::id().wrapping_mul(64);
    loop {
        let place = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + place % PORTS.len() as u32;
        let address = SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).unwrap()));
        if UdpSocket::bind(address).is_ok() {
            return address;
        }
    }
}
