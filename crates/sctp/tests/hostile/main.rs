//! Bad packets at every state, and whole transfers over a hostile network under every preset.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod network;
mod packets;
mod windows;
