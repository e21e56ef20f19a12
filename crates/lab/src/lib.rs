//! The laboratory: what traffic is offered, which first transmissions are lost, how latency is
//! measured, and how the result is shown.
//!
//! - [`workload`]: when messages are due, for simulations and for real senders alike.
//! - [`probe`]: the payload of a measuring message, which a receiver can verify to the last byte.
//! - [`fate`]: losses that are the same for every policy, so that policies can be compared.
//! - [`metrics`]: latency in bounded memory, and confidence intervals.
//! - [`meter`]: from delivered messages and recovery's events to the numbers of a policy.
//! - [`scenario`]: thin flows over the virtual network, the same for every policy.
//! - [`mechanisms`]: each mechanism of Petlund et al. (2009) alone and together, as a table.
//! - [`partial_order`]: what partial order gains over streams, after Caro et al. (2001).
//! - [`schedulers`]: what stream schedulers do for a thin stream beside a bulk transfer.
//! - [`study`]: what is no simulation of flows: gains of the timeout, tanks, pictures.
//! - [`switchover`]: how long data stays on a path that dies, after Fallon et al. (2009).
//! - [`events`]: recovery's events as JSON lines.
//! - [`report`]: the same numbers as a page, a picture, JSON and text for a terminal.
//!
//! Nothing here reads a clock or draws ambient randomness.

pub mod events;
pub mod fate;
mod hash;
pub mod mechanisms;
pub mod meter;
pub mod metrics;
pub mod partial_order;
pub mod probe;
pub mod report;
pub mod scenario;
pub mod schedulers;
pub mod study;
pub mod switchover;
pub mod workload;

pub use fate::FlowFate;
pub use meter::{Delivered, FlowTracker, PolicyMeter};
pub use metrics::{LatencyByRetransmissions, LatencyRecorder, LatencySummary};
pub use probe::{Probe, ProbeError};
pub use report::DemoReport;
pub use workload::{Arrivals, DueMessage, Limit, Workload, WorkloadError, WorkloadPlan};
