//! The tests of this folder once more, with unencrypted packets and servers of several shards.
//! Those of limits are not among them, since with one place there is no other shard to speak of:
//! `src/endpoint/tests.rs` has limits of several.
#![allow(clippy::duplicate_mod, reason = "each brings its own helpers")]

#[path = "cancellation.rs"]
mod cancellation;
#[path = "emulated.rs"]
mod emulated;
#[path = "life.rs"]
mod life;
#[path = "loopback.rs"]
mod loopback;
#[path = "paths.rs"]
mod paths;
#[path = "reconfiguration.rs"]
mod reconfiguration;
