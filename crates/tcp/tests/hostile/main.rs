//! Hostile peers and third parties: floods, forged segments, acknowledgements of unsent data,
//! malformed segments. Their cost is bounded, and honest peers are served meanwhile.
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
mod strays;
mod turns;
