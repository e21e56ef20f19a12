//! The plans of the studies: each runs in its small size, and gives what it says the paper reports.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::Path;

use lab::study::{self, Row};
use toml::{Table, Value};

/// A study's plan and where it stands.
fn plans() -> Vec<(String, Table)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let folders = std::fs::read_dir(root).unwrap().map(|folder| folder.unwrap().path());
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut plans: Vec<(String, Table)> = files
        .map(|file| file.unwrap().path())
        .map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            let table =
                toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            (file.display().to_string(), table)
        })
        .filter(|(_, plan): &(String, Table)| plan.contains_key("study"))
        .collect();
    plans.sort_by(|a, b| a.0.cmp(&b.0));
    plans
}

fn table<'a>(of: &'a Table, key: &str) -> Option<&'a Table> {
    of.get(key).and_then(Value::as_table)
}

/// The parameters of each cell, by what was varied.
fn cells(plan: &Table) -> Vec<(BTreeMap<String, Value>, Table)> {
    let mut lists = table(plan, "sweep").cloned().unwrap_or_default();
    let small = table(plan, "small").and_then(|small| table(small, "sweep"));
    lists.extend(small.cloned().unwrap_or_default());
    let parameters = table(plan, "parameters").cloned().unwrap_or_default();
    let mut cells = vec![(BTreeMap::new(), parameters)];
    for (key, values) in &lists {
        let name = key.strip_prefix("parameters.").unwrap_or_else(|| panic!("{key}"));
        cells = cells
            .into_iter()
            .flat_map(|(varied, parameters): (BTreeMap<_, _>, Table)| {
                values.as_array().unwrap().iter().map(move |value| {
                    let (mut varied, mut parameters) = (varied.clone(), parameters.clone());
                    varied.insert(name.to_owned(), value.clone());
                    parameters.insert(name.to_owned(), value.clone());
                    (varied, parameters)
                })
            })
            .collect();
    }
    cells
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        _ => panic!("{value:?} is varied"),
    }
}

/// What the plan gives in its small size, one seed.
fn run(name: &str, plan: &Table) -> Vec<Row> {
    let study = plan["study"].as_str().unwrap();
    let mut rows = Vec::new();
    for (varied, parameters) in cells(plan) {
        let findings = study::run(study, Value::Table(parameters), 1)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        rows.extend(findings.rows.into_iter().map(|row| {
            let labelled = varied.iter().fold(row, |row, (key, value)| row.with(key, text(value)));
            labelled.with("seed", 1)
        }));
    }
    let concluded = study::conclude(study, &rows);
    rows.extend(concluded);
    rows
}

/// Whether a row is one of those that an expectation is about, as far as they were run.
fn fits(row: &Row, expect: &Table) -> bool {
    let (measure, labels) = match expect["measure"].as_str().unwrap().split_once('[') {
        Some((measure, labels)) => (measure, labels.trim_end_matches(']')),
        None => (expect["measure"].as_str().unwrap(), ""),
    };
    let mut wanted = labels.split(',').filter_map(|label| label.split_once('='));
    row.measure == measure && wanted.all(|(key, value)| row.label(key) == Some(value))
}

/// The numbers that a plan compares, to six digits, beside those of `golden/`, so that a change of behaviour
/// is a change of a file. `THINSTREAM_BLESS=1` in the environment writes them.
fn compare_with_golden(name: &str, plan: &Table, rows: &[Row]) {
    let expects = plan["expect"].as_array().unwrap();
    let is_compared =
        |row: &&Row| expects.iter().any(|expect| fits(row, expect.as_table().unwrap()));
    let lines = rows.iter().filter(is_compared).map(|Row { measure, labels, value, unit }| {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let value: f64 = format!("{value:.5e}").parse().unwrap();
        format!("{measure}[{}] = {value} {unit}", labels.join(",")).trim_end().to_owned() + "\n"
    });
    let text: String = lines.collect();
    let (root, plan) = name.split_once("experiments/").unwrap();
    let golden = format!("{root}golden/{}", plan.replace('/', "-").replace(".toml", ".txt"));
    if std::env::var_os("THINSTREAM_BLESS").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let known = std::fs::read_to_string(&golden).unwrap_or_default();
    let differs = text.lines().zip(known.lines()).find(|(here, known)| here != known);
    assert_eq!(differs, None, "{golden} says otherwise: set THINSTREAM_BLESS=1 if that is meant");
    assert_eq!(text.lines().count(), known.lines().count(), "{golden}");
}

#[test]
fn plans_run_and_measure_what_they_compare() {
    let plans = plans();
    assert!(plans.len() >= 7, "{} plans", plans.len());
    for (name, plan) in &plans {
        let rows = run(name, plan);
        assert!(rows.iter().all(|row| row.value.is_finite()), "{name}");
        compare_with_golden(name, plan, &rows);
        for expect in plan["expect"].as_array().unwrap() {
            let expect = expect.as_table().unwrap();
            let reported =
                expect.get("reported").is_none_or(|reported| reported.as_bool() == Some(true));
            let has_number =
                ["value", "above", "below"].iter().any(|key| expect.contains_key(*key));
            assert_eq!(reported, has_number, "{name}: {expect:?}");
            assert!(expect.contains_key("source"), "{name}: {expect:?}");
            // Pairs of gains that the small size leaves out have no rank by analysis.
            assert!(rows.iter().any(|row| fits(row, expect)), "{name}: nothing gives {expect:?}");
            let sweep = table(plan, "sweep").unwrap();
            for cells in [table(expect, "where"), table(expect, "versus")].into_iter().flatten() {
                for (key, value) in cells {
                    let known = sweep[key].as_array().unwrap().contains(value);
                    assert!(known, "{name}: {key} = {value:?} is not varied");
                }
            }
        }
    }
}

#[test]
fn every_study_has_a_plan_and_its_defaults_make_sense() {
    let plans = plans();
    for study in study::NAMES {
        let has_plan = plans.iter().any(|(_, plan)| plan["study"].as_str() == Some(study));
        assert!(has_plan, "{study}");
    }
}
