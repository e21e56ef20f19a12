//! A machine that needs no TCP: pings, and SCTP as IP protocol 132, between the TUN device and a
//! raw socket.

use std::io::Read;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::RandomStream;
use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Type, Icmpv6Header, Icmpv6Type};
use interop::{Namespace, Wire, available};
use io::{Carrier as _, Clock, Shared, Tun, TunCarrier, TunOptions, ip};
use sctp::{Event, SendOptions};
use socket2::{Domain, Protocol, Socket, Type};
use thinstream::{
    Association, AssociationOptions, Encapsulation, EndpointOptions, PeerAddress, StreamId,
};
use tokio::runtime::Runtime;

const PORT: u16 = 7;

/// Sends every message back on its stream.
fn echo(endpoint: &mut sctp::Endpoint, now: base::Instant) {
    while let Some((id, event)) = endpoint.poll_event() {
        if event != Event::Readable {
            continue;
        }
        while let Some(message) = endpoint.association_mut(id).and_then(|mut own| own.receive(now))
        {
            let payload = message.payload.into_bytes();
            let options = SendOptions::default();
            endpoint
                .association_mut(id)
                .unwrap()
                .send(now, message.stream, message.ppid, payload, options)
                .unwrap();
        }
    }
}

/// An SCTP echo server at these addresses of a TUN device in `namespace`.
fn start_server(runtime: &Runtime, namespace: &Namespace, queues: usize) -> Vec<Arc<TunCarrier>> {
    let addresses: [IpAddr; 2] = ["10.78.0.2".parse().unwrap(), "fd78::2".parse().unwrap()];
    let host = vec![("10.78.0.1".parse().unwrap(), 24), ("fd78::1".parse().unwrap(), 64)];
    let options = TunOptions { name: Some("edge0".into()), host, queues, ..TunOptions::default() };
    let tun = namespace.enter(|| Tun::open(&options)).unwrap().unwrap();
    assert_eq!(tun.name(), "edge0");
    let _context = runtime.enter();
    let carriers = tun.carriers(ip::SCTP, &addresses).unwrap();
    let carriers: Vec<_> = carriers.into_iter().map(Arc::new).collect();
    for (index, carrier) in carriers.iter().enumerate() {
        let options =
            sctp::EndpointOptions { port: PORT, listen: true, ..sctp::EndpointOptions::default() };
        let random = RandomStream::from_secret([index as u8; 32]);
        let machine = Shared::new(sctp::Endpoint::new(options, random), Clock::start());
        runtime.spawn(io::run(machine, carrier.clone(), echo));
    }
    carriers
}

/// Sends an echo request with `size` bytes of text to `remote`; whether the right answer came.
fn ping(namespace: &Namespace, remote: &str, sequence: u16, size: usize) -> bool {
    let remote: IpAddr = remote.parse().unwrap();
    let text: Vec<u8> = (0..size).map(|index| index as u8).collect();
    let echo = IcmpEchoHeader { id: 0x7e57, seq: sequence };
    let (domain, protocol, request, answer) = match remote {
        IpAddr::V4(_) => {
            let header = Icmpv4Header::with_checksum(Icmpv4Type::EchoRequest(echo), &text);
            let answer = Icmpv4Type::EchoReply(echo);
            let answer = Icmpv4Header::with_checksum(answer, &text).to_bytes().to_vec();
            (Domain::IPV4, Protocol::ICMPV4, header.to_bytes().to_vec(), answer)
        }
        // The kernel fills in the checksum.
        IpAddr::V6(_) => {
            let header = |kind| Icmpv6Header::new(kind).to_bytes().to_vec();
            let answer = header(Icmpv6Type::EchoReply(echo));
            (Domain::IPV6, Protocol::ICMPV6, header(Icmpv6Type::EchoRequest(echo)), answer)
        }
    };
    let open = || Socket::new(domain, Type::RAW, Some(protocol)).unwrap();
    let mut socket = namespace.enter(open).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket.connect(&std::net::SocketAddr::new(remote, 0).into()).unwrap();
    socket.send(&[request, text.clone()].concat()).unwrap();
    let mut buffer = [0; 2048];
    // Other messages come to a raw socket, too.
    while let Ok(length) = socket.read(&mut buffer) {
        let message = if remote.is_ipv4() { &buffer[20..length] } else { &buffer[..length] };
        let same_but_checksum = message[0] == answer[0] && message[4..8] == answer[4..8];
        if same_but_checksum && message[8..] == text {
            return true;
        }
    }
    false
}

