//! Floods of forged segments at this machine's own address, to which an edge's rules lead clients:
//! they end no connection, and fill no table of the kernel's.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use base::{Purpose, RandomStream};
use interop::{EDGE_PORT as PORT, Process, Wire};
use socket2::{Domain, Protocol, Socket, Type};

use super::edge::Running;
use super::edge_rules::{Place, Way, echo, with_rules};
use super::kernel::text;

const RST: u8 = 0x04;
const SYN: u8 = 0x02;

/// Adds up 16-bit words as RFC 1071 does.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u32 =
        words.map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// A segment without data in an IP packet.
fn forged(from: SocketAddrV4, to: SocketAddrV4, sequence: u32, flag: u8) -> Vec<u8> {
    let mut segment = vec![0; 20];
    segment[..2].copy_from_slice(&from.port().to_be_bytes());
    segment[2..4].copy_from_slice(&to.port().to_be_bytes());
    segment[4..8].copy_from_slice(&sequence.to_be_bytes());
    (segment[12], segment[13]) = (0x50, flag);
    let (source, destination) = (from.ip().octets(), to.ip().octets());
    let sum = checksum(&[&source, &destination, &[0, 6, 0, 20], &segment]);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
    packet.extend([source, destination].concat());
    packet.extend(segment);
    packet
}

