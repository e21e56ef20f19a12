//! Connections that the kernel has at the services' ports when the rules come into force. They stay
//! where they are.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::script::{Family, Pair};
use super::system::System;

/// Connections at the ports of these families.
///
/// # Errors
/// Where the system does not tell.
pub(super) fn at(system: &impl System, families: &[Family]) -> io::Result<Vec<Pair>> {
    let of_family = |pair: &Pair| families.iter().find(|one| one.is_v4() == pair.local.is_ipv4());
    let mut pairs: Vec<Pair> = system.connections()?.lines().filter_map(parse).collect();
    pairs.retain(|pair| of_family(pair).is_some_and(|one| one.ports.contains(&pair.local.port())));
    Ok(pairs)
}

/// A line of /proc/net/tcp or /proc/net/tcp6 (Linux, `Documentation/networking/proc_net_tcp.rst`);
/// none for listeners and for the heading.
fn parse(line: &str) -> Option<Pair> {
    const LISTEN: &str = "0A";
    let mut words = line.split_whitespace().skip(1);
    let (local, remote, state) = (words.next()?, words.next()?, words.next()?);
    if state == LISTEN {
        return None;
    }
    Some(Pair { local: address(local)?, remote: address(remote)? })
}

/// `0100007F:0016`: words of 32 bits in the machine's own order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match ip.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let mut octets = [0; 16];
            for (index, part) in octets.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(index * 8)?);
            }
            // A socket of both families has connections of IPv4, too.
            Ipv6Addr::from(octets).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid";

    #[test]
    #[cfg(target_endian = "little")]
    fn connections_are_read_as_the_kernel_writes_them() {
        let text = |line: &str| parse(line).map(|pair| pair.to_string());
        let v4 =
            "   1: 0200A8C0:0016 0A00020A:C350 01 00000000:00000000 00:00000000 00000000     0";
        assert_eq!(text(v4).unwrap(), "10.2.0.10 . 50000 . 192.168.0.2 . 22");
        let v6 = "   0: 000001FD000000000000000002000000:0050 000001FD000000000000000001000000:9C40 03 0";
        assert_eq!(text(v6).unwrap(), "fd01::1 . 40000 . fd01::2 . 80");
        let mapped = "   0: 0000000000000000FFFF00000200A8C0:0016 0000000000000000FFFF00000A00020A:C350 06 0";
        assert_eq!(text(mapped), text(v4));
    }

    #[test]
    fn listeners_headings_and_rubbish_are_none() {
        let listener = "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000";
        for line in
            [HEADING, listener, "", "0:", "0: 1 2 3", "0: 00:0016 00:0016 01", "0: é:1 é:1 01"]
        {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
