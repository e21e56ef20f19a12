//! `thinstream edge` between kernel clients and services.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use apps::edge::{EdgeOptions, EdgeReport};
use interop::{EDGE, EDGE_PORT, EdgeSeen, Namespace, RunningEdge, Wire, available, edge_options};

use super::kernel::text;

pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// An edge in this process, in a namespace.
pub(crate) struct Running(RunningEdge);

impl Running {
    /// Starts it, as [`edge_options`] have it except for what is changed, and waits until it is
    /// there.
    pub(crate) fn start(
        namespace: &Namespace,
        service: SocketAddr,
        change: impl FnOnce(&mut EdgeOptions),
    ) -> Running {
        let mut options = edge_options(service).unwrap();
        options.device = Some("edge0".into());
        options.interval = base::Duration::from_millis(50);
        change(&mut options);
        Running(RunningEdge::start(namespace, options).unwrap())
    }

    pub(crate) fn wait<T>(&self, what: &str, look: impl FnMut(&EdgeSeen) -> Option<T>) -> T {
        self.0.wait(what, look).unwrap()
    }

    /// Asks it to drain, or to end at once the second time.
    pub(crate) fn ask_to_end(&self) {
        self.0.ask_to_end();
    }

    /// Waits until the edge has ended; returns its last report.
    pub(crate) fn report(self) -> EdgeReport {
        self.0.report().unwrap()
    }

    pub(crate) fn end(self) -> EdgeReport {
        self.0.end().unwrap()
    }
}

pub(crate) fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream
}

