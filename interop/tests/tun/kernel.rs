//! The kernel of this machine as TCP peer, through TUN in a namespace, as client and as server.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use interop::{Namespace, Process, Wire, available};
use tcp::{ConnectionOptions, Failure};

use super::host::{Connection, Host, KERNEL, OURS};

const PORT: u16 = 7;
/// Bytes of a transfer in either direction.
const BULK: usize = 50_000_000;

/// Bytes that tell where they stand.
pub(crate) fn text(length: usize) -> Vec<u8> {
    let word = |index: usize| (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    (0..length.div_ceil(8)).flat_map(word).take(length).collect()
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(120))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A connection between the kernel and our stack, opened by the kernel or by us.
fn pair(
    namespace: &Namespace,
    host: &Host,
    family: usize,
    kernel_opens: bool,
) -> (TcpStream, Connection) {
    let options = ConnectionOptions { no_delay: true, ..ConnectionOptions::default() };
    if kernel_opens {
        let to = SocketAddr::new(OURS[family].parse().unwrap(), PORT);
        let listener = host.listen_at(to, options);
        let stream = namespace.enter(|| TcpStream::connect(to)).unwrap().unwrap();
        (patient(stream), host.accept(listener))
    } else {
        let at = SocketAddr::new(KERNEL[family].parse().unwrap(), 0);
        let listener = namespace.enter(|| TcpListener::bind(at)).unwrap().unwrap();
        let connection = host.connect(listener.local_addr().unwrap(), options);
        (patient(listener.accept().unwrap().0), connection)
    }
}

/// Both openers, over IPv4 and over IPv6.
const WAYS: [(usize, bool); 4] = [(0, true), (0, false), (1, true), (1, false)];

fn each_way(offload: bool, check: impl Fn(&Namespace, &Host, TcpStream, Connection)) {
    let Some(()) = available(Wire::find()) else { return };
    for (family, kernel_opens) in WAYS {
        let namespace = Namespace::new().unwrap();
        let host = Host::start(&namespace, offload);
        let (stream, connection) = pair(&namespace, &host, family, kernel_opens);
        check(&namespace, &host, stream, connection);
    }
}

/// 50 MB each way at the same time, then an orderly end by both.
fn exchange_bulk(host: &Host, mut stream: TcpStream, connection: Connection) {
    let data = text(BULK);
    std::thread::scope(|scope| {
        let mut writer = stream.try_clone().unwrap();
        let sent = &data;
        scope.spawn(move || {
            writer.write_all(sent).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        scope.spawn(|| {
            host.send(connection, &data);
            host.finish(connection);
        });
        let ours = scope.spawn(|| host.receive_all(connection));
        let mut kernels = Vec::with_capacity(BULK);
        stream.read_to_end(&mut kernels).unwrap();
        assert!(kernels == data, "altered on the way to the kernel");
        assert!(ours.join().unwrap() == data, "altered on the way from the kernel");
    });
    host.release(connection);
}

#[test]
fn fifty_megabytes_each_way_arrive_intact_with_offloads() {
    each_way(true, |_, host, stream, connection| exchange_bulk(host, stream, connection));
}

#[test]
fn fifty_megabytes_each_way_arrive_intact_in_packets_of_the_wires_size() {
    each_way(false, |_, host, stream, connection| exchange_bulk(host, stream, connection));
}

#[test]
fn echoes_of_every_size_come_back_over_ipv4_and_ipv6() {
    each_way(true, |_, host, mut stream, connection| {
        for size in [1, 2, 100, 1439, 1440, 1441, 1459, 1460, 1461, 10_000, 100_000] {
            let message = text(size);
            stream.write_all(&message).unwrap();
            assert_eq!(host.receive_exactly(connection, size), message);
            host.send(connection, &message);
            let mut back = vec![0; size];
            stream.read_exact(&mut back).unwrap();
            assert_eq!(back, message);
        }
    });
}

#[test]
fn either_side_may_finish_first_and_still_be_answered() {
    each_way(true, |_, host, mut stream, connection| {
        stream.write_all(b"last words").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(host.receive_all(connection), b"last words");
        let answer = text(300_000);
        host.send(connection, &answer);
        host.finish(connection);
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        assert!(heard == answer);
        host.release(connection);
    });
    each_way(true, |_, host, mut stream, connection| {
        host.send(connection, b"last words");
        host.finish(connection);
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, b"last words");
        let answer = text(300_000);
        std::thread::scope(|scope| {
            let ours = scope.spawn(|| host.receive_all(connection));
            stream.write_all(&answer).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            assert!(ours.join().unwrap() == answer);
        });
        host.release(connection);
    });
}

#[test]
fn a_reset_of_either_side_is_one_for_the_other() {
    each_way(true, |_, host, stream, connection| {
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        drop(stream);
        assert_eq!(host.receive(connection), Err(Failure::Reset));
        assert_eq!(host.failure(connection), Failure::Reset);
    });
    each_way(true, |_, host, mut stream, connection| {
        host.abort(connection);
        let error = stream.read(&mut [0; 10]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn who_connects_where_nobody_listens_is_refused_by_either_side() {
    const CLOSED: u16 = 9;
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let host = Host::start(&namespace, true);
    for (own, kernel) in OURS.into_iter().zip(KERNEL) {
        let to = SocketAddr::new(own.parse().unwrap(), CLOSED);
        let error = namespace.enter(|| TcpStream::connect(to)).unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        let to = SocketAddr::new(kernel.parse().unwrap(), CLOSED);
        let refused = host.try_connect(to, ConnectionOptions::default());
        assert_eq!(refused.err(), Some(Failure::Refused), "{to}");
    }
}

#[test]
fn the_kernel_agrees_on_window_scale_sack_and_timestamps() {
    each_way(true, |namespace, host, mut stream, connection| {
        stream.write_all(b"ping").unwrap();
        assert_eq!(host.receive_exactly(connection, 4), b"ping");
        let (status, said) = Process::output(Some(namespace), Path::new("ss"), &["-tino"]).unwrap();
        assert!(status.success(), "{said}");
        for option in [" ts ", " sack ", " wscale:"] {
            assert!(said.contains(option), "{option} is not in\n{said}");
        }
    });
}

#[test]
fn a_side_that_does_not_read_stops_the_other_and_all_goes_on_when_it_does() {
    each_way(true, |_, host, mut stream, connection| {
        // More than all buffers hold, so that the sender has to wait.
        let data = text(20_000_000);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                host.send(connection, &data);
                host.finish(connection);
            });
            std::thread::sleep(Duration::from_millis(300));
            let mut heard = Vec::new();
            stream.read_to_end(&mut heard).unwrap();
            assert!(heard == data);
        });
        let mut writer = stream.try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                writer.write_all(&data).unwrap();
                writer.shutdown(Shutdown::Write).unwrap();
            });
            std::thread::sleep(Duration::from_millis(300));
            assert!(host.receive_all(connection) == data);
        });
        host.release(connection);
    });
}
