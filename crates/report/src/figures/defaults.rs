//! Figures for a plan that asks for none: the numbers that it compares with a paper, or else the
//! usual ones, over what it varies most; and distributions.

use std::collections::BTreeSet;

use super::places::numbers;
use super::{Grouped, Results};
use lab::plan::{
    AxesSection, AxisSection, FigureKind, FigureSection, Key, Names, ScaleName, ShapeName,
};

/// Numbers that say most, where there are no expectations.
const USUAL: [&str; 6] = [
    "latency.mean",
    "latency.quantile[quantile=0.99]",
    "goodput.mean",
    "frozen.share",
    "inter_arrival.deviation",
    "transfer.mean",
];
/// Figures of numbers at most.
const MOST: usize = 4;
/// Most series that a reader can distinguish.
const SERIES: usize = 8;

/// Varied keys: across, and as series.
struct Layout {
    kind: FigureKind,
    x: Option<Key>,
    by: Names,
}

pub(super) fn sections(results: &Results<'_>) -> Vec<FigureSection> {
    let layout = Layout::new(results);
    let mut sections = Vec::new();
    if layout.x.is_some() {
        let measures = measures(results).into_iter().take(MOST);
        sections.extend(measures.map(|measure| layout.section(&measure)));
    }
    let names = distributions(results).into_iter().take(MOST);
    sections.extend(names.map(|name| layout.distribution(&name)));
    sections.extend(layout.curves(results).into_iter().take(MOST));
    sections.extend(layout.galleries(results).into_iter().take(MOST));
    sections
}

impl Layout {
    fn new(results: &Results<'_>) -> Layout {
        let keys: Vec<(&str, Vec<String>)> = results
            .varied
            .iter()
            .map(|key| (*key, values(results, key)))
            .filter(|(_, values)| values.len() > 1)
            .collect();
        let by_numbers =
            keys.iter().filter(|(_, values)| values.len() > 2 && numbers(values).is_some());
        let line = by_numbers.max_by_key(|(_, values)| values.len());
        let x = line
            .or_else(|| keys.iter().max_by_key(|(_, values)| values.len()))
            .map(|(key, _)| *key);
        let mut series = 1;
        let by = keys.iter().filter(|(key, values)| {
            let fits = Some(*key) != x && series * values.len() <= SERIES;
            series *= if fits { values.len() } else { 1 };
            fits
        });
        Layout {
            by: Names(by.map(|(key, _)| (*key).to_owned()).collect()),
            kind: if line.is_some() { FigureKind::Lines } else { FigureKind::Bars },
            x: x.map(str::to_owned),
        }
    }

    fn section(&self, measure: &str) -> FigureSection {
        FigureSection {
            kind: self.kind,
            title: title_of(measure),
            caption: "Means over seeds with their 95 % intervals.".to_owned(),
            of: None,
            measure: Names(vec![measure.to_owned()]),
            names: Names::default(),
            x: self.x.clone(),
            y: None,
            by: self.by.clone(),
            cells: Default::default(),
            median_of: None,
            stacked: false,
            shape: ShapeName::Line,
            axes: AxesSection::default(),
            marks: Vec::new(),
            paper: Vec::new(),
        }
    }
}

/// Title of a figure of a measure: `latency.quantile[quantile=0.99]` is "latency, quantile 0.99".
pub(super) fn title_of(measure: &str) -> String {
    let (name, labels) = measure.split_once('[').unwrap_or((measure, ""));
    let (name, labels) = (name.replace('.', ", "), labels.trim_end_matches(']').replace(',', ", "));
    let last = name.rsplit(", ").next().unwrap_or_default();
    // A label with the name of its measure says that once.
    let labels = match labels.split_once('=') {
        Some((label, value)) if label == last => format!(" {value}"),
        Some(_) => format!(" ({})", labels.replace('=', " ")),
        None => String::new(),
    };
    format!("{name}{labels}").replace('_', " ")
}

