//! Two endpoints over the virtual network: each byte arrives once and in order, whatever the
//! network does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod life;

use std::sync::Arc;

use base::{Duration, Instant, Probability, Rate};
use netsim::link::{QueueLimit, Reorder};
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};
use recovery::RecoveryPolicy;
use recovery::policy::TCP_PRESETS;
use tcp::{ConnectionOptions, EcnMode, Event, Failure, State};

use support::{Pair, half};

const RTT: Duration = Duration::from_millis(100);
const MINUTE: Duration = Duration::from_secs(60);

fn options() -> ConnectionOptions {
    ConnectionOptions::default()
}

fn with_policy(name: &str) -> ConnectionOptions {
    let policy = Arc::new(RecoveryPolicy::tcp_preset(name).unwrap());
    ConnectionOptions { policy, ..options() }
}

/// A link that loses five in a hundred, lets one in ten be overtaken, and copies and
/// corrupts one in a hundred.
fn bad() -> LinkConfig {
    LinkConfig {
        loss: LossModel::Bernoulli(Probability::from_ratio(5, 100)),
        reorder: Reorder {
            probability: Probability::from_ratio(1, 10),
            extra_delay: Duration::from_millis(30),
        },
        duplicate: Probability::from_ratio(1, 100),
        corrupt: Probability::from_ratio(1, 100),
        ..half(RTT)
    }
}

fn exchange(links: LinkConfig, options: ConnectionOptions, seed: u64, bytes: u64) -> Pair {
    let mut pair = Pair::new(Directions::both(links), options.clone(), options, seed);
    pair.exchange(bytes, bytes);
    pair.finish(MINUTE * 60);
    pair
}

#[test]
fn a_megabyte_each_way_arrives_and_both_sides_end() {
    let mut pair = exchange(half(RTT), options(), 1, 1_000_000);
    pair.run_for(MINUTE * 2);
    for peer in [pair.client(), pair.server()] {
        assert!(peer.has_event(Event::Closed));
        let own = peer.endpoint.connection(peer.id.unwrap()).unwrap();
        assert_eq!((own.state(), peer.endpoint.time_wait_count()), (State::Closed, 0));
    }
}

#[test]
fn what_is_lost_is_sent_again_under_every_policy() {
    for (name, _) in TCP_PRESETS {
        for seed in 0..6 {
            exchange(bad(), with_policy(name), seed, 60_000);
        }
    }
}

#[test]
fn whatever_was_agreed_everything_arrives() {
    for features in 0..32u32 {
        let has = |bit: u32| features & (1 << bit) != 0;
        let options = ConnectionOptions {
            sack: has(0),
            timestamps: has(1),
            window_scaling: has(2),
            ecn: if has(3) { EcnMode::Active } else { EcnMode::Off },
            no_delay: has(4),
            ..options()
        };
        exchange(bad(), options, u64::from(features), 60_000);
    }
}

#[test]
fn ipv6_carries_twenty_bytes_less() {
    let addresses = ["[2001:db8::2]:0", "[2001:db8::1]:0"];
    let options = [options(), options()];
    let endpoints = tcp::EndpointOptions::default();
    let mut pair = Pair::at(addresses, Directions::both(bad()), options, 1, &endpoints);
    pair.exchange(100_000, 100_000);
    pair.finish(MINUTE * 60);
    let sent = &pair.sim.checker().sent;
    assert_eq!(sent[0].segment.options.mss, Some(1440));
    let largest = sent.iter().map(|sent| sent.segment.payload.len()).max();
    assert_eq!(largest, Some(1440 - 12));
}

#[test]
fn numbers_wrap_in_mid_stream() {
    // Whatever the initial numbers are, four gigabytes would be too much for a test: begin just
    // before.
    for seed in 0..3 {
        let fixed = tcp::EndpointOptions {
            initial_sequence: Some(u32::MAX - 30_000),
            timestamp_offset: Some(u32::MAX - 100),
            ..tcp::EndpointOptions::default()
        };
        let mut pair =
            Pair::with_endpoints(Directions::both(bad()), options(), options(), seed, &fixed);
        pair.exchange(100_000, 100_000);
        pair.finish(MINUTE * 60);
    }
}

