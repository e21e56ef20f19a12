//! Messages between two endpoints over the virtual network.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use base::{Duration, Instant, Probability};
use bytes::Bytes;
use netsim::LinkConfig;
use netsim::topology::Directions;
use sctp::{AssociationOptions, Event, SendOptions};
use support::{Pair, half};

fn rtt_100() -> Directions<LinkConfig> {
    Directions::both(half(Duration::from_millis(100)))
}

#[test]
fn a_message_sent_before_the_handshake_rides_with_the_cookie_and_arrives_after_three_one_way_trips()
{
    let mut pair = Pair::new(rtt_100(), AssociationOptions::default(), 1);
    pair.send("hello").unwrap();
    pair.run_for(Duration::from_secs(1));
    let (at, message) = &pair.server().messages[0];
    assert_eq!(*at, Instant::from_millis(150));
    assert_eq!(message.payload.clone().into_bytes(), Bytes::from_static(b"hello"));
    assert!(pair.client().has_event(&Event::Established));
    assert!(pair.server().has_event(&Event::Established));
    assert!(pair.stats().outstanding_bytes == 0);
}

#[test]
fn messages_of_all_sizes_survive_loss_reordering_and_duplication_once_and_in_order() {
    let mut link = LinkConfig::lossy(Duration::from_millis(20), Probability::from_ratio(1, 10));
    link.duplicate = Probability::from_ratio(1, 20);
    link.reorder.probability = Probability::from_ratio(1, 10);
    link.reorder.extra_delay = Duration::from_millis(15);
    link.allow_reordering = true;
    for seed in 0..20 {
        let mut pair =
            Pair::new(Directions::both(link.clone()), AssociationOptions::default(), seed);
        let sizes = [1, 100, 1400, 1456, 1457, 5000, 100_000];
        for (index, size) in sizes.iter().cycle().take(70).enumerate() {
            let payload = vec![index as u8; *size];
            while pair.send_on((index % 3) as u16, payload.clone(), SendOptions::default()).is_err()
            {
                pair.run_for(Duration::from_millis(100));
            }
        }
        pair.run_for(Duration::from_secs(300));
        let mut seen: Vec<Vec<usize>> = vec![Vec::new(); 3];
        for (_, message) in &pair.server().messages {
            let bytes = message.payload.clone().into_bytes();
            let index = usize::from(bytes[0]);
            assert!(bytes.iter().all(|byte| *byte == bytes[0]));
            assert_eq!(bytes.len(), sizes[index % sizes.len()], "seed {seed} message {index}");
            seen[usize::from(message.stream.0)].push(index);
        }
        for (stream, indices) in seen.iter().enumerate() {
            let expected: Vec<usize> = (0..70).filter(|index| index % 3 == stream).collect();
            assert_eq!(*indices, expected, "seed {seed} stream {stream}");
        }
    }
}

#[test]
fn a_shutdown_delivers_what_was_sent_and_closes_both_sides() {
    let mut pair = Pair::new(rtt_100(), AssociationOptions::default(), 1);
    for index in 0..10u8 {
        pair.send(vec![index; 3000]).unwrap();
    }
    pair.run_for(Duration::from_millis(200));
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().shutdown(now)
    });
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.server().messages.len(), 10);
    assert!(pair.client().has_event(&Event::Closed));
    assert!(pair.server().has_event(&Event::Closed));
}

#[test]
fn an_association_waits_for_acknowledgements_while_they_hold_something_up_and_at_no_other_time() {
    let mut pair = Pair::new(rtt_100(), AssociationOptions::default(), 1);
    let awaits = |pair: &Pair| pair.client().endpoint.awaits_acknowledgements();
    pair.run_for(Duration::from_secs(1));
    assert!(!awaits(&pair));
    pair.send("thin").unwrap();
    pair.run_for(Duration::from_millis(10));
    assert!(pair.stats().outstanding_bytes > 0 && !awaits(&pair), "the timer is enough");
    pair.run_for(Duration::from_secs(1));
    // More than the window lets out.
    pair.send(vec![1; 100_000]).unwrap();
    pair.run_for(Duration::from_millis(10));
    assert!(awaits(&pair));
    pair.run_for(Duration::from_secs(5));
    assert_eq!((pair.stats().outstanding_bytes, awaits(&pair)), (0, false));
    pair.send("the last").unwrap();
    let (client, id) = (pair.client, pair.association);
    pair.sim.with_host(client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().shutdown(now);
    });
    pair.run_for(Duration::from_millis(10));
    assert!(awaits(&pair), "the end waits");
    pair.run_for(Duration::from_secs(1));
    assert!(pair.client().has_event(&Event::Closed) && !awaits(&pair));
    pair.sim.with_host(client, |peer, _| peer.endpoint.release(id));
    assert!(!awaits(&pair));
}
