//! The set-up over networks that lose 30 % of all packets each way.
//!
//! An INIT and its answer both arrive with probability 0.49, and so do COOKIE ECHO and COOKIE ACK.
//! With `linear_setup` of 4 and RTO.Initial of 1 s either leaves at 0, 1, 2, 3, 4, 5 and 7 s of its
//! phase, if no timeout is measured, so that within ten seconds an attempt fails with a probability
//! of about 0.020: the sum over the INITs i, at t, of 0.49 0.51^i 0.51^n(10 - t), n(s) COOKIE ECHOs
//! leaving within s, and 0.51^7 for no INIT ACK at all. Where the first INIT was answered, the
//! measured timeout makes it less. With a timeout that doubles at once it is 0.152.

use base::{Duration, Instant, Probability};
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};
use recovery::RecoveryPolicy;
use sctp::wire::ChunkType;
use sctp::{AssociationOptions, Event};

use crate::support::{Pair, RTT, half, options};

const CLIENTS: u64 = 10_000;

/// Number of the [`CLIENTS`] that are not set up within ten seconds, and the most packets that one
/// of them sent in the meantime.
fn failures(policy: &RecoveryPolicy) -> (u64, usize) {
    let (mut failed, mut most) = (0, 0);
    let own: AssociationOptions = options(policy.clone());
    for seed in 0..CLIENTS {
        let loss = LossModel::Bernoulli(Probability::from_ratio(3, 10));
        let link = LinkConfig { loss, ..half(RTT) };
        let mut pair = Pair::new(Directions::both(link), own.clone(), seed);
        pair.sim.run_until(Instant::from_millis(10_000)).unwrap();
        failed += u64::from(!pair.client().has_event(&Event::Established));
        let opening = |kind| pair.sim.checker().sent.iter().filter(|sent| sent.has(kind)).count();
        most = most.max(opening(ChunkType::INIT) + opening(ChunkType::COOKIE_ECHO));
    }
    (failed, most)
}

#[test]
fn of_a_hundred_clients_of_each_policy_of_ours_at_most_five_fail_within_ten_seconds() {
    for preset in ["thin", "latency", "latency-lean", "latency-max"] {
        let (failed, _) = failures(&RecoveryPolicy::preset(preset).unwrap());
        assert!(failed * 100 <= 5 * CLIENTS, "{preset}: {failed} of {CLIENTS}");
    }
}

fn thin() -> RecoveryPolicy {
    let mut policy = RecoveryPolicy::sctp_thin();
    policy.rto.initial = Duration::from_secs(1);
    policy
}

#[test]
fn of_a_hundred_clients_of_the_thin_policy_at_most_five_fail_within_ten_seconds() {
    let (failed, most) = failures(&thin());
    println!("linear: {failed} of {CLIENTS} failed, {most} packets at most");
    // The odds above are 2.0 %; the bound is theirs with three standard deviations.
    assert!(failed <= 244, "{failed} of {CLIENTS}");
    // One a second on average, and the faster ones that a measured timeout allows.
    assert!(most <= 12, "{most} packets in ten seconds");
}

#[test]
fn with_timeouts_that_double_at_once_more_than_twice_as_many_fail() {
    let mut doubling = thin();
    doubling.backoff.linear_setup = 0;
    let (failed, _) = failures(&doubling);
    println!("doubling: {failed} of {CLIENTS} failed");
    assert!(failed > 500, "{failed} of {CLIENTS}");
}
