//! Results on the terminal: numbers with their intervals, and the paper beside them.

use std::fmt::Write;

use ::lab::engine::{self, Finished};
use ::lab::plan::{Plan, Subject};
use ::lab::statistics;
use ::lab::stored::golden::six_digits;
use ::lab::verdict::{Verdict, judge};
use ::report::document::Comparison;
use ::report::four_digits;
use ::report::section::comparisons;
use results::text_table::{Table, wrapped};
use results::{SeedsNeeded, Series, full_name, seeds_for_quantile};
use serde_json::{Value, json};

use super::overview::{overview, value};
use crate::failure::Failure;
use crate::output;
use crate::terminal::Size;

/// Form in which results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The most important numbers, on one screen.
    Overview,
    /// All numbers, one a line.
    All,
    /// Every number, as one JSON object.
    Json,
}

impl Form {
    pub(crate) fn of(json: bool, verbose: bool) -> Form {
        match (json, verbose) {
            (true, _) => Form::Json,
            (false, true) => Form::All,
            (false, false) => Form::Overview,
        }
    }
}

/// Prints results in this form.
pub(crate) fn results(plan: &Plan, finished: &Finished, form: Form) -> Result<(), Failure> {
    match form {
        Form::Json => {
            let verdicts = judge(plan, finished);
            let text = serde_json::to_string_pretty(&to_json(plan, finished, &verdicts));
            output::print(&text.unwrap_or_default())
        }
        Form::All => output::print(&all(plan, finished)),
        Form::Overview => {
            let compared = comparisons(plan, finished);
            output::print(&overview(plan, finished, &compared, Size::of_standard_output()))
        }
    }
}

/// Every number of every cell, and the table paper/here.
fn all(plan: &Plan, finished: &Finished) -> String {
    let mut text = String::new();
    for (place, (cell, _)) in plan.cells.iter().enumerate() {
        let series = statistics::series(finished, place);
        if series.is_empty() {
            continue;
        }
        let name = cell.to_string();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", if name.is_empty() { &plan.base.title } else { &name });
        let mut table = Table::new(3);
        series.iter().for_each(|one| table.row(number(one)));
        let _ = writeln!(text, "{table}");
    }
    text.push_str(&paper(&comparisons(plan, finished)));
    text
}

/// Prints how many seeds it would take to know quantiles to within `precision` of them.
pub(super) fn seeds_needed(
    plan: &Plan,
    finished: &Finished,
    precision: f64,
) -> Result<(), Failure> {
    let percent = four_digits(100.0 * precision);
    let mut text = format!("\nSeeds to know quantiles to within {percent} % of them:\n");
    let (mut most, mut is_bounded) = (0, true);
    for (place, (cell, one)) in plan.cells.iter().enumerate() {
        let Subject::Flows(flows) = &one.subject else { continue };
        let asked = flows.measure.latency.iter().flat_map(|latency| &latency.quantiles);
        let quantiles: Vec<f64> = asked.copied().filter(|one| *one > 0.0 && *one < 1.0).collect();
        for one in statistics::latencies(finished, place) {
            let by_seed =
                statistics::by_seed(finished, place, (&one.of, &one.measure, &one.labels));
            for quantile in &quantiles {
                let needed = seeds_for_quantile(&by_seed, *quantile, precision);
                let Some(needed) = needed else { continue };
                let told = match needed {
                    SeedsNeeded::Seeds(count) => {
                        most = most.max(count);
                        count.to_string()
                    }
                    SeedsNeeded::NoBound => {
                        is_bounded = false;
                        "not known, too few values for an upper bound".to_owned()
                    }
                    SeedsNeeded::OneSeed => {
                        is_bounded = false;
                        "not known, one seed does not say how much seeds differ".to_owned()
                    }
                };
                let name = full_name(&one.measure, &one.labels);
                // Writing to a string does not fail.
                let _ = writeln!(text, "  {cell}: {} {name} to {quantile}: {told}", one.of);
            }
        }
    }
    let advice = match (most, is_bounded) {
        (0, true) => "the plan asks for no quantile of latency\n".to_owned(),
        (_, true) => format!("--seeds {most} would do for all; these runs had {}\n", plan.seeds),
        (_, false) => format!(
            "no number of seeds can be named for all: some quantiles are not known well enough; ask again with more seeds, these runs had {}\n",
            plan.seeds
        ),
    };
    output::print(&(text + &advice))
}

