//! Rows as they are written: those of one group of flows, or of a study, at a time.

use std::borrow::Cow;

use super::{Curve, Distribution, Labels, Picture, Quantity, Results, Row};
use crate::LatencyRecorder;
use crate::numbers::quantile_of;

/// Adds results of one group of flows, or of a study.
pub struct Sheet<'a> {
    results: &'a mut Results,
    of: &'a str,
}

impl Results {
    /// A sheet for the rows of the group `of`.
    pub fn sheet<'a>(&'a mut self, of: &'a str) -> Sheet<'a> {
        Sheet { results: self, of }
    }
}

impl Sheet<'_> {
    /// Adds a number, unless it is NaN or infinite.
    pub fn add(&mut self, measure: &str, labels: &[(&str, &str)], value: f64, unit: &'static str) {
        if value.is_finite() {
            let row = Row::new(self.of, measure, value, unit);
            self.results.rows.push(Row { labels: own(labels), ..row });
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
                unit: Cow::Borrowed(unit),
                bins,
            });
        }
    }

    /// Adds a curve without points that are NaN or infinite.
    pub fn add_curve(
        &mut self,
        measure: &str,
        labels: &[(&str, &str)],
        (x, y): (Quantity, Quantity),
        points: impl IntoIterator<Item = (f64, f64)>,
    ) {
        let is_point = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
        self.results.curves.push(Curve {
            of: self.of.to_owned(),
            measure: measure.to_owned(),
            labels: own(labels),
            x,
            y,
            points: points.into_iter().filter(is_point).collect(),
        });
    }

    /// Adds an image in PNG with its caption.
    pub fn add_picture(&mut self, measure: &str, caption: &str, png: Vec<u8>) {
        self.results.pictures.push(Picture {
            of: self.of.to_owned(),
            measure: measure.to_owned(),
            labels: Labels::new(),
            caption: caption.to_owned(),
            png,
        });
    }

    /// Adds count, mean, the quantiles that are asked for and maximum of a distribution of
    /// latencies, in milliseconds, and where asked for its histogram; nothing of an empty one.
    pub fn add_latency(
        &mut self,
        measure: &str,
        labels: &[(&str, &str)],
        recorder: &LatencyRecorder,
        (quantiles, distribution): (&[f64], bool),
    ) {
        // The histogram is long: it is read once, for all that is asked.
        let bins = recorder.bins();
        if bins.is_empty() {
            return;
        }
        let summary = recorder.summary_of(&bins);
        let name = |number: &str| format!("{measure}.{number}");
        self.add(&name("count"), labels, summary.count as f64, "");
        self.add(&name("mean"), labels, summary.mean, "ms");
        for quantile in quantiles {
            let value = quantile_of(&bins, *quantile) / 1e6;
            let text = quantile.to_string();
            let labels = [labels, &[("quantile", text.as_str())]].concat();
            self.add(&name("quantile"), &labels, value, "ms");
        }
        self.add(&name("max"), labels, summary.max, "ms");
        if distribution {
            self.add_distribution(measure, labels, "ns", bins);
        }
    }
}

fn own(labels: &[(&str, &str)]) -> Labels {
    labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
