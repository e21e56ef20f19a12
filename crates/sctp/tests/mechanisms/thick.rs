//! Thick traffic: `thin` sends exactly the packets of `lksctp`, and so does each of its mechanisms.

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::{ErrorCounting, ThinBackoff, TimerRestart};

use crate::support::{Pair, Sent, preset};

/// A message every 10 ms for three seconds: ten in flight, except for the beginning and the end,
/// where nothing is lost.
fn trace(policy: RecoveryPolicy, lost: &[u64]) -> Vec<Sent> {
    let mut pair = Pair::established(policy, lost);
    pair.send_at(300, (0..300).map(|index| index * 10_000));
    pair.at(20_000_000);
    assert_eq!(pair.server().messages.len(), 300);
    pair.sim.checker().sent.clone()
}

/// A small message every 4 ms, or one that fills its packet every 10 ms, under a policy.
fn thick(policy: RecoveryPolicy, size: usize, step: u64, lost: &[u64]) -> Vec<Sent> {
    let mut pair = Pair::established(policy, lost);
    pair.send_at(size, (0..300).map(|index| index * step));
    pair.at(20_000_000);
    assert_eq!(pair.server().messages.len(), 300);
    pair.sim.checker().sent.clone()
}

/// Asserts that both send the same packets; shows the first difference otherwise.
#[track_caller]
fn assert_alike(policy: RecoveryPolicy, lost: &[u64]) {
    let (base, changed) = (trace(preset("lksctp"), lost), trace(policy, lost));
    let difference = base.iter().zip(&changed).position(|(one, other)| one != other);
    if let Some(at) = difference {
        panic!("packet {at} differs:\n{:#?}\n{:#?}", base[at], changed[at]);
    }
    assert_eq!(base.len(), changed.len());
}

const LOSSES: [&[u64]; 3] = [
    // Single losses, far apart.
    &[40, 90, 140, 190],
    // A burst.
    &[100, 101, 102],
    // Two losses with one packet between them.
    &[60, 62, 64, 120, 122],
];

#[test]
fn thin_sends_the_packets_of_lksctp() {
    for lost in LOSSES {
        assert_alike(preset("thin-paper"), lost);
    }
}

#[test]
fn the_default_sends_the_packets_of_rfc_where_messages_come_quickly_or_fill_their_packets() {
    for (size, step) in [(100, 4_000), (1_200, 10_000)] {
        for lost in LOSSES {
            let (base, changed) =
                ["rfc", "thin"].map(|name| thick(preset(name), size, step, lost)).into();
            let difference = base.iter().zip(&changed).position(|(one, other)| one != other);
            assert_eq!((difference, base.len()), (None, changed.len()), "{size} {lost:?}");
        }
    }
    let slow = |name| thick(preset(name), 100, 24_000, LOSSES[0]);
    assert_ne!(slow("thin"), slow("rfc"), "the comparison notices");
}

#[test]
fn each_mechanism_alone_sends_the_packets_of_lksctp() {
    let mechanisms: [fn(&mut RecoveryPolicy); 5] = [
        |policy| policy.rto.min_while_thin = Some(Duration::from_millis(200)),
        |policy| {
            policy.backoff.while_thin = ThinBackoff::Linear;
            policy.backoff.errors = ErrorCounting::ExponentialSchedule;
        },
        |policy| policy.timer_restart = TimerRestart::LessTimerAge,
        |policy| policy.timer_restart = TimerRestart::LessOldestAge { threshold: 4 },
        |policy| policy.loss.dup_threshold_while_thin = Some(1),
    ];
    for change in mechanisms {
        let mut policy = preset("lksctp");
        change(&mut policy);
        assert_alike(policy, LOSSES[0]);
    }
}
