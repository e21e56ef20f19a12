//! ICMP (RFC 9260, section 10): what counts, and what anybody could have said.

use base::{Duration, Icmp, IcmpError, Machine};
use sctp::wire::{Chunk, Packet, VerificationTag};
use sctp::{AssociationOptions, EndpointOptions, Event, Failure};

use crate::support::wire::{Bench, PEER_PORT, PEER_TAG, packet};
use crate::support::{CLIENT, PORT, address};

/// What a packet of the endpoint's looks like when it is quoted: ports and tag, and no more.
fn quote(source: u16, destination: u16, tag: VerificationTag) -> Vec<u8> {
    packet(source, destination, tag, |_| ())[..8].to_vec()
}

fn give(bench: &mut Bench, error: IcmpError, quoted: &[u8]) {
    let icmp = Icmp { remote: bench.remote, error, quoted };
    bench.endpoint.handle_icmp(bench.now, icmp);
}

fn established() -> Bench {
    let accepted = AssociationOptions { path_mtu_discovery: true, ..AssociationOptions::default() };
    let listening = EndpointOptions { listen: true, accepted, ..EndpointOptions::default() };
    let mut bench = Bench::new(listening);
    let cookie = bench.init(PEER_TAG);
    bench.give_right(|packet| {
        packet.append(sctp::wire::chunk::CookieEcho { cookie: &cookie }).unwrap();
    });
    // Every probe is answered, so that 1500 bytes are found to pass.
    for _ in 0..3 {
        let sent = bench.pass(Duration::from_millis(50));
        for bytes in sent {
            let parsed = Packet::parse(bytes.into()).unwrap();
            let Some(Ok(Chunk::Heartbeat(probe))) = parsed.chunks().next() else { continue };
            let info = probe.info.to_vec();
            bench.give_right(|packet| {
                packet.append(sctp::wire::chunk::HeartbeatAck { info: &info }).unwrap();
            });
        }
    }
    bench
}

fn max_packet(bench: &Bench) -> usize {
    bench.endpoint.association(bench.id()).unwrap().stats().paths[0].max_packet
}

const TOO_BIG: IcmpError = IcmpError::PacketTooBig { mtu: 1300 };

#[test]
fn packet_too_big_counts_only_with_ports_and_tag_and_of_a_path() {
    let mut bench = established();
    let before = max_packet(&bench);
    for wrong in [
        quote(PORT, PEER_PORT, VerificationTag(PEER_TAG.0 ^ 1)),
        quote(PORT, PEER_PORT, VerificationTag(0)),
        quote(PORT, PEER_PORT, bench.tag),
        quote(PORT, PEER_PORT + 1, PEER_TAG),
        quote(PORT + 1, PEER_PORT, PEER_TAG),
        quote(PORT, PEER_PORT, PEER_TAG)[..7].to_vec(),
        vec![],
    ] {
        give(&mut bench, TOO_BIG, &wrong);
    }
    let right = quote(PORT, PEER_PORT, PEER_TAG);
    bench.remote = address("10.0.0.9:9899");
    give(&mut bench, TOO_BIG, &right);
    bench.remote = address(CLIENT);
    assert_eq!((max_packet(&bench), bench.endpoint.stats().icmp), (before, 0));
    assert_eq!(bench.endpoint.stats().icmp_ignored, 8);
    give(&mut bench, TOO_BIG, &right);
    assert!(max_packet(&bench) < before);
    assert_eq!(bench.endpoint.stats().icmp, 1);
}

#[test]
fn a_message_that_names_less_than_any_link_carries_changes_nothing() {
    let mut bench = established();
    let before = max_packet(&bench);
    for mtu in [0, 68, 575] {
        give(&mut bench, IcmpError::PacketTooBig { mtu }, &quote(PORT, PEER_PORT, PEER_TAG));
    }
    assert_eq!(max_packet(&bench), before);
}

#[test]
fn unreachable_alone_never_fails_a_path_or_an_association() {
    let mut bench = established();
    for error in [IcmpError::Unreachable, IcmpError::NobodyThere] {
        for _ in 0..100 {
            give(&mut bench, error, &quote(PORT, PEER_PORT, PEER_TAG));
        }
    }
    assert_eq!(bench.state(), "ESTABLISHED");
    let stats = bench.endpoint.association(bench.id()).unwrap().stats();
    assert!(stats.paths[0].active && stats.error_count == 0, "{stats:?}");
    assert_eq!(stats.paths[0].error_count, 5, "but it counts: the next timeout does");
}

#[test]
fn nobody_there_ends_an_opening_association_if_it_quotes_its_init() {
    let mut bench = Bench::new(EndpointOptions::default());
    let options = AssociationOptions::default();
    let id = bench.endpoint.connect(bench.now, bench.remote, PEER_PORT, options).unwrap();
    let init = bench.drain().remove(0);
    // Without the initiate tag anybody could have made it up.
    give(&mut bench, IcmpError::NobodyThere, &init[..8]);
    let mut forged = init.clone();
    forged[16] ^= 1;
    give(&mut bench, IcmpError::NobodyThere, &forged[..20]);
    give(&mut bench, IcmpError::Unreachable, &init[..20]);
    bench.drain();
    assert!(bench.events.is_empty());
    give(&mut bench, IcmpError::NobodyThere, &init[..20]);
    bench.drain();
    assert_eq!(bench.events, [(id, Event::Failed(Failure::NobodyThere))]);
}