pub(crate) fn bind(namespace: &Namespace) -> (TcpListener, SocketAddr) {
    let listener = namespace.enter(|| TcpListener::bind("127.0.0.1:0")).unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

pub(crate) fn connect(namespace: &Namespace) -> TcpStream {
    let to = SocketAddr::from((EDGE, EDGE_PORT));
    patient(namespace.enter(|| TcpStream::connect(to)).unwrap().unwrap())
}

/// The service answers a byte: by now the edge, too, knows that it is connected to the service.
pub(crate) fn greet(client: &mut TcpStream, service: &mut TcpStream) {
    let mut byte = [0];
    client.write_all(b"?").unwrap();
    service.read_exact(&mut byte).unwrap();
    service.write_all(b"!").unwrap();
    client.read_exact(&mut byte).unwrap();
    assert_eq!(byte, *b"!");
}

/// A client and the service's end of its connection, through an edge in one namespace.
pub(crate) fn through_edge() -> Option<(Running, TcpStream, TcpStream)> {
    through_edge_in(|_| ())
}

/// Runs a service through the edge, in a namespace that is made ready before.
fn through_edge_in(prepare: impl FnOnce(&Namespace)) -> Option<(Running, TcpStream, TcpStream)> {
    available(Wire::find())?;
    let namespace = Namespace::new().unwrap();
    prepare(&namespace);
    let (listener, address) = bind(&namespace);
    let edge = Running::start(&namespace, address, |_| ());
    let client = connect(&namespace);
    let service = patient(listener.accept().unwrap().0);
    Some((edge, client, service))
}

pub(crate) fn reset(stream: TcpStream) {
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

pub(crate) fn is_reset(stream: &mut TcpStream) -> bool {
    let error = stream.read(&mut [0; 16]).err();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
}

#[test]
fn each_direction_ends_on_its_own_and_the_other_goes_on() {
    for client_first in [true, false] {
        let Some((edge, client, service)) = through_edge() else { return };
        let (mut first, mut second) =
            if client_first { (client, service) } else { (service, client) };
        first.write_all(b"question").unwrap();
        first.shutdown(Shutdown::Write).unwrap();
        let mut heard = Vec::new();
        second.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, b"question");
        let answer = text(3_000_000);
        let sent = answer.clone();
        let sender = std::thread::spawn(move || second.write_all(&sent).unwrap());
        let mut back = Vec::new();
        first.read_to_end(&mut back).unwrap();
        assert!(back == answer);
        sender.join().unwrap();
        let report = edge.end();
        assert_eq!(report.services[0].tally.finished, 1, "{report}");
    }
}

#[test]
fn a_reset_of_the_client_reaches_the_service_as_one_and_the_other_way_round() {
    let Some((edge, mut client, mut service)) = through_edge() else { return };
    greet(&mut client, &mut service);
    reset(client);
    assert!(is_reset(&mut service));
    assert_eq!(edge.end().services[0].tally.reset_by_client, 1);

    let Some((edge, mut client, mut service)) = through_edge() else { return };
    greet(&mut client, &mut service);
    reset(service);
    assert!(is_reset(&mut client));
    assert_eq!(edge.end().services[0].tally.reset_by_service, 1);
}

#[test]
fn a_service_that_is_not_there_is_a_reset_for_the_client() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let (listener, address) = bind(&namespace);
    drop(listener);
    let edge = Running::start(&namespace, address, |_| ());
    // The reset may come before the client is told that it is connected.
    let to = SocketAddr::from((EDGE, EDGE_PORT));
    match namespace.enter(|| TcpStream::connect(to)).unwrap() {
        Ok(stream) => assert!(is_reset(&mut patient(stream))),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    assert_eq!(edge.end().services[0].tally.service_unreachable, 1);
}

/// Most bytes that any buffer of the kernel's holds in the test of back-pressure.
const KERNEL_BUFFER: usize = 64 * 1024;

fn with_small_kernel_buffers(namespace: &Namespace) {
    let sizes = format!("4096 {KERNEL_BUFFER} {KERNEL_BUFFER}");
    for name in ["tcp_rmem", "tcp_wmem"] {
        let write = || std::fs::write(format!("/proc/sys/net/ipv4/{name}"), &sizes);
        namespace.enter(write).unwrap().unwrap();
    }
}

#[test]
fn an_end_that_does_not_read_makes_the_other_wait_and_loses_nothing() {
    /// Most bytes of a connection in a direction that the stack may hold, and that the edge may
    /// hold beside it.
    const STACK: usize = 1 << 20;
    const PIECE: usize = 64 * 1024;
    for client_reads in [true, false] {
        let way = through_edge_in(with_small_kernel_buffers);
        let Some((edge, client, service)) = way else { return };
        let (mut reader, mut writer) =
            if client_reads { (client, service) } else { (service, client) };
        let data = text(10_000_000);
        writer.set_nonblocking(true).unwrap();
        let (mut taken, mut stuck) = (0, 0);
        // Until nothing more has been taken for a while.
        while stuck < 20 {
            match writer.write(&data[taken..]) {
                Ok(count) => (taken, stuck) = (taken + count, 0),
                Err(_) => {
                    stuck += 1;
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
        // Three sockets are on the way: the writer's, the reader's, and the edge's. The kernel lets
        // a socket hold a packet more than it may, and packets are up to 64 KiB here.
        let most = STACK + PIECE + 3 * 2 * KERNEL_BUFFER;
        assert!((STACK / 2..=most).contains(&taken), "{taken} bytes are somewhere, not {most}");
        let stack = edge.wait("a status with what is held", |seen| {
            let stack = seen.status.as_ref()?.stack.clone();
            // Nothing is fetched for a client without room; what a service does not take has left
            // the stack.
            (stack.buffered_bytes > 0 || stack.held_in_flows > 0).then_some(stack)
        });
        assert!(stack.held_in_flows <= PIECE as u64, "{stack}");
        assert!(stack.buffered_bytes <= STACK as u64 + PIECE as u64, "{stack}");
        writer.set_nonblocking(false).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                writer.write_all(&data[taken..]).unwrap();
                writer.shutdown(Shutdown::Write).unwrap();
            });
            let mut heard = Vec::with_capacity(data.len());
            reader.read_to_end(&mut heard).unwrap();
            assert!(heard == data);
        });
        let held = |seen: &EdgeSeen| {
            let stack = &seen.status.as_ref()?.stack;
            (stack.held_in_flows == 0 && stack.buffered_bytes == 0).then_some(())
        };
        edge.wait("a status with nothing held", held);
        edge.ask_to_end();
    }
}