/// Flows, name, and the mean with its interval and unit.
fn number(one: &Series) -> [String; 3] {
    let value = value(one);
    [format!("  {}", one.of), one.name(), format!("{value} {}", one.unit)]
}

/// The paper's numbers beside ours, as a table with a verdict for each; empty without any.
pub(super) fn paper(rows: &[Comparison]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let verdicts: Vec<String> =
        rows.iter().map(|row| format!("  {}", row.verdict_told())).collect();
    let first = verdicts.iter().map(|told| told.chars().count()).max().unwrap_or(0);
    let columns = Size::of_standard_output().columns.saturating_sub(first + 2);
    let mut table = Table::new(2);
    table.line("The paper's numbers, and ours:");
    for (row, verdict) in rows.iter().zip(verdicts) {
        let case = if row.case.is_empty() { String::new() } else { format!(" ({})", row.case) };
        let paper = row.paper.as_deref().unwrap_or("-");
        let interval = row.interval.as_ref().map(|one| format!(", {one}")).unwrap_or_default();
        let source = row.source.as_deref().unwrap_or_default();
        let numbers = format!("paper {paper}, here {}{interval}; {source}", row.here);
        let told = [Some(format!("{}{case}", row.measure)), Some(numbers), row.note.clone()];
        let lines = told.iter().flatten().flat_map(|text| wrapped(text, columns));
        let verdicts = std::iter::once(verdict.as_str()).chain(std::iter::repeat(""));
        verdicts.zip(lines).for_each(|(verdict, line)| table.row([verdict, &line]));
    }
    table.to_string()
}

fn to_json(plan: &Plan, finished: &Finished, verdicts: &[Verdict<'_>]) -> Value {
    let cells = plan.cells.iter().enumerate().map(|(place, (cell, _))| {
        let keys: serde_json::Map<String, Value> =
            cell.texts().into_iter().map(|(key, text)| (key, Value::String(text))).collect();
        let numbers = statistics::series(finished, place).into_iter().map(|one| {
            let interval = one.interval();
            let labels: serde_json::Map<String, Value> =
                one.labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
            json!({
                "of": one.of,
                "measure": one.measure,
                "labels": labels,
                "mean": one.mean(),
                "low": interval.map(|interval| interval.low),
                "high": interval.map(|interval| interval.high),
                "unit": one.unit,
                "runs": one.values.len(),
            })
        });
        json!({ "cell": keys, "numbers": numbers.collect::<Vec<_>>() })
    });
    let verdicts = verdicts.iter().map(|verdict| {
        let one = verdict.expectation;
        json!({
            "measure": one.measure,
            "where": one.cells.iter().map(|(key, value)| (key.clone(), json!(value))).collect::<serde_json::Map<_, _>>(),
            "paper": one.value.as_ref().map(|stated| stated.number),
            "above": one.above.as_ref().map(|stated| stated.number),
            "below": one.below.as_ref().map(|stated| stated.number),
            "stated": one.value.as_ref().map(|stated| &stated.text),
            "derived": one.derived,
            "kind": one.kind,
            "claim": one.claim(),
            "here": verdict.here,
            "low": verdict.interval.map(|interval| interval.low),
            "high": verdict.interval.map(|interval| interval.high),
            "unit": one.unit,
            "verdict": verdict.word,
            "agreement": verdict.agreement,
            "source": one.source,
            "note": one.note,
        })
    });
    json!({
        "title": plan.base.title,
        "paper": plan.base.paper,
        "reproduces": plan.base.reproduces,
        "seeds": plan.seeds,
        "seed_offset": plan.seed_offset(),
        "finished": engine::count(finished),
        "runs": plan.jobs(),
        "cells": cells.collect::<Vec<_>>(),
        "expectations": verdicts.collect::<Vec<_>>(),
    })
}

/// A number as tables of workloads show it.
pub(super) fn short(value: f64) -> String {
    six_digits((value * 1000.0).round() / 1000.0)
}
