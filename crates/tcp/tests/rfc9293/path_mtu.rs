//! The path MTU where no router reports it (RFC 2923, RFC 4821): found from below, and not confused
//! by outages.

use std::sync::Arc;

use base::{Duration, Instant, Rate};
use netsim::topology::Directions;
use netsim::{LinkConfig, LinkId};
use recovery::RecoveryPolicy;
use tcp::{ConnectionInfo, ConnectionOptions, State};

use crate::support::{Bench, Pair, half};

const RTT: Duration = Duration::from_millis(100);
const MINUTE: Duration = Duration::from_secs(60);

/// Sizes of the segments sent, and their times.
fn sizes(bench: &mut Bench, since: Instant) -> Vec<(u64, usize)> {
    let sent = core::mem::take(&mut bench.sent);
    sent.iter().map(|(at, sent, _)| (at.since(since).as_millis(), sent.payload.len())).collect()
}

#[test]
fn large_and_small_segments_take_turns_until_one_arrives() {
    let mut bench = Bench::accepted(Bench::plain());
    let start = bench.now;
    bench.send(1460);
    bench.wait(63_000);
    let mut seen = sizes(&mut bench, start);
    // At once as much as one large segment holds.
    seen.dedup_by_key(|(at, _)| *at);
    let expected =
        [(0, 1460), (1000, 1460), (3000, 1460), (7000, 512), (15_000, 1460), (31_000, 512)];
    assert_eq!(seen, [&expected[..], &[(63_000, 1460)]].concat());
    // The path was down: the data that arrives now is large, and no segment has become smaller.
    bench.inject(". 1:1(0) ack 1461");
    let info =
        |bench: &Bench| bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    assert_eq!((info(&bench).path_mtu, info(&bench).counters.path_mtu_reductions), (1500, 0));
}

#[test]
fn where_a_small_one_arrives_segments_stay_small_and_grow_step_by_step() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.send(1460);
    bench.wait(7000);
    bench.sent.clear();
    bench.inject(". 1:1(0) ack 513");
    let info =
        |bench: &Bench| bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    assert_eq!((info(&bench).path_mtu, info(&bench).counters.path_mtu_reductions), (552, 1));
    bench.inject(". 1:1(0) ack 1461");
    bench.sent.clear();
    // The first segment with new data is a probe of 1006 bytes, once the window has room for it and
    // its successor.
    let mut sent = 1461;
    bench.send(100_000);
    for _ in 0..8 {
        let now = bench.now;
        let bytes: usize = bench.sent.iter().map(|sent| sent.1.payload.len()).sum();
        let largest = sizes(&mut bench, now).into_iter().map(|(_, size)| size).max().unwrap();
        sent += bytes;
        if largest > 512 {
            assert_eq!((largest, info(&bench).path_mtu), (1006 - 40, 552));
            bench.inject(&format!(". 1:1(0) ack {sent}"));
            assert_eq!(info(&bench).path_mtu, 1006);
            return;
        }
        bench.inject(&format!(". 1:1(0) ack {sent}"));
    }
    panic!("no probe");
}

fn info(bench: &Bench) -> ConnectionInfo {
    bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now)
}

/// A connection without Nagle whose outage of 7 s was taken for a black hole, and the acknowledged
/// offset.
fn suspicious() -> (Bench, u64) {
    let mut bench = Bench::accepted(ConnectionOptions { no_delay: true, ..Bench::plain() });
    bench.send(1400);
    bench.wait(7500);
    bench.inject(". 1:1(0) ack 1401");
    assert_eq!(info(&bench).path_mtu, 552);
    (bench, 1401)
}

/// Acknowledges all segments until none is sent; returns the sizes of the segments.
fn settle(bench: &mut Bench, acked: &mut u64) -> Vec<usize> {
    while info(bench).unacked_bytes > 0 {
        *acked += info(bench).unacked_bytes;
        bench.inject(&format!(". 1:1(0) ack {acked}"));
    }
    let now = bench.now;
    sizes(bench, now).into_iter().map(|(_, size)| size).collect()
}

#[test]
fn segments_of_the_usual_size_do_not_wait_for_a_window_that_has_room_for_a_probe() {
    let (mut bench, mut acked) = suspicious();
    bench.send(100_000);
    for _ in 0..100 {
        bench.sent.clear();
        acked += 512;
        bench.inject(&format!(". 1:1(0) ack {acked}"));
        let now = bench.now;
        let sent = sizes(&mut bench, now);
        assert!(!sent.is_empty(), "as much leaves as arrived, {:?}", info(&bench).path);
        if let Some((_, size)) = sent.into_iter().find(|(_, size)| *size > 512) {
            assert_eq!(size, 966);
            return;
        }
    }
    panic!("no probe");
}

#[test]
fn messages_that_go_one_by_one_are_whole_again_soon_after_an_outage() {
    let (mut bench, mut acked) = suspicious();
    let mut seen = Vec::new();
    for _ in 0..7 {
        bench.wait(1000);
        bench.sent.clear();
        bench.send(1400);
        seen.push(settle(&mut bench, &mut acked));
    }
    assert_eq!(seen[..3], [[966, 434], [1240, 160], [1360, 40]]);
    assert!(seen[3..].iter().all(|sizes| *sizes == [1400]), "{seen:?}");
}

