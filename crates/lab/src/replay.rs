//! Replays a capture's traffic under other policies and over other networks, and measures it like
//! the capture.
//!
//! A capture gives a [`Recording`](crate::workload::Recording) of the messages that applications
//! sent ([`recording`](crate::workload::recording)) and estimates of the network ([`Conditions`]);
//! both, with policies and networks to try, make a plan ([`Replay::plan`]) that runs like any
//! other; [`outcomes`] puts its numbers beside those of the capture.
//!
//! Each stream is sent independently: a late answer does not delay the messages that followed it in
//! the capture.

mod conditions;
mod network;
mod outcome;
mod plan;
mod policy;
#[cfg(test)]
mod tests;

pub use conditions::Conditions;
pub use network::NetworkText;
pub use outcome::{Interval, Outcome, outcomes};
pub use plan::{FLOWS, Replay};
pub use policy::PolicyText;