/// Sends forged segments from the clients' machine until `stop` says so, at some 10,000 a second,
/// and answers how many.
fn flood(
    place: &Place,
    mut next: impl FnMut(&mut RandomStream) -> (SocketAddrV4, u32, u8),
    mut stop: impl FnMut(usize) -> bool,
) -> usize {
    let to = SocketAddrV4::new(Wire::address(1), PORT);
    let open = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255)));
    let socket = place.near.enter(open).unwrap().unwrap();
    socket.set_header_included_v4(true).unwrap();
    let mut random = RandomStream::new(1, Purpose("flood", 0));
    let mut sent = 0;
    while !stop(sent) {
        for _ in 0..50 {
            let (from, sequence, flag) = next(&mut random);
            let packet = forged(from, to, sequence, flag);
            // What the device does not take is lost, as in any flood.
            let _ = socket.send_to(&packet, &SocketAddr::from(to).into());
            sent += 1;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    sent
}

/// Rules of a machine that tracks its connections.
const STATEFUL: &str = "add table inet firewall; \
    add chain inet firewall input { type filter hook input priority 0; policy drop; }; \
    add chain inet firewall forward { type filter hook forward priority 0; policy drop; }; \
    add rule inet firewall input ct state established,related accept; \
    add rule inet firewall input ct state invalid drop; \
    add rule inet firewall input iif lo accept; \
    add rule inet firewall input tcp dport 80 accept";

fn with_a_firewall(place: &Place) {
    let (status, said) = Process::output(Some(&place.far), Path::new("nft"), &[STATEFUL]).unwrap();
    assert!(status.success(), "{said}");
}

#[test]
fn resets_with_any_sequence_number_end_no_connection_whatever_is_tracked() {
    for has_firewall in [false, true] {
        let Some(place) = Place::new() else { return };
        if has_firewall {
            with_a_firewall(&place);
        }
        let behind = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        let edge = Running::start(&place.far, behind, with_rules);
        let (mut client, mut service, way) = place.connect().unwrap();
        assert_eq!(way, Way::ByTheEdge);
        let SocketAddr::V4(victim) = client.local_addr().unwrap() else { panic!("IPv4") };
        let pair = (&mut client, &mut service);
        std::thread::scope(|scope| {
            let (pair, done) =
                (pair, std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)));
            let told = done.clone();
            scope.spawn(move || {
                let (client, service) = pair;
                let deadline = Instant::now() + Duration::from_millis(1500);
                let mut rounds = 0;
                while Instant::now() < deadline || rounds < 30 {
                    echo((client, service), &text(200));
                    rounds += 1;
                }
                told.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            // A number within a window or two of the expected one comes each few thousand segments.
            let next = |random: &mut RandomStream| (victim, random.next_u32(), RST);
            let stop = |sent| sent >= 10_000 && done.load(std::sync::atomic::Ordering::Relaxed);
            flood(&place, next, stop);
        });
        let data = text(2_000_000);
        bulk((&mut client, &mut service), &data);
        drop((client, service));
        let report = edge.end();
        assert_eq!(report.services[0].tally.finished, 1, "{report}");
    }
}

/// Carries `data` both ways at once and looks at it.
fn bulk((client, service): (&mut TcpStream, &mut TcpStream), data: &[u8]) {
    let write = |stream: &TcpStream| (&mut &*stream).write_all(data).unwrap();
    let read = |stream: &TcpStream| {
        let mut heard = vec![0; data.len()];
        (&mut &*stream).read_exact(&mut heard).unwrap();
        assert!(heard == data);
    };
    let (client, service) = (&*client, &*service);
    std::thread::scope(|scope| {
        scope.spawn(|| write(client));
        scope.spawn(|| write(service));
        scope.spawn(|| read(client));
        read(service);
    });
}

#[test]
fn a_flood_of_syns_takes_no_place_among_tracked_connections() {
    let Some(place) = Place::new() else { return };
    with_a_firewall(&place);
    let behind = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let edge = Running::start(&place.far, behind, with_rules);
    let (mut client, mut service, _) = place.connect().unwrap();
    let count = || -> usize { place.setting("netfilter/nf_conntrack_count").parse().unwrap() };
    let before = count();
    let next = |random: &mut RandomStream| {
        let address = Ipv4Addr::from(0xc612_0000 | random.next_u32() & 0xffff);
        (
            SocketAddrV4::new(address, 1024 + (random.next_u32() % 60_000) as u16),
            random.next_u32(),
            SYN,
        )
    };
    let sent = flood(&place, next, |sent| sent >= 10_000);
    echo((&mut client, &mut service), b"still here");
    let after = count();
    assert!(after <= before + 20, "{after} connections tracked after {sent} SYNs, {before} before");
    let stack = edge.wait("SYNs in a status", |seen| {
        let stack = seen.status.as_ref()?.stack.clone();
        (stack.syns > 5_000).then_some(stack)
    });
    assert!(stack.cookies_sent > 0, "{stack}");
    drop((client, service));
    edge.end();
}

#[test]
fn a_machines_own_filters_are_asked_before_the_edge() {
    let Some(place) = Place::new() else { return };
    let nft =
        |script: &str| Process::output(Some(&place.far), Path::new("nft"), &[script]).unwrap();
    let banned = Wire::address(0);
    nft("add table ip bans");
    nft("add chain ip bans input { type filter hook input priority 0; policy accept; }");
    let behind = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let edge = Running::start(&place.far, behind, with_rules);
    assert_eq!(place.connect().unwrap().2, Way::ByTheEdge);
    nft(&format!("add rule ip bans input ip saddr {banned} tcp dport 80 drop"));
    let to = SocketAddr::from((Wire::address(1), PORT));
    let patience = Duration::from_millis(300);
    let refused = place.near.enter(|| TcpStream::connect_timeout(&to, patience)).unwrap();
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    nft("flush chain ip bans input");
    assert_eq!(place.connect().unwrap().2, Way::ByTheEdge);
    edge.end();
}

#[test]
fn a_link_behind_the_machine_that_takes_less_makes_segments_smaller() {
    let Some(place) = Place::new() else { return };
    let behind = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let edge = Running::start(&place.far, behind, with_rules);
    let (mut client, mut service, _) = place.connect().unwrap();
    // Both had agreed on the size before.
    place.far.ip("link set far mtu 1000").unwrap();
    bulk((&mut client, &mut service), &text(300_000));
    drop((client, service));
    let report = edge.end();
    assert_eq!(report.services[0].tally.finished, 1, "{report}");
}
