//! Results as text that is compared with expected text, line by line.

use core::fmt::Write;

use results::{Curve, Ladder, full_name};

use super::by_cell;
use crate::engine::Finished;
use crate::plan::Plan;

/// A line for each number, in the order of the plan: `flows: measure[labels] = value unit` under
/// `# cell; seed`. Numbers have six significant digits. A curve is one line with its number of
/// points, its last point and their mean; a picture is one line with its caption; a ladder has a
/// line for each packet and note.
pub fn text(plan: &Plan, finished: &Finished) -> String {
    let mut text = String::new();
    for (cell, seed, results) in by_cell(plan, finished) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# {cell}; seed {seed}");
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
        results.ladders.iter().for_each(|one| text.push_str(&ladder(one)));
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

fn ladder(ladder: &Ladder) -> String {
    let name = format!("{}: {}", ladder.of, full_name(&ladder.measure, &ladder.labels));
    let arrows = ladder.arrows.iter().map(|one| {
        let fate = one.arrived_ms.map_or("lost".to_owned(), |at| format!("at {}", six_digits(at)));
        format!(
            "{name} {} {} {}, {fate}\n",
            six_digits(one.sent_ms),
            Ladder::side(one.from),
            one.label
        )
    });
    let notes = ladder.notes.iter().map(|one| {
        format!("{name} {} {}: {}\n", six_digits(one.at_ms), Ladder::side(one.side), one.label)
    });
    arrows.chain(notes).collect()
}

/// Six significant digits, without trailing zeros.
pub fn six_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let text = format!("{value:.5e}");
    // The shortest text with the same six digits.
    text.parse::<f64>().map_or(text, |rounded| rounded.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_numbers_have_six_digits() {
        for (value, text) in
            [(0.0, "0"), (1234567.0, "1234570"), (0.000123456789, "0.000123457"), (-1.5, "-1.5")]
        {
            assert_eq!(six_digits(value), text);
        }
    }
}