#[test]
fn gathered_segments_are_those_that_would_go_in_one_piece() {
    let links = LinkConfig { corrupt: Probability::ZERO, ..bad() };
    let run = |gathers| {
        let mut pair = Pair::new(Directions::both(links.clone()), options(), options(), 3);
        pair.sim.set_gathering(gathers);
        pair.sim.checker_mut().gathers = gathers;
        pair.exchange(200_000, 200_000);
        pair.finish(MINUTE * 60);
        pair
    };
    let (whole, gathered) = (run(false), run(true));
    let trace = |pair: &Pair| {
        let sent = pair.sim.checker().sent.iter();
        sent.map(|one| (one.at, one.from, one.segment.clone(), one.lost)).collect::<Vec<_>>()
    };
    assert!(trace(&whole) == trace(&gathered));
    // All of the data but what lies across two writes.
    assert_eq!(whole.sim.checker().tails, 0);
    assert!(gathered.sim.checker().tails > 350_000);
}

#[test]
fn a_blackout_delays_and_loses_nothing() {
    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    let dark = LinkConfig {
        rate: Rate::from_bits_per_second(1_000_000),
        blackouts: vec![at(1)..at(40), at(50)..at(51)],
        ..half(RTT)
    };
    let pair = exchange(dark, options(), 5, 500_000);
    assert!(pair.sim.now() > at(43));
}

#[test]
fn a_peer_that_is_gone_ends_the_connection_after_the_limit() {
    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    let dark = LinkConfig { blackouts: vec![at(1)..at(100_000)], ..half(RTT) };
    let mut pair = Pair::new(Directions::both(dark), options(), with_policy("rfc"), 5);
    pair.run_for(Duration::from_secs(2));
    pair.exchange(10_000, 10_000);
    pair.run_for(MINUTE * 60);
    let failed = Event::Failed(Failure::TimedOut);
    assert!(pair.client().has_event(failed) && pair.server().has_event(failed));
}

#[test]
fn a_reader_that_sleeps_holds_up_the_sender_and_loses_nothing() {
    for loss in [0, 10] {
        let links = LinkConfig {
            loss: LossModel::Bernoulli(Probability::from_ratio(loss, 100)),
            ..half(RTT)
        };
        let small = ConnectionOptions { receive_buffer: 20_000, ..options() };
        let mut pair = Pair::new(Directions::both(links), options(), small, 3);
        pair.sim.with_host(pair.server, |peer, _| peer.deaf = true);
        pair.exchange(200_000, 0);
        pair.run_for(MINUTE * 20);
        let server = pair.server();
        let own = server.endpoint.connection(server.id.unwrap()).unwrap();
        assert_eq!(own.readable_bytes(), 20_000);
        pair.sim.with_host(pair.server, |peer, now| {
            peer.deaf = false;
            peer.read(now);
        });
        pair.finish(MINUTE * 20);
    }
}

#[test]
fn half_a_connection_goes_on() {
    let mut pair = Pair::new(Directions::both(bad()), options(), options(), 8);
    pair.exchange(100, 0);
    pair.run_for(MINUTE);
    assert!(pair.server().finished);
    // The server's turn was over at once: it had nothing. So the client went on after it.
    let mut pair = Pair::new(Directions::both(half(RTT)), options(), options(), 8);
    pair.sim.with_host(pair.client, |peer, _| {
        peer.to_send = 1000;
        peer.finishes = true;
    });
    pair.run_for(MINUTE);
    let server = pair.server();
    assert!(server.finished);
    let own = server.endpoint.connection(server.id.unwrap()).unwrap();
    assert_eq!(own.state(), State::CloseWait);
    pair.sim.with_host(pair.server, |peer, now| {
        peer.to_send = 300_000;
        peer.finishes = true;
        peer.write(now);
    });
    pair.finish(MINUTE);
}

