//! Tidy rows: a number with its name, labels and unit.

/// What tells apart the numbers of one measure: `order=1`, `quantile=0.99`.
pub type Labels = Vec<(String, String)>;

/// One number.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the group of flows, or of the link.
    pub of: String,
    /// Name of the measure.
    pub measure: String,
    /// Its labels.
    pub labels: Labels,
    /// The number.
    pub value: f64,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
}

/// A histogram: how often each value came.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Name of the group of flows.
    pub of: String,
    /// Name of the measure.
    pub measure: String,
    /// Its labels.
    pub labels: Labels,
    /// Unit of the values.
    pub unit: &'static str,
    /// Value and count, by increasing value.
    pub bins: Vec<(u64, u64)>,
}

mod flows;
mod group;

pub use flows::flow_rows;
pub use group::group_rows;

use crate::metrics::LatencyRecorder;

/// Rows and distributions of a run as they come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Numbers.
    pub rows: Vec<Row>,
    /// Histograms.
    pub distributions: Vec<Distribution>,
}

/// Adds what belongs to one group of flows.
pub struct Sheet<'a> {
    results: &'a mut Results,
    of: &'a str,
}

impl Results {
    /// For the rows of `of`.
    pub fn sheet<'a>(&'a mut self, of: &'a str) -> Sheet<'a> {
        Sheet { results: self, of }
    }
}

impl Sheet<'_> {
    /// Adds a number; one that is none is left out.
    pub fn add(&mut self, measure: &str, labels: &[(&str, &str)], value: f64, unit: &'static str) {
        if value.is_finite() {
            self.results.rows.push(Row {
                of: self.of.to_owned(),
                measure: measure.to_owned(),
                labels: own(labels),
                value,
                unit,
            });
        }
    }

    /// Adds a histogram, unless it is empty.
    pub fn add_distribution(
        &mut self,
        measure: &str,
        labels: &[(&str, &str)],
        unit: &'static str,
        bins: Vec<(u64, u64)>,
    ) {
        if !bins.is_empty() {
            self.results.distributions.push(Distribution {
                of: self.of.to_owned(),
                measure: measure.to_owned(),
                labels: own(labels),
                unit,
                bins,
            });
        }
    }

    /// Adds the numbers of a distribution of latencies; nothing of an empty one.
    fn add_latency(
        &mut self,
        measure: &str,
        labels: &[(&str, &str)],
        recorder: &LatencyRecorder,
        (quantiles, distribution): (&[f64], bool),
    ) {
        let Some(summary) = recorder.summary() else { return };
        let name = |number: &str| format!("{measure}.{number}");
        self.add(&name("count"), labels, summary.count as f64, "");
        self.add(&name("mean"), labels, summary.mean, "ms");
        for quantile in quantiles {
            let Some(value) = recorder.quantile(*quantile) else { continue };
            let text = quantile.to_string();
            let labels = [labels, &[("quantile", text.as_str())]].concat();
            self.add(&name("quantile"), &labels, value.as_millis_f64(), "ms");
        }
        self.add(&name("max"), labels, summary.max, "ms");
        if distribution {
            self.add_distribution(measure, labels, "ns", recorder.bins());
        }
    }
}

fn own(labels: &[(&str, &str)]) -> Labels {
    labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// `measure[key=value,key=value]`, as plans write it.
pub fn full_name(measure: &str, labels: &Labels) -> String {
    if labels.is_empty() {
        return measure.to_owned();
    }
    let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{measure}[{}]", labels.join(","))
}
