//! What a sender can do to the receiving side of a connection, seen from outside: no acknowledgement tells of
//! bytes that are not kept, the application reads what came first, and memory stays bounded.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod honest;
mod hostile;
mod urgent;