#[test]
fn messages_among_which_something_is_always_outstanding_are_tried_whole_after_ten_seconds() {
    let (mut bench, mut acked) = suspicious();
    let start = bench.now;
    bench.send(10);
    bench.sent.clear();
    let mut largest = Vec::new();
    for _ in 0..60 {
        bench.send(1400);
        bench.wait(500);
        acked += info(&bench).unacked_bytes - 1;
        bench.inject(&format!(". 1:1(0) ack {acked}"));
        let sent = sizes(&mut bench, start);
        largest.extend(sent.into_iter().filter(|(_, size)| *size > 512).take(1));
    }
    assert!(largest[0].0 >= 10_000, "{largest:?}");
    assert!(largest[0].0 <= 11_000 && largest[0].1 == 966, "{largest:?}");
    assert!(info(&bench).path_mtu >= 1006);
}

#[test]
fn messages_in_a_black_hole_pay_for_the_search_with_three_losses_in_ten_minutes() {
    for preset in ["thin", "linux", "sack"] {
        let mut pair = hole(Some(1280), preset);
        for _ in 0..30 * 60 {
            let client = pair.client;
            pair.sim.with_host(client, |peer, now| {
                peer.to_send += 1400;
                peer.write(now);
            });
            pair.run_for(Duration::from_secs(1));
        }
        assert_eq!(path_mtu(&pair), 1280, "{preset}");
        assert!(pair.server().received + 1400 >= pair.client().to_send);
        let peer = pair.client();
        let own = peer.endpoint.connection(peer.id.unwrap()).unwrap().info(pair.sim.now());
        let again = own.counters.bytes_retransmitted;
        // Those of the black hole's detection not included.
        assert!((6 * 1000..16 * 1400).contains(&again), "{preset}: {again}");
    }
}

fn options(preset: &str) -> ConnectionOptions {
    let policy = Arc::new(RecoveryPolicy::tcp_preset(preset).unwrap());
    ConnectionOptions { policy, ..ConnectionOptions::default() }
}

/// A fast path whose first link, from the client, carries packets of `mtu` bytes and silently drops
/// larger ones.
fn hole(mtu: Option<u64>, preset: &str) -> Pair {
    let link = LinkConfig { rate: Rate::from_bits_per_second(20_000_000), ..half(RTT) };
    let links = Directions { forward: LinkConfig { mtu, ..link.clone() }, backward: link };
    Pair::new(links, options(preset), options(preset), 7)
}

fn path_mtu(pair: &Pair) -> u16 {
    let peer = pair.client();
    let own = peer.endpoint.connection(peer.id.unwrap()).unwrap();
    assert_ne!(own.state(), State::Closed);
    own.info(pair.sim.now()).path_mtu
}

/// The client sends `bytes` bytes more, which arrive within `limit`.
#[track_caller]
fn upload(pair: &mut Pair, bytes: u64, limit: Duration) {
    let client = pair.client;
    pair.sim.with_host(client, |peer, now| {
        peer.to_send += bytes;
        peer.write(now);
    });
    let until = pair.sim.now() + limit;
    let server = pair.server;
    let wanted = pair.client().to_send;
    let done = pair.sim.run_until_done(until, |sim| sim.host(server).received == wanted);
    assert!(done.unwrap(), "{} of {wanted}", pair.server().received);
}

#[test]
fn the_largest_size_that_passes_a_black_hole_is_found() {
    for preset in ["thin", "linux", "sack"] {
        let mut pair = hole(Some(1400), preset);
        upload(&mut pair, 3_000_000, MINUTE);
        assert_eq!(path_mtu(&pair), 1400, "{preset}");
        // The path MTU rises without notice; after ten minutes it is probed again.
        pair.sim.set_link_mtu(LinkId(0), None);
        upload(&mut pair, 3_000_000, MINUTE);
        assert_eq!(path_mtu(&pair), 1400, "{preset}");
        pair.run_for(MINUTE * 10);
        upload(&mut pair, 3_000_000, MINUTE);
        assert_eq!(path_mtu(&pair), 1500, "{preset}");
    }
}

#[test]
fn an_outage_leaves_segments_as_large_as_they_were() {
    for preset in ["thin", "linux", "sack"] {
        for outage in [2000, 5000, 9000, 20_000] {
            let mut pair = hole(None, preset);
            upload(&mut pair, 1_000_000, MINUTE);
            // No packet of any size passes.
            pair.sim.set_link_mtu(LinkId(0), Some(1));
            let client = pair.client;
            pair.sim.with_host(client, |peer, now| {
                peer.to_send += 100_000;
                peer.write(now);
            });
            pair.run_for(Duration::from_millis(outage));
            pair.sim.set_link_mtu(LinkId(0), None);
            // A large window lets much data leave before a probe's fate is known.
            upload(&mut pair, 3_000_000, MINUTE * 2);
            assert_eq!(path_mtu(&pair), 1500, "{preset} after {outage} ms");
        }
    }
}

#[test]
fn a_thin_stream_never_shrinks() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.send(100);
    bench.wait(100_000);
    let mut retransmissions = sizes(&mut bench, Instant::ZERO).into_iter();
    assert!(retransmissions.all(|(_, size)| size == 100));
}
