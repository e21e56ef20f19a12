//! Requirements of RFC 9260, in virtual time between two endpoints and with hand-made packets
//! against one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod closing;
mod congestion;
mod handshake;
mod heartbeat;
mod opening;
mod refusals;
mod restart;
mod sending;
mod shutdown;
mod strangers;
mod stray;
mod timer;
mod window;
