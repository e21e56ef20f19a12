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
    for steering in [Steering::VerificationTag, Steering::Addresses, Steering::Records] {
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

/// An SCTP packet with this tag and one SACK chunk, with as many gap ack blocks.
fn acknowledgement(tag: u32, gaps: u8) -> Vec<u8> {
    let length = 16 + 4 * gaps;
    let header = [&[1, 2, 3, 4][..], &tag.to_be_bytes(), &[0; 4]].concat();
    let fields = [&[0; 8][..], &[0, gaps], &[0; 2]].concat();
    [&header[..], &[3, 0, 0, length], &fields, &vec![1; 4 * usize::from(gaps)]].concat()
}

#[tokio::test]
async fn what_only_acknowledges_waits_apart_and_wakes_no_task_unless_asked_to() {
    for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        for of in [1, 2, 3] {
            let sockets = group(of, address, Steering::VerificationTag);
            assert!(sockets.iter().all(Carrier::separates_acks));
            let mut to = sockets[0].local_addr();
            if to.ip().is_unspecified() {
                to.set_ip("127.0.0.1".parse().unwrap());
            }
            let sender = UdpCarrier::bind(crate::unspecified_for(to)).unwrap();
            for tag in [6, 7, u32::MAX] {
                let mut batch = RecvBatch::new(1);
                let own = &sockets[tag as usize % of];
                send(&sender, to, &acknowledgement(tag, 0)).await;
                // The next packet arrives after it.
                send(&sender, to, &acknowledgement(tag, 1)).await;
                assert_eq!(arrival(&sockets).await, (tag as usize % of, 32), "a gap is urgent");
                assert!(own.try_recv(&mut batch).is_err(), "nothing else arrived there");
                own.try_recv_acks(&mut batch);
                let (waited, meta, datagram) = batch.pop_ack().expect("it waited");
                assert_eq!(datagram.head, acknowledgement(tag, 0));
                assert_eq!(meta.remote.port(), sender.local_addr().port());
                assert!(waited < base::Duration::from_secs(20), "{waited}");
                assert!(batch.pop_ack().is_none());
            }
            let arrives = std::future::poll_fn(|context| sockets[0].poll_acks(context));
            sockets[0].wake_on_acks(true);
            send(&sender, to, &acknowledgement(of as u32, 0)).await;
            tokio::time::timeout(Duration::from_secs(20), arrives)
                .await
                .expect("acknowledgements wake it");
        }
    }
}

/// A record of DTLS 1.3 with this much content, which begins with `form`.
fn record(form: u8, content: usize) -> Vec<u8> {
    [&[form][..], &vec![0; 4 + content + 1 + 16]].concat()
}

#[tokio::test]
async fn a_record_of_an_acknowledgement_s_size_waits_apart_where_its_sender_s_records_arrive() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        for of in [1, 3] {
            let sockets = group(of, address, Steering::Records);
            assert!(sockets.iter().all(Carrier::separates_acks));
            let to = sockets[0].local_addr();
            let sender = UdpCarrier::bind(crate::unspecified_for(to)).unwrap();
            // Each but the last is urgent: a shorter and a longer record, one with a connection id,
            // a packet without encryption.
            let others = [record(0x2f, 24), record(0x2e, 32), record(0x3f, 28), vec![9; 50]];
            for other in &others {
                send(&sender, to, &record(0x2d, 28)).await;
                send(&sender, to, other).await;
            }
            let mut at = BTreeSet::new();
            for other in &others {
                let (index, length) = arrival(&sockets).await;
                at.insert(index);
                assert_eq!(length, other.len());
            }
            assert_eq!(at.len(), 1, "all are of one sender");
            let mut batch = RecvBatch::new(1);
            sockets[*at.first().unwrap()].try_recv_acks(&mut batch);
            let acks: Vec<_> = std::iter::from_fn(|| batch.pop_ack()).collect();
            assert_eq!(acks.len(), others.len());
            assert!(acks.iter().all(|(.., datagram)| datagram.head == record(0x2d, 28)));
        }
    }
}

#[tokio::test]
async fn many_acknowledgements_are_read_at_once_in_their_order() {
    let sockets = group(1, "127.0.0.1:0", Steering::VerificationTag);
    let sender = UdpCarrier::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    for number in 0..100 {
        send(&sender, sockets[0].local_addr(), &acknowledgement(number + 1, 0)).await;
    }
    let mut batch = RecvBatch::new(1);
    sockets[0].try_recv_acks(&mut batch);
    let numbers: Vec<_> = std::iter::from_fn(|| batch.pop_ack())
        .map(|(_, _, datagram)| u32::from_be_bytes(*datagram.head[4..].first_chunk().unwrap()))
        .collect();
    assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
    assert_eq!(sockets[0].statistics().datagrams_received, 100);
    sockets[0].try_recv_acks(&mut batch);
    assert!(!batch.has_any());
}
