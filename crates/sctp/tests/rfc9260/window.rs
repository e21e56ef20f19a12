//! Sections 6.1 and 6.2: the peer's window, probes of a closed one, silly windows.

use base::Duration;
use bytes::Bytes;
use sctp::wire::chunk::{GapAckBlock, OutgoingSack};
use sctp::{AssociationOptions, Event, Ppid, SendOptions, StreamId};

use crate::support::wire::{Bench, names};
use crate::support::{Pair, RTT, SentChunk, half, options, plain, preset};

/// A pair whose server has a window of 10 kB and reads nothing.
fn deaf(policy: recovery::RecoveryPolicy) -> Pair {
    let server = AssociationOptions { receive_buffer: 10_000, ..options(plain()) };
    let links = netsim::topology::Directions::both(half(RTT));
    let mut pair = Pair::with_server(links, options(policy), server, 1);
    pair.sim.with_host(pair.server, |peer, _| peer.deaf = true);
    pair.at(0);
    pair
}

#[test]
fn a_deaf_receiver_is_probed_with_back_off_and_never_killed() {
    for name in ["rfc", "lksctp", "freebsd", "freebsd-efr", "thin"] {
        let mut pair = deaf(preset(name));
        for _ in 0..40 {
            pair.send(vec![1; 1000]).unwrap();
        }
        // An hour: 60 probes at RTO.Max.
        pair.at(3_600_000_000);
        let stats = pair.stats();
        assert_eq!(stats.state, "ESTABLISHED", "{name}");
        assert!(stats.paths[0].active, "{name}");
        let sent = pair.data_sent();
        let late = sent.iter().filter(|(at, _)| *at > 600e6).count();
        assert!((45..=55).contains(&late), "{name}: {late} probes in 50 minutes");
        // Once it reads, everything arrives.
        let (_, id, _) = pair.server().events[0];
        pair.sim.with_host(pair.server, |peer, now| {
            peer.deaf = false;
            peer.read(now, id);
        });
        pair.at(3_605_000_000);
        assert_eq!(pair.server().messages.len(), 40, "{name}");
        assert!(
            !pair.client().events.iter().any(|(_, _, event)| matches!(event, Event::Failed(_)))
        );
    }
}

#[test]
fn the_window_is_not_exceeded_but_by_one_probe() {
    let mut pair = deaf(plain());
    for _ in 0..40 {
        pair.send(vec![1; 1000]).unwrap();
    }
    pair.at(900_000);
    let sent = pair.data_sent().iter().map(|(_, tsns)| tsns.len()).sum::<usize>();
    assert!(sent * 1000 <= 10_000 + 1_000, "{sent} messages");
}

/// DATA chunks in the first packet of an endpoint whose peer advertises `a_rwnd`, with nothing in
/// flight and twenty messages of 100 bytes waiting.
fn chunks_at_a_window_of(a_rwnd: u32) -> usize {
    let mut bench = Bench::established();
    let sack = |bench: &mut Bench, cumulative, a_rwnd| {
        bench.give_right(|packet| {
            let none: [GapAckBlock; 0] = [];
            let sack = OutgoingSack {
                cumulative_tsn_ack: cumulative,
                a_rwnd,
                gap_ack_blocks: none,
                duplicate_tsns: [],
            };
            packet.append(sack).unwrap();
        })
    };
    let (id, tsn, now) = (bench.id(), bench.tsn, bench.now);
    let send = |bench: &mut Bench| {
        let payload = Bytes::from_static(&[7; 100]);
        let options = SendOptions::default();
        bench
            .endpoint
            .association_mut(id)
            .unwrap()
            .send(now, StreamId(0), Ppid(0), payload, options)
            .unwrap();
    };
    send(&mut bench);
    bench.drain();
    sack(&mut bench, tsn, a_rwnd);
    (0..20).for_each(|_| send(&mut bench));
    names(&bench.drain()[0]).iter().filter(|name| *name == "DATA").count()
}

#[test]
fn a_closed_window_is_probed_with_one_chunk_and_a_narrow_one_is_kept_within_a_packet_too() {
    assert_eq!(chunks_at_a_window_of(0), 1);
    assert_eq!(chunks_at_a_window_of(150), 1);
    assert_eq!(chunks_at_a_window_of(350), 3);
    assert_eq!(chunks_at_a_window_of(100_000), 12);
}

#[test]
fn a_window_smaller_than_a_packet_is_advertised_as_none() {
    let mut pair = deaf(plain());
    for _ in 0..40 {
        pair.send(vec![1; 700]).unwrap();
    }
    pair.at(60_000_000);
    let windows = pair.sim.checker().sent.iter().flat_map(|sent| &sent.chunks).filter_map(
        |chunk| match chunk {
            SentChunk::Sack { a_rwnd, .. } => Some(*a_rwnd),
            _ => None,
        },
    );
    let windows: Vec<u32> = windows.collect();
    assert!(windows.contains(&0));
    assert!(windows.iter().all(|window| *window == 0 || *window >= 1_500), "{windows:?}");
}

#[test]
fn a_probe_lost_on_the_way_counts_as_an_error() {
    let mut pair = deaf(plain());
    for _ in 0..40 {
        pair.send(vec![1; 1000]).unwrap();
    }
    pair.at(5_000_000);
    assert_eq!(pair.stats().error_count, 0);
    assert!(pair.stats().recovery.timeouts >= 1);
    assert_eq!(pair.stats().paths[0].error_count, 0, "at {}", Duration::from_secs(5));
}
