//! Tests that an edge keeps each side from harming the other, and itself.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use interop::{EDGE, EDGE_PORT, EdgeSeen, Namespace, Wire, available};

use super::edge::{LIMIT, Running, bind, connect, greet, is_reset, patient, reset, through_edge};

/// Whether the connection is reset, sooner or later. One whose peer had finished is a broken pipe
/// then.
fn becomes_reset(stream: &TcpStream) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
    let deadline = Instant::now() + LIMIT;
    loop {
        match stream.take_error() {
            Ok(Some(error)) => return matches!(error.kind(), BrokenPipe | ConnectionReset),
            _ if Instant::now() > deadline => return false,
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

#[test]
fn a_client_that_resets_after_it_has_finished_is_heard_of_at_once() {
    let Some((edge, mut client, mut service)) = through_edge() else { return };
    greet(&mut client, &mut service);
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(service.read(&mut [0; 4]).unwrap(), 0);
    reset(client);
    assert!(becomes_reset(&service));
    assert_eq!(edge.end().services[0].tally.reset_by_client, 1);
}

#[test]
fn a_client_that_resets_while_the_service_does_not_read_is_heard_of() {
    let Some((edge, mut client, mut service)) = through_edge() else { return };
    greet(&mut client, &mut service);
    // More than the buffers between the edge and the service take, less than the client's window.
    client.set_nonblocking(true).unwrap();
    let (piece, mut stuck) = (vec![7; 65_536], 0);
    while stuck < 20 {
        match client.write(&piece) {
            Ok(written) if written > 0 => stuck = 0,
            _ => {
                stuck += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    reset(client);
    assert!(becomes_reset(&service));
    assert_eq!(edge.end().services[0].tally.reset_by_client, 1);
}

#[test]
fn an_upload_that_the_end_of_the_edge_cuts_is_reset_on_both_sides() {
    let Some((edge, mut client, mut service)) = through_edge() else { return };
    client.write_all(b"the first half of").unwrap();
    let mut heard = [0; 17];
    service.read_exact(&mut heard).unwrap();
    edge.ask_to_end();
    edge.wait("that it drains", |seen: &EdgeSeen| seen.draining.then_some(()));
    edge.ask_to_end();
    edge.report();
    assert!(is_reset(&mut service), "the service takes half of it for the whole");
    assert!(is_reset(&mut client));
}

#[test]
fn a_service_that_closes_altogether_does_not_keep_its_client_for_ever() {
    for closes in [true, false] {
        let Some(()) = available(Wire::find()) else { return };
        let namespace = Namespace::new().unwrap();
        let soon = || std::fs::write("/proc/sys/net/ipv4/tcp_fin_timeout", "1");
        namespace.enter(soon).unwrap().unwrap();
        let (listener, address) = bind(&namespace);
        let edge = Running::start(&namespace, address, |options| {
            options.services[0].finished_probe = base::Duration::from_secs(1);
        });
        let mut client = connect(&namespace);
        let mut service = patient(listener.accept().unwrap().0);
        greet(&mut client, &mut service);
        if closes {
            drop(service);
            assert_eq!(client.read(&mut [0; 4]).unwrap(), 0);
            assert!(becomes_reset(&client));
            assert_eq!(edge.end().services[0].tally.reset_by_service, 1);
        } else {
            service.shutdown(Shutdown::Write).unwrap();
            assert_eq!(client.read(&mut [0; 4]).unwrap(), 0);
            // Several times what the one that closed has.
            std::thread::sleep(Duration::from_secs(6));
            client.write_all(b"more").unwrap();
            service.read_exact(&mut [0; 4]).unwrap();
            drop((client, service));
            assert_eq!(edge.end().services[0].tally.finished, 1);
        }
    }
}

/// Opens a connection; whether it goes on to the service, or is reset.
fn is_taken(
    namespace: &Namespace,
    listener: &TcpListener,
    from: &str,
) -> Option<(TcpStream, TcpStream)> {
    let to = SocketAddr::from((EDGE, EDGE_PORT)).into();
    let open = || {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        socket.bind(&format!("{from}:0").parse::<SocketAddr>().unwrap().into())?;
        socket.connect(&to)?;
        Ok::<TcpStream, std::io::Error>(socket.into())
    };
    let mut client = patient(namespace.enter(open).unwrap().ok()?);
    client.write_all(b"?").ok()?;
    listener.set_nonblocking(true).unwrap();
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        if let Ok((mut service, _)) = listener.accept() {
            service.set_nonblocking(false).unwrap();
            service.read_exact(&mut [0]).unwrap();
            return Some((client, service));
        }
        client.set_nonblocking(true).unwrap();
        match client.read(&mut [0]) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => return None,
        }
        client.set_nonblocking(false).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("neither taken nor reset");
}

#[test]
fn a_client_has_no_more_connections_than_one_may_and_leaves_room_for_others() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let (listener, address) = bind(&namespace);
    let edge = Running::start(&namespace, address, |options| {
        options.services[0].max_per_client = 2;
        options.services[0].max_connections = 3;
    });
    namespace.ip("addr add 10.78.0.7/24 dev edge0").unwrap();
    let open = |from: &str| is_taken(&namespace, &listener, from);
    let (first, second) = (open("10.78.0.1").unwrap(), open("10.78.0.1").unwrap());
    assert!(open("10.78.0.1").is_none(), "a third of one client");
    let other = open("10.78.0.7").unwrap();
    assert!(open("10.78.0.7").is_none(), "a fourth of all");
    drop(first);
    let again = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        open("10.78.0.1")
    });
    assert!(again.is_some());
    drop((second, other, again));
    let report = edge.end();
    let tally = &report.services[0].tally;
    assert!(tally.too_many_of_client >= 1 && tally.too_many >= 1, "{report}");
    assert_eq!((tally.finished, tally.no_resources), (4, 0), "{report}");
}

#[test]
fn a_silent_reader_of_metrics_does_not_keep_others_from_them() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let (_listener, address) = bind(&namespace);
    let edge = Running::start(&namespace, address, |options| {
        options.metrics = Some("127.0.0.1:0".parse().unwrap());
    });
    let metrics = edge.wait("metrics", |seen: &EdgeSeen| seen.metrics);
    let connect = || patient(TcpStream::connect(metrics).unwrap());
    let silent: Vec<TcpStream> = (0..20).map(|_| namespace.enter(connect).unwrap()).collect();
    let mut stream = namespace.enter(connect).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: edge\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    // They were there all the time, and not thrown out before.
    for stream in &silent {
        stream.set_nonblocking(true).unwrap();
        let error = (&*stream).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    }
    edge.end();
}

