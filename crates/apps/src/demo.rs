//! `thinstream demo`: the same thin stream over the same lossy network under several recovery
//! policies, and a report that compares them.

mod error;
mod numbers;
mod options;
mod plan;
mod real_time;
mod report;
mod virtual_time;

pub use error::DemoError;
pub use numbers::{PolicyReport, PolicyResults};
pub use options::{Contender, DemoOptions, Length, MAX_SIZE};
pub use real_time::{LivePolicy, LiveView, run_real_time};
pub use report::{Outcome, Report};
pub use virtual_time::run_virtual;