#[test]
fn a_path_that_drops_large_packets_without_a_word_is_crossed() {
    for (mtu, found) in [(1400, 1400), (1000, 552), (600, 552)] {
        let narrow = LinkConfig { mtu: Some(mtu), ..half(RTT) };
        let pair = exchange(narrow, options(), 2, 200_000);
        let client = pair.client();
        let info = client.endpoint.connection(client.id.unwrap()).unwrap().info(pair.sim.now());
        assert_eq!((info.path_mtu, info.counters.path_mtu_reductions), (found, 1));
    }
}

#[test]
fn a_bottleneck_is_used_and_shared_with_its_own_queue() {
    let narrow = LinkConfig {
        rate: Rate::from_bits_per_second(10_000_000),
        queue: QueueLimit::bytes(100_000),
        ..half(RTT)
    };
    let mut pair = Pair::new(Directions::both(narrow), options(), options(), 4);
    pair.sim.with_host(pair.client, |peer, _| {
        peer.to_send = 10_000_000;
        peer.finishes = true;
    });
    pair.sim.with_host(pair.server, |peer, _| peer.finishes = true);
    let before = pair.sim.now();
    pair.finish(MINUTE);
    let took = pair.sim.now().since(before);
    // Ten megabytes at ten megabits: eight seconds of data.
    assert!(took < Duration::from_secs(14), "{took}");
}

#[test]
fn two_runs_are_the_same_and_another_seed_is_not() {
    let run = |seed| {
        let pair = exchange(bad(), options(), seed, 100_000);
        let texts = pair.sim.checker().texts_of(pair.client);
        (pair.sim.now(), texts)
    };
    let (first, second) = (run(3), run(3));
    assert_eq!(first, second);
    assert_ne!(first.0, run(4).0);
}

#[test]
fn an_application_that_filled_the_buffer_before_the_connection_was_open_hears_of_room() {
    use base::{DatagramMeta, Ecn, Machine, Purpose, RandomStream};
    let endpoint = |index| {
        tcp::Endpoint::new(
            tcp::EndpointOptions::default(),
            RandomStream::new(1, Purpose("test", index)),
        )
    };
    let (mut client, mut server) = (endpoint(0), endpoint(1));
    let (from, to) = ("10.0.0.1:1000".parse().unwrap(), "10.0.0.2:80".parse().unwrap());
    server.listen(to, tcp::ListenOptions::default()).unwrap();
    let options = ConnectionOptions { send_buffer: 3000, ..options() };
    let id = client.connect(Instant::ZERO, from, to, options).unwrap();
    let data = bytes::Bytes::from(vec![7; 5000]);
    let taken =
        client.connection_mut(id).unwrap().send(Instant::ZERO, data, tcp::SendFlags::default());
    assert_eq!(taken, Ok(3000), "no more fits");

    let mut events = Vec::new();
    for step in 1..20 {
        let now = Instant::from_millis(step * 50);
        for turn in 0..2 {
            let mut segments = Vec::new();
            let (sender, receiver) =
                if turn == 0 { (&mut client, &mut server) } else { (&mut server, &mut client) };
            sender.handle_timeout(now);
            let mut buffer = Vec::new();
            while let Some(transmit) = sender.poll_transmit(now, &mut buffer) {
                segments.push((transmit, bytes::Bytes::from(std::mem::take(&mut buffer))));
            }
            for (transmit, segment) in segments {
                let remote = transmit.local.unwrap();
                let meta =
                    DatagramMeta { local: transmit.remote, remote, ecn: Ecn::NotEct, origin: None };
                receiver.handle_datagram(now, meta, segment.into());
            }
        }
        events.extend(core::iter::from_fn(|| client.poll_event()).map(|(_, event)| event));
    }
    assert_eq!(events, [Event::Established, Event::Writable]);
}
