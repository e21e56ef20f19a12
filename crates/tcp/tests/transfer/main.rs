//! Two endpoints over the virtual network: each byte arrives once and in order.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

use base::Duration;
use netsim::topology::Directions;
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
