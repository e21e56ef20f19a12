//! Extensions that concern packets as such: no checksum, padding, the path MTU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod auth_mtu;
mod encapsulation;
mod icmp;
mod path_mtu;
mod zero_checksum;
