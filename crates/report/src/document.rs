//! A report with sections, figures and tables that compare a paper's numbers with ours, as one page
//! that needs no network: `web/` draws what these types say, and its `model.ts` names the same
//! fields.

mod comparison;

use serde::{Deserialize, Serialize};

pub use comparison::Comparison;
pub use results::{Arrow, Note, Role};

/// The page without a report, as `make report-page` builds it from `web/`.
const PAGE: &str = include_str!("document.html");
/// Text of the empty page that the report replaces.
const PLACEHOLDER: &str = "\"REPORT\"";

/// A whole report: its head and a section for each experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Headline in plain text.
    pub title: String,
    /// Summary of one or two sentences.
    pub about: String,
    /// Origin of the results (version, commit, plan, seeds, duration), in the order to show.
    pub provenance: Vec<Entry>,
    /// Sections in the order to show, an experiment each.
    pub sections: Vec<Section>,
}

/// A name and its value, as text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Name, shown left of the value.
    pub name: String,
    /// Text of the value, with its unit.
    pub value: String,
}

/// One experiment: usually a figure or a table of a paper.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Anchor: lower case letters, digits and hyphens.
    pub id: String,
    /// The paper it belongs to, to group the table of contents; none for a plan of one's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Headline of the section.
    pub title: String,
    /// The question, in two sentences.
    pub about: String,
    /// Figures in the order to show.
    pub figures: Vec<Figure>,
    /// The paper's numbers beside ours.
    pub comparisons: Vec<Comparison>,
    /// Settings of the runs, as names and values.
    pub parameters: Vec<Entry>,
    /// Assumptions that the paper leaves open, with their reasons.
    pub open: Vec<Entry>,
    /// Command lines that produce these numbers again.
    pub commands: Vec<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A figure. `name` is that of the files with its data and picture; `caption` describes it, also
/// for those who hear it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Figure {
    /// Points over two axes, joined or not.
    Plot {
        /// Name of its files, without the ending.
        name: String,
        /// Headline above the figure.
        title: String,
        /// Caption of the figure, a sentence.
        caption: String,
        /// The horizontal axis, with its range and scale.
        x: Axis,
        /// The vertical axis, with its range and scale.
        y: Axis,
        /// Lines, points or bars, each with its name.
        series: Vec<Series>,
        /// Values marked with a line across.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        marks: Vec<Mark>,
    },
    /// A value for each pair of places, as colours.
    HeatMap {
        /// Name of its files, without the ending.
        name: String,
        /// Headline above the figure.
        title: String,
        /// Caption of the figure, a sentence.
        caption: String,
        /// The horizontal axis, with categories.
        x: Axis,
        /// The vertical axis, with categories.
        y: Axis,
        /// Quantity that the colours stand for.
        value: Quantity,
        /// Places on both axes, and the value.
        cells: Vec<(u32, u32, f64)>,
        /// Cells that are marked, with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        marks: Vec<CellMark>,
    },
    /// Packets between two hosts as arrows; time runs downwards.
    Ladder {
        /// Name of its files, without the ending.
        name: String,
        /// Headline above the figure.
        title: String,
        /// Caption of the figure, a sentence.
        caption: String,
        /// Names of both sides, the sender's first.
        sides: [String; 2],
        /// Length of the time axis, in milliseconds.
        span_ms: f64,
        /// Packets between the sides, in the order in which they left.
        arrows: Vec<Arrow>,
        /// Events at one side, such as expired timers.
        notes: Vec<Note>,
    },
    /// Pictures in rows and columns.
    Gallery {
        /// Name of its files, without the ending.
        name: String,
        /// Headline above the figure.
        title: String,
        /// Caption of the figure, a sentence.
        caption: String,
        /// Headings of the columns, from left to right.
        columns: Vec<String>,
        /// A picture for each column.
        rows: Vec<GalleryRow>,
    },
}

