//! The tests of this folder once more, with unencrypted packets: `support::PLAIN`.
#![allow(clippy::duplicate_mod, reason = "each brings its own helpers")]

#[path = "cancellation.rs"]
mod cancellation;
#[path = "emulated.rs"]
mod emulated;
#[path = "life.rs"]
mod life;
#[path = "limits.rs"]
mod limits;
#[path = "loopback.rs"]
mod loopback;
#[path = "paths.rs"]
mod paths;
#[path = "reconfiguration.rs"]
mod reconfiguration;
