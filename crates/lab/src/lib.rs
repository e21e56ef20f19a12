//! The laboratory: what traffic is offered, which first transmissions are lost, how latency is
//! measured, and how the result is shown.
//!
//! - [`workload`]: when messages are due, for simulations and for real senders alike.
//! - [`probe`]: the payload of a measuring message, which a receiver can verify to the last byte.
//! - [`fate`]: losses that are the same for every policy, so that policies can be compared.
//! - [`flow`]: a conversation between two hosts over SCTP or TCP, and what is noted of each message.
//! - [`peers`]: transports of others, once a crate that has them registers them.
//! - [`watch`]: flows under observation: ladders and captures; [`record`]: one run again, with all that passes.
//! - [`policy_text`]: a policy as plans and studies write it.
//! - [`world`]: networks of any number of flows.
//! - [`plan`]: a TOML file that names network, flows, measures, what is varied and what is expected.
//! - [`engine`]: a plan as independent runs on threads and in shards.
//! - [`experiments`]: the plans of the papers, part of the command.
//! - [`archive`]: folders of results: tidy tables, manifest, golden text.
//! - [`statistics`]: what the runs of a cell gave, over its seeds; [`verdict`]: paper beside here.
//! - [`compare`]: two policies on equal random streams.
//! - [`measure`]: what is measured of groups of flows, as rows.
//! - [`schedulers`]: what stream schedulers do for a thin stream beside a bulk transfer.
//! - [`study`]: what is no simulation of flows, once a crate that has studies registers them.
//! - [`events`]: recovery's events as JSON lines.
//!
//! Nothing here reads a clock or draws ambient randomness.

pub mod archive;
pub mod compare;
pub mod engine;
pub mod events;
pub mod experiments;
pub mod fate;
pub mod flow;
mod hash;
pub mod measure;
pub mod peers;
pub mod plan;
pub mod policy_text;
pub mod probe;
pub mod record;
pub mod replay;
pub mod schedulers;
pub mod statistics;
pub mod study;
pub mod text;
pub mod toml_text;
pub mod verdict;
pub mod watch;
pub mod workload;
pub mod world;

pub use fate::FlowFate;
pub use probe::{Probe, ProbeError};
pub use workload::{
    Application, Arrivals, ArrivalsText, DueMessage, Limit, MessageSource, Recording,
    RecordingError, ReplayText, Sizes, Workload, WorkloadError, WorkloadPlan,
};
