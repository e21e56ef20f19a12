//! Results as text that is compared with what is expected, line by line.

use core::fmt::Write;

use crate::engine::{ALL_SEEDS, Finished};
use crate::measure::rows::{Curve, full_name};
use crate::plan::Plan;

/// A line for each number, in the order of the plan: `flows: measure[labels] = value unit` under `# cell; seed`.
/// Numbers have six significant digits. A curve is a line with its number of points, its last one and their
/// mean; a picture one with its caption.
pub fn text(plan: &Plan, finished: &Finished) -> String {
    let mut text = String::new();
    for (job, results) in finished {
        let Some((cell, _)) = plan.cells.get(job.cell) else { continue };
        // Writing to a string does not fail.
        let _ = match job.seed {
            ALL_SEEDS => writeln!(text, "# {cell}; all seeds"),
            seed => writeln!(text, "# {cell}; seed {seed}"),
        };
        for row in &results.rows {
            let name = full_name(&row.measure, &row.labels);
            let line = format!("{}: {name} = {} {}", row.of, six_digits(row.value), row.unit);
            let _ = writeln!(text, "{}", line.trim_end());
        }
        results.curves.iter().for_each(|one| text.push_str(&curve(one)));
        for picture in &results.pictures {
            let name = full_name(&picture.measure, &picture.labels);
            let _ = writeln!(text, "{}: {name} shows {}", picture.of, picture.caption);
        }
    }
    text
}

fn curve(curve: &Curve) -> String {
    let name = full_name(&curve.measure, &curve.labels);
    let count = curve.points.len();
    let mean = curve.points.iter().map(|(_, y)| y).sum::<f64>() / count.max(1) as f64;
    let (x, y) = curve.points.last().copied().unwrap_or_default();
    format!(
        "{}: {name} has {count} points, at {} {}, on average {}\n",
        curve.of,
        six_digits(x),
        six_digits(y),
        six_digits(mean)
    )
}

/// Six significant digits, without the zeros behind.
pub fn six_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let text = format!("{value:.5e}");
    // The shortest text that reads back what the digits say.
    text.parse::<f64>().map_or(text, |rounded| rounded.to_string())
}
