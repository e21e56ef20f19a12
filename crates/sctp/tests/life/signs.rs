//! Signs of life: what proves that the peer is reachable.

use std::sync::Arc;

use base::{Duration, Icmp, IcmpError, Instant, Machine};
use netsim::topology::{Directions, Placed, pair};
use netsim::{LinkConfig, Simulation};
use sctp::wire::chunk::{GapAckBlock, Heartbeat, OutgoingSack};
use sctp::wire::signing::HmacId;
use sctp::wire::{ChunkType, PacketBuilder, VerificationTag};
use sctp::{
    AssociationOptions, AuthenticationOptions, EndpointOptions, Event, Extensions, Failure, KeyId,
};

use crate::support::authentic::{self, signed};
use crate::support::wire::{Bench, PEER_PORT, names, packet};
use crate::support::{PORT, Peer, RTT, Trace, address, half, options, plain};

const LIMIT: Duration = Duration::from_secs(36);
const STEP: Duration = Duration::from_secs(1);

fn watchful() -> AssociationOptions {
    AssociationOptions { dead_after: Some(LIMIT), ..options(plain()) }
}

fn bench() -> Bench {
    let accepted = watchful();
    Bench::established_with(EndpointOptions { accepted, ..EndpointOptions::default() }, &[])
}

fn is_given_up(bench: &Bench) -> bool {
    bench.events.iter().any(|(_, event)| matches!(event, Event::Failed(Failure::Silent { .. })))
}

fn heartbeat(packet: &mut PacketBuilder<'_>) {
    packet.append(Heartbeat { info: &[7; 9] }).unwrap();
}

fn sack(packet: &mut PacketBuilder<'_>, bench_tsn: sctp::Tsn) {
    let sack = OutgoingSack {
        cumulative_tsn_ack: sctp::Tsn(bench_tsn.0.wrapping_sub(1)),
        a_rwnd: 10_000,
        gap_ack_blocks: core::iter::empty::<GapAckBlock>(),
        duplicate_tsns: core::iter::empty(),
    };
    packet.append(sack).unwrap();
}

#[test]
fn any_chunk_with_the_right_tag_counts_however_old_it_is() {
    let mut bench = bench();
    for _ in 0..5 {
        bench.pass(STEP * 35);
        let tsn = bench.tsn;
        bench.give_right(|packet| sack(packet, tsn));
    }
    bench.pass(STEP * 35);
    assert!(!is_given_up(&bench));
    bench.pass(STEP * 2);
    assert!(is_given_up(&bench));
}

#[test]
fn packets_of_strangers_and_rubbish_do_not_count() {
    let mut bench = bench();
    let (tag, home) = (bench.tag, bench.remote);
    for _ in 0..36 {
        bench.give(VerificationTag(tag.0 ^ 1), heartbeat);
        bench.give_bytes(packet(PEER_PORT + 1, PORT, tag, heartbeat));
        bench.remote = address("10.0.0.9:9899");
        bench.give(tag, heartbeat);
        bench.remote = home;
        // Neither an unreadable chunk nor ICMP proves anything.
        let mut rubbish = packet(PEER_PORT, PORT, tag, |_| ());
        rubbish.extend([3, 0, 0, 9]);
        crate::support::wire::fix_checksum(&mut rubbish);
        bench.give_bytes(rubbish);
        let quoted = [PORT.to_be_bytes(), PEER_PORT.to_be_bytes()].concat();
        let icmp =
            Icmp { local: None, remote: home, error: IcmpError::Unreachable, quoted: &quoted };
        bench.endpoint.handle_icmp(bench.now, icmp);
        bench.pass(STEP);
    }
    assert!(is_given_up(&bench));
}

