//! Presets, and a change of policy during an association's life.

use base::Duration;

use crate::support::{Pair, preset};

/// Time of a message that is lost twice.
fn lost_twice(name: &str) -> Vec<f64> {
    let mut pair = Pair::established(preset(name), &[1, 2]);
    pair.send_at(100, [0]);
    pair.at(20_000_000);
    pair.data_sent().into_iter().map(|(at, _)| at).collect()
}

#[test]
fn presets_resend_a_lone_message_when_their_sources_say() {
    let rfc = [0.0, 1_000_000.0, 3_000_000.0];
    assert_eq!(lost_twice("rfc"), rfc);
    assert_eq!(lost_twice("lksctp"), rfc);
    assert_eq!(lost_twice("freebsd"), rfc);
    // The RTO of 250 ms, without back-off.
    assert_eq!(lost_twice("thin-paper"), [0.0, 250_000.0, 500_000.0]);
    // The early timer once, at 250 ms; its own retransmission restarted it.
    assert_eq!(lost_twice("freebsd-efr"), [0.0, 250_000.0, 500_000.0]);
}

#[test]
fn a_switch_to_thin_takes_effect_at_the_next_expiry() {
    let mut pair = Pair::established(preset("lksctp"), &[1, 2, 3, 4]);
    pair.send_at(100, [0]);
    pair.at(500_000);
    pair.set_policy(preset("thin-paper"));
    pair.at(20_000_000);
    // The running timer keeps its second; then linear steps of 250 ms.
    pair.assert_sent(&[
        (0, &[0]),
        (1_000_000, &[0]),
        (1_250_000, &[0]),
        (1_500_000, &[0]),
        (1_750_000, &[0]),
    ]);
}

#[test]
fn a_switch_back_doubles_from_what_it_finds() {
    let mut pair = Pair::established(preset("thin-paper"), &[1, 2, 3, 4]);
    pair.send_at(100, [0]);
    pair.at(300_000);
    pair.set_policy(preset("lksctp"));
    pair.at(20_000_000);
    // 250 ms and 500 ms were set under `thin`; then RTO.Min of 1 s, doubled once and twice.
    pair.assert_sent(&[
        (0, &[0]),
        (250_000, &[0]),
        (500_000, &[0]),
        (2_500_000, &[0]),
        (6_500_000, &[0]),
    ]);
}

#[test]
fn a_switch_of_the_receiver_stops_delaying_sacks() {
    let mut policy = preset("lksctp");
    policy.acknowledgement.delay = Some(Duration::from_millis(200));
    let mut pair = Pair::established(policy, &[]);
    pair.send_at(100, [0, 300_000]);
    pair.at(600_000);
    let (_, id, _) = pair.server().events[0];
    pair.sim.with_host(pair.server, |peer, _| {
        peer.endpoint
            .association_mut(id)
            .unwrap()
            .set_policy(std::sync::Arc::new(preset("lksctp")));
    });
    pair.send_at(100, [900_000]);
    pair.at(2_000_000);
    assert_eq!(pair.sacks_sent(), [50_000.0, 550_000.0, 950_000.0]);
}

#[test]
fn a_switch_at_any_moment_loses_nothing() {
    let names = ["rfc", "lksctp", "freebsd", "freebsd-efr", "thin-paper", "thin"];
    let mut pair = Pair::established(preset("rfc"), &[2, 3, 5, 8, 13, 21, 34, 55]);
    for index in 0..60usize {
        pair.set_policy(preset(names[index % names.len()]));
        pair.send_at(100, [index as u64 * 70_000]);
    }
    pair.at(60_000_000);
    assert_eq!(pair.server().messages.len(), 60);
    assert_eq!(pair.stats().outstanding_bytes, 0);
}
