//! The numbers that a figure shows, each with its place.

use std::collections::BTreeSet;

use results::Labels;

use super::Results;
use lab::plan::{FigureKind, FigureSection};

/// Keys and their values as text.
pub(super) type Texts = Vec<(String, String)>;

/// Place of something: its figure, its series there, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Swept keys that are not drawn: a figure for each combination of their values.
    pub(super) panel: Texts,
    /// The series within the figure.
    pub(super) series: SeriesKey,
    /// Value of `x`; empty where nothing stands across.
    pub(super) x: String,
    /// Value of the key `y`; empty without such a key.
    pub(super) y: String,
}

/// The values by which series differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeriesKey {
    /// Place among the measures of the figure.
    pub(super) measure: usize,
    /// Name of the group of flows, or of the link.
    pub(super) of: String,
    /// Values of the swept keys that tell series apart, in the order of the section.
    pub(super) by: Vec<String>,
}

/// Finds the numbers that a section shows.
pub(super) struct Query<'a> {
    section: &'a FigureSection,
    /// Name and given labels of each measure.
    measures: Vec<(&'a str, Texts)>,
    /// Labels that `x`, `y` and `by` name.
    open: BTreeSet<&'a str>,
    /// Swept keys that make figures of their own.
    panel: Vec<&'a str>,
}

impl<'a> Query<'a> {
    /// Query for the spots of a section of the plan in these results.
    pub(super) fn new(section: &'a FigureSection, results: &Results<'a>) -> Query<'a> {
        let swept = &results.swept;
        let drawn = || section.x.iter().chain(&section.y).chain(&section.by.0).map(String::as_str);
        let is_fixed = |key: &str| section.cells.get(key).is_some_and(|one| one.0.len() == 1);
        // Values that distinguish heat maps and the like make no series.
        let is_series = |key: &str| {
            section.kind != FigureKind::HeatMap && section.by.0.iter().any(|one| one == key)
        };
        let is_place =
            |key: &str| [&section.x, &section.y].iter().any(|one| one.as_deref() == Some(key));
        let panel = results
            .varied
            .iter()
            .copied()
            .chain(section.by.0.iter().map(String::as_str).filter(|key| !swept.contains(key)))
            .filter(|key| !is_fixed(key) && !is_series(key) && !is_place(key));
        Query {
            section,
            measures: section.measure.0.iter().map(|name| parse_name(name)).collect(),
            open: drawn().filter(|key| !swept.contains(key)).collect(),
            panel: panel.collect(),
        }
    }

    /// Place of something of a cell; none if it is not meant.
    pub(super) fn spot(
        &self,
        cell: &[(String, String)],
        of: &str,
        (measure, labels): (&str, &Labels),
    ) -> Option<Spot> {
        let section = self.section;
        let is_kept = section.cells.iter().all(|(key, values)| {
            value(cell, key).is_some_and(|text| values.0.iter().any(|one| one == text))
        });
        let is_of = section.of.as_ref().is_none_or(|names| names.0.iter().any(|one| one == of));
        let measure = self.measures.iter().position(|(name, given)| {
            *name == measure
                && given.iter().all(|label| labels.contains(label))
                && labels.len() == given.len() + self.open.len()
                && self.open.iter().all(|key| value(labels, key).is_some())
        });
        let measure = measure.filter(|_| is_kept && is_of)?;
        let text = |key: &str| value(cell, key).or_else(|| value(labels, key)).unwrap_or_default();
        let place = |key: &Option<String>| key.as_deref().map(text).unwrap_or_default().to_owned();
        let by = match section.kind {
            FigureKind::HeatMap => Vec::new(),
            _ => section.by.0.iter().map(|key| text(key).to_owned()).collect(),
        };
        Some(Spot {
            panel: self.panel.iter().map(|key| ((*key).to_owned(), text(key).to_owned())).collect(),
            series: SeriesKey { measure, of: of.to_owned(), by },
            x: place(&section.x),
            y: place(&section.y),
        })
    }
}

fn value<'a>(texts: &'a [(String, String)], key: &str) -> Option<&'a str> {
    texts.iter().find(|(name, _)| name == key).map(|(_, text)| text.as_str())
}

/// Splits `measure[key=value,key=value]` into the measure and its labels.
pub(super) fn parse_name(name: &str) -> (&str, Texts) {
    let Some((measure, labels)) = name.split_once('[') else { return (name, Vec::new()) };
    let labels = labels.trim_end_matches(']').split(',');
    let pair = |label: &str| {
        let (key, value) = label.split_once('=')?;
        Some((key.trim().to_owned(), value.trim().to_owned()))
    };
    (measure, labels.filter_map(pair).collect())
}

/// A value with its key, where the value alone is not clear: `loss 5%`, but `thin`.
pub(crate) fn told((key, text): (&str, &str)) -> String {
    let says_itself =
        text.starts_with(|c: char| c.is_alphabetic()) && text != "true" && text != "false";
    match says_itself {
        true => text.to_owned(),
        false => format!("{} {text}", last_word(key)),
    }
}

/// The last word of a dotted key, as words.
pub(super) fn last_word(key: &str) -> String {
    key.rsplit('.').next().unwrap_or(key).replace(['_', '-'], " ")
}

/// Keys and values in a line.
pub(super) fn all_told(texts: &[(String, String)]) -> String {
    let told: Vec<_> = texts.iter().map(|(key, text)| told((key, text))).collect();
    told.join(", ")
}
