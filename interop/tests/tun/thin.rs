//! A thin stream through the edge beside one of the kernel's own TCP, over wires with the same losses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use interop::{Namespace, Wire, WirePlan, available};

use super::edge::Running;

const PORT: u16 = 80;
const MESSAGES: usize = 600;
const SIZE: usize = 30;
const GAP: Duration = Duration::from_millis(24);
/// More than a lost message waits whose copy comes with the next one; less than a lost one waits, and several behind
/// it, where only a retransmission repairs it.
const LATE: Duration = Duration::from_millis(40);

/// How long each message took.
fn latencies(through_edge: bool, seed: u64) -> Vec<Duration> {
    let (near, far) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let plan = WirePlan { delay: base::Duration::from_millis(65), loss: 2, seed };
    let _wire = Wire::start(&near, &far, plan).unwrap();
    let at = SocketAddr::from((Wire::address(1), PORT));
    let service = if through_edge { SocketAddr::from(([127, 0, 0, 1], PORT)) } else { at };
    let listener = far.enter(|| TcpListener::bind(service)).unwrap().unwrap();
    let (mut to, mut edge) = (at, None);
    if through_edge {
        far.forward().unwrap();
        near.ip(&format!("route add 10.78.0.0/24 via {}", Wire::address(1))).unwrap();
        to = SocketAddr::from(([10, 78, 0, 2], PORT));
        edge = Some(Running::start(&far, service, |_| ()));
    }
    let mut client = near.enter(|| TcpStream::connect(to)).unwrap().unwrap();
    client.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut server = listener.accept().unwrap().0;
    server.set_nodelay(true).unwrap();
    let origin = Instant::now();
    let writer = std::thread::spawn(move || {
        for index in 0..MESSAGES as u32 {
            std::thread::sleep((origin + GAP * index).saturating_duration_since(Instant::now()));
            let mut message = [0; SIZE];
            message[..8].copy_from_slice(&(origin.elapsed().as_nanos() as u64).to_be_bytes());
            server.write_all(&message).unwrap();
        }
    });
    let mut took = Vec::new();
    let mut message = [0; SIZE];
    while client.read_exact(&mut message).is_ok() {
        let written = Duration::from_nanos(u64::from_be_bytes(message[..8].try_into().unwrap()));
        took.push(origin.elapsed().saturating_sub(written));
    }
    writer.join().unwrap();
    drop(client);
    if let Some(edge) = edge {
        edge.ask_to_end();
        edge.end();
    }
    took
}

#[test]
fn a_thin_stream_through_the_edge_is_late_less_than_half_as_often_as_the_kernels() {
    let Some(()) = available(Wire::find()) else { return };
    let runs: Vec<_> = (0..8)
        .map(|run| (run % 2 == 1, std::thread::spawn(move || latencies(run % 2 == 1, run / 2))))
        .collect();
    let (mut late, mut best) = ([0; 2], Duration::MAX);
    let all: Vec<_> =
        runs.into_iter().map(|(edge, thread)| (edge, thread.join().unwrap())).collect();
    for (_, took) in &all {
        assert_eq!(took.len(), MESSAGES);
        best = best.min(*took.iter().min().unwrap());
    }
    for (edge, took) in &all {
        late[usize::from(*edge)] += took.iter().filter(|took| **took > best + LATE).count();
    }
    let [kernel, edge] = late;
    assert!(edge * 2 < kernel, "late: {edge} through the edge, {kernel} of the kernel");
}
