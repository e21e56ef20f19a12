//! False address lists: INIT lists unrelated hosts in order to flood them.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use base::{DatagramMeta, Duration, Ecn, Machine};
use bytes::Bytes;
use sctp::wire::chunk::{CookieEcho, Init};
use sctp::wire::{Parameter, VerificationTag};
use sctp::{AssociationId, Ppid, SendOptions, StreamId};

use crate::foe::{a_stranger_is_served, opened};
use crate::support::wire::{Bench, PEER_PORT, PEER_TAG, PEER_TSN, packet};
use crate::support::{PORT, SERVER, address};

/// Most addresses to which the endpoint sends HEARTBEATs for confirmation.
const ASKED: usize = 16;

/// Counts of packets and bytes by destination.
type Sent = BTreeMap<IpAddr, (usize, usize)>;

fn drain(bench: &mut Bench, sent: &mut Sent) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    loop {
        let mut buffer = Vec::new();
        let Some(transmit) = bench.endpoint.poll_transmit(bench.now, &mut buffer) else { break };
        let (count, bytes) = sent.entry(transmit.remote.ip()).or_default();
        (*count, *bytes) = (*count + 1, *bytes + transmit.size);
        packets.push(buffer);
    }
    while let Some(event) = bench.endpoint.poll_event() {
        bench.events.push(event);
    }
    packets
}

fn give(bench: &mut Bench, sent: &mut Sent, bytes: Vec<u8>) -> Vec<Vec<u8>> {
    let meta = DatagramMeta {
        local: address(SERVER),
        remote: bench.remote,
        ecn: Ecn::NotEct,
        origin: None,
    };
    bench.endpoint.handle_datagram(bench.now, meta, bytes.into());
    drain(bench, sent)
}

/// Opens an association whose peer lists these addresses as its own.
fn open_listing<'a>(
    bench: &mut Bench,
    sent: &mut Sent,
    listed: impl IntoIterator<Item = Parameter<'a>>,
) -> AssociationId {
    let init = packet(PEER_PORT, PORT, VerificationTag(0), |packet| {
        let init = Init {
            initiate_tag: PEER_TAG,
            a_rwnd: 1 << 20,
            outbound_streams: 10,
            inbound_streams: 10,
            initial_tsn: PEER_TSN,
            parameters: listed,
        };
        packet.append(init).unwrap();
    });
    let answers = give(bench, sent, init);
    let cookie = bench.take_init_ack(&answers[0]);
    let echo = packet(PEER_PORT, PORT, bench.tag, |packet| {
        packet.append(CookieEcho { cookie: &cookie }).unwrap();
    });
    give(bench, sent, echo);
    opened(bench, 0)
}

#[test]
fn a_thousand_listed_addresses_see_next_to_nothing_and_never_data() {
    let mut bench = Bench::listening();
    let mut sent = Sent::new();
    let victims: Vec<IpAddr> =
        (0..1_000u32).map(|n| IpAddr::from((0x0a09_0000 + n).to_be_bytes())).collect();
    let listed = victims.iter().map(|victim| match victim {
        IpAddr::V4(victim) => Parameter::Ipv4Address(*victim),
        IpAddr::V6(victim) => Parameter::Ipv6Address(*victim),
    });
    let id = open_listing(&mut bench, &mut sent, listed);
    // A peer that falls silent while much data waits: the endpoint retransmits to its own address
    // only.
    let (payload, options) = (Bytes::from(vec![1; 100_000]), SendOptions::default());
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .send(bench.now, StreamId(0), Ppid(0), payload, options)
        .unwrap();
    drain(&mut bench, &mut sent);
    let end = bench.now + Duration::from_secs(3_600);
    while let Some(at) = bench.endpoint.poll_timeout().filter(|at| *at <= end) {
        bench.now = bench.now.max(at);
        bench.endpoint.handle_timeout(bench.now);
        drain(&mut bench, &mut sent);
    }
    let home = bench.remote.ip();
    let strangers: Vec<_> = sent.iter().filter(|(to, _)| **to != home).collect();
    assert!(strangers.len() <= ASKED, "{} hosts were written to", strangers.len());
    for (victim, (packets, bytes)) in strangers {
        assert!(victims.contains(victim), "{victim} was never listed");
        // HEARTBEATs, a few and small, until the association is given up.
        assert!(*packets <= 30, "{victim} got {packets} packets");
        assert!(*bytes <= packets * 100, "{victim} got {bytes} bytes");
    }
    a_stranger_is_served(&mut bench);
}

#[test]
fn loopback_multicast_and_broadcast_addresses_in_a_list_get_nothing() {
    let mut bench = Bench::listening();
    let mut sent = Sent::new();
    let nobody = ["127.0.0.1", "224.0.0.1", "255.255.255.255", "0.0.0.0", "::1", "ff02::1", "::"];
    let nobody: Vec<IpAddr> = nobody.iter().map(|text| text.parse().unwrap()).collect();
    let init = packet(PEER_PORT, PORT, VerificationTag(0), |packet| {
        let init = Init {
            initiate_tag: PEER_TAG,
            a_rwnd: 1 << 20,
            outbound_streams: 10,
            inbound_streams: 10,
            initial_tsn: PEER_TSN,
            parameters: nobody.iter().map(|address| match address {
                IpAddr::V4(address) => Parameter::Ipv4Address(*address),
                IpAddr::V6(address) => Parameter::Ipv6Address(*address),
            }),
        };
        packet.append(init).unwrap();
    });
    let answers = give(&mut bench, &mut sent, init);
    if let Some(answer) = answers.first() {
        let parsed = sctp::wire::Packet::parse(Bytes::from(answer.clone())).unwrap();
        if let Some(Ok(sctp::wire::Chunk::InitAck(answer))) = parsed.chunks().next() {
            bench.tag = answer.0.initiate_tag;
            let cookie = answer.0.parameters.state_cookie().unwrap().to_vec();
            let echo = packet(PEER_PORT, PORT, bench.tag, |packet| {
                packet.append(CookieEcho { cookie: &cookie }).unwrap();
            });
            give(&mut bench, &mut sent, echo);
        }
    }
    let end = bench.now + Duration::from_secs(600);
    while let Some(at) = bench.endpoint.poll_timeout().filter(|at| *at <= end) {
        bench.now = bench.now.max(at);
        bench.endpoint.handle_timeout(bench.now);
        drain(&mut bench, &mut sent);
    }
    let home = bench.remote.ip();
    assert!(sent.keys().all(|to| *to == home), "{:?}", sent.keys());
    a_stranger_is_served(&mut bench);
}

