//! Redundant data bundling: chunks in flight ride along before new ones.

use recovery::RecoveryPolicy;
use recovery::policy::{BundleReaction, BundlingPolicy, ThinDetector};

use crate::support::{Pair, T0, plain};

fn bundling(packets: u8, reaction: BundleReaction) -> RecoveryPolicy {
    let mut policy = plain();
    let bundling = BundlingPolicy { packets, reaction, ..BundlingPolicy::PAPER };
    policy.redundancy.bundling = Some(bundling);
    policy
}

fn run(policy: RecoveryPolicy, lost: &[u64], at: [u64; 4]) -> Pair {
    let mut pair = Pair::established(policy, lost);
    pair.send_at(100, at);
    pair.at(5_000_000);
    pair
}

/// One message each 40 ms, at a round trip of 100 ms.
const AT: [u64; 4] = [0, 40_000, 80_000, 120_000];

#[test]
fn what_is_in_flight_rides_along_before_new_data() {
    let ignore = BundleReaction::Ignore;
    let sent: &[(u64, &[u32])] =
        &[(0, &[0]), (40_000, &[0, 1]), (80_000, &[1, 2]), (120_000, &[2, 3])];
    run(bundling(1, ignore), &[], AT).assert_sent(sent);
    // The first is acknowledged after 100 ms.
    let sent: &[(u64, &[u32])] =
        &[(0, &[0]), (40_000, &[0, 1]), (80_000, &[0, 1, 2]), (120_000, &[1, 2, 3])];
    run(bundling(0, ignore), &[], AT).assert_sent(sent);
    run(plain(), &[], AT).assert_sent(&[
        (0, &[0]),
        (40_000, &[1]),
        (80_000, &[2]),
        (120_000, &[3]),
    ]);
}

#[test]
fn a_stream_slower_than_its_round_trip_bundles_nothing_unless_something_was_lost() {
    let at = [0, 200_000, 400_000, 600_000];
    let policy = bundling(1, BundleReaction::Ignore);
    let pair = run(policy.clone(), &[], at);
    pair.assert_sent(&[(0, &[0]), (200_000, &[1]), (400_000, &[2]), (600_000, &[3])]);
    let pair = run(policy, &[2], at);
    pair.assert_sent(&[(0, &[0]), (200_000, &[1]), (400_000, &[1, 2]), (600_000, &[3])]);
    let stats = pair.stats().recovery;
    assert_eq!((stats.bundle_hits, stats.bundle_misses, stats.bundle_repairs), (1, 0, 1));
    assert_eq!((stats.retransmissions.total(), stats.timeouts), (0, 0));
}

#[test]
fn the_next_message_brings_a_lost_one_without_any_retransmission() {
    let second = |policy| {
        let pair = run(policy, &[2], AT);
        pair.server().messages[1].0.since(T0).as_millis()
    };
    // In the packet of the third message, sent at 80 ms; otherwise the retransmission timer resends
    // it.
    assert_eq!(second(bundling(1, BundleReaction::Ignore)), 130);
    assert!(second(plain()) > 1000);
    let pair = run(bundling(1, BundleReaction::Ignore), &[2], AT);
    assert_eq!(pair.stats().recovery.retransmissions.total(), 0);
}

#[test]
fn copies_that_were_needless_are_no_losses_and_no_needless_retransmissions() {
    let pair = run(bundling(1, BundleReaction::Presume), &[], AT);
    let stats = pair.stats().recovery;
    assert_eq!((stats.bundles, stats.bundle_hits, stats.bundle_misses), (3, 0, 3));
    assert_eq!((stats.redundant_units, stats.redundant_bytes, stats.spurious), (3, 300, 0));
    assert_eq!(pair.stats().paths[0].recovery.ssthresh, u64::MAX);
}

#[test]
fn the_window_reacts_to_a_loss_that_the_peers_silence_proves() {
    // The peer reports the first copy as a duplicate, and that of the third message not.
    let at = [0, 40_000, 80_000, 120_000];
    let ssthresh =
        |reaction| run(bundling(1, reaction), &[3], at).stats().paths[0].recovery.ssthresh;
    assert_eq!(ssthresh(BundleReaction::Ignore), u64::MAX);
    assert!(ssthresh(BundleReaction::Verified) < u64::MAX);
}

#[test]
fn a_thick_stream_bundles_nothing() {
    let mut policy = bundling(1, BundleReaction::Ignore);
    if let Some(bundling) = &mut policy.redundancy.bundling {
        bundling.when = ThinDetector::Interval { least: base::Duration::from_millis(60) };
    }
    // Two in flight at 100 ms are more than one each 60 ms.
    let pair = run(policy, &[], AT);
    pair.assert_sent(&[(0, &[0]), (40_000, &[0, 1]), (80_000, &[2]), (120_000, &[3])]);
}

/// Ten messages, one each 20 ms; the packets with the second one are lost, so that the third miss
/// indication retransmits it at 200 ms.
fn sent_again(on_retransmission: bool) -> Pair {
    let mut policy = bundling(1, BundleReaction::Ignore);
    if let Some(bundling) = &mut policy.redundancy.bundling {
        bundling.on_retransmission = on_retransmission;
    }
    let mut pair = Pair::established(policy, &[2, 3]);
    pair.send_at(
        100,
        [0, 20_000, 40_000, 60_000, 80_000, 100_000, 120_000, 140_000, 160_000, 180_000],
    );
    pair.at(5_000_000);
    pair
}

#[test]
fn a_retransmission_takes_along_what_is_in_flight_behind_it() {
    for (on_retransmission, again) in [(true, &[1, 6][..]), (false, &[1])] {
        let mut sent: Vec<(u64, &[u32])> = vec![(0, &[0])];
        let pairs: [&[u32]; 9] =
            [&[0, 1], &[1, 2], &[2, 3], &[3, 4], &[4, 5], &[5, 6], &[6, 7], &[7, 8], &[8, 9]];
        sent.extend(
            pairs.iter().enumerate().map(|(index, tsns)| (20_000 * (index as u64 + 1), *tsns)),
        );
        // The third to the sixth message are reported by then: the seventh is the first in flight.
        sent.push((200_000, again));
        let pair = sent_again(on_retransmission);
        pair.assert_sent(&sent);
        assert_eq!(pair.server().messages.len(), 10);
    }
}
