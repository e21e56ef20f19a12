//! Our stacks as hosts of their own behind TUN devices, with real peers.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod blackout;
mod bzflag;
mod edge;
mod edge_floods;
mod edge_limits;
mod edge_memory;
mod edge_rules;
mod edge_shards;
mod host;
mod kernel;
mod lossy;
mod programs;
mod sctp_echo;
mod thin;
mod uml;

/// A runtime for the stacks of one test: one thread does the work, the test's own threads wait.
fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().unwrap()
}
