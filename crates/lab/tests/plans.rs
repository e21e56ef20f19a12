//! The plans in experiments/: all can be read, and their small versions give what golden/ says, to
//! the last digit shown. After a change of behaviour on purpose, `THINSTREAM_BLESS=1 cargo test -p
//! thinstream-lab --test plans` rewrites golden/: the diff shows what changed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lab::engine::{Finished, conclude};
use lab::plan::{Plan, Size, Subject};
use lab::stored::golden;
use report::figures::figures;
use results::{Labels, full_name};
use runner::threads::run_all;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Paths of all plans below experiments/.
fn plans() -> Vec<PathBuf> {
    files("experiments", "toml")
}

/// Paths of all files below a folder with this ending.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut folders = vec![root().join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Plans without numbers and numbers without a plan are both errors, except while new plans get
/// their numbers.
#[test]
fn every_plan_has_golden_numbers_and_no_other_has() {
    if std::env::var_os("THINSTREAM_BLESS").is_some() {
        return;
    }
    let plans: BTreeSet<String> = plans().iter().map(|path| name(path)).collect();
    let golden = files("golden", "txt");
    let golden = golden.iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    assert_eq!(plans, golden.collect());
}

fn name(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name).unwrap().to_string_lossy();
    format!("{folder}-{}", path.file_stem().unwrap().to_string_lossy())
}

#[test]
fn every_plan_can_be_read_in_every_size() {
    studies::register();
    for path in plans() {
        let text = runner::plan_file::read(&path).unwrap();
        for size in [Size::Normal, Size::Full, Size::Small] {
            let plan = Plan::parse(&text, size, None);
            let plan = plan.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let folder = path.parent().and_then(Path::file_name).unwrap().to_str().unwrap();
            assert!(!plan.base.about.is_empty(), "{}", path.display());
            let paper = plan.base.paper.as_deref();
            let is_ours = ["defaults", "multihoming", "streams"].contains(&folder);
            assert!(paper == Some(folder) || is_ours, "{}", path.display());
        }
    }
}

#[test]
fn small_versions_give_the_golden_numbers() {
    studies::register();
    let bless = std::env::var_os("THINSTREAM_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in plans() {
        let text = runner::plan_file::read(&path).unwrap();
        let plan = Plan::parse(&text, Size::Small, None).unwrap();
        let mut finished = run_all(&plan, 2).unwrap();
        conclude(&plan, &mut finished);
        wrong.extend(unmeasured(&plan, &finished).map(|what| format!("{}: {what}", name(&path))));
        wrong.extend(ambiguous(&plan, &finished).map(|what| format!("{}: {what}", name(&path))));
        wrong.extend(undrawn(&plan, &finished).map(|what| format!("{}: {what}", name(&path))));
        let here = golden::text(&plan, &finished);
        let file = root().join("golden").join(format!("{}.txt", name(&path)));
        if bless {
            fs::write(&file, &here).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if let Some(line) = first_difference(&expected, &here) {
            wrong.push(format!("{}: {line}", name(&path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Expectations about something that no run measures. What is rare may be missing from a small
/// version: so values of labels do not matter, their keys do.
fn unmeasured<'a>(plan: &'a Plan, finished: &Finished) -> impl Iterator<Item = String> + 'a {
    let shape = |measure: &str, keys: Vec<&str>| format!("{measure}[{}]", keys.join(","));
    let rows = finished.values().flat_map(|results| &results.rows);
    let known: BTreeSet<String> = rows
        .map(|row| shape(&row.measure, row.labels.iter().map(|(key, _)| key.as_str()).collect()))
        .collect();
    plan.base.expectations.iter().map(|one| one.measure.as_str()).filter_map(move |measure| {
        let (name, labels) = measure.split_once('[').unwrap_or((measure, ""));
        let labels = labels.trim_end_matches(']').split(',');
        let keys = labels.filter_map(|label| label.split_once('=')).map(|(key, _)| key).collect();
        (!known.contains(&shape(name, keys))).then(|| format!("nothing measures {measure}"))
    })
}

/// Expectations that do not say of whom, where several flows or links have the measure: their mean
/// belongs to none.
fn ambiguous<'a>(plan: &'a Plan, finished: &'a Finished) -> impl Iterator<Item = String> + 'a {
    let unsaid = plan.base.expectations.iter().filter(|one| one.of.is_none());
    unsaid.filter_map(|one| {
        let rows = finished.values().flat_map(|results| &results.rows);
        let have = rows.filter(|row| full_name(&row.measure, &row.labels) == one.measure);
        let of: BTreeSet<&str> = have.map(|row| row.of.as_str()).collect();
        (of.len() > 1).then(|| format!("{} is of {of:?}: say of whom", one.measure))
    })
}

/// Figures of what no run gives under these labels, as far as this size has its cells. A small
/// version may lack what is rare, which is no mistake.
fn undrawn<'a>(plan: &'a Plan, finished: &Finished) -> impl Iterator<Item = String> + 'a {
    let mut known: BTreeSet<(String, BTreeSet<String>)> = BTreeSet::new();
    let mut know = |measure: &str, labels: &Labels| {
        known.insert((measure.to_owned(), labels.iter().map(|(key, _)| key.clone()).collect()));
    };
    for results in finished.values() {
        results.rows.iter().for_each(|one| know(&one.measure, &one.labels));
        results.distributions.iter().for_each(|one| know(&one.measure, &one.labels));
        results.curves.iter().for_each(|one| know(&one.measure, &one.labels));
        results.pictures.iter().for_each(|one| know(&one.measure, &one.labels));
        results.ladders.iter().for_each(|one| know(&one.measure, &one.labels));
    }
    let problems = figures(plan, finished, "plan").problems;
    let drawn = plan.base.figures.iter().zip(core::iter::repeat(problems));
    drawn.filter_map(move |(figure, problems)| {
        let open = figure.x.iter().chain(&figure.y).chain(&figure.by.0);
        let open: Vec<&String> = open.filter(|key| !key.contains('.')).collect();
        let missing = figure.measure.0.iter().find(|measure| {
            let (name, labels) = measure.split_once('[').unwrap_or((measure, ""));
            let labels = labels.trim_end_matches(']').split(',');
            let given =
                labels.filter_map(|label| label.split_once('=')).map(|(key, _)| key.to_owned());
            !known.contains(&(
                name.to_owned(),
                given.chain(open.iter().map(|key| (*key).clone())).collect(),
            ))
        });
        let is_problem = problems.iter().any(|problem| problem.contains(&figure.title));
        missing
            .filter(|_| is_problem)
            .map(|measure| format!("figure \"{}\": nothing gives {measure}", figure.title))
    })
}

#[test]
fn every_study_has_a_plan() {
    studies::register();
    let names: BTreeSet<&str> = plans()
        .iter()
        .filter_map(|path| {
            let text = runner::plan_file::read(path).unwrap();
            match Plan::parse(&text, Size::Small, None).unwrap().base.subject {
                Subject::Study(study) => Some(study.name()),
                Subject::Flows(_) => None,
            }
        })
        .collect();
    assert_eq!(names, studies::ALL.iter().map(|one| one.name).collect());
}

/// Number and text of the first line in which two texts differ.
fn first_difference(expected: &str, here: &str) -> Option<String> {
    let mut lines = expected.lines().zip(here.lines()).enumerate();
    let differs = lines.find(|(_, (expected, here))| expected != here);
    match differs {
        Some((number, (expected, here))) => {
            Some(format!("line {}: \"{here}\" instead of \"{expected}\"", number + 1))
        }
        None if expected != here => Some("lines are missing, or there are more".to_owned()),
        None => None,
    }
}
