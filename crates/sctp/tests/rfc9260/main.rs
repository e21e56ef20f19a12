//! What RFC 9260 demands, in virtual time between two endpoints and by hand-made packets against one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod congestion;
mod handshake;
mod heartbeat;
mod refusals;
mod restart;
mod shutdown;
mod strangers;
mod timer;
mod window;
