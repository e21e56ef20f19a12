use std::net::Ipv6Addr;
use std::time::Duration;

use super::*;

const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn transmit(remote: SocketAddr, size: usize) -> Transmit {
    Transmit {
        local: None,
        remote,
        ecn: Ecn::NotEct,
        dont_fragment: false,
        service: base::IpService::default(),
        size,
    }
}

/// Receives until `count` datagrams are there, or fails after 5 s.
async fn receive(carrier: &UdpCarrier, count: usize) -> Vec<(DatagramMeta, Vec<u8>)> {
    let mut batch = RecvBatch::new(8);
    let mut all = Vec::new();
    while all.len() < count {
        tokio::time::timeout(Duration::from_secs(5), carrier.recv(&mut batch))
            .await
            .expect("datagrams are missing")
            .unwrap();
        all.extend(batch.drain().map(|(meta, data)| (meta, data.head.to_vec())));
    }
    all
}

#[test]
fn only_equal_datagrams_to_one_destination_leave_together() {
    let (a, b) = (SocketAddr::from(([10, 0, 0, 1], 1)), SocketAddr::from(([10, 0, 0, 2], 1)));
    let sizes = |sizes: &[usize]| sizes.iter().map(|size| transmit(a, *size)).collect::<Vec<_>>();
    assert_eq!(joinable(&[], 64), 0);
    assert_eq!(joinable(&sizes(&[100, 100, 100]), 64), 3);
    assert_eq!(joinable(&sizes(&[100, 100, 100]), 2), 2);
    assert_eq!(joinable(&sizes(&[100, 100, 100]), 1), 1);
    assert_eq!(joinable(&sizes(&[100, 50, 50]), 64), 2, "a shorter one must be the last");
    assert_eq!(joinable(&sizes(&[50, 100]), 64), 1);
    assert_eq!(joinable(&sizes(&[100, 0]), 64), 1);
    assert_eq!(joinable(&sizes(&[40_000, 40_000]), 64), 1);
    assert_eq!(joinable(&[transmit(a, 9), transmit(b, 9)], 64), 1);
    let marked = Transmit { ecn: Ecn::Ect0, ..transmit(a, 9) };
    assert_eq!(joinable(&[transmit(a, 9), marked], 64), 1);
}

#[tokio::test]
async fn a_batch_of_mixed_sizes_arrives_intact_and_in_order() {
    let sender = UdpCarrier::bind(LOOPBACK).unwrap();
    let receiver = UdpCarrier::bind(LOOPBACK).unwrap();
    let sizes: Vec<usize> = [vec![1200; 80], vec![100; 50], vec![1, 1400, 7, 9000]].concat();
    let transmits: Vec<_> = sizes.iter().map(|s| transmit(receiver.local_addr(), *s)).collect();
    let buffer: Vec<u8> =
        sizes.iter().enumerate().flat_map(|(index, size)| vec![index as u8; *size]).collect();
    sender.send(&transmits, &buffer).await;

    let received = receive(&receiver, sizes.len()).await;
    for (index, (meta, data)) in received.iter().enumerate() {
        assert_eq!((data.len(), data[0]), (sizes[index], index as u8));
        assert_eq!(meta.remote, sender.local_addr());
        assert_eq!(meta.local, receiver.local_addr());
    }
    assert_eq!(sender.statistics().datagrams_sent, sizes.len() as u64);
    assert_eq!(sender.statistics().bytes_sent, buffer.len() as u64);
    assert_eq!(receiver.statistics().bytes_received, buffer.len() as u64);
}

#[tokio::test]
async fn an_address_and_a_port_belong_to_one_socket() {
    let first = UdpCarrier::bind(LOOPBACK).unwrap();
    let refused = UdpCarrier::bind(first.local_addr()).err().unwrap();
    assert_eq!(refused.kind(), io::ErrorKind::AddrInUse, "{refused}");
}

