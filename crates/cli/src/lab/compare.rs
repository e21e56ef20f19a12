//! `thinstream lab compare`: all cells of a plan side by side, or two of them on equal random
//! streams.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

use ::lab::compare::{
    Column, Comparison, Difference, Listing, Of, QuantilePair, Reached, SideBySide, Summary,
    ablation, compare, reached, side_by_side, summary, tally, text,
};
use ::lab::engine::{self, Finished, Shard};
use ::lab::plan::{Plan, PlanError};
use ::lab::stored::{Manifest, Stored};
use ::report::four_digits;
use ::report::section::PlanResults;
use base::Duration;
use results::{Labels, QuantileInterval};
use serde_json::{Value, json};

use super::work::{Done, Work};
use super::{Page, PlanArguments, read_plan, surroundings, typed};
use crate::failure::Failure;
use crate::number::within;
use crate::output;
use crate::terminal::Size;

/// Milliseconds below which a difference counts as nothing.
const LEAST_MS: f64 = 0.01;

/// Put all that a plan varies side by side, or compare two values of a key, such as two policies,
/// by the differences of runs with equal seeds.
///
/// Without --key: a table for each combination of what the plan varies but its last key, with a row
/// for each value of that: mean and quantiles of the latency above the delay of the network, in
/// milliseconds, the share of messages in time, and for each message the sender's bytes and packets
/// and the copies that were needless. Where transports of others stand beside ours, the last table
/// has the ratios to the best of them over all cells, and the worst cells. With --key: Every number
/// of the first value, of the second and of their difference is a mean over seeds, the difference
/// with its 95 % interval; a star says that it is beyond chance. Quantiles are of all seeds
/// together, with 95 % intervals that assume no distribution. Values that the plan does not vary
/// are put into it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Plan whose cells are compared: a file, or a name that "lab list" shows.
    #[arg(value_parser = super::plan_or_file(), hide_possible_values = true)]
    plan: PathBuf,
    /// The key, such as flow.NAME.policy, as in a plan's sweep.
    #[arg(long, requires = "other")]
    key: Option<String>,
    /// First value, which is judged.
    #[arg(requires = "key")]
    one: Option<String>,
    /// Second value, with which the first is compared.
    #[arg(requires = "key")]
    other: Option<String>,
    /// Longest time above the network's delay that a message may take to be in time, side by side.
    #[arg(long, value_name = "TIME", default_value = "10ms", conflicts_with = "key")]
    on_time: Duration,
    /// Print the effect of each value of the last key relative to this one, such as a policy
    /// beside variants of it that lack a mechanism each.
    #[arg(long, value_name = "VALUE", conflicts_with_all = ["key", "report", "targets", "json"])]
    beside: Option<String>,
    /// Run only the cells of the plan's targets, and print the number of each target. Fails if
    /// more or fewer numbers miss than the plan says.
    #[arg(long, conflicts_with_all = ["key", "report", "json"])]
    targets: bool,
    /// Also write a page with figures and tables of all runs, side by side.
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    report: Option<PathBuf>,
    /// Replace a page of --report that is there already; without it such a file is refused.
    #[arg(long, requires = "report")]
    anew: bool,
    /// Quantiles of the distributions of latency.
    #[arg(
        long,
        value_name = "Q,Q,...",
        value_delimiter = ',',
        default_value = "0.5,0.9,0.99,0.999",
        requires = "key"
    )]
    quantiles: Vec<f64>,
    /// Number of threads; by default the number of processors.
    #[arg(long, value_name = "N", value_parser = within(1..=4096u64))]
    jobs: Option<u64>,
    /// Print only cells in which the first value's latency, in its mean or a measured quantile, is
    /// longer beyond chance, and five at most in which it is longest within chance; fail if
    /// there is any of the former. Less than 0.01 ms counts as nothing.
    #[arg(long, requires = "key")]
    never_worse: bool,
    #[command(flatten)]
    plan_as: PlanArguments,
    /// Print tables with all columns, however narrow the terminal is.
    #[arg(long, conflicts_with = "json")]
    wide: bool,
    /// Print tables in Markdown, for documents.
    #[arg(long, conflicts_with_all = ["json", "never_worse", "wide"])]
    markdown: bool,
    /// Print the comparison as one JSON object.
    #[arg(long)]
    json: bool,
}