#[test]
fn a_chunk_that_lacks_its_auth_does_not_count_and_one_with_it_does() {
    let keys = AuthenticationOptions { chunks: vec![ChunkType::HEARTBEAT], ..Default::default() };
    let accepted = AssociationOptions {
        extensions: Extensions::AUTHENTICATION,
        authentication: Some(Arc::new(keys)),
        ..watchful()
    };
    for authenticated in [false, true] {
        let listed = sctp::wire::Parameter::SupportedExtensions(&[15]);
        let (mut bench, key) = authentic::bench(accepted.clone(), &[listed]);
        for _ in 0..36 {
            let tag = bench.tag;
            match authenticated {
                true => {
                    let right = signed(tag, &key, KeyId(0), HmacId::SHA_256, heartbeat);
                    assert_eq!(names(&bench.give_bytes(right)[0]), ["HEARTBEAT ACK"]);
                }
                false => assert!(bench.give_right(heartbeat).is_empty()),
            }
            bench.pass(STEP);
        }
        assert_eq!(is_given_up(&bench), !authenticated);
    }
}

#[test]
fn a_process_that_was_stopped_asks_as_long_as_any_other_before_it_gives_up() {
    let mut bench = bench();
    bench.pass(STEP * 20);
    // Stopped for an hour in the middle of the silence.
    bench.now += Duration::from_secs(3_600);
    bench.endpoint.handle_timeout(bench.now);
    let mut sent = bench.drain();
    sent.extend(bench.pass(STEP * 14));
    assert!(!is_given_up(&bench) && sent.len() == 15, "{} packets", sent.len());
    bench.pass(STEP);
    assert!(is_given_up(&bench));
    // Stopped while the peer was alive: it has all of the time except for the idle part.
    let mut bench = self::bench();
    bench.now += Duration::from_secs(3_600);
    bench.endpoint.handle_timeout(bench.now);
    bench.drain();
    bench.pass(STEP * 32);
    assert!(!is_given_up(&bench));
    bench.pass(STEP);
    assert!(is_given_up(&bench));
}

#[test]
fn with_several_paths_the_life_of_any_counts_and_the_death_of_all_ends_the_association() {
    for dead in [&[0][..], &[1], &[0, 1]] {
        let ends = |end: u8| [format!("10.0.0.{end}:9899"), format!("10.1.0.{end}:9899")];
        let endpoint = |end: u8| EndpointOptions {
            port: PORT,
            listen: end == 2,
            addresses: ends(end).map(|text| address(&text)).to_vec(),
            accepted: watchful(),
            ..EndpointOptions::default()
        };
        let mut sim = Simulation::with_checker(1, Trace::default());
        let placed = |end: u8| Placed {
            host: Peer::new(endpoint(end), 1, end.into()),
            addresses: ends(end).map(|text| address(&text)).to_vec(),
        };
        let links = [0, 1].map(|path| {
            let silent = Instant::from_millis(5_000)..Instant::from_millis(100_000_000);
            let blackouts = if dead.contains(&path) { vec![silent] } else { Vec::new() };
            Directions::both(LinkConfig { blackouts, ..half(RTT) })
        });
        let hosts = pair(&mut sim, placed(1), placed(2), &links).unwrap();
        sim.with_host(hosts.first, |peer, now| {
            let to = ends(2).map(|text| address(&text));
            peer.endpoint.connect(now, &to[..], PORT, watchful()).unwrap();
        });
        sim.run_until(Instant::from_millis(3_600_000)).unwrap();
        let failed = |(at, _, event): &(Instant, _, Event)| match event {
            Event::Failed(Failure::Silent { .. }) => Some(*at),
            Event::Failed(other) => panic!("{other:?}"),
            _ => None,
        };
        let ended = sim.host(hosts.first).events.iter().find_map(failed);
        assert_eq!(ended.is_some(), dead.len() == 2, "{dead:?}");
        if let Some(at) = ended {
            let silent = at.since(Instant::from_millis(5_000));
            assert!(silent <= LIMIT && silent >= LIMIT - STEP * 4, "{silent}");
        }
    }
}
