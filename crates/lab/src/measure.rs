//! Measures: small accumulators, kept only if a plan asks for them.
//!
//! A measure is one file: [`Ask`] is its settings in a plan, below its key of `[measure]`;
//! [`Measure`] is the data of a group of flows, and makes the rows. One row of the table in
//! `measure/table.rs` makes it a key of plans. [`GroupMeter`] passes each [`Seen`] of a group's
//! flows to its measures; a [`FlowMeter`] has the few numbers of a flow that several measures
//! share.

mod cost;
mod flow_meter;
mod frozen;
mod goodput;
mod group_meter;
mod inter_arrival;
mod interface;
mod ladder;
mod late;
mod latency;
mod latency_limit;
mod observed;
mod overhead;
mod retransmissions;
mod rto;
mod streams;
pub mod switchover;
mod table;
#[cfg(test)]
mod tests;
mod traffic;
mod transfers;

pub use flow_meter::FlowMeter;
pub use frozen::GapLimit;
pub use group_meter::GroupMeter;
pub use interface::{Ask, Group, Measure, Setting};
pub use ladder::{Beginning, Ladder, LadderWish};
pub use latency_limit::{LatencyLimit, NAMED_LIMITS};
pub use observed::{Delivery, Needless, Seen};
pub use table::*;
