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
    options.paths[0].up.loss = LossModel::Bernoulli(Probability::from_ratio(1, 2));
    options.paths[0].up.delay = Duration::from_millis(3);
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
        // Since order is kept, the arrival of the last message shows that none is still under way.
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
        emulate_until(&options, |listen| ready.send(listen[0]).unwrap(), stop).await.unwrap();
    let arrived: u64 = client.join().unwrap();
    let [path] = &report.paths[..] else { panic!("{report:?}") };
    assert_eq!((path.up.offered_packets, path.up.delivered_packets), (50, arrived));
    assert_eq!(path.up.lost_packets, 50 - arrived);
    assert!((10..=40).contains(&arrived), "{arrived}");
    assert_eq!(path.down.delivered_packets, arrived);
    assert_eq!(path.down.delivered_bytes, arrived * 29);

    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["paths"][0]["up"]["lost_packets"], 50 - arrived);
    assert!(json["paths"][0]["down"]["late_ms"]["p99"].is_f64());
    let table = report.to_string();
    assert!(table.contains(": 1 client\n") && table.contains("packets delivered"), "{table}");
    assert!(!table.contains("memory"), "{table}");
}

#[tokio::test]
async fn a_relay_ends_after_its_duration() {
    let mut options =
        EmulateOptions::new(LOOPBACK.parse().unwrap(), "127.0.0.1:9".parse().unwrap());
    options.duration = Some(Duration::from_millis(20));
    let report = emulate(&options, |_| {}).await.unwrap();
    assert!(report.duration_s >= 0.02);
    assert_eq!(report.paths[0].clients, 0);
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

#[tokio::test]
async fn each_path_has_links_and_an_address_of_its_own() {
    let servers = [socket(), socket()];
    let listen = ["127.0.4.1:0", "127.0.4.2:0"];
    let paths = listen.iter().zip(&servers).map(|(listen, server)| {
        PathOptions::new(listen.parse().unwrap(), server.local_addr().unwrap())
    });
    let mut options = EmulateOptions::new(LOOPBACK.parse().unwrap(), LOOPBACK.parse().unwrap());
    options.paths = paths.collect();
    options.paths[1].up.profile =
        netsim::link::parse_profile("0s loss=100%\n600ms loss=0").unwrap();
    let (ready, listens) = mpsc::channel();
    let (finished, stop) = tokio::sync::oneshot::channel::<()>();
    let client = std::thread::spawn(move || {
        let relays: Vec<SocketAddr> = listens.recv().unwrap();
        let client = socket();
        let mut buffer = [0; 100];
        for (relay, server) in relays.iter().zip(&servers) {
            // The second path loses what comes in its first 600 ms.
            server.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
            let from = loop {
                client.send_to(b"?", relay).unwrap();
                if let Ok((_, from)) = server.recv_from(&mut buffer) {
                    break from;
                }
            };
            assert_eq!(from.ip(), relay.ip());
        }
        finished.send(()).unwrap();
    });
    let stop = async { stop.await.unwrap_or(()) };
    let report = emulate_until(&options, |listen| ready.send(listen.to_vec()).unwrap(), stop).await;
    let report = report.unwrap();
    client.join().unwrap();
    let lost: Vec<_> = report.paths.iter().map(|path| path.up.lost_packets).collect();
    assert!(lost[0] == 0 && lost[1] > 0, "{lost:?}");
}