/// Meaning and unit of an axis or a colour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// Name of the quantity, as shown.
    pub label: String,
    /// Unit of the numbers; none for plain numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// Range, scale and label of an axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Name of the quantity, as shown.
    pub label: String,
    /// Unit of the numbers; none for plain numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Placement of values; none is linear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// Names of the places 0, 1, 2, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<String>>,
    /// Beginning of the axis; `None` lets the data decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// End of the axis; `None` lets the data decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

impl Axis {
    /// A linear axis whose range the data decides; an empty unit is none.
    pub fn new(label: &str, unit: &str) -> Axis {
        let unit = (!unit.is_empty()).then(|| unit.to_owned());
        Axis { label: label.to_owned(), unit, ..Axis::default() }
    }
}

/// Placement of values on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal differences at equal distances.
    Linear,
    /// Equal ratios at equal distances.
    Log,
    /// Cumulative shares: 0.9, 0.99, 0.999, ... at equal steps.
    Tail,
}

/// A line, points or bars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Name, unlike all others of the figure.
    pub name: String,
    /// Lines that join its points.
    pub shape: Shape,
    /// Whether the points are the paper's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paper: bool,
    /// Points of the series, in the order in which they are joined.
    pub points: Vec<Point>,
    /// Whether the reader has to switch it on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hidden: bool,
}

impl Series {
    /// Whether it is drawn as bars, beside or upon those of others.
    pub fn is_bar(&self) -> bool {
        matches!(self.shape, Shape::Bars | Shape::Stack)
    }
}

/// Lines that join the points of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Points joined by a line.
    Line,
    /// Levels: each value holds until the next.
    Step,
    /// Marks that are not joined.
    Points,
    /// Bars beside those of other series.
    Bars,
    /// Bars upon those of other series.
    Stack,
}

/// A point: x and y, with the bounds of the confidence interval of y where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Point {
    /// A point with an interval: x, y, low, high.
    Bounded(f64, f64, f64, f64),
    /// A point without an interval: x, y.
    Plain(f64, f64),
}

/// A value marked with a line across, such as a limit of what people accept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Axis on which the position lies.
    pub axis: AxisName,
    /// Position in the axis' unit.
    pub value: f64,
    /// Text beside the line across the plot.
    pub label: String,
}

/// One of the two axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AxisName {
    /// The horizontal one, from left to right.
    X,
    /// The vertical one, upwards.
    Y,
}

/// A mark on a cell of a heat map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellMark {
    /// Place on the horizontal axis.
    pub x: u32,
    /// Place on the vertical axis.
    pub y: u32,
    /// Reason of the mark, as the legend states it.
    pub label: String,
}

/// A row of pictures with its heading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GalleryRow {
    /// Heading at the left of the row.
    pub name: String,
    /// A picture for each column.
    pub images: Vec<Image>,
}

/// A picture with its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// The picture itself, as a `data:` URL.
    pub source: String,
    /// Description for those who do not see it.
    pub alt: String,
}

impl Point {
    /// Position on the horizontal axis, in its unit.
    pub fn x(self) -> f64 {
        match self {
            Point::Bounded(x, ..) | Point::Plain(x, _) => x,
        }
    }

    /// Position on the vertical axis, in its unit.
    pub fn y(self) -> f64 {
        match self {
            Point::Bounded(_, y, ..) | Point::Plain(_, y) => y,
        }
    }

    /// Bounds of the interval around the vertical position; none without one.
    pub fn bounds(self) -> Option<(f64, f64)> {
        match self {
            Point::Bounded(_, _, low, high) => Some((low, high)),
            Point::Plain(..) => None,
        }
    }
}

impl Figure {
    /// The name of its files.
    pub fn name(&self) -> &str {
        match self {
            Figure::Plot { name, .. }
            | Figure::HeatMap { name, .. }
            | Figure::Ladder { name, .. }
            | Figure::Gallery { name, .. } => name,
        }
    }