#[test]
fn a_machine_behind_tun_answers_pings_and_speaks_sctp_over_ipv4_and_ipv6() {
    let Some(()) = available(Wire::find()) else { return };
    let (runtime, namespace) = (super::runtime(), Namespace::new().unwrap());
    let carriers = start_server(&runtime, &namespace, 1);
    for (own, remote) in [("10.78.0.1:0", "10.78.0.2:0"), ("[fd78::1]:0", "[fd78::2]:0")] {
        let bind = || {
            let _context = runtime.enter();
            let options = EndpointOptions {
                encapsulation: Encapsulation::PlainRawIp,
                ..EndpointOptions::client()
            };
            thinstream::Endpoint::bind(own.parse().unwrap(), options)
        };
        // The kernel takes its time until it lets an IPv6 address be used.
        let deadline = Instant::now() + Duration::from_secs(60);
        let endpoint = loop {
            match namespace.enter(bind).unwrap() {
                Ok(endpoint) => break endpoint,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let to = PeerAddress::new(remote.parse::<std::net::SocketAddr>().unwrap(), PORT);
        let exchange = async {
            let association: Association =
                endpoint.connect(to, AssociationOptions::default()).await.unwrap();
            for size in [1, 100, 1_400, 20_000, 60_000] {
                let message: Vec<u8> = (0..size).map(|index| (index * 7) as u8).collect();
                association.send(StreamId(0), message.clone()).await.unwrap();
                let back = association.receive().await.unwrap().unwrap();
                assert_eq!(back.payload.into_bytes(), message);
            }
            association.shutdown().await.unwrap();
        };
        let within = async { tokio::time::timeout(Duration::from_secs(60), exchange).await };
        let done = runtime.block_on(within);
        let counts = (carriers[0].statistics(), carriers[0].tun_statistics());
        done.unwrap_or_else(|_| {
            panic!("{remote}: {counts:?}, {:?}", endpoint.carrier_statistics())
        });
    }
    let statistics = carriers[0].tun_statistics();
    assert_eq!((statistics.malformed, statistics.fragments), (0, 0), "{statistics:?}");
}

#[test]
fn pings_of_every_size_that_needs_no_fragments_are_answered() {
    let Some(()) = available(Wire::find()) else { return };
    let (runtime, namespace) = (super::runtime(), Namespace::new().unwrap());
    let carriers = start_server(&runtime, &namespace, 2);
    for (sequence, size) in [0, 1, 56, 1452].into_iter().enumerate() {
        for remote in ["10.78.0.2", "fd78::2"] {
            assert!(ping(&namespace, remote, sequence as u16, size), "{remote}, {size} bytes");
        }
    }
    // The last answer arrives before it is counted.
    let answered =
        || -> u64 { carriers.iter().map(|carrier| carrier.tun_statistics().echo_replies).sum() };
    let counted = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        answered() == 8
    });
    assert!(counted, "{} answers counted", answered());
}

#[test]
fn a_device_that_cannot_be_made_says_why() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let open = |name: &str| {
        let options = TunOptions { name: Some(name.into()), ..TunOptions::default() };
        namespace.enter(|| Tun::open(&options)).unwrap()
    };
    let first = open("edge0").unwrap();
    let error = open("edge0").unwrap_err().to_string();
    assert!(error.contains("edge0") && error.contains("in use"), "{error}");
    assert!(open("a-name-that-is-too-long").is_err());
    drop(first);
    open("edge0").unwrap();
}
