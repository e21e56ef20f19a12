//! TCP and SCTP over the virtual network, captured on both hosts with two clocks that disagree: the
//! analysis must agree with the simulation.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod needless;
mod tshark;
mod world;

use base::Probability;
use trace::capture::Capture;
use trace::{Options, analyse};

use world::{MESSAGES, SIZE, clients, compared, run};

#[test]
fn two_captures_tell_how_many_packets_were_lost_and_how_late_the_others_were() {
    let (truth, _) = run("sack", Probability::from_ratio(2, 100));
    let (report, sent, arrived) = compared(truth);
    let stream = clients(&report);
    let receiver = stream.receiver.as_ref().unwrap();
    assert_eq!(stream.totals.packets.data, sent);
    assert_eq!((receiver.packets.sent, receiver.packets.lost), (sent, sent - arrived));
    assert_eq!(receiver.undecided_packets + receiver.unmatched_packets, 0);
    assert!(receiver.clock_drift_known);
    assert!((receiver.clock_drift_ppm - 40.0).abs() < 0.5, "{}", receiver.clock_drift_ppm);
    // The path has no jitter: every packet is as late as the fastest, and a lost message is later.
    assert!(receiver.delay_variation_ms.latency.max < 0.1, "{:?}", receiver.delay_variation_ms);
    let transport = &receiver.transport_delay_ms;
    assert!((0.96..1.0).contains(&transport.share_within_1ms));
    let application = &receiver.application_delay_ms;
    assert!(application.share_within_1ms < 0.95, "what stands behind a loss waits");
    assert!(application.latency.max >= transport.latency.max && transport.latency.max > 100.0);
    assert!(stream.thin.packets_per_round_trip.unwrap() > 5.0);
}

#[test]
fn redundant_bundles_are_told_from_retransmissions_and_hit_what_was_lost() {
    let (truth, _) = run("thin-rdb", Probability::from_ratio(2, 100));
    let (report, sent, arrived) = compared(truth);
    let stream = clients(&report);
    let receiver = stream.receiver.as_ref().unwrap();
    assert_eq!((receiver.packets.sent, receiver.packets.lost), (sent, sent - arrived));
    let redundancy = receiver.redundancy;
    let bundles = redundancy.packet_hits + redundancy.packet_misses + redundancy.packets_lost;
    assert_eq!(bundles, stream.totals.packets.bundles);
    assert!(bundles > MESSAGES / 2, "{bundles}");
    assert!(redundancy.packet_hits > 20, "{redundancy:?}");
    assert!(receiver.application_delay_ms.share_within_1ms > 0.95);
    // Each byte of a message was sent as often as the counts say.
    let bytes = stream.totals.bytes;
    assert_eq!(bytes.unique, MESSAGES * SIZE as u64);
    assert_eq!(bytes.payload, bytes.unique + bytes.retransmitted + bytes.redundant);
}

#[test]
fn retransmissions_are_as_many_bytes_as_the_sender_counted() {
    let (truth, retransmitted) = run("linux", Probability::from_ratio(5, 100));
    let [sender, receiver] = truth.taps.map(|tap| tap.writer.into_inner());
    let (report, ()) = analyse(&mut Capture::open(&sender[..]).unwrap(), Options::default(), ());
    let stream = clients(&report);
    assert_eq!(stream.totals.bytes.retransmitted, retransmitted);
    assert!(stream.totals.retransmissions.total > 100);
    assert_eq!(stream.totals.bytes.unique, MESSAGES * SIZE as u64);
    let (report, ()) = analyse(&mut Capture::open(&receiver[..]).unwrap(), Options::default(), ());
    assert_eq!(report.streams[0].at_sender, Some(false));
}
