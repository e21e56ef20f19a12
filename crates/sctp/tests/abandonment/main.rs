//! The receiving side of partial reliability (RFC 3758) and interleaving (RFC 8260), by hand-made
//! packets against one endpoint.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod forward_tsn;
mod interleaving;
