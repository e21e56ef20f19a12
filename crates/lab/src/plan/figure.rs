//! `[[figure]]`: a figure of the report.

use core::fmt;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::error::PlanError;
use super::sweep::Key;
use super::sweep::value_text;
use crate::text::Names;
use crate::toml_text::plain;

/// A figure of a plan's report. There is one figure for each value of a swept key that the section
/// neither fixes nor draws.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSection {
    /// Form in which the section draws its values: lines, bars, a heat map, and so on.
    pub kind: FigureKind,
    /// Headline above the figure.
    pub title: String,
    /// Caption of the figure, a sentence.
    #[serde(default)]
    pub caption: String,
    /// Flows or links, each a series; everything that has the measure unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// Names of what is drawn, each a series: a row with its labels (`latency.mean[order=1]`)
    /// except those that `x`, `y` or `by` name; a distribution, a curve or a picture.
    pub measure: Names,
    /// Names of the measures as shown, in their order; the measures' own unless given.
    #[serde(default)]
    pub names: Names,
    /// The horizontal axis: a swept key, or a label's name.
    #[serde(default)]
    pub x: Option<Key>,
    /// The vertical axis of a heat map.
    #[serde(default)]
    pub y: Option<Key>,
    /// A series for each combination of the values of these keys and labels.
    #[serde(default)]
    pub by: Names,
    /// Restricts swept keys to these values.
    #[serde(default, rename = "where")]
    pub cells: BTreeMap<Key, Values>,
    /// Chooses the run that a gallery shows: the seed whose mean of this number over the cells
    /// shown is the median of all seeds (the lower of two, the first of equals). The first seed
    /// unless given.
    #[serde(default)]
    pub median_of: Option<String>,
    /// Whether bars are stacked instead of side by side.
    #[serde(default)]
    pub stacked: bool,
    /// Lines that join the points of lines and curves.
    #[serde(default)]
    pub shape: ShapeName,
    /// Ranges, scales and labels of the axes.
    #[serde(default)]
    pub axes: AxesSection,
    /// Lines across the figure at a value.
    #[serde(default)]
    pub marks: Vec<MarkSection>,
    /// Points from the paper's text.
    #[serde(default)]
    pub paper: Vec<PaperSeries>,
}

/// Form of a figure, which determines the keys of its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// Means of rows over a key or a label, joined by lines.
    Lines,
    /// Means of rows as bars.
    Bars,
    /// Cumulative distribution: the share at or below each value.
    Cdf,
    /// Complementary distribution: the share above each value, on a logarithmic scale.
    Ccdf,
    /// Means of rows as colours over two keys or labels.
    HeatMap,
    /// Curves of a run, over time or another quantity.
    Curves,
    /// Pictures that a study drew in a run.
    Gallery,
    /// Sequence of packets between two hosts.
    Ladder,
}

impl FigureKind {
    fn needs_x(self) -> bool {
        matches!(self, FigureKind::Lines | FigureKind::Bars | FigureKind::HeatMap)
    }

    /// Whether the figure has two axes, on which values can be marked.
    fn has_axes(self) -> bool {
        !matches!(self, FigureKind::Gallery | FigureKind::Ladder | FigureKind::HeatMap)
    }
}

impl fmt::Display for FigureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FigureKind::Lines => "lines",
            FigureKind::Bars => "bars",
            FigureKind::Cdf => "cdf",
            FigureKind::Ccdf => "ccdf",
            FigureKind::HeatMap => "heat-map",
            FigureKind::Curves => "curves",
            FigureKind::Gallery => "gallery",
            FigureKind::Ladder => "ladder",
        })
    }
}

/// Line through the points of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShapeName {
    /// Straight lines between the points.
    #[default]
    Line,
    /// Each value holds until the next.
    Step,
    /// Points alone, without a line.
    Points,
}

/// One value of a key or several, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values(pub Vec<String>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Values, D::Error> {
        Ok(match toml::Value::deserialize(from)? {
            toml::Value::Array(values) => Values(values.iter().map(value_text).collect()),
            one => Values(vec![value_text(&one)]),
        })
    }
}

/// The axes of a figure. Settings that are missing follow from the data.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxesSection {
    /// Horizontal axis: label, unit, scale and range.
    #[serde(default)]
    pub x: AxisSection,
    /// Vertical axis: label, unit, scale and range.
    #[serde(default)]
    pub y: AxisSection,
    /// Quantity of the colours of a heat map.
    #[serde(default)]
    pub value: AxisSection,
}

/// `axes.x` or `axes.y`: range, scale and label of an axis.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisSection {
    /// Name beside the axis; the usual one unless given.
    #[serde(default)]
    pub label: Option<String>,
    /// Unit to which values are converted.
    #[serde(default)]
    pub unit: Option<String>,
    /// Linear, logarithmic or for tails; chosen by the figure's kind unless given.
    #[serde(default)]
    pub scale: Option<ScaleName>,
    /// Least value shown, in the axis' unit; chosen by the data unless given.
    #[serde(default)]
    pub min: Option<f64>,
    /// Largest value shown, in the axis' unit; chosen by the data unless given.
    #[serde(default)]
    pub max: Option<f64>,
}

