//! An association's life: how it begins under loss, how a dead peer is told from a living one, and what is
//! known of messages that did not arrive.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod left_behind;
mod set_up;
mod signs;
mod silence;
