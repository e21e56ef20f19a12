//! Peers and strangers who mean harm: floods, forged segments, acknowledgements of what was never sent,
//! rubbish. What they can cost is bounded, and honest peers are served meanwhile.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod acks;
mod blind;
mod cost;
mod crowd;
mod flood;
mod memory;
mod rubbish;
mod sack_lists;
mod turns;
