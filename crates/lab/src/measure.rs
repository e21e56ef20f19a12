//! Measures: small accumulators, kept only if a plan asks for them.
//!
//! A measure is one file: [`Ask`] is its settings in a plan, below its key of `[measure]`. They
//! begin a [`Measure`](crate::observed::Measure), the data of a group of flows, or a [`Watch`] of
//! packets or links; either makes the rows. One row of the table in `measure/table.rs` makes it a
//! key of plans.

mod cost;
mod frozen;
mod goodput;
mod inter_arrival;
mod interface;
mod ladder;
mod late;
mod latency;
mod latency_limit;
mod links;
mod overhead;
mod retransmissions;
mod rto;
mod streams;
pub mod switchover;
mod table;
#[cfg(test)]
mod tests;
mod trace;
mod traffic;
mod transfers;

pub use frozen::GapLimit;
pub use interface::{Ask, Planned, Watch};
pub use latency_limit::{LatencyLimit, NAMED_LIMITS};
pub use table::*;
