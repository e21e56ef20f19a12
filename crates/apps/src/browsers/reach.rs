//! Where a page that has reached this machine over HTTP reaches it over UDP.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// Addresses at which a page reaches this machine that has reached it at `reached`, without ports. A browser sends from no
/// loopback address, so where it came by one, the address of the way out of the machine comes first.
pub(super) fn reachable(reached: IpAddr) -> Vec<IpAddr> {
    if !reached.is_loopback() {
        return vec![reached];
    }
    // Connecting a UDP socket sends nothing; TEST-NET-1 is as far away as any address.
    let way_out = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).and(socket.local_addr())
    });
    let mut all: Vec<IpAddr> = way_out.map(|local| local.ip()).into_iter().collect();
    all.push(reached);
    all
}