#[test]
fn what_comes_from_nowhere_gets_no_answer() {
    // Section 8.4, rule 1: an answer to a multicast or unspecified source would reach many hosts or
    // this one.
    let mut bench = Bench::listening();
    let nowhere = [
        "224.0.0.1:9899",
        "0.0.0.0:9899",
        "255.255.255.255:9899",
        "240.0.0.1:9899",
        "[ff02::1]:9899",
        "[::]:9899",
    ];
    let home = bench.remote;
    for (remote, local) in
        nowhere.map(|remote| (address(remote), address(SERVER))).into_iter().chain([
            (home, address("224.0.0.1:9899")),
            (home, address("255.255.255.255:9899")),
            (home, address("[ff02::1]:9899")),
        ])
    {
        let mut sent = Sent::new();
        let mut give = |bytes: Vec<u8>| {
            let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
            bench.endpoint.handle_datagram(bench.now, meta, bytes.into());
            assert!(drain(&mut bench, &mut sent).is_empty(), "from {remote} to {local}");
        };
        for chunk_type in 0..=u8::MAX {
            give(packet(PEER_PORT, PORT, VerificationTag(1), |packet| {
                packet.append(crate::support::wire::Any(chunk_type, 0, &[0; 16])).unwrap();
            }));
        }
        // An INIT that would be valid from a host's address.
        give(packet(PEER_PORT, PORT, VerificationTag(0), |packet| {
            packet.append(crate::support::wire::init(PEER_TAG)).unwrap();
        }));
    }
    assert_eq!(bench.endpoint.stats().inits, 0, "none got as far as a cookie");
    a_stranger_is_served(&mut bench);
}

#[test]
fn a_listed_address_is_not_vouched_for_by_heartbeat_acks_without_its_nonce() {
    // The peer names a victim, gets its own HEARTBEAT, and answers for the victim with what it saw
    // there, also from the victim's address. Then it falls silent, so that the endpoint would
    // go over to the victim.
    const ENOUGH: u32 = 300;
    let victim: std::net::Ipv4Addr = "10.9.0.1".parse().unwrap();
    let mut bench = Bench::listening();
    let home = bench.remote;
    let mut sent = Sent::new();
    let id = open_listing(&mut bench, &mut sent, [Parameter::Ipv4Address(victim)]);
    let mut forged = 0;
    let end = bench.now + Duration::from_secs(3_600);
    let (mut data_at_home, mut data_to_victim) = (0, 0);
    while let Some(at) = bench.endpoint.poll_timeout().filter(|at| *at <= end) {
        bench.now = bench.now.max(at);
        bench.endpoint.handle_timeout(bench.now);
        let mut heard = Vec::new();
        loop {
            let mut buffer = Vec::new();
            let Some(transmit) = bench.endpoint.poll_transmit(bench.now, &mut buffer) else {
                break;
            };
            let packet = sctp::wire::Packet::parse(Bytes::from(buffer)).unwrap();
            for chunk in packet.chunks().flatten() {
                match chunk {
                    sctp::wire::Chunk::Data(_) if transmit.remote.ip() != home.ip() => {
                        data_to_victim += 1;
                    }
                    sctp::wire::Chunk::Data(_) => data_at_home += 1,
                    sctp::wire::Chunk::Heartbeat(seen) if transmit.remote.ip() == home.ip() => {
                        heard.push(seen.info.to_vec());
                    }
                    _ => {}
                }
            }
        }
        for info in heard {
            if forged >= ENOUGH {
                break;
            }
            for byte in 0..info.len() {
                for value in [0u8, 1, 2, 0xff].into_iter().filter(|value| info[byte] != *value) {
                    let mut forgery = info.clone();
                    forgery[byte] = value;
                    let ack = packet(PEER_PORT, PORT, bench.tag, |packet| {
                        let info = sctp::wire::chunk::HeartbeatAck { info: &forgery };
                        packet.append(info).unwrap();
                    });
                    bench.remote =
                        if value == 1 { SocketAddr::new(victim.into(), 9899) } else { home };
                    bench.give_bytes(ack);
                    forged += 1;
                }
            }
        }
        bench.remote = home;
        if forged >= ENOUGH {
            let options = SendOptions::default();
            let payload = Bytes::from(vec![1; 20_000]);
            let _ = bench.endpoint.association_mut(id).unwrap().send(
                bench.now,
                StreamId(0),
                Ppid(0),
                payload,
                options,
            );
        }
    }
    assert!(forged >= ENOUGH, "{forged} forgeries");
    assert!(data_at_home > 0, "no DATA was under way");
    assert_eq!(data_to_victim, 0, "DATA went to an address that never answered");
    a_stranger_is_served(&mut bench);
}
