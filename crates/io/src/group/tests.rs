#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::time::Duration;

use base::{Ecn, Transmit};

use super::*;
use crate::carrier::{Carrier, RecvBatch};

fn count(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn group(of: usize, address: &str, steering: Steering) -> Vec<UdpCarrier> {
    bind_group(address.parse().unwrap(), count(of), steering).unwrap()
}

/// An SCTP packet with this tag.
fn packet(tag: u32) -> Vec<u8> {
    [&[1, 2, 3, 4][..], &tag.to_be_bytes(), &[0; 8]].concat()
}

async fn send(from: &UdpCarrier, to: SocketAddr, datagram: &[u8]) {
    let service = base::IpService::default();
    let (ecn, size) = (Ecn::NotEct, datagram.len());
    let transmit = Transmit { local: None, remote: to, ecn, dont_fragment: false, service, size };
    from.send(&[transmit], datagram).await;
}

/// The socket of the group at which the next datagram arrives, and its length.
async fn arrival(group: &[UdpCarrier]) -> (usize, usize) {
    let mut batch = RecvBatch::new(1);
    let next = std::future::poll_fn(|context| {
        for (index, socket) in group.iter().enumerate() {
            if socket.poll_readable(context).is_ready() && socket.try_recv(&mut batch).is_ok() {
                return std::task::Poll::Ready(index);
            }
        }
        std::task::Poll::Pending
    });
    let index = tokio::time::timeout(Duration::from_secs(20), next).await.expect("it arrives");
    (index, batch.pop().unwrap().1.len())
}

#[tokio::test]
async fn a_packet_arrives_at_the_socket_that_its_tag_names() {
    for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        for of in [2, 3] {
            let sockets = group(of, address, Steering::VerificationTag);
            let mut to = sockets[0].local_addr();
            if to.ip().is_unspecified() {
                to.set_ip("127.0.0.1".parse().unwrap());
            }
            let sender = UdpCarrier::bind(crate::unspecified_for(to)).unwrap();
            for tag in [1, 2, 3, 4, 5, 0x8000_0000, u32::MAX - 1, u32::MAX] {
                send(&sender, to, &packet(tag)).await;
                assert_eq!(arrival(&sockets).await, (tag as usize % of, 16), "{tag} of {of}");
            }
        }
    }
}

#[tokio::test]
async fn packets_without_a_tag_spread_by_address_and_those_of_one_address_stay_together() {
    for steering in [Steering::VerificationTag, Steering::Addresses] {
        let sockets = group(2, "127.0.0.1:0", steering);
        let to = sockets[0].local_addr();
        let mut seen = BTreeSet::new();
        // A fair coin shows one side 64 times in a row once in 10^19 tests.
        for _ in 0..64 {
            let sender = UdpCarrier::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let mut own = BTreeSet::new();
            for _ in 0..3 {
                send(&sender, to, &packet(0)).await;
                own.insert(arrival(&sockets).await.0);
            }
            assert_eq!(own.len(), 1);
            seen.extend(own);
        }
        assert_eq!(seen.len(), 2, "{steering:?}");
    }
}

#[tokio::test]
async fn a_datagram_too_short_for_a_tag_arrives_somewhere() {
    let sockets = group(2, "127.0.0.1:0", Steering::VerificationTag);
    let sender = UdpCarrier::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    for length in [1, 7] {
        send(&sender, sockets[0].local_addr(), &vec![9; length]).await;
        assert_eq!(arrival(&sockets).await.1, length);
    }
}

#[tokio::test]
async fn an_address_in_use_is_refused_be_it_by_one_socket_or_by_a_group() {
    let taken = group(2, "127.0.0.1:0", Steering::VerificationTag);
    let address = taken[0].local_addr();
    for of in [1, 2] {
        let error = bind_group(address, count(of), Steering::Addresses).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse, "{error}");
    }
    let single = UdpCarrier::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = single.local_addr();
    let error = bind_group(address, count(2), Steering::Addresses).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse, "{error}");
}
