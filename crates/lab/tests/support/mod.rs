//! Running plans, for the tests of what they find.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::path::Path;

use lab::engine::Finished;
use lab::plan::{Plan, Size};
use runner::threads::run_all;

/// The text of a plan, by its path from this crate.
pub(crate) fn text_of(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The small version of a plan, by its path from this crate, and its results.
pub(crate) fn results_of(file: &str) -> (Plan, Finished) {
    let plan = Plan::parse(&text_of(file), Size::Small, None).unwrap();
    let finished = run_all(&plan, 2).unwrap();
    (plan, finished)
}
