//! Results of a replay, cell by cell, for comparison with the capture.

use results::Series;

use super::plan::FLOWS;
use crate::engine::Finished;
use crate::plan::Plan;
use crate::statistics;

/// A mean over seeds with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Arithmetic mean over all seeds.
    pub mean: f64,
    /// Half of the interval; `None` with a single seed.
    pub either_side: Option<f64>,
}

/// Numbers of the traffic under a policy over a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The policy, as written by the caller.
    pub policy: String,
    /// The network, as written by the caller.
    pub network: String,
    numbers: Vec<Series>,
}

impl Outcome {
    /// A number by its full name, such as `latency.quantile[quantile=0.99]`.
    pub fn number(&self, name: &str) -> Option<Interval> {
        let series = self.numbers.iter().find(|one| one.name() == name)?;
        let interval = series.interval();
        let either_side = interval.map(|interval| interval.high - interval.mean);
        Some(Interval { mean: series.mean(), either_side })
    }
}

/// The finished runs of a replay's plan, network by network.
pub fn outcomes(plan: &Plan, finished: &Finished) -> Vec<Outcome> {
    let cells = plan.cells.iter().enumerate().map(|(place, (cell, _))| {
        let texts = cell.texts();
        let of = |key: &str| {
            let found = texts.iter().find(|(name, _)| name == key);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let policy = of(&format!("flow.{FLOWS}"));
        Outcome { policy, network: of("network"), numbers: statistics::series(finished, place) }
    });
    let mut outcomes: Vec<Outcome> = cells.filter(|one| !one.numbers.is_empty()).collect();
    let networks: Vec<String> = outcomes.iter().map(|one| one.network.clone()).collect();
    outcomes.sort_by_key(|one| networks.iter().position(|network| *network == one.network));
    outcomes
}