/// Placement of values on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleName {
    /// Equal differences at equal distances.
    Linear,
    /// Equal ratios at equal distances.
    Log,
    /// Shares: 0.9, 0.99, 0.999 at equal distances.
    Tail,
}

/// A line across the figure at a value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkSection {
    /// The axis that the line crosses.
    pub axis: MarkAxis,
    /// Position in the axis' unit.
    pub value: f64,
    /// Text shown beside the line.
    pub label: String,
}

/// The axis that a mark refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkAxis {
    /// The line goes up from a value of the axis across.
    X,
    /// The line goes across at a value of the axis upwards.
    Y,
}

/// Points from the paper's text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperSeries {
    /// Name of the series in the legend.
    pub name: String,
    /// Horizontal places and values, in the units of the axes.
    pub points: Vec<(Place, f64)>,
}

/// A place on an axis: a number, or the name of a category.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A number on a numeric axis.
    Number(f64),
    /// One of the key's values.
    Name(String),
}

impl Place {
    /// The number of a place on a numeric axis.
    pub fn number(&self) -> Option<f64> {
        match self {
            Place::Number(number) => Some(*number),
            Place::Name(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Place, D::Error> {
        match toml::Value::deserialize(from)? {
            toml::Value::Integer(number) => Ok(Place::Number(number as f64)),
            toml::Value::Float(number) => Ok(Place::Number(number)),
            toml::Value::String(name) => Ok(Place::Name(name)),
            other => Err(D::Error::custom(format!(
                "{} is no place on an axis; give a number or a value of the key in x",
                plain(&other)
            ))),
        }
    }
}

impl FigureSection {
    /// Checks the section against the varied keys.
    pub(super) fn check(&self, lists: &BTreeMap<Key, Vec<toml::Value>>) -> Result<(), PlanError> {
        self.check_kind()
            .and_then(|()| self.check_keys(lists))
            .map_err(|what| PlanError::new(format!("figure \"{}\": {what}", self.title)))
    }

    fn check_kind(&self) -> Result<(), String> {
        let kind = self.kind;
        if self.measure.0.is_empty() {
            return Err("measure names nothing; give one such as \"latency.mean\"".to_owned());
        }
        let (named, measures) = (self.names.0.len(), self.measure.0.len());
        if named != 0 && named != measures {
            return Err(format!(
                "names has {named}, measure {measures}: give each measure a name, or none"
            ));
        }
        if kind.needs_x() && self.x.is_none() {
            return Err(format!(
                "{kind} needs x: a swept key or the name of a label of the measure"
            ));
        }
        if (kind == FigureKind::HeatMap) != self.y.is_some() {
            return Err(match kind {
                FigureKind::HeatMap => "a heat-map needs y, as it needs x".to_owned(),
                _ => format!("y is for heat maps; {kind} have the measure upwards"),
            });
        }
        if self.median_of.is_some() && kind != FigureKind::Gallery {
            return Err(format!("median_of chooses the run of a gallery; this has kind {kind}"));
        }
        if self.stacked && kind != FigureKind::Bars {
            return Err(format!("stacked is for bars; this has {kind}"));
        }
        if self.shape != ShapeName::Line && !matches!(kind, FigureKind::Lines | FigureKind::Curves)
        {
            return Err(format!("shape is for lines and curves; this has kind {kind}"));
        }
        let needs_axes = !self.marks.is_empty() || !self.paper.is_empty();
        if needs_axes && !kind.has_axes() {
            return Err(format!("marks and paper need two axes of numbers; this has kind {kind}"));
        }
        match self.paper.iter().find(|one| one.points.is_empty()) {
            Some(one) => Err(format!("paper \"{}\" has no points", one.name)),
            None => Ok(()),
        }
    }

    /// Keys have a dot and are swept; a name without a dot is a label, known only from results.
    fn check_keys(&self, lists: &BTreeMap<Key, Vec<toml::Value>>) -> Result<(), String> {
        let drawn: Vec<&Key> = self.x.iter().chain(&self.y).chain(&self.by.0).collect();
        for (place, key) in drawn.iter().enumerate() {
            if drawn[..place].contains(key) {
                return Err(format!("\"{key}\" stands twice in x, y and by"));
            }
        }
        let is_missing = |key: &&Key| key.contains('.') && !lists.contains_key(*key);
        let mut keys = drawn.into_iter().filter(is_missing);
        let missing =
            keys.next().or_else(|| self.cells.keys().find(|key| !lists.contains_key(*key)));
        if let Some(key) = missing {
            let known: Vec<_> = lists.keys().map(|key| format!("\"{key}\"")).collect();
            return Err(format!(
                "[sweep] does not vary \"{key}\"; it varies {}",
                if known.is_empty() { "nothing".to_owned() } else { known.join(", ") }
            ));
        }
        match self.cells.iter().find(|(_, values)| values.0.is_empty()) {
            Some((key, _)) => Err(format!("where \"{key}\" has no value")),
            None => Ok(()),
        }
    }
}
