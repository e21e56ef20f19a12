//! `serve`, encrypted and for browsers, as a process under fire from its own machine: it stays
//! small, and serves the next client.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use interop::attack::resident;
use interop::available;
use support::{LIMIT, served, thinstream};

/// Number of datagrams of each flood.
const FLOOD: usize = 20_000;
/// Bytes by which a process may grow under a flood.
const GROWTH: u64 = 48 << 20;

/// A record in plaintext with a handshake message, or a part of one.
fn record(kind: u8, message: u8, (length, at): (u32, u32), body: &[u8]) -> Vec<u8> {
    let three = |number: u32| number.to_be_bytes()[1..].to_vec();
    let head = [&[message][..], &three(length), &[0, 0], &three(at), &three(body.len() as u32)];
    let content = [&head.concat(), body].concat();
    let size = (content.len() as u16).to_be_bytes();
    [&[kind, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0], &size[..], &content].concat()
}

/// A whole ClientHello, of which a server has to look at every part.
fn hello(random: u8) -> Vec<u8> {
    let versions = [0, 43, 0, 3, 2, 254, 252];
    let body =
        [&[254, 253][..], &[random; 32], &[0, 0, 0, 2, 19, 1, 1, 0, 0, 7], &versions].concat();
    record(22, 1, (body.len() as u32, 0), &body)
}

/// Datagrams of strangers: rubbish, parts of messages of 16 MiB, records of all epochs, alerts,
/// hellos, checks of ICE.
fn strange(number: usize, check: &[u8]) -> Vec<u8> {
    let fill = (number % 251) as u8;
    match number % 8 {
        0 => vec![fill; 1 + number % 1400],
        1 => record(22, 1, ((1 << 24) - 1, number as u32 % (1 << 24)), &[fill; 100]),
        2 => record(22, fill % 26, ((1 << 24) - 1, 0), &[fill; 1000]),
        3 => [&[0x20 | (fill % 32), fill, fill, 0, 60][..], &[fill; 60]].concat(),
        4 => record(21, 2, (2, 0), &[40]),
        5 => hello(fill),
        6 => [&[20 + fill % 12, 254, 253, 0, fill][..], &[0; 6], &[1, 0], &[fill; 256]].concat(),
        _ => check.to_vec(),
    }
}

/// Sends the flood from 50 ports, no faster than it is read.
fn flood(to: SocketAddr, check: &[u8]) {
    let sockets: Vec<UdpSocket> =
        (0..50).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    for number in 0..FLOOD {
        let _ = sockets[number % sockets.len()].send_to(&strange(number, check), to);
        if number % 200 == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn strangers_leave_an_encrypted_server_small_and_at_work() {
    let Some(_) = available(interop::program("setpriv", "util-linux")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (server, at) = served(folder.path(), "serve 127.0.0.1:0");
    let send = || {
        let run = thinstream(folder.path(), &format!("send {at} --count 3")).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    };
    send();
    let before = resident(server.id()).unwrap();
    flood(at, &[0; 20]);
    send();
    let grown = resident(server.id()).unwrap().saturating_sub(before);
    assert!(grown < GROWTH, "{grown} bytes more");
    assert!(server.is_running());
}

#[test]
fn a_server_whose_lines_nobody_reads_serves_new_clients() {
    let folder = tempfile::tempdir().unwrap();
    let (mut unread, full) = std::io::pipe().unwrap();
    // Another thread fills the pipe, and blocks once it is full.
    let mut filling = full.try_clone().unwrap();
    std::thread::spawn(move || while filling.write_all(&[b'\n'; 4096]).is_ok() {});
    let at = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = thinstream(folder.path(), &format!("serve {at} --verbose"));
    let mut server = command.stderr(full).stdout(std::process::Stdio::null()).spawn().unwrap();
    for _ in 0..3 {
        let run = thinstream(folder.path(), &format!("send {at} --count 3")).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    assert!(server.try_wait().unwrap().is_none());
    server.kill().unwrap();
    server.wait().unwrap();
    // Until here nothing was read.
    assert_eq!(unread.read(&mut [0; 1]).unwrap(), 1);
}

/// The answer to an HTTP request over a connection of its own.
fn ask(at: SocketAddr, method: &str, content: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let length = body.len();
    let head = format!(
        "{method} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let _ = stream.write_all(body.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

const OFFER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
    m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:0\r\na=ice-ufrag:page\r\na=ice-pwd:0123456789012345678901\r\n\
    a=fingerprint:sha-256 BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD\r\n\
    a=setup:actpass\r\na=sctp-port:5000\r\n";

/// A binding request with the username of a session that exists, and an integrity that is wrong.
fn forged_check(names: &str) -> Vec<u8> {
    let mut attributes =
        [&[0, 6][..], &(names.len() as u16).to_be_bytes(), names.as_bytes()].concat();
    attributes.resize(attributes.len().next_multiple_of(4), 0);
    attributes.extend([0, 0x24, 0, 4, 0, 0, 1, 0, 0x80, 0x2a, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1]);
    attributes.extend([&[0, 8, 0, 20][..], &[7; 20]].concat());
    let length = (attributes.len() as u16).to_be_bytes();
    [&[0, 1][..], &length, &[0x21, 0x12, 0xa4, 0x42], &[9; 12], &attributes].concat()
}

#[test]
fn strangers_leave_a_server_for_browsers_small_and_at_work() {
    let Some(_) = available(interop::program("setpriv", "util-linux")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (server, page) = served(folder.path(), "serve --webrtc 127.0.0.1:0");
    let offer = |body: &str| ask(page, "POST /offer", "application/sdp", body);
    let answer = offer(OFFER);
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let line = |prefix: &str| {
        let found = answer.lines().find_map(|line| line.strip_prefix(prefix));
        found.unwrap_or_else(|| panic!("no {prefix}: {answer}")).to_owned()
    };
    let port: u16 = line("a=candidate:").split(' ').nth(5).unwrap().parse().unwrap();
    let check = forged_check(&format!("{}:page", line("a=ice-ufrag:")));
    let before = resident(server.id()).unwrap();
    // As many clients that say nothing as may be, and more.
    let _silent: Vec<_> = (0..300).map(|_| TcpStream::connect(page).unwrap()).collect();
    flood(SocketAddr::from(([127, 0, 0, 1], port)), &check);
    let giant = OFFER.to_owned() + &"a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n".repeat(1_000);
    let mut refused = 0;
    for number in 0..1_000 {
        let answer = offer(if number % 2 == 0 { OFFER } else { &giant });
        refused += usize::from(answer.starts_with("HTTP/1.1 503 "));
    }
    assert!(refused >= 900, "one host has no more than its share: {refused}");
    let grown = resident(server.id()).unwrap().saturating_sub(before);
    assert!(grown < GROWTH, "{grown} bytes more");
    assert!(ask(page, "GET /setting", "", "").starts_with("HTTP/1.1 200 "));
    assert!(server.is_running());
}
