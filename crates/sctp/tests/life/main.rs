//! An association's life: set-up under loss, detection of a dead peer, and the
//! report of undelivered messages.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod left_behind;
mod set_up;
mod signs;
mod silence;