/// A key and the two values of it that are compared.
#[derive(Clone, Copy)]
struct Pair<'a> {
    key: &'a str,
    one: &'a str,
    other: &'a str,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match (&arguments.key, &arguments.one, &arguments.other) {
        (Some(key), Some(one), Some(other)) => pair(arguments, Pair { key, one, other }),
        _ if arguments.targets => targets(arguments),
        _ => match &arguments.beside {
            Some(base) => beside(arguments, base),
            None => all(arguments),
        },
    }
}

/// Prints tables, for a document or for the terminal that is there.
fn print(arguments: &Arguments, tables: &[Listing]) -> Result<(), Failure> {
    if arguments.markdown {
        let tables: Vec<String> = tables.iter().map(Listing::markdown).collect();
        return output::print(&tables.join("\n"));
    }
    let columns = if arguments.wide { usize::MAX } else { Size::of_standard_output().columns };
    output::print(&text(tables, columns))
}

/// The error of a plan that cannot be compared.
fn refused(arguments: &Arguments, error: PlanError) -> Failure {
    Failure::usage(format!("plan {}: {error}", arguments.plan.display()))
}

/// Runs the plan; returns it with distributions, and its finished runs.
fn finish(
    arguments: &Arguments,
    varied: Option<(&str, &[String])>,
) -> Result<(Plan, Finished), Failure> {
    let mut plan = read_plan(&arguments.plan, &arguments.plan_as, varied)?;
    plan.keep_distributions();
    if arguments.targets {
        plan.keep_targets_alone();
    }
    let (shard, jobs) = (Shard::default(), arguments.jobs);
    let work = Work { plan: &plan, shard, jobs, what: "", command: typed() };
    let Done { finished, stopped, .. } = work.run(None)?;
    stopped.map_or(Ok((plan, finished)), Err)
}

/// All cells, side by side.
fn all(arguments: &Arguments) -> Result<(), Failure> {
    let began = Instant::now();
    let page = arguments.report.as_deref();
    let page = page.map(|path| Page::try_open(path, arguments.anew)).transpose()?;
    let (plan, finished) = finish(arguments, None)?;
    let tables = side_by_side(&plan, &finished, arguments.on_time);
    let tables = tables.map_err(|error| refused(arguments, error))?;
    let summed_up = summary(&tables);
    if arguments.json {
        let text = serde_json::to_string_pretty(&json!({ "tables": tables, "summary": summed_up }));
        output::print(&text.unwrap_or_default())?;
    } else {
        let mut tables: Vec<Listing> = tables.iter().map(SideBySide::listing).collect();
        tables.extend(summed_up.as_ref().map(Summary::listing));
        if !plan.base.targets.is_empty() {
            let all = reached(&plan, &finished).map_err(|error| refused(arguments, error))?;
            tables.push(Reached::listing(&all));
        }
        print(arguments, &tables)?;
    }
    let Some(page) = page else { return Ok(()) };
    let around = surroundings(began, typed());
    let manifest = Manifest::new(&plan, Shard::default(), engine::count(&finished), around);
    page.write(vec![PlanResults::new(Stored { plan, finished, manifest })])
}

/// Prints the plan's targets beside the numbers reached.
fn targets(arguments: &Arguments) -> Result<(), Failure> {
    let (plan, finished) = finish(arguments, None)?;
    let all = reached(&plan, &finished).map_err(|error| refused(arguments, error))?;
    print(arguments, &[Reached::listing(&all)])?;
    let not_as_known = all.iter().flat_map(|one| {
        let said = one.not_as_known().into_iter();
        said.map(|said| format!("{}: {said}", one.target.name()))
    });
    let not_as_known: Vec<String> = not_as_known.collect();
    match not_as_known.is_empty() {
        true => Ok(()),
        false => Err(Failure::check(not_as_known.join("\n"))),
    }
}

