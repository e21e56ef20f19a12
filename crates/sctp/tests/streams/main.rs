//! The sending side of streams: who goes next, what is given up and when, messages in parts, and how the
//! peer is told (RFC 3758, RFC 7496, RFC 8260).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod forward_tsn;
mod interleaving;
mod parts;
mod peer;
mod reliability;
mod waiting;
