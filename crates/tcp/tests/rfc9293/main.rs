//! RFC 9293 event by event: each state meets each kind of segment and each call.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod application;
mod arrivals;
mod closing;
mod ecn;
mod ipv6;
mod opening;
mod path_mtu;
mod presets;
mod time_wait;
mod timers;
mod timestamps;
mod windows;
