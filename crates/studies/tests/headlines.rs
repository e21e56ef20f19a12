//! The papers' headlines with `latency` beside the papers' own modifications: the plans that
//! docs/policies.md names.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use lab::engine::Finished;
use lab::plan::{Plan, Size};
use lab::verdict::{Word, judge};
use runner::threads::run_all;

fn plan(name: &str) -> Plan {
    studies::register();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/headline-{name}.toml"));
    Plan::parse(&std::fs::read_to_string(path).unwrap(), Size::Small, None).unwrap()
}

/// The mean over seeds of a measure in the cell whose text contains `cell`.
fn mean(plan: &Plan, finished: &Finished, cell: &str, measure: &str) -> f64 {
    let place = plan.cells.iter().position(|(labels, _)| format!("{labels:?}").contains(cell));
    let place = place.unwrap();
    let of_cell = finished.iter().filter(|(job, _)| job.cell == place);
    results::mean(of_cell.filter_map(|(_, results)| results.value(measure, &[])))
}

#[test]
fn the_plans_can_be_read() {
    for name in ["game", "tank", "anarchy", "pictures"] {
        assert!(!plan(name).base.expectations.is_empty(), "{name}");
    }
}

#[test]
fn tanks_are_seen_as_early_with_latency_as_with_the_papers_modifications() {
    let plan = plan("tank");
    let finished = run_all(&plan, 2).unwrap();
    let prompt = |policy: &str| mean(&plan, &finished, policy, "latency.prompt");
    let (paper, latency, before) = (prompt("paper"), prompt("\"latency\""), prompt("unmodified"));
    assert!(latency > paper - 1.0, "{latency} and {paper} %");
    assert!(latency > before + 5.0, "{latency} and {before} %");
    let verdicts = judge(&plan, &finished);
    assert!(verdicts.iter().all(|verdict| verdict.agreement != Word::NotMeasured));
}
