//! The tests of this folder once more, encrypted, with servers of several shards. Tests of limits
//! (`limits.rs`) are left out: most admit a single association, which occupies one shard.
//! `src/endpoint/tests.rs` tests limits over several shards.
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
#[path = "secure.rs"]
mod secure;
