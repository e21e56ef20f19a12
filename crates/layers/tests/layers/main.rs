//! Layers over the streams, between two endpoints in virtual time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../sctp/tests/support/mod.rs"]
mod support;

mod data_channel;
mod partial_order;
