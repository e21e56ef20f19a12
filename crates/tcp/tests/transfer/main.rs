//! Two endpoints over the virtual network: each byte arrives once and in order.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

use base::{Duration, Probability};
use netsim::link::Reorder;
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};
use tcp::ConnectionOptions;

use support::{Pair, half};

const RTT: Duration = Duration::from_millis(100);

fn options() -> ConnectionOptions {
    ConnectionOptions::default()
}

#[test]
fn a_megabyte_each_way_arrives_and_both_sides_end() {
    let mut pair = Pair::new(Directions::both(half(RTT)), options(), options(), 1);
    pair.exchange(1_000_000, 1_000_000);
    pair.finish(Duration::from_secs(60));
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

#[test]
fn what_is_lost_is_sent_again() {
    for seed in 0..10 {
        let mut pair = Pair::new(Directions::both(bad()), options(), options(), seed);
        pair.exchange(200_000, 200_000);
        pair.finish(Duration::from_secs(600));
    }
}
