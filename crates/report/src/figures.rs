//! Figures of a report from a plan's results: those that it asks for in `[[figure]]`, or sensible
//! ones.

mod defaults;
mod distributions;
mod given;
mod places;
mod rows;
mod spot;
#[cfg(test)]
mod tests;
mod units;

use results::Series;

use crate::document::{AxisName, Figure, Mark};
use lab::engine::Finished;
use lab::plan::{FigureKind, FigureSection, Plan};
use lab::statistics;

pub(super) use spot::told;
use spot::{Texts, all_told};

/// Most figures of one `[[figure]]`, one for each value of the keys that it does not draw.
const LARGEST_FAMILY: usize = 24;

/// Runs of which an interval says something; fewer have one that dwarfs all it is around.
const FEWEST_RUNS: usize = 3;

/// The figures of a plan's results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Figures in the order of the plan.
    pub figures: Vec<Figure>,
    /// Requests of a `[[figure]]` that the results cannot meet.
    pub problems: Vec<String>,
}

/// Results of a plan as figures need them.
struct Results<'a> {
    plan: &'a Plan,
    finished: &'a Finished,
    /// Keys and numbers of each cell.
    cells: Vec<(Texts, Vec<Series>)>,
    /// Keys that the plan varies.
    swept: Vec<&'a str>,
    /// Keys that have several values.
    varied: Vec<&'a str>,
}

/// Draws the figures of the plan; `name` begins the names of their files.
pub fn figures(plan: &Plan, finished: &Finished, name: &str) -> Figures {
    let cells = plan.cells.iter().enumerate();
    let cells: Vec<_> = cells
        .map(|(place, (cell, _))| (cell.texts(), statistics::series(finished, place)))
        .collect();
    let keys = plan.cells.first().map_or(&[][..], |(cell, _)| &cell.0);
    let swept: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
    let is_varied = |place: &usize| {
        let value = |cell: &(lab::plan::Cell, lab::plan::CellPlan)| cell.0.0.get(*place).cloned();
        plan.cells.windows(2).any(|pair| value(&pair[0]) != value(&pair[1]))
    };
    let varied = (0..swept.len()).filter(is_varied).map(|place| swept[place]).collect();
    let results = Results { plan, finished, cells, swept, varied };
    let mut drawn = Figures::default();
    let own = if plan.base.figures.is_empty() { defaults::sections(&results) } else { Vec::new() };
    for section in plan.base.figures.iter().chain(&own) {
        results.draw(section, name, &mut drawn);
    }
    drawn
}

impl Results<'_> {
    fn draw(&self, section: &FigureSection, name: &str, drawn: &mut Figures) {
        let mut panels: Vec<Figure> = match section.kind {
            FigureKind::Lines | FigureKind::Bars => rows::plots(self, section),
            FigureKind::HeatMap => rows::heat_maps(self, section),
            FigureKind::Cdf | FigureKind::Ccdf => distributions::plots(self, section),
            FigureKind::Curves => given::curves(self, section),
            FigureKind::Gallery => given::galleries(self, section),
            FigureKind::Ladder => given::ladders(self, section),
        };
        let mut problem =
            |what: String| drawn.problems.push(format!("figure \"{}\": {what}", section.title));
        if panels.is_empty() && !self.leaves_out(section) {
            problem(format!("nothing here has {}", section.measure.0.join(" or ")));
        }
        if panels.len() > LARGEST_FAMILY {
            problem(format!(
                "it would be {} figures; the first {LARGEST_FAMILY} are shown. Name keys in where, x or by",
                panels.len()
            ));
            panels.truncate(LARGEST_FAMILY);
        }
        for mut figure in panels {
            figure.set_name(format!("{name}-{}", drawn.figures.len() + 1));
            drawn.figures.push(figure);
        }
    }
}

impl Results<'_> {
    /// Whether none of the section's cells are in this size of the plan.
    fn leaves_out(&self, section: &FigureSection) -> bool {
        section.cells.iter().any(|(key, values)| {
            let has = |(name, text): &(String, String)| name == key && values.0.contains(text);
            !self.cells.iter().any(|(cell, _)| cell.iter().any(has))
        })
    }
}

/// A figure's headline: that of its section, and the panel's values.
fn title(section: &FigureSection, panel: &[(String, String)]) -> String {
    match panel {
        [] => section.title.clone(),
        panel => format!("{} ({})", section.title, all_told(panel)),
    }
}

fn marks(section: &FigureSection) -> Vec<Mark> {
    let mark = |one: &lab::plan::MarkSection| Mark {
        axis: match one.axis {
            lab::plan::MarkAxis::X => AxisName::X,
            lab::plan::MarkAxis::Y => AxisName::Y,
        },
        value: one.value,
        label: one.label.clone(),
    };
    section.marks.iter().map(mark).collect()
}

/// Things by key, in the order in which the keys came.
struct Grouped<K, V>(Vec<(K, Vec<V>)>);

impl<K: PartialEq, V> Grouped<K, V> {
    fn new() -> Grouped<K, V> {
        Grouped(Vec::new())
    }

    fn add(&mut self, key: K, value: V) {
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => self.0.push((key, vec![value])),
        }
    }
}

/// Six significant digits: more than can be seen, and short to write down.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
