//! Packets as a whole: no checksum, padding, the path MTU, user data that is not copied.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod auth_mtu;
mod encapsulation;
mod gathered;
mod icmp;
mod path_mtu;
mod zero_checksum;
