//! The plans of Petlund et al. (2009) whose times can be computed in advance, to the nanosecond:
//! where the figure of the paper is a drawing, and where six losses in a row make 67 s.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use lab::engine::run_all;
use lab::plan::{Plan, Size};

/// Delay from a message to the receiver.
const ONE_WAY: f64 = 50.0;
/// Time from a message to its answer, in ms.
const ROUND_TRIP: f64 = 100.0;

/// The longest latency of each cell of a plan, ms, by the text of the cell.
fn longest(name: &str) -> BTreeMap<String, f64> {
    let path = format!("{}/../../experiments/sctp-thin/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let plan = Plan::parse(&std::fs::read_to_string(path).unwrap(), Size::Normal, None).unwrap();
    let finished = run_all(&plan).unwrap().into_iter();
    let longest = finished.map(|(job, results)| {
        (plan.cells[job.cell].0.to_string(), results.value("latency.max", &[]).unwrap())
    });
    longest.collect()
}

/// The value of the only cell whose text ends with this.
fn of(cells: &BTreeMap<String, f64>, part: &str) -> f64 {
    let mut found = cells.iter().filter(|(cell, _)| cell.ends_with(part));
    let one = found.next().unwrap_or_else(|| panic!("{part} of {cells:?}"));
    assert!(found.next().is_none(), "{part} of {cells:?}");
    *one.1
}

#[test]
fn six_losses_in_a_row_take_63_timeouts_or_6_linear_ones() {
    let cells = longest("fig1-six");
    assert_eq!(of(&cells, "lksctp"), 63.0 * 1000.0 + ONE_WAY);
    assert_eq!(of(&cells, "67 s / 63"), 63.0 * 1063.0 + ONE_WAY, "67 s");
    assert_eq!(of(&cells, "mod exp bo"), 6.0 * 1000.0 + ONE_WAY);
    // After four samples of 100 ms RTTVAR is so small that the timeout is the least one, 200 ms.
    assert_eq!(of(&cells, "all mods"), 6.0 * 200.0 + ONE_WAY);
    assert_eq!(of(&cells, "thin-paper"), 6.0 * 200.0 + ONE_WAY);
}

#[test]
fn three_reports_come_before_the_timer_of_a_thick_stream_and_after_that_of_a_thin_one() {
    let cells = longest("fig2");
    assert_eq!(of(&cells, " 50ms"), 3.0 * 50.0 + ROUND_TRIP + ONE_WAY);
    assert_eq!(of(&cells, "500ms"), 1000.0 + ONE_WAY);
}

#[test]
fn timeouts_in_a_row_double_or_do_not() {
    let cells = longest("fig5");
    assert_eq!(of(&cells, "lksctp"), f64::from(1 + 2 + 4 + 8) * 1000.0 + ONE_WAY);
    assert_eq!(of(&cells, "mod exp bo"), 4.0 * 1000.0 + ONE_WAY);
}

#[test]
fn a_fast_retransmission_leaves_upon_the_first_report_or_the_third() {
    let cells = longest("fig6");
    assert_eq!(of(&cells, "lksctp"), 3.0 * 250.0 + ROUND_TRIP + ONE_WAY);
    assert_eq!(of(&cells, "mod FR"), 250.0 + ROUND_TRIP + ONE_WAY);
}
