//! Addresses at which a page that reached this machine over HTTP can reach it over UDP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Hosts as far away as any, that exist nowhere (RFC 5737, RFC 3849).
const FAR: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
];

/// Candidates for the answer to a page that reached this machine at the address `reached`, such as
/// the local address of its HTTP connection: addresses with the UDP port `port`, the best first.
///
/// Browsers do not send from loopback addresses, so that for a page that used one, the addresses of
/// the machine's outgoing interfaces come first. Behind a NAT with a forwarded port none of these
/// is right: use the NAT's address instead.
pub fn candidates(reached: IpAddr, port: u16) -> Vec<SocketAddr> {
    let reached = reached.to_canonical();
    let ways = if reached.is_loopback() { &FAR[..] } else { &[] };
    let out = ways.iter().filter_map(|far| way_out(*far));
    out.chain([reached]).map(|ip| SocketAddr::new(ip, port)).collect()
}

/// The address from which packets to a host leave; none without a route. Connecting a UDP socket
/// sends nothing.
fn way_out(far: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match far {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((far, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_came_by_an_address_of_a_network_connects_there_and_one_of_this_machine_to_its_ways_out()
     {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert_eq!(candidates(at("10.1.2.3:1").ip(), 7), [at("10.1.2.3:7")]);
        assert_eq!(candidates(at("[::ffff:10.1.2.3]:1").ip(), 7), [at("10.1.2.3:7")]);
        let own = candidates(at("127.0.0.1:1").ip(), 7);
        assert_eq!(own.last(), Some(&at("127.0.0.1:7")));
        assert!(own.iter().rev().skip(1).all(|out| out.port() == 7 && !out.ip().is_loopback()));
    }
}
