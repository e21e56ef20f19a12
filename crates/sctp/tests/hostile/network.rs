//! Two endpoints over a network that loses, reorders, duplicates, corrupts and falls silent, under
//! every preset: each message arrives exactly once, in order where ordered, intact.

use base::{Duration, Instant, Probability};
use netsim::LinkConfig;
use netsim::link::Reorder;
use netsim::topology::Directions;
use proptest::prelude::*;
use recovery::{PRESETS, RecoveryPolicy};
use sctp::{AssociationOptions, Event, SendError, SendOptions};

use crate::support::{Pair, options};

const STREAMS: u16 = 4;

#[derive(Clone, Debug)]
struct Weather {
    loss: u64,
    reorder: u64,
    duplicate: u64,
    corrupt: u64,
    blackout: u64,
}

fn weather() -> impl Strategy<Value = Weather> {
    (0u64..20, 0u64..20, 0u64..10, 0u64..10, 0u64..10_000).prop_map(
        |(loss, reorder, duplicate, corrupt, blackout)| Weather {
            loss,
            reorder,
            duplicate,
            corrupt,
            blackout,
        },
    )
}

fn link(weather: &Weather) -> LinkConfig {
    let percent = |n| Probability::from_ratio(n, 100);
    let mut link = LinkConfig::lossy(Duration::from_millis(30), percent(weather.loss));
    let extra_delay = Duration::from_millis(50);
    link.reorder = Reorder { probability: percent(weather.reorder), extra_delay };
    link.allow_reordering = true;
    link.duplicate = percent(weather.duplicate);
    link.corrupt = percent(weather.corrupt);
    let start = Instant::from_millis(weather.blackout);
    link.blackouts.push(start..start + Duration::from_millis(700));
    link
}

/// The bytes of message `index`, its number first.
fn message(index: usize, size: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..size).map(|at| (at * 31 + index * 7) as u8).collect();
    bytes[..4].copy_from_slice(&(index as u32).to_be_bytes());
    bytes
}

fn size(index: usize) -> usize {
    [100, 4, 1444, 1445, 700, 20_000, 60, 3000][index % 8]
}

fn run(policy: RecoveryPolicy, weather: &Weather, seed: u64, unordered: bool) {
    let links = Directions::both(link(weather));
    // With the limits of the RFC, one in some thousand of the worst runs loses eleven round trips
    // in a row and fails, as the RFC allows.
    let stubborn = AssociationOptions {
        association_max_retrans: 40,
        max_init_retransmits: 40,
        ..options(policy)
    };
    let mut pair = Pair::new(links, stubborn, seed);
    let count = 60;
    for index in 0..count {
        let send = SendOptions {
            unordered: unordered && index % 3 == 0,
            immediate: index % 5 == 0,
            ..SendOptions::default()
        };
        let payload = message(index, size(index));
        let stream = index as u16 % STREAMS;
        loop {
            match pair.send_on(stream, payload.clone(), send) {
                Ok(()) => break,
                Err(SendError::BufferFull) => pair.run_for(Duration::from_millis(50)),
                Err(error) => panic!("{error}: {:?}", pair.client().events),
            }
        }
        pair.run_for(Duration::from_millis(70));
    }
    // With every fourth packet lost each way and no clean round trip to measure (Karn), the RTO may
    // stand at 60 s for long.
    let settled = |pair: &Pair| pair.stats().outstanding_bytes + pair.stats().queued_bytes == 0;
    for _ in 0..24 * 60 {
        if settled(&pair) {
            break;
        }
        pair.run_for(Duration::from_secs(60));
    }
    judge(&pair, count);
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().shutdown(now)
    });
    pair.run_for(Duration::from_secs(1_000));
    assert!(pair.client().has_event(&Event::Closed), "{:?}", pair.client().events);
    assert!(pair.server().has_event(&Event::Closed), "{:?}", pair.server().events);
}

fn judge(pair: &Pair, count: usize) {
    let mut seen = vec![0; count];
    let mut latest = [None; STREAMS as usize];
    for (_, arrived) in &pair.server().messages {
        let bytes = arrived.payload.clone().into_bytes();
        let index = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        assert_eq!(bytes, message(index, size(index)), "message {index} changed");
        seen[index] += 1;
        let stream = usize::from(arrived.stream.0);
        assert_eq!(stream, index % usize::from(STREAMS));
        if !arrived.unordered {
            assert!(latest[stream] < Some(index), "message {index} out of order");
            latest[stream] = Some(index);
        }
    }
    assert!(seen.iter().all(|times| *times == 1), "{seen:?}\n{:#?}", pair.stats());
    assert_eq!(pair.stats().outstanding_bytes, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_once_in_order_and_intact_under_every_preset(
        weather in weather(), seed in any::<u64>(), preset in 0..PRESETS.len(), unordered in any::<bool>()
    ) {
        let policy = RecoveryPolicy::preset(PRESETS[preset].0).unwrap();
        run(policy, &weather, seed, unordered);
    }
}

#[test]
fn the_same_seed_gives_the_same_packets_at_the_same_times() {
    let trace = || {
        let weather = Weather { loss: 10, reorder: 10, duplicate: 5, corrupt: 5, blackout: 2000 };
        let mut pair =
            Pair::new(Directions::both(link(&weather)), options(RecoveryPolicy::sctp_thin()), 7);
        for index in 0..40 {
            pair.send(message(index, size(index))).unwrap();
            pair.run_for(Duration::from_millis(70));
        }
        pair.run_for(Duration::from_secs(60));
        pair.sim.checker().sent.clone()
    };
    assert_eq!(trace(), trace());
}
