//! Floods from hosts without an association: no state is kept, and each packet has a bounded
//! answer.

use base::{DatagramMeta, Duration, Ecn, Machine};
use sctp::EndpointOptions;
use sctp::wire::chunk::CookieEcho;
use sctp::wire::{Parameter, VerificationTag};

use crate::foe::{Foe, a_stranger_is_served, bytes, memory};
use crate::support::wire::{Bench, init, names, packet};
use crate::support::{PORT, SERVER, address};

/// An INIT from a host and port that `index` chooses.
fn spoofed_init(index: u32) -> (std::net::SocketAddr, Vec<u8>) {
    let [_, b, c, d] = index.to_be_bytes();
    let remote = std::net::SocketAddr::from(([11, b, c, d], 9899));
    let bytes = packet(1024 + (index % 60_000) as u16, PORT, VerificationTag(0), |packet| {
        packet.append(init(VerificationTag(index + 1))).unwrap();
    });
    (remote, bytes)
}

#[test]
fn a_hundred_thousand_spoofed_inits_leave_nothing_behind() {
    let mut bench = Bench::listening();
    let home = bench.remote;
    let mut largest = 0;
    // The first few allocate the endpoint's queues; afterwards no memory is kept.
    let flood = |bench: &mut Bench, from: u32, to: u32, largest: &mut usize| {
        for index in from..to {
            let (remote, datagram) = spoofed_init(index);
            bench.remote = remote;
            let answers = bench.give_bytes(datagram);
            assert_eq!(answers.len(), 1);
            *largest = (*largest).max(answers[0].len());
        }
    };
    flood(&mut bench, 0, 100, &mut largest);
    let used = memory(|| flood(&mut bench, 100, 100_000, &mut largest));
    assert_eq!(used.bytes_current, 0, "memory that stays");
    assert!(used.bytes_max < 4_096, "{} bytes at once", used.bytes_max);
    assert!(used.count_total < 100_000 * 16, "{} allocations", used.count_total);
    assert_eq!(bench.endpoint.stats().inits, 100_000);
    assert_eq!(bench.endpoint.association_count(), 0);
    assert_eq!(bench.endpoint.poll_timeout(), None, "no timer runs for a stranger");
    assert!(bench.events.is_empty());
    // An INIT of 32 bytes with 28 of headers must not be amplified towards a forged source.
    assert!(largest + 28 <= 4 * (32 + 28), "an answer of {largest} bytes");
    bench.remote = home;
    a_stranger_is_served(&mut bench);
}

#[test]
fn answers_that_nobody_fetches_do_not_pile_up() {
    let mut bench = Bench::listening();
    let meta =
        |remote| DatagramMeta { local: address(SERVER), remote, ecn: Ecn::NotEct, origin: None };
    let used = memory(|| {
        for index in 0..50_000 {
            let (remote, datagram) = spoofed_init(index);
            bench.endpoint.handle_datagram(bench.now, meta(remote), datagram.into());
        }
    });
    // The answers' budget is 8 MiB, with overhead.
    assert!(used.bytes_current <= 8 << 20, "{} bytes", used.bytes_current);
    assert!(bench.endpoint.stats().answers_dropped > 20_000);
    let now = bench.now;
    while bench.endpoint.poll_transmit(now, &mut Vec::new()).is_some() {}
    a_stranger_is_served(&mut bench);
}

#[test]
fn an_init_flood_from_the_address_of_a_peer_leaves_its_association_alone() {
    let mut foe = Foe::new();
    let before = foe.stats();
    for tag in 1..2_000 {
        let answers = foe
            .bench
            .give(VerificationTag(0), |packet| packet.append(init(VerificationTag(tag))).unwrap());
        assert_eq!(names(&answers[0]), ["INIT ACK"]);
    }
    assert_eq!(foe.stats(), before);
    assert_eq!(foe.bench.endpoint.association_count(), 1);
    foe.association_works(0, 0);
}

#[test]
fn a_flood_that_outlives_the_keys_still_leaves_cookies_good() {
    let mut bench = Bench::listening();
    for index in 0..200 {
        bench.now += Duration::from_secs(60);
        let (remote, datagram) = spoofed_init(index);
        let home = std::mem::replace(&mut bench.remote, remote);
        bench.give_bytes(datagram);
        bench.remote = home;
        if index % 20 == 0 {
            a_stranger_is_served(&mut bench);
        }
    }
}

#[test]
fn inits_with_everything_in_them_get_answers_no_longer_than_themselves() {
    let mut bench = Bench::listening();
    let reported: Vec<Vec<u8>> = (0..200u16)
        .map(|number| {
            let mut value = (0xc100 + number).to_be_bytes().to_vec();
            value.extend_from_slice(&[0, 8, 1, 2, 3, 4]);
            value
        })
        .collect();
    let addresses = (0..1_000u32).map(|n| Parameter::Ipv4Address((0x0a09_0000 + n).into()));
    let unknown = reported.iter().map(|bytes| {
        let kind = u16::from_be_bytes([bytes[0], bytes[1]]);
        let raw = sctp::wire::parameter::RawParameter {
            parameter_type: sctp::wire::ParameterType(kind),
            bytes,
        };
        Parameter::Unrecognized(raw)
    });
    let all: Vec<Parameter<'_>> = addresses.chain(unknown).collect();
    let bombs = packet(6000, PORT, VerificationTag(0), |packet| {
        let plain = init(VerificationTag(9));
        let full = sctp::wire::chunk::Init {
            initiate_tag: plain.initiate_tag,
            a_rwnd: plain.a_rwnd,
            outbound_streams: u16::MAX,
            inbound_streams: u16::MAX,
            initial_tsn: plain.initial_tsn,
            parameters: all.iter().copied(),
        };
        packet.append(full).unwrap();
    });
    let size = bombs.len();
    assert!(size > 9_000);
    let answers = bench.give_bytes(bombs);
    assert_eq!(answers.len(), 1);
    assert!(bytes(&answers) <= 1_400.min(size), "{} bytes", bytes(&answers));
    assert_eq!(bench.endpoint.association_count(), 0);
    a_stranger_is_served(&mut bench);
}

#[test]
fn strangers_with_good_cookies_get_no_more_associations_than_allowed_and_drive_out_the_unused() {
    let options =
        EndpointOptions { listen: true, max_associations: 10, ..EndpointOptions::default() };
    let mut bench = Bench::new(options);
    for index in 0..100u8 {
        bench.remote = std::net::SocketAddr::from(([12, 0, 0, index], 9899));
        let cookie = bench.init(VerificationTag(1 + u32::from(index)));
        bench.give_right(|packet| packet.append(CookieEcho { cookie: &cookie }).unwrap());
    }
    assert_eq!(bench.endpoint.association_count(), 10);
    let stats = bench.endpoint.stats();
    assert_eq!((stats.cookies_refused, stats.unused_evicted), (0, 90));
}
