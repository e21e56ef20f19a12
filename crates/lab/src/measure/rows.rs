//! Tidy results: a number, a histogram, a curve, a picture or a ladder, each with its name and labels.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::report::document::{Arrow, Note};

/// What tells apart the numbers of one measure: `order=1`, `quantile=0.99`.
pub type Labels = Vec<(String, String)>;

/// A unit; empty for a plain number.
pub type Unit = Cow<'static, str>;

/// One number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the group of flows, of the link, or of the study.
    pub of: String,
    /// Name of the measure.
    pub measure: String,
    /// Its labels.
    pub labels: Labels,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

/// A histogram: how often each value came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Name of the group of flows.
    pub of: String,
    /// Name of the measure.
    pub measure: String,
    /// Its labels.
    pub labels: Labels,
    /// Unit of the values.
    pub unit: Unit,
    /// Value and count, by increasing value.
    pub bins: Vec<(u64, u64)>,
}

/// What an axis shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantity {
    /// Its meaning.
    pub label: Unit,
    /// Its unit.
    pub unit: Unit,
}

/// A line of a figure: something over time, or over whatever else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Name of the group of flows, of the link, or of the study.
    pub of: String,
    /// Name of the measure.
    pub measure: String,
    /// Its labels.
    pub labels: Labels,
    /// Across.
    pub x: Quantity,
    /// Upwards.
    pub y: Quantity,
    /// In the order in which they are joined.
    pub points: Vec<(f64, f64)>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// Name of the study.
    pub of: String,
    /// Name of the measure.
    pub measure: String,
    /// Its labels.
    pub labels: Labels,
    /// What is to be seen.
    pub caption: String,
    /// The file, PNG.
    #[serde(with = "hex")]
    pub png: Vec<u8>,
}

/// Who sent what when in a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// Name of the group of flows.
    pub of: String,
    /// Name of the measure.
    pub measure: String,
    /// Its labels.
    pub labels: Labels,
    /// How long it lasts, in milliseconds.
    pub span_ms: f64,
    /// Packets, in the order in which they left: from the sender (0) or the receiver (1).
    pub arrows: Vec<Arrow>,
    /// What happened at either.
    pub notes: Vec<Note>,
}

mod flows;
mod group;
mod hex;
mod streams;

pub use flows::flow_rows;
pub use group::group_rows;

use crate::metrics::LatencyRecorder;

/// What a run gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Numbers.
    pub rows: Vec<Row>,
    /// Histograms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<Distribution>,
    /// Lines of figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// Pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
    /// Conversations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ladders: Vec<Ladder>,
}

/// Adds what belongs to one group of flows, or to a study.
pub struct Sheet<'a> {
    results: &'a mut Results,
    of: &'a str,
}

impl Results {
    /// For the rows of `of`.
    pub fn sheet<'a>(&'a mut self, of: &'a str) -> Sheet<'a> {
        Sheet { results: self, of }
    }

    /// The value of the first row of a measure with all of these labels.
    pub fn value(&self, measure: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |row: &Row, (key, value): &(&str, &str)| {
            row.labels.iter().any(|(name, text)| name == key && text == value)
        };
        let fits =
            |row: &&Row| row.measure == measure && labels.iter().all(|label| has(row, label));
        self.rows.iter().find(fits).map(|row| row.value)
    }
}

impl Row {
    /// A row without labels.
    pub fn new(of: &str, measure: &str, value: f64, unit: &'static str) -> Row {
        Row {
            of: of.to_owned(),
            measure: measure.to_owned(),
            labels: Labels::new(),
            value,
            unit: Cow::Borrowed(unit),
        }
    }
}

impl Quantity {
    /// Of a meaning and a unit.
    pub const fn new(label: &'static str, unit: &'static str) -> Quantity {
        Quantity { label: Cow::Borrowed(label), unit: Cow::Borrowed(unit) }
    }
}

impl core::fmt::Display for Quantity {
    /// `time (s)`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.unit.is_empty() {
            true => f.write_str(&self.label),
            false => write!(f, "{} ({})", self.label, self.unit),
        }
    }
}

impl Sheet<'_> {
    /// Adds a number; one that is none is left out.
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

    /// Adds a curve; points that are none are left out.
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

    /// Adds a picture.
    pub fn add_picture(&mut self, measure: &str, caption: &str, png: Vec<u8>) {
        self.results.pictures.push(Picture {
            of: self.of.to_owned(),
            measure: measure.to_owned(),
            labels: Labels::new(),
            caption: caption.to_owned(),
            png,
        });
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