/// Prints the effect of every value of the last key relative to one.
fn beside(arguments: &Arguments, base: &str) -> Result<(), Failure> {
    let (plan, finished) = finish(arguments, None)?;
    let found = ablation(&plan, &finished, base).map_err(|error| refused(arguments, error))?;
    print(arguments, &[found.listing()])
}

/// Two values of a key.
fn pair(arguments: &Arguments, pair: Pair<'_>) -> Result<(), Failure> {
    let values = [pair.one.to_owned(), pair.other.to_owned()];
    let (plan, finished) = finish(arguments, Some((pair.key, &values)))?;
    let all = compare(&plan, &finished, pair.key, (pair.one, pair.other), &arguments.quantiles);
    if arguments.never_worse {
        return judge(pair, &all);
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&to_json(pair, &all));
        return output::print(&text.unwrap_or_default());
    }
    output::print(&format!("{}: {} beside {}\n\n", pair.key, pair.one, pair.other))?;
    let tables = |one| [listing(pair, one), quantiles(pair, one)];
    let mut tables: Vec<Listing> = all.iter().flat_map(tables).collect();
    tables.retain(|table| !table.rows.is_empty());
    print(arguments, &tables)
}

/// Whether the first value is worse anywhere.
fn judge(pair: Pair<'_>, all: &[Comparison]) -> Result<(), Failure> {
    let mut names: Vec<&str> = all
        .iter()
        .flat_map(|one| one.differences.iter().map(|one| one.name.as_str()))
        .filter(|name| *name == "latency.mean" || name.starts_with("latency.quantile[quantile="))
        .collect();
    names.sort_unstable();
    names.dedup();
    let found = tally(all, &names, LEAST_MS);
    let mut text = String::new();
    for (keys, one) in &found.higher {
        text += &told(keys, one);
    }
    for (keys, one) in largest_within_chance(all, &names, &found.higher) {
        text += &format!("within chance: {}", told(keys, one));
    }
    let Pair { one, other, .. } = pair;
    let (cells, worse) = (all.len(), found.higher.len());
    let (compared, lower) = (found.compared, found.lower);
    let _ = writeln!(
        text,
        "{one} beside {other}: {compared} numbers of {cells} cells, {lower} lower, {worse} higher beyond chance"
    );
    output::print(&text)?;
    match (compared, worse) {
        (0, _) => Err(Failure::usage("the plan measures no latency that could be compared")),
        (_, 0) => Ok(()),
        _ => Err(Failure::check(format!("{one} is worse than {other} in {worse} of {compared}"))),
    }
}

/// The keys of a cell with their values.
fn named(keys: &Labels) -> String {
    let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    keys.join(", ")
}

/// A number in both cells, as a line.
fn told(keys: &Labels, one: &Difference) -> String {
    let half = one.difference.map_or(0.0, |interval| interval.high - interval.mean);
    let (first, second) = (four_digits(one.one), four_digits(one.other));
    let (name, unit, half) = (&one.name, &one.unit, four_digits(half));
    format!("{}: {name} {first} over {second} (± {half}) {unit}\n", named(keys))
}

/// The worst cells beside those that are `higher` beyond chance: the largest ratios, five at most.
fn largest_within_chance<'a>(
    all: &'a [Comparison],
    names: &[&str],
    higher: &[(&'a Labels, &'a Difference)],
) -> Vec<(&'a Labels, &'a Difference)> {
    let numbers = all.iter().flat_map(|cell| cell.differences.iter().map(|one| (&cell.keys, one)));
    let is_larger = |(_, one): &(&Labels, &Difference)| {
        names.contains(&one.name.as_str())
            && one.one > one.other
            && higher.iter().all(|(_, other)| !std::ptr::eq(*other, *one))
    };
    let mut larger: Vec<_> = numbers.filter(is_larger).collect();
    let ratio = |one: &Difference| one.one / one.other;
    larger.sort_by(|(_, one), (_, other)| ratio(other).total_cmp(&ratio(one)));
    larger.truncate(5);
    larger
}