/// The values of a swept key, in their order.
fn values(results: &Results<'_>, key: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let cells = results.cells.iter().flat_map(|(texts, _)| texts);
    let texts = cells.filter(|(name, _)| name == key).map(|(_, text)| text.clone());
    texts.filter(|text| seen.insert(text.clone())).collect()
}

fn measures(results: &Results<'_>) -> Vec<String> {
    let has = |measure: &str| {
        results.cells.iter().any(|(_, numbers)| numbers.iter().any(|one| one.name() == measure))
    };
    let mut seen = BTreeSet::new();
    let expected = results.plan.base.expectations.iter().map(|one| one.measure.clone());
    let expected: Vec<String> =
        expected.filter(|name| has(name) && seen.insert(name.clone())).collect();
    if !expected.is_empty() {
        return expected;
    }
    USUAL.into_iter().filter(|name| has(name)).map(str::to_owned).collect()
}

/// Names of distributions without labels.
fn distributions(results: &Results<'_>) -> BTreeSet<String> {
    let all = results.finished.values().flat_map(|run| &run.distributions);
    all.filter(|one| one.labels.is_empty()).map(|one| one.measure.clone()).collect()
}

impl Layout {
    fn distribution(&self, name: &str) -> FigureSection {
        let mut section = self.section(name);
        section.title = format!("{}, how it is distributed", section.title);
        section.caption =
            "All seeds together; the band is the 95 % interval over seeds.".to_owned();
        section.kind = FigureKind::Cdf;
        section.axes.y = AxisSection { scale: Some(ScaleName::Tail), ..AxisSection::default() };
        self.across_as_series(&mut section);
        section
    }

    /// Across stand the values themselves: what bars stand over are series there.
    fn across_as_series(&self, section: &mut FigureSection) {
        if let Some(x) = section.x.take().filter(|_| self.kind == FigureKind::Bars) {
            section.by.0.insert(0, x);
        }
    }

    /// Lines that begin with the same word and have the same axes stand in one figure.
    fn curves(&self, results: &Results<'_>) -> Vec<FigureSection> {
        let mut groups = Grouped::new();
        let mut seen = BTreeSet::new();
        for one in results.finished.values().flat_map(|run| &run.curves) {
            let labels: Vec<&str> = one.labels.iter().map(|(key, _)| key.as_str()).collect();
            if seen.insert((one.measure.as_str(), labels.clone())) {
                let root = one.measure.split('.').next().unwrap_or_default();
                groups
                    .add((root, one.x.to_string(), one.y.to_string(), labels), one.measure.clone());
            }
        }
        let section = |((root, .., labels), measures): (
            (&str, String, String, Vec<&str>),
            Vec<String>,
        )| {
            let mut section = self.section(root);
            section.kind = FigureKind::Curves;
            section.caption = "Means over seeds with their 95 % intervals where all runs have the same places across; else the first run.".to_owned();
            section.measure = Names(measures);
            self.across_as_series(&mut section);
            section.by.0.extend(labels.into_iter().map(str::to_owned));
            section
        };
        groups.0.into_iter().map(section).collect()
    }

    fn galleries(&self, results: &Results<'_>) -> Vec<FigureSection> {
        let mut seen = BTreeSet::new();
        let mut sections = Vec::new();
        for one in results.finished.values().flat_map(|run| &run.pictures) {
            let labels: Vec<String> = one.labels.iter().map(|(key, _)| key.clone()).collect();
            if seen.insert((one.measure.as_str(), labels.clone())) {
                let mut section = self.section(&one.measure);
                section.kind = FigureKind::Gallery;
                section.caption = "Of the first run that has them.".to_owned();
                self.across_as_series(&mut section);
                let mut labels = labels.into_iter();
                section.x = labels.next();
                section.by.0.extend(labels);
                sections.push(section);
            }
        }
        sections
    }
}