    /// Headline above the figure.
    pub fn title(&self) -> &str {
        match self {
            Figure::Plot { title, .. }
            | Figure::HeatMap { title, .. }
            | Figure::Ladder { title, .. }
            | Figure::Gallery { title, .. } => title,
        }
    }

    /// Caption of the figure, a sentence.
    pub fn caption(&self) -> &str {
        match self {
            Figure::Plot { caption, .. }
            | Figure::HeatMap { caption, .. }
            | Figure::Ladder { caption, .. }
            | Figure::Gallery { caption, .. } => caption,
        }
    }

    /// Sets the name of its files, without the ending.
    pub fn set_name(&mut self, to: String) {
        match self {
            Figure::Plot { name, .. }
            | Figure::HeatMap { name, .. }
            | Figure::Ladder { name, .. }
            | Figure::Gallery { name, .. } => *name = to,
        }
    }
}

impl Document {
    /// The report as one self-contained page.
    pub fn to_page(&self) -> String {
        // Nothing in it can fail to serialize; what a browser would take for markup is escaped.
        let json = serde_json::to_string(self).unwrap_or_default().replace('<', "\\u003c");
        PAGE.replacen(PLACEHOLDER, &json, 1)
    }
}

/// Anchors of the sections of a page that some version of [`Document::to_page`] wrote; none where
/// the text is no such page.
pub fn sections_of_page(page: &str) -> Option<Vec<String>> {
    let (_, report) = page.split_once("<script id=\"report\" type=\"application/json\">")?;
    let mut values = serde_json::Deserializer::from_str(report).into_iter();
    let report: serde_json::Value = values.next()?.ok()?;
    let ids = report.get("sections")?.as_array()?.iter();
    ids.map(|section| section.get("id")?.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// JSON knows one kind of numbers, its values here two.
    fn as_floats(value: &mut Value) {
        match value {
            Value::Number(number) => *value = number.as_f64().into(),
            Value::Array(values) => values.iter_mut().for_each(as_floats),
            Value::Object(values) => values.values_mut().for_each(as_floats),
            _ => {}
        }
    }

    /// The report that the page's own tests show; they write it to this file.
    const SAMPLE: &str = include_str!("../../../web/tests/sample.json");

    #[test]
    fn the_report_that_the_page_is_tested_with_reads_and_writes_without_a_field_lost() {
        let document: Document = serde_json::from_str(SAMPLE).unwrap();
        assert_eq!(document.sections.iter().map(|section| section.figures.len()).sum::<usize>(), 6);
        let mut written = serde_json::to_value(&document).unwrap();
        let mut sample: Value = serde_json::from_str(SAMPLE).unwrap();
        as_floats(&mut written);
        as_floats(&mut sample);
        assert_eq!(written, sample);
    }

    #[test]
    fn a_page_holds_its_report_once_and_no_markup_of_it() {
        let document = Document {
            title: "</script><script>alert(1)</script>".to_owned(),
            ..Document::default()
        };
        let page = document.to_page();
        assert!(!page.contains(PLACEHOLDER) && !page.contains("alert(1)</script>"));
        let begin = page.find("{\"title\":").unwrap();
        let json = &page[begin..];
        let json = &json[..json.find("</script>").unwrap()];
        assert_eq!(serde_json::from_str::<Document>(json).unwrap(), document);
        assert_eq!(sections_of_page(&page), Some(Vec::new()));
    }

    #[test]
    fn a_page_tells_its_sections_and_another_file_has_none() {
        let document: Document = serde_json::from_str(SAMPLE).unwrap();
        let ids: Vec<String> = document.sections.iter().map(|one| one.id.clone()).collect();
        let page = document.to_page();
        assert!(!ids.is_empty());
        assert_eq!(sections_of_page(&page), Some(ids));
        for other in ["", "<p>my notes</p>", PAGE, &page[..page.len() - 200]] {
            assert_eq!(sections_of_page(other), None);
        }
    }
}