#[tokio::test]
async fn codepoint_and_local_address_of_each_datagram_are_reported() {
    let sender = UdpCarrier::bind(LOOPBACK).unwrap();
    let receiver = UdpCarrier::bind(unspecified_for(LOOPBACK)).unwrap();
    let remote = SocketAddr::from(([127, 0, 0, 3], receiver.local_addr().port()));
    for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::NotEct] {
        sender.send(&[Transmit { ecn, ..transmit(remote, 3) }], b"abc").await;
        let (meta, data) = receive(&receiver, 1).await.remove(0);
        assert_eq!((meta.ecn, meta.local, &data[..]), (ecn, remote, &b"abc"[..]));
    }
}

#[tokio::test]
async fn a_reply_leaves_from_the_address_that_the_machine_names() {
    let client = UdpCarrier::bind(LOOPBACK).unwrap();
    let server = UdpCarrier::bind(unspecified_for(LOOPBACK)).unwrap();
    let local = SocketAddr::from(([127, 0, 0, 9], server.local_addr().port()));
    let reply = Transmit { local: Some(local), ..transmit(client.local_addr(), 2) };
    server.send(&[reply], b"hi").await;
    assert_eq!(receive(&client, 1).await[0].0.remote, local);
}

#[tokio::test]
async fn a_socket_for_both_families_speaks_to_each_in_its_own_addresses() {
    let Ok(both) = UdpCarrier::bind((Ipv6Addr::UNSPECIFIED, 0).into()) else {
        eprintln!("skipped: no IPv6 here");
        return;
    };
    let port = both.local_addr().port();
    for loopback in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        let peer = UdpCarrier::bind(SocketAddr::new(loopback, 0)).unwrap();
        let remote = SocketAddr::new(loopback, port);
        peer.send(&[transmit(remote, 1)], b"x").await;
        let (meta, _) = receive(&both, 1).await.remove(0);
        assert_eq!((meta.local, meta.remote), (remote, peer.local_addr()));
        let reply = Transmit { local: Some(meta.local), ..transmit(meta.remote, 1) };
        both.send(&[reply], b"y").await;
        assert_eq!(receive(&peer, 1).await[0].0.remote, remote);
    }
}

