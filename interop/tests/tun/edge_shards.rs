//! An edge of several shards is one edge: to clients, to services, in its limits and in what it
//! tells.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use apps::edge::EdgeReport;
use interop::{EDGE, EDGE_PORT, EdgeSeen, Namespace, Wire, available};
use io::{Tun, TunOptions};

use super::edge::{Running, bind, connect, greet, is_reset, patient};

/// Enough connections that each of a few shards has some.
const MANY: usize = 100;

/// A namespace with a service, and an edge of this many shards before it.
fn sharded(shards: usize, limit: usize) -> Option<(Namespace, TcpListener, Running)> {
    available(Wire::find())?;
    let namespace = Namespace::new().unwrap();
    let (listener, address) = bind(&namespace);
    let edge = Running::start(&namespace, address, |options| {
        options.shards = shards;
        options.services[0].max_per_client = limit;
    });
    Some((namespace, listener, edge))
}

fn open(namespace: &Namespace, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let (mut client, mut service) = (connect(namespace), patient(listener.accept().unwrap().0));
    greet(&mut client, &mut service);
    (client, service)
}

/// Asserts that all connections ended in order, and `refused` segments belonged to none.
fn assert_finished(report: &EdgeReport, count: usize, refused: u64) {
    let tally = &report.services[0].tally;
    assert_eq!((tally.finished, tally.ended()), (count as u64, count as u64), "{report}");
    assert_eq!(report.stack.no_connection, refused, "{report}");
}

#[test]
fn what_arrives_at_the_wrong_shard_is_handed_over_and_no_connection_ends() {
    let Some((namespace, listener, edge)) = sharded(2, MANY) else { return };
    let mut pairs: Vec<_> = (0..MANY).map(|_| open(&namespace, &listener)).collect();
    // The kernel forgets who sent last for a connection after three seconds without a packet.
    std::thread::sleep(Duration::from_millis(4500));
    // Two more queues: half of the packets come to these, and are lost; half of the others change
    // their queue.
    let two = TunOptions { name: Some("edge0".into()), queues: 2, ..TunOptions::default() };
    let further = namespace.enter(|| Tun::open(&two)).unwrap().unwrap();
    for (client, _) in &mut pairs {
        client.write_all(b"?").unwrap();
    }
    edge.wait("segments that were handed over", |seen: &EdgeSeen| {
        (seen.status.as_ref()?.stack.handed_over > 0).then_some(())
    });
    drop(further);
    for (client, service) in &mut pairs {
        let mut byte = [0];
        service.read_exact(&mut byte).unwrap();
        service.write_all(&byte).unwrap();
        client.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"?");
    }
    drop(pairs);
    let report = edge.end();
    assert_finished(&report, MANY, 0);
    let handed_over = report.stack.handed_over;
    // A quarter of a hundred, and some of their retransmissions.
    assert!((5..1000).contains(&handed_over), "{handed_over} of {report}");
    assert_eq!(report.stack.handed_over_dropped, 0, "{report}");
}

#[test]
fn where_the_system_leads_packets_as_usual_none_is_handed_over() {
    let Some((namespace, listener, edge)) = sharded(4, MANY) else { return };
    let mut pairs: Vec<_> = (0..MANY).map(|_| open(&namespace, &listener)).collect();
    for _ in 0..10 {
        pairs.iter_mut().for_each(|(client, service)| greet(client, service));
    }
    drop(pairs);
    let report = edge.end();
    assert_finished(&report, MANY, 0);
    assert_eq!(report.stack.handed_over, 0, "{report}");
    let tally = &report.services[0].tally;
    assert_eq!((tally.bytes_up, tally.bytes_down), (1100, 1100), "{report}");
}

#[test]
fn a_client_has_no_more_connections_at_all_shards_together_than_at_one() {
    const MOST: usize = 10;
    let Some((namespace, listener, edge)) = sharded(4, MOST) else { return };
    let held: Vec<_> = (0..MOST).map(|_| open(&namespace, &listener)).collect();
    for _ in 0..40 {
        // The reset may come before the client is told that it is connected.
        let one_more = namespace.enter(|| TcpStream::connect((EDGE, EDGE_PORT))).unwrap();
        match one_more {
            Ok(stream) => assert!(is_reset(&mut patient(stream)), "one more than it may have"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    drop(held);
    let report = edge.end();
    let tally = &report.services[0].tally;
    assert_eq!((tally.finished, tally.too_many_of_client), (MOST as u64, 40), "{report}");
}

#[test]
fn an_edge_that_drains_lets_the_connections_of_all_shards_finish_and_takes_no_more() {
    let Some((namespace, listener, edge)) = sharded(3, MANY) else { return };
    let mut pairs: Vec<_> = (0..MANY / 2).map(|_| open(&namespace, &listener)).collect();
    edge.ask_to_end();
    edge.wait("that it drains", |seen| seen.draining.then_some(()));
    let refused = namespace.enter(|| TcpStream::connect((EDGE, EDGE_PORT)));
    let error = refused.unwrap().err().map(|error| error.kind());
    assert_eq!(error, Some(ErrorKind::ConnectionRefused));
    for (client, service) in &mut pairs {
        greet(client, service);
        client.write_all(b"last words").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut heard = Vec::new();
        service.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, b"last words");
    }
    drop(pairs);
    assert_finished(&edge.report(), MANY / 2, 1);
}

#[test]
fn an_edge_that_is_asked_twice_to_end_resets_the_connections_of_all_shards_on_both_sides() {
    let Some((namespace, listener, edge)) = sharded(3, MANY) else { return };
    let pairs: Vec<_> = (0..MANY / 2).map(|_| open(&namespace, &listener)).collect();
    edge.ask_to_end();
    edge.wait("that it drains", |seen| seen.draining.then_some(()));
    edge.ask_to_end();
    for (mut client, mut service) in pairs {
        assert!(is_reset(&mut client) && is_reset(&mut service));
    }
    edge.report();
}
