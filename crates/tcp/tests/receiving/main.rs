//! Influence of a sender on the receiving side of a connection: no acknowledgement reports bytes
//! that are not kept, the application reads the bytes that arrived first, and memory is bounded.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod honest;
mod hostile;
mod urgent;
