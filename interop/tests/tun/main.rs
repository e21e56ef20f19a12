//! Our stacks as hosts of their own behind TUN devices, with real peers.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod sctp_echo;
