//! docs/reproduction: the kept report is that of the plans in experiments/ and of the stack as they
//! are now. `make reproduction` makes it again; after a change of words or of expectations that
//! takes seconds. After a change of what is measured it needs `ARGS=--anew`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use lab::engine::{Finished, journal};
use lab::experiments;
use lab::plan::{Plan, Size};
use report::markdown::{expected_cells, line};
use report::section::comparisons;
use runner::threads::run_all;

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join("docs/reproduction/README.md")).unwrap()
}

/// A fingerprint of the plan identifies its runs, the compared source a row.
#[test]
fn every_plan_is_in_the_kept_report_as_it_is_now() {
    studies::register();
    let page = page();
    let mut missing = Vec::new();
    for experiment in experiments::all() {
        let plan = Plan::parse(experiment.text, Size::Normal, None).unwrap();
        let fingerprint = format!("| {} |\n", journal::fingerprint(&plan));
        if !page.contains(&fingerprint) {
            missing.push(format!("{}: its runs, {fingerprint}", experiment.name));
        }
        let rows = comparisons(&plan, &Finished::new());
        let lacks = |cells: &String| !page.contains(&format!("| {cells} |"));
        let absent = rows.iter().map(expected_cells).filter(lacks);
        missing.extend(absent.map(|cells| format!("{}: {cells}", experiment.name)));
    }
    assert!(missing.is_empty(), "run `make reproduction`:\n{}", missing.join("\n"));
}

/// Plans whose runs take a second or less: of both protocols, of the mechanisms for thin streams
/// and of several paths' gains. A change of the stack that changes a number of theirs leaves the
/// kept report stale.
const CHEAP: [&str; 8] = [
    "fidelity/sctp",
    "fidelity/tcp",
    "rto-wlan/analysis",
    "sctp-thin/fig1-six",
    "sctp-thin/fig2",
    "sctp-thin/fig4",
    "sctp-thin/fig5",
    "sctp-thin/fig6",
];

#[test]
fn plans_that_take_seconds_give_the_numbers_of_the_kept_report() {
    studies::register();
    let page = page();
    let (mut rows, mut stale) = (0, Vec::new());
    for name in CHEAP {
        let experiment =
            experiments::all().into_iter().find(|experiment| experiment.name == name).unwrap();
        let plan = Plan::parse(experiment.text, Size::Normal, None).unwrap();
        let finished = run_all(&plan, 2).unwrap();
        for row in comparisons(&plan, &finished) {
            rows += 1;
            let line = line(&row);
            if !page.lines().any(|kept| kept == line.trim_end()) {
                stale.push(format!("{name}: {line}"));
            }
        }
    }
    assert!(rows >= 40, "{rows} rows are no control");
    assert!(stale.is_empty(), "run `make reproduction ARGS=--anew`:\n{}", stale.join(""));
}

#[test]
fn every_row_of_the_kept_report_that_is_not_the_papers_number_says_why() {
    let page = page();
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let bare: Vec<&str> = rows
        .filter(|line| {
            let ends = ["| differs |", "| same direction |", "(differs) |", "(same direction) |"];
            ends.iter().any(|end| line.ends_with(end))
        })
        .collect();
    assert!(bare.is_empty(), "{}", bare.join("\n"));
    assert!(page.contains(" same") && page.contains("| differs: "), "the page is no report");
}
