//! No new data leaves beyond the congestion window, except for what exceeds it by less than a
//! packet, or beyond the peer's window, except for a probe with nothing else in flight.

use base::{Duration, Probability};
use netsim::LinkConfig;
use netsim::topology::Directions;
use recovery::{Event, PRESETS, RecoveryPolicy};
use sctp::AssociationOptions;

use crate::support::{Pair, options};

/// Bytes of the largest DATA chunk of a path of 1500 bytes.
const PMDCS: u64 = 1460;

/// The window in the recovery events as each packet leaves.
#[derive(Default)]
struct Windows {
    cwnd: u64,
    packets: usize,
    fullest: u64,
}

fn run(name: &str, seed: u64, receive_buffer: u32) {
    let policy = RecoveryPolicy::preset(name).unwrap();
    let limited = u64::from(policy.congestion.limited_transmit) * 2 * PMDCS;
    let loss = Probability::from_ratio(3, 100);
    let mut link = LinkConfig::lossy(Duration::from_millis(25), loss);
    link.rate = Some("5mbit".parse().unwrap());
    let server = AssociationOptions { receive_buffer, ..options(policy.clone()) };
    let mut pair = Pair::with_server(Directions::both(link), options(policy), server, seed);
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, _| {
        peer.endpoint.association_mut(id).unwrap().set_recovery_events(true)
    });
    let mut windows = Windows { cwnd: 4404, ..Windows::default() };
    for _ in 0..2_000 {
        while pair.send(vec![3; 1000]).is_ok() && pair.stats().queued_bytes < 100_000 {}
        pair.run_for(Duration::from_millis(5));
        // Snapshots between inputs: the windows hold at each.
        let stats = pair.stats();
        let path = stats.paths[0].recovery;
        let grown = path.cwnd.max(windows.cwnd);
        windows.fullest = windows.fullest.max(path.flight.bytes);
        assert!(
            path.flight.bytes < grown + PMDCS + limited,
            "{name}, seed {seed}: {} in flight, window {}",
            path.flight.bytes,
            path.cwnd
        );
        assert!(path.flight.bytes <= u64::from(receive_buffer), "{name}: {}", path.flight.bytes);
        let events = pair.sim.with_host(pair.client, |peer, _| {
            std::iter::from_fn(|| {
                peer.endpoint.association_mut(id).and_then(|mut own| own.poll_recovery_event())
            })
            .collect::<Vec<_>>()
        });
        judge(&mut windows, &events, limited);
        // What was in flight under an older, larger window may stay.
        windows.cwnd = path.flight.bytes.max(path.cwnd);
    }
    assert!(windows.packets > 500, "{name}: {} packets", windows.packets);
}

/// A packet of new data leaves only with less than the window in flight.
fn judge(windows: &mut Windows, events: &[(base::Instant, Event)], limited: u64) {
    let mut known: Option<(u64, u64)> = None;
    for (at, event) in events {
        match event {
            Event::Window { cwnd, flight, .. } => known = Some((*cwnd, *flight)),
            Event::Sent { new, bytes, .. } => {
                windows.packets += 1;
                if let Some((cwnd, flight)) = &mut known {
                    let within = *flight < *cwnd + limited;
                    assert!(*new == 0 || within, "{at:?}: {flight} in flight, window {cwnd}");
                    *flight += bytes;
                }
            }
            // From here on the flight is not known until the window changes again.
            Event::Acknowledged { .. } | Event::Lost { .. } => known = None,
            _ => {}
        }
    }
}

#[test]
fn neither_window_is_exceeded_under_any_preset() {
    for (name, _) in PRESETS {
        for seed in 0..3 {
            run(name, seed, 1 << 20);
        }
    }
}

#[test]
fn a_small_peer_window_is_kept_under_any_preset() {
    for (name, _) in PRESETS {
        run(name, 1, 8_000);
    }
}