/// The numbers of one cell, with those of both values beside each other.
fn listing(pair: Pair<'_>, comparison: &Comparison) -> Listing {
    let keys = named(&comparison.keys);
    let columns = [pair.one, pair.other, "difference"].map(|title| Column::new(title, Of::Numbers));
    let mut listing = Listing {
        heading: (!keys.is_empty()).then_some(keys),
        columns: [Column::new("", Of::Words)].into_iter().chain(columns).collect(),
        ..Listing::default()
    };
    for one in &comparison.differences {
        let Difference { of, name, unit, .. } = one;
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        let difference = one.difference.map_or_else(String::new, |interval| {
            let star = if one.is_beyond_chance() { " *" } else { "" };
            let half = interval.high - interval.mean;
            format!("{} ± {}{star}", four_digits(interval.mean), four_digits(half))
        });
        let numbers = [four_digits(one.one), four_digits(one.other), difference];
        listing.row([format!("{of} {name}{unit}")].into_iter().chain(numbers));
    }
    listing
}

/// The quantiles of one cell, of all seeds together.
fn quantiles(pair: Pair<'_>, comparison: &Comparison) -> Listing {
    let columns = [pair.one, pair.other].map(|title| Column::new(title, Of::Numbers));
    let columns = [Column::new("", Of::Words)].into_iter().chain(columns).collect();
    let mut listing = Listing { columns, ..Listing::default() };
    for QuantilePair { of, name, quantile, one, other } in &comparison.quantiles {
        let numbers = [quantile_text(*one), quantile_text(*other)];
        listing.row([format!("{of} {name} to {quantile} (ms)")].into_iter().chain(numbers));
    }
    listing
}

fn quantile_text(interval: Option<QuantileInterval>) -> String {
    let millis = |one: base::Duration| four_digits(one.as_millis_f64());
    interval.map_or_else(
        || "too few".to_owned(),
        |one| format!("{} ({} to {})", millis(one.value), millis(one.low), millis(one.high)),
    )
}

fn to_json(pair: Pair<'_>, all: &[Comparison]) -> Value {
    let quantile = |one: Option<QuantileInterval>| {
        one.map(|one| {
            json!({
                "value_ms": one.value.as_millis_f64(),
                "low_ms": one.low.as_millis_f64(),
                "high_ms": one.high.as_millis_f64(),
            })
        })
    };
    let cells = all.iter().map(|cell| {
        let keys: serde_json::Map<String, Value> =
            cell.keys.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        let numbers = cell.differences.iter().map(|one| {
            json!({
                "of": one.of,
                "name": one.name,
                "unit": one.unit,
                "one": one.one,
                "other": one.other,
                "difference": one.difference.map(|interval| interval.mean),
                "low": one.difference.map(|interval| interval.low),
                "high": one.difference.map(|interval| interval.high),
                "pairs": one.pairs,
            })
        });
        let quantiles = cell.quantiles.iter().map(|pair| {
            json!({
                "of": pair.of,
                "name": pair.name,
                "quantile": pair.quantile,
                "one": quantile(pair.one),
                "other": quantile(pair.other),
            })
        });
        json!({
            "cell": keys,
            "numbers": numbers.collect::<Vec<_>>(),
            "quantiles": quantiles.collect::<Vec<_>>(),
        })
    });
    json!({
        "key": pair.key,
        "one": pair.one,
        "other": pair.other,
        "cells": cells.collect::<Vec<_>>(),
    })
}