#[test]
fn an_edge_that_shall_end_refuses_new_clients_and_waits_for_those_it_has() {
    let Some((edge, mut client, mut service)) = through_edge() else { return };
    edge.ask_to_end();
    edge.wait("that it drains", |seen| seen.draining.then_some(()));
    client.write_all(b"still here").unwrap();
    let mut heard = [0; 10];
    service.read_exact(&mut heard).unwrap();
    service.write_all(b"so am I").unwrap();
    drop(service);
    let mut back = Vec::new();
    client.read_to_end(&mut back).unwrap();
    assert_eq!((&heard, &back[..]), (b"still here", &b"so am I"[..]));
    drop(client);
    assert_eq!(edge.report().services[0].tally.finished, 1);

    let Some((edge, mut client, _service)) = through_edge() else { return };
    edge.ask_to_end();
    edge.wait("that it drains", |seen| seen.draining.then_some(()));
    edge.ask_to_end();
    assert!(is_reset(&mut client), "asked twice, it resets what is left");
    edge.report();
}

#[test]
fn two_hundred_clients_at_once_are_told_apart_over_several_queues() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let (listener, address) = bind(&namespace);
    let edge = Running::start(&namespace, address, |options| options.shards = 3);
    let echo = std::thread::spawn(move || {
        let clients: Vec<TcpStream> = (0..200).map(|_| listener.accept().unwrap().0).collect();
        for mut client in clients {
            let mut word = [0; 4];
            client.read_exact(&mut word).unwrap();
            client.write_all(&word).unwrap();
        }
    });
    let mut clients: Vec<TcpStream> = (0..200).map(|_| connect(&namespace)).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        client.write_all(&(index as u32).to_be_bytes()).unwrap();
    }
    for (index, client) in clients.iter_mut().enumerate() {
        let mut word = [0; 4];
        client.read_exact(&mut word).unwrap();
        assert_eq!(word, (index as u32).to_be_bytes());
    }
    echo.join().unwrap();
    drop(clients);
    let report = edge.end();
    assert_eq!(report.services[0].tally.finished, 200, "{report}");
    assert_eq!(report.stack.no_connection, 0, "{report}");
}

#[test]
fn state_and_metrics_tell_of_a_connection_while_it_is_there() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let (listener, address) = bind(&namespace);
    let edge = Running::start(&namespace, address, |options| {
        options.metrics = Some("127.0.0.1:0".parse().unwrap());
        options.services[0].proxy_protocol = true;
    });
    let mut client = connect(&namespace);
    let mut service = patient(listener.accept().unwrap().0);
    let own = client.local_addr().unwrap();
    client.write_all(b"hello").unwrap();
    let line = format!("PROXY TCP4 {} {EDGE} {} {EDGE_PORT}\r\nhello", own.ip(), own.port());
    let mut heard = vec![0; line.len()];
    service.read_exact(&mut heard).unwrap();
    assert_eq!(String::from_utf8(heard).unwrap(), line);
    let status = edge.wait("a status with a connection", |seen| {
        seen.status.clone().filter(|status| status.connections.iter().any(|one| one.bytes_up == 5))
    });
    assert_eq!(status.connections[0].client, own);
    assert_eq!(status.connections[0].state, "ESTABLISHED");

    let metrics = edge.wait("metrics", |seen| seen.metrics);
    let ask = || {
        let mut stream = patient(TcpStream::connect(metrics).unwrap());
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: edge\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let answer = namespace.enter(ask).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("thinstream_edge_connections{service=\"80\"} 1\n"), "{answer}");
    drop((client, service));
    edge.end();
}
