//! The sending side of streams: order, abandoned messages, messages in parts, and the
//! reports to the peer (RFC 3758, RFC 7496, RFC 8260).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod forward_tsn;
mod interleaving;
mod parts;
mod peer;
mod reliability;
mod waiting;
