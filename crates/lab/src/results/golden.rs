//! Results as text that is compared with what is expected, line by line.

use core::fmt::Write;

use crate::engine::Finished;
use crate::measure::rows::full_name;
use crate::plan::Plan;

/// A line for each number, in the order of the plan: `cell; seed; flows; measure[labels] = value unit`. Numbers
/// have six significant digits.
pub fn text(plan: &Plan, finished: &Finished) -> String {
    let mut text = String::new();
    for (job, results) in finished {
        let Some((cell, _)) = plan.cells.get(job.cell) else { continue };
        // Writing to a string does not fail.
        let _ = writeln!(text, "# {cell}; seed {}", job.seed);
        for row in &results.rows {
            let name = full_name(&row.measure, &row.labels);
            let line = format!("{}: {name} = {} {}", row.of, six_digits(row.value), row.unit);
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
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