#[tokio::test]
async fn nobody_at_the_other_end_does_not_kill_the_socket() {
    let sender = UdpCarrier::bind(LOOPBACK).unwrap();
    let gone = UdpCarrier::bind(LOOPBACK).unwrap().local_addr();
    let receiver = UdpCarrier::bind(LOOPBACK).unwrap();
    for _ in 0..5 {
        sender.send(&[transmit(gone, 4)], b"lost").await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    sender.send(&[transmit(receiver.local_addr(), 4)], b"here").await;
    assert_eq!(receive(&receiver, 1).await[0].1, b"here");
    receiver.send(&[transmit(sender.local_addr(), 4)], b"back").await;
    assert_eq!(receive(&sender, 1).await[0].1, b"back");
}

#[tokio::test]
async fn what_cannot_be_sent_is_counted_with_its_address_and_dropped() {
    let sender = UdpCarrier::bind(LOOPBACK).unwrap();
    let receiver = UdpCarrier::bind(LOOPBACK).unwrap();
    let too_large = vec![0; 70_000];
    let transmits = [transmit(receiver.local_addr(), 70_000), transmit(receiver.local_addr(), 2)];
    sender.send(&transmits, &[&too_large[..], b"ok"].concat()).await;
    assert_eq!(receive(&receiver, 1).await[0].1, b"ok");
    let statistics = sender.statistics();
    assert_eq!((statistics.send_errors, statistics.datagrams_sent), (1, 1));
    assert!(statistics.last_error.unwrap().contains(&receiver.local_addr().to_string()));
}

#[tokio::test]
async fn errors_of_opening_name_the_address_and_the_reason() {
    let first = UdpCarrier::bind(LOOPBACK).unwrap();
    let error = UdpCarrier::bind(first.local_addr()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    assert_eq!(
        error.to_string(),
        format!("cannot open UDP {}: the port is already in use", first.local_addr())
    );
    let error = UdpCarrier::bind("192.0.2.1:9899".parse().unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot open UDP 192.0.2.1:9899: this machine has no address 192.0.2.1"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_must_not_be_fragmented_and_what_may_leave_through_one_socket() {
    use rustix::net::sockopt::{Ipv4PathMtuDiscovery as Discovery, ip_mtu_discover};
    let receiver = UdpCarrier::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let sender = UdpCarrier::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let whole = Transmit { dont_fragment: true, ..transmit(receiver.local_addr(), 1) };
    let pieces = Transmit { dont_fragment: false, ..whole };
    for (one, expected) in
        [(whole, Discovery::PROBE), (pieces, Discovery::DONT), (whole, Discovery::PROBE)]
    {
        sender.send(&[one], b"x").await;
        assert_eq!(ip_mtu_discover(sender.socket()).unwrap(), expected);
    }
    sender.send(&[whole, pieces, whole], b"abc").await;
    let (mut batch, mut count) = (RecvBatch::new(4), 0);
    while count < 6 {
        receiver.recv(&mut batch).await.unwrap();
        count += batch.drain().count();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn datagrams_to_many_peers_leave_together_unless_one_gets_two_in_a_row() {
    let to = |last: u8| transmit(SocketAddr::from(([10, 0, 0, last], 1)), 9 + usize::from(last));
    let all = |lasts: &[u8]| many::count(&lasts.iter().map(|last| to(*last)).collect::<Vec<_>>());
    assert_eq!(
        (all(&[]), all(&[1]), all(&[1, 2, 1]), all(&[1, 1, 2]), all(&[1, 2, 2])),
        (0, 1, 3, 1, 2)
    );
    assert_eq!(all(&(0..200).collect::<Vec<u8>>()), 64);
    for other in [
        Transmit { ecn: Ecn::Ect0, ..to(2) },
        Transmit { dont_fragment: true, ..to(2) },
        Transmit { local: Some(LOOPBACK), ..to(2) },
        transmit("[::1]:9".parse().unwrap(), 1),
    ] {
        assert_eq!(many::count(&[to(1), other]), 1, "{other:?}");
    }
}

async fn assert_reaches_many_peers(from: SocketAddr, at: SocketAddr) {
    let Ok(sender) = UdpCarrier::bind(from) else { return };
    let receivers: Vec<_> = (0..70).map(|_| UdpCarrier::bind(at).unwrap()).collect();
    let here = SocketAddr::new(at.ip(), sender.local_addr().port());
    let local = Some(here);
    let too_large = Transmit { local, ..transmit(receivers[0].local_addr(), 70_000) };
    let to = |(index, peer): (usize, &UdpCarrier)| Transmit {
        local,
        ecn: Ecn::Ect1,
        ..transmit(peer.local_addr(), 1 + index)
    };
    let mut transmits: Vec<_> = receivers.iter().enumerate().map(to).collect();
    let mut buffer: Vec<u8> =
        (0..70).flat_map(|index| vec![index; 1 + usize::from(index)]).collect();
    // One that the system refuses does not keep those behind it.
    transmits.insert(0, Transmit { ecn: Ecn::Ect1, ..too_large });
    buffer.splice(0..0, vec![9; 70_000]);
    sender.send(&transmits, &buffer).await;
    for (index, receiver) in receivers.iter().enumerate() {
        let (meta, data) = receive(receiver, 1).await.remove(0);
        assert_eq!((data.len(), data[0]), (1 + index, index as u8));
        assert_eq!((meta.ecn, meta.remote), (Ecn::Ect1, here));
    }
    let statistics = sender.statistics();
    assert_eq!((statistics.datagrams_sent, statistics.send_errors), (70, 1));
}

#[tokio::test]
async fn many_peers_get_each_its_datagram_with_codepoint_and_source() {
    let any: SocketAddr = "[::]:0".parse().unwrap();
    assert_reaches_many_peers(unspecified_for(LOOPBACK), LOOPBACK).await;
    assert_reaches_many_peers(any, LOOPBACK).await;
    assert_reaches_many_peers(any, "[::1]:0".parse().unwrap()).await;
}
