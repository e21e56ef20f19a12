use std::net::UdpSocket;
use std::sync::mpsc;

use base::Probability;

use super::*;

const LOOPBACK: &str = "127.0.0.1:0";

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind(LOOPBACK).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    socket
}

#[tokio::test]
async fn a_relay_that_loses_half_reports_what_it_lost() {
    let server = socket();
    let mut options = EmulateOptions::new(LOOPBACK.parse().unwrap(), server.local_addr().unwrap());
    options.up.loss = Probability::from_ratio(1, 2);
    options.up.delay = Duration::from_millis(3);
    options.seed = 7;
    let (ready, listen) = mpsc::channel();
    let (finished, stop) = tokio::sync::oneshot::channel::<()>();
    let client = std::thread::spawn(move || {
        let relay: SocketAddr = listen.recv().unwrap();
        let client = socket();
        let mut buffer = [0; 100];
        let mut arrived = 0;
        for number in 0..50u8 {
            client.send_to(&[number], relay).unwrap();
        }
        // The last message tells that all before it have had their chance: order is kept.
        server.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
        while let Ok((_, from)) = server.recv_from(&mut buffer) {
            server.send_to(&buffer[..1], from).unwrap();
            client.recv_from(&mut buffer).unwrap();
            arrived += 1;
        }
        finished.send(()).unwrap();
        arrived
    });
    let stop = async { stop.await.unwrap_or(()) };
    let report =
        emulate_until(&options, |address| ready.send(address).unwrap(), stop).await.unwrap();
    let arrived: u64 = client.join().unwrap();
    assert_eq!((report.up.offered_packets, report.up.delivered_packets), (50, arrived));
    assert_eq!(report.up.lost_packets, 50 - arrived);
    assert!((10..=40).contains(&arrived), "{arrived}");
    assert_eq!(report.down.delivered_packets, arrived);
    assert_eq!(report.down.delivered_bytes, arrived * 29);

    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["up"]["lost_packets"], 50 - arrived);
    assert!(json["down"]["late_ms"]["p99"].is_f64());
    let table = report.to_string();
    assert!(table.contains("1 client in") && table.contains("packets delivered"), "{table}");
    assert!(!table.contains("memory"), "{table}");
}

#[tokio::test]
async fn a_relay_ends_after_its_duration() {
    let mut options =
        EmulateOptions::new(LOOPBACK.parse().unwrap(), "127.0.0.1:9".parse().unwrap());
    options.duration = Some(Duration::from_millis(20));
    let report = emulate(&options, |_| {}).await.unwrap();
    assert!(report.duration_s >= 0.02);
    assert_eq!(report.clients, 0);
}

#[tokio::test]
async fn what_cannot_work_is_refused_with_its_address() {
    let taken = socket().local_addr().unwrap();
    let holder = UdpSocket::bind(taken).unwrap();
    let cases = [
        ("127.0.0.1:4000", "127.0.0.1:4000", "itself"),
        ("0.0.0.0:4000", "127.0.0.1:4000", "itself"),
        ("127.0.0.1:0", "127.0.0.1:0", "port 0"),
        ("127.0.0.1:0", "0.0.0.0:9899", "has an address"),
        (&taken.to_string(), "127.0.0.1:1", "already in use"),
    ];
    for (listen, forward, reason) in cases {
        let options = EmulateOptions::new(listen.parse().unwrap(), forward.parse().unwrap());
        let error = emulate_until(&options, |_| {}, async {}).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    drop(holder);
}
