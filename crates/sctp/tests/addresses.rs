//! Sources of a peer's packets: a further address, a NAT shared with others, a host name.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::SocketAddr;

use base::{DatagramMeta, Ecn, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use sctp::wire::chunk::Init;
use sctp::wire::parameter::RawParameter;
use sctp::wire::{
    Chunk, CommonHeader, Packet, PacketBuilder, Parameter, ParameterType, Tsn, VerificationTag,
};
use sctp::{AssociationOptions, Endpoint, EndpointOptions, Event, Ppid, SendOptions, StreamId};

const CLIENT: &str = "192.0.2.1:9899";
const SERVER: &str = "192.0.2.2:9899";

fn endpoint(listen: bool, seed: u64) -> Endpoint {
    let options = EndpointOptions { listen, ..EndpointOptions::default() };
    Endpoint::new(options, RandomStream::new(seed, Purpose("endpoint", 0)))
}

/// Delivers all packets that `from` sends at `now` to `to`, with `source` as their source; returns
/// their number.
fn carry(
    now: Instant,
    from: &mut Endpoint,
    to: &mut Endpoint,
    source: &str,
    destination: &str,
) -> usize {
    let (mut buffer, mut packets) = (Vec::new(), 0);
    let address = |text: &str| -> SocketAddr { text.parse().unwrap() };
    while from.poll_transmit(now, &mut buffer).is_some() {
        let meta = DatagramMeta {
            local: address(destination),
            remote: address(source),
            ecn: Ecn::NotEct,
            origin: None,
        };
        to.handle_datagram(now, meta, std::mem::take(&mut buffer).into());
        packets += 1;
    }
    packets
}

#[test]
fn a_packet_with_the_right_tag_from_another_address_neither_arrives_nor_provokes_an_abort() {
    let (mut client, mut server) = (endpoint(false, 1), endpoint(true, 2));
    let now = Instant::ZERO;
    let to: SocketAddr = SERVER.parse().unwrap();
    let id = client.connect(now, to, 9899, AssociationOptions::default()).unwrap();
    while carry(now, &mut client, &mut server, CLIENT, SERVER) > 0 {
        carry(now, &mut server, &mut client, SERVER, CLIENT);
    }
    assert!(client.association(id).unwrap().is_established());

    let payload = Bytes::from_static(b"hello");
    client
        .association_mut(id)
        .unwrap()
        .send(now, StreamId(0), Ppid(0), payload, SendOptions::default())
        .unwrap();
    assert_eq!(carry(now, &mut client, &mut server, "198.51.100.1:9899", SERVER), 1);
    assert_eq!(carry(now, &mut server, &mut client, SERVER, CLIENT), 0, "answered with an ABORT");
    assert_eq!((server.stats().wrong_tag, server.stats().out_of_the_blue), (1, 0));

    // Retransmitted from the address that the server knows, it arrives.
    let now = client.poll_timeout().unwrap();
    client.handle_timeout(now);
    carry(now, &mut client, &mut server, CLIENT, SERVER);
    let events: Vec<_> =
        std::iter::from_fn(|| server.poll_event()).map(|(_, event)| event).collect();
    assert_eq!(events, [Event::Established, Event::Readable]);
}

#[test]
fn an_init_with_a_host_name_is_answered_with_an_abort() {
    let mut server = endpoint(true, 2);
    let header = CommonHeader {
        source_port: 5_000,
        destination_port: 9_899,
        verification_tag: VerificationTag(0),
    };
    let host_name = Parameter::HostNameAddress(RawParameter {
        parameter_type: ParameterType::HOST_NAME_ADDRESS,
        bytes: b"\0\x0b\0\x0aa.test",
    });
    let init = Init {
        initiate_tag: VerificationTag(7),
        a_rwnd: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn(1),
        parameters: [host_name],
    };
    let mut datagram = Vec::new();
    let mut packet = PacketBuilder::start(&mut datagram, header, 1_400);
    packet.append(init).unwrap();
    packet.finish();
    let (local, remote) = (SERVER.parse().unwrap(), CLIENT.parse().unwrap());
    let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
    server.handle_datagram(Instant::ZERO, meta, datagram.into());

    let mut answer = Vec::new();
    server.poll_transmit(Instant::ZERO, &mut answer).unwrap();
    let answer = Packet::parse(Bytes::from(answer)).unwrap();
    assert_eq!(answer.header().verification_tag, VerificationTag(7));
    assert!(matches!(answer.chunks().next(), Some(Ok(Chunk::Abort(abort))) if !abort.t_bit));
    assert_eq!(server.stats().inits, 0);
}

#[test]
fn peers_behind_one_nat_with_the_same_sctp_port_have_an_association_each() {
    const OUTSIDE: [&str; 3] = ["203.0.113.1:4001", "203.0.113.1:4002", "203.0.113.1:4003"];
    let mut server = endpoint(true, 9);
    let now = Instant::ZERO;
    let connect = |server: &mut Endpoint, seed, source| {
        let mut client = endpoint(false, seed);
        let to: SocketAddr = SERVER.parse().unwrap();
        let id = client.connect(now, to, 9899, AssociationOptions::default()).unwrap();
        while carry(now, &mut client, server, source, SERVER) > 0 {
            carry(now, server, &mut client, SERVER, CLIENT);
        }
        assert!(client.association(id).unwrap().is_established());
        (client, id)
    };
    let (mut first, first_id) = connect(&mut server, 1, OUTSIDE[0]);
    let (_second, _) = connect(&mut server, 2, OUTSIDE[1]);
    assert_eq!(server.association_count(), 2);

    // The NAT moves the first to another port and gives its old one to a third.
    let payload = Bytes::from_static(b"moved");
    first
        .association_mut(first_id)
        .unwrap()
        .send(now, StreamId(0), Ppid(0), payload, SendOptions::default())
        .unwrap();
    carry(now, &mut first, &mut server, OUTSIDE[2], SERVER);
    carry(now, &mut server, &mut first, SERVER, CLIENT);
    let (_third, _) = connect(&mut server, 3, OUTSIDE[0]);
    assert_eq!(server.association_count(), 3);
    let events: Vec<_> = std::iter::from_fn(|| server.poll_event()).collect();
    assert!(events.iter().all(|(_, event)| *event != Event::Restarted), "{events:?}");
}
