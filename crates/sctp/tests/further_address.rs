//! A peer with more than one address speaks from one of which this side took no note.

use std::net::SocketAddr;

use base::{DatagramMeta, Ecn, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use sctp::{AssociationOptions, Endpoint, EndpointOptions, Ppid, SendOptions, StreamId};

const CLIENT: &str = "192.0.2.1:9899";
const SERVER: &str = "192.0.2.2:9899";

fn endpoint(listen: bool, seed: u64) -> Endpoint {
    let options = EndpointOptions { listen, ..EndpointOptions::default() };
    Endpoint::new(options, RandomStream::new(seed, Purpose("endpoint", 0)))
}

/// Carries all that `from` has to send to `to`, as if it came from `source`; the number of packets.
fn carry(from: &mut Endpoint, to: &mut Endpoint, source: &str, destination: &str) -> usize {
    let (mut buffer, mut packets) = (Vec::new(), 0);
    let address = |text: &str| -> SocketAddr { text.parse().unwrap() };
    while from.poll_transmit(Instant::ZERO, &mut buffer).is_some() {
        let meta = DatagramMeta {
            local: address(destination),
            remote: address(source),
            ecn: Ecn::NotEct,
        };
        to.handle_datagram(Instant::ZERO, meta, Bytes::from(std::mem::take(&mut buffer)));
        packets += 1;
    }
    packets
}

#[test]
fn a_packet_with_the_right_tag_from_another_address_neither_arrives_nor_provokes_an_abort() {
    let (mut client, mut server) = (endpoint(false, 1), endpoint(true, 2));
    let to = SERVER.parse().unwrap();
    let id = client.connect(Instant::ZERO, to, 9899, AssociationOptions::default()).unwrap();
    while carry(&mut client, &mut server, CLIENT, SERVER) > 0 {
        carry(&mut server, &mut client, SERVER, CLIENT);
    }
    assert!(client.association(id).unwrap().is_established());

    let payload = Bytes::from_static(b"hello");
    client
        .send(Instant::ZERO, id, StreamId(0), Ppid(0), payload, SendOptions::default())
        .unwrap();
    assert_eq!(carry(&mut client, &mut server, "198.51.100.1:9899", SERVER), 1);
    assert_eq!(carry(&mut server, &mut client, SERVER, CLIENT), 0, "answered with an ABORT");
    assert_eq!((server.stats().wrong_tag, server.stats().out_of_the_blue), (1, 0));

    // Sent again from the address that the server knows, it arrives.
    let due = client.poll_timeout().unwrap();
    client.handle_timeout(due);
    carry(&mut client, &mut server, CLIENT, SERVER);
    carry(&mut server, &mut client, SERVER, CLIENT);
    client.handle_timeout(due);
    assert!(client.association(id).unwrap().is_established());
    assert_eq!(server.association_count(), 1);
}