#[test]
fn figures_that_grow_are_never_seen_to_shrink_while_connections_end() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let (listener, address) = bind(&namespace);
    let edge = Running::start(&namespace, address, |options| {
        options.shards = 2;
        options.interval = base::Duration::from_millis(10);
    });
    let begin = || {
        let (mut client, mut service) =
            (connect(&namespace), patient(listener.accept().unwrap().0));
        greet(&mut client, &mut service);
        (client, service)
    };
    // More than one step of a survey, so that connections end and begin in its midst.
    let held: Vec<_> = (0..100).map(|_| begin()).collect();
    let mut most = 0;
    for _ in 0..100 {
        drop(begin());
        let sum = edge.wait("a status", |seen: &EdgeSeen| {
            let tally = &seen.status.as_ref()?.services[0].tally;
            Some(tally.bytes_up + tally.bytes_down)
        });
        assert!(sum >= most, "{sum} after {most}");
        most = sum;
    }
    drop(held);
    let report = edge.end();
    let tally = &report.services[0].tally;
    assert_eq!((tally.bytes_up, tally.bytes_down, tally.finished), (200, 200, 200), "{report}");
}

#[test]
fn clients_that_do_not_read_hold_no_more_than_there_is_and_a_thin_stream_goes_on_beside_them() {
    const MEMORY: usize = 4 << 20;
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let (listener, address) = bind(&namespace);
    let edge = Running::start(&namespace, address, |options| options.memory = MEMORY);
    let (mut thin, mut thin_service) = (connect(&namespace), patient(listener.accept().unwrap().0));
    greet(&mut thin, &mut thin_service);
    // A megabyte each, if they could.
    let mut greedy: Vec<_> =
        (0..16).map(|_| (connect(&namespace), listener.accept().unwrap().0)).collect();
    let piece = vec![7; 65_536];
    let mut stuck = 0;
    while stuck < 20 {
        let mut taken = 0;
        for (_, service) in &mut greedy {
            service.set_nonblocking(true).unwrap();
            taken += service.write(&piece).unwrap_or(0);
        }
        stuck = if taken == 0 { stuck + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(10));
    }
    for _ in 0..10 {
        greet(&mut thin, &mut thin_service);
    }
    let held = edge.wait("a status of now", |seen: &EdgeSeen| {
        let status = seen.status.as_ref()?;
        (status.services[0].present == 17).then_some(status.stack.buffered_bytes)
    });
    // The rest is for the process itself, and for connections.
    assert!((MEMORY as u64 / 3..=MEMORY as u64).contains(&held), "{held} of {MEMORY}");
    // Room for one is room for the others.
    for (client, service) in greedy {
        drop((client, service));
    }
    greet(&mut thin, &mut thin_service);
    drop((thin, thin_service));
    edge.end();
}
