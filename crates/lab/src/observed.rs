//! Observation of flows during a run: what they report, and who receives it.
//!
//! A flow reports each [`Seen`] to the [`GroupMeter`] of its group, which passes it to the
//! [`Measure`]s that a plan asks for; a [`FlowMeter`] has the few numbers of a flow that several
//! measures share.

mod flow_meter;
mod group_meter;
mod measure;
mod seen;

pub use flow_meter::FlowMeter;
pub use group_meter::GroupMeter;
pub use measure::{Group, Measure, Setting};
pub use seen::{Delivery, Needless, Seen};
