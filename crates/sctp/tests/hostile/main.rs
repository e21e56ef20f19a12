//! Bad packets in every state, whole transfers over a hostile network under every preset, and
//! hostile peers and third parties: each attack has a bounded cost, does not affect other
//! associations, and an honest transfer afterwards still completes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod ack_clock;
mod addresses;
mod asconf;
mod blind;
mod bombs;
mod budget;
mod closed_window;
mod cookies;
mod cost;
mod crowd;
mod extensions;
mod flood;
mod foe;
mod fragments;
mod keyholder;
mod malformed;
mod memory;
mod network;
mod origins;
mod packets;
mod places;
mod turns;
mod windows;
