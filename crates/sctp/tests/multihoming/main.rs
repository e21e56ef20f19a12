//! Several addresses on both sides: set-up, verification, and the choice of paths.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod addresses;
mod failure;
mod hints;
mod options;
mod paths;
mod redundant;
mod setup;
mod switchover;
mod weather;
