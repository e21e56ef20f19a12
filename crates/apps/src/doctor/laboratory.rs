//! Effects of the kernel's options, measured in virtual time.

use base::Duration;
use lab::compare::{Row, side_by_side};
use lab::engine::EngineError;
use lab::plan::{Plan, PlanError, Size};
use runner::threads;
use serde::Serialize;

/// The plan: Linux's recovery with and without its options, beside ours.
const PLAN: &str = include_str!("kernel.toml");

/// The plan's stream, in words.
pub(super) const STREAM: &str = "What these bring, measured in virtual time just now: 100 bytes each 250 ms over a round trip of \
     100 ms with 5 % loss each way, to a receiver that delays acknowledgements by 40 ms. Latency in ms above the one-way \
     delay; bytes and packets of the sender for each message.";

/// Latency and price of one way to recover. Times are in milliseconds above the one-way delay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Name of the stack that recovers, and its options.
    pub name: String,
    /// Mean of all latencies, in milliseconds.
    pub mean_ms: f64,
    /// 99th percentile of the latencies, in milliseconds.
    pub p99_ms: f64,
    /// 99.9th percentile of the latencies, in milliseconds.
    pub p999_ms: f64,
    /// The longest latency, in milliseconds.
    pub max_ms: f64,
    /// Bytes of the sender for each message, headers included.
    pub bytes: f64,
    /// Packets of the sender for each message.
    pub packets: f64,
}

/// The reason why no measurement was made.
#[derive(Debug, thiserror::Error)]
pub enum LaboratoryError {
    /// The plan within the command cannot be read.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Runs of the plan failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Runs the plan on all processors.
pub(super) fn measure() -> Result<Vec<Measured>, LaboratoryError> {
    let mut plan = Plan::parse(PLAN, Size::Normal, None)?;
    plan.keep_distributions();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let finished = threads::run_all(&plan, processors)?;
    let groups = side_by_side(&plan, &finished, Duration::ZERO)?;
    Ok(groups.into_iter().flat_map(|group| group.rows).map(Measured::from).collect())
}

impl From<Row> for Measured {
    fn from(row: Row) -> Measured {
        Measured {
            name: row.name,
            mean_ms: row.latency.mean,
            p99_ms: row.latency.p99,
            p999_ms: row.latency.p999,
            max_ms: row.latency.max,
            bytes: row.bytes,
            packets: row.packets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_of_the_kernel_brings_something_and_ours_brings_more() {
        let rows = measure().unwrap();
        let p999 = |name: &str| rows.iter().find(|row| row.name == name).unwrap().p999_ms;
        assert_eq!(rows.len(), 5, "{rows:?}");
        assert!(p999("Linux, linear timeouts") < p999("Linux"), "{rows:?}");
        assert!(p999("Linux, both") < p999("Linux, linear timeouts"), "{rows:?}");
        assert!(p999("thinstream edge (latency)") < p999("Linux, both"), "{rows:?}");
    }
}
