//! Tidy results: a number, a histogram, a curve, a picture or a ladder, each with its name and
//! labels.

mod hex;
mod ladder;
mod sheet;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use ladder::{Arrow, Ladder, Note, Role};
pub use sheet::Sheet;

/// Labels that distinguish numbers of one measure: `order=1`, `quantile=0.99`.
pub type Labels = Vec<(String, String)>;

/// A unit; empty for a plain number.
pub type Unit = Cow<'static, str>;

/// One number with its measure, labels and unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the group of flows, of the link, or of the study.
    pub of: String,
    /// Name of the measure, such as `latency.mean`.
    pub measure: String,
    /// Labels that distinguish results of one measure.
    pub labels: Labels,
    /// Value of the row, in its unit.
    pub value: f64,
    /// Unit of the number; empty for a plain number.
    pub unit: Unit,
}

/// A histogram: how often each value came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Name of the group of flows.
    pub of: String,
    /// Name of the measure that recorded it.
    pub measure: String,
    /// Labels that distinguish results of one measure.
    pub labels: Labels,
    /// Unit of the values in `bins`.
    pub unit: Unit,
    /// Value and count, by increasing value.
    pub bins: Vec<(u64, u64)>,
}

/// Meaning and unit of an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantity {
    /// Name of the quantity, as the axis shows it.
    pub label: Unit,
    /// Unit of the number; empty for a plain number.
    pub unit: Unit,
}

/// A line of a figure: a quantity over time or over another quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Name of the group of flows, of the link, or of the study.
    pub of: String,
    /// Name of the measure that computed it.
    pub measure: String,
    /// Labels that distinguish results of one measure.
    pub labels: Labels,
    /// Quantity on the horizontal axis.
    pub x: Quantity,
    /// Quantity on the vertical axis.
    pub y: Quantity,
    /// Points in the order in which they are joined.
    pub points: Vec<(f64, f64)>,
}

/// An image that a study drew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// Name of the study that drew it.
    pub of: String,
    /// Name under which the study wrote it.
    pub measure: String,
    /// Labels that distinguish results of one measure.
    pub labels: Labels,
    /// Caption of the picture, a sentence.
    pub caption: String,
    /// Content of the PNG file; in JSON hexadecimal.
    #[serde(with = "hex")]
    pub png: Vec<u8>,
}

/// All results of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Single numbers, each with its measure and labels.
    pub rows: Vec<Row>,
    /// Histograms of whole distributions, for figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<Distribution>,
    /// Curves over a quantity, for figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// Images that a study drew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
    /// Packets of a conversation over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ladders: Vec<Ladder>,
}

impl Results {
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
    /// A row without labels, whose value is in `unit`.
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
    /// A quantity with its meaning and unit.
    pub const fn new(label: &'static str, unit: &'static str) -> Quantity {
        Quantity { label: Cow::Borrowed(label), unit: Cow::Borrowed(unit) }
    }
}

impl core::fmt::Display for Quantity {
    /// The quantity as a label: `time (s)`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.unit.is_empty() {
            true => f.write_str(&self.label),
            false => write!(f, "{} ({})", self.label, self.unit),
        }
    }
}

/// `measure[key=value,key=value]`, as plans write it.
pub fn full_name(measure: &str, labels: &Labels) -> String {
    match labels.is_empty() {
        true => measure.to_owned(),
        false => format!("{measure}[{}]", label_texts(labels).join(",")),
    }
}

/// Text `key=value` for each label, in their order.
pub fn label_texts(labels: &Labels) -> Vec<String> {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect()
}
