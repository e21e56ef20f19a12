//! `thin` and the `latency` presets are nowhere worse than standard recovery: the small versions of
//! plans over a grid of networks, and over a line that thin streams nearly fill.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use lab::compare::{Difference, compare, tally};
use lab::engine::Finished;
use lab::plan::{Plan, Size};
use runner::threads::run_all;

use self::support::{results_of, text_of};

const KEY: &str = "flow.thin.policy";

#[test]
fn thin_is_in_no_cell_worse_than_rfc_and_in_most_with_losses_better() {
    let (plan, finished) = results_of("../../experiments/defaults/thin-grid.toml");
    let compared = compare(&plan, &finished, KEY, ("thin", "rfc"), &[]);
    let quantiles = [0.99, 0.999].map(|quantile| format!("latency.quantile[quantile={quantile}]"));
    let names = ["latency.mean", &quantiles[0], &quantiles[1]];
    let found = tally(&compared, &names, 0.01);
    assert_eq!(found.higher, []);
    assert_eq!(found.compared, 3 * compared.len());
    assert!(found.lower >= compared.len(), "{} of {}", found.lower, found.compared);
    // The reverse comparison must find differences: the test can fail.
    let other = compare(&plan, &finished, KEY, ("rfc", "thin"), &[]);
    assert_eq!(tally(&other, &names, 0.01).higher.len(), found.lower);
}

#[test]
fn the_latency_presets_are_in_no_cell_worse_than_standard_recovery_and_in_most_with_losses_better()
{
    let presets = ["latency", "latency-lean", "latency-max"];
    let quantiles = [0.99, 0.999].map(|quantile| format!("latency.quantile[quantile={quantile}]"));
    let names = ["latency.mean", &quantiles[0], &quantiles[1]];
    for (grid, other, cells) in [
        ("../../experiments/defaults/thin-grid.toml", "rfc", 8),
        ("../../experiments/defaults/tcp-grid.toml", "sack", 6),
    ] {
        let policies = presets.into_iter().chain([other]).map(str::to_owned);
        let policies: Vec<String> = policies.collect();
        let varied = Some((KEY, &policies[..]));
        let plan = Plan::parse_varied(&text_of(grid), Size::Small, Some(4), varied).unwrap();
        let finished = run_all(&plan, 2).unwrap();
        for preset in presets {
            let compared = compare(&plan, &finished, KEY, (preset, other), &[]);
            let found = tally(&compared, &names, 0.01);
            assert_eq!(found.higher, [], "{grid}: {preset}");
            assert_eq!(found.compared, 3 * cells, "{grid}: {preset}");
            assert!(found.lower >= cells, "{grid}: {preset}: {}", found.lower);
        }
    }
}

/// Numbers with copies that exceed those without by more than `margin`: means and 99th percentiles.
fn slower_with_copies(
    (plan, finished): &(Plan, Finished),
    (with, without): (&str, &str),
    margin: f64,
) -> (usize, Vec<String>) {
    let compared = compare(plan, finished, "flow.game", (with, without), &[]);
    let names = ["latency.mean", "latency.quantile[quantile=0.99]"];
    let numbers = compared.iter().flat_map(|cell| {
        let wanted = cell.differences.iter().filter(|one| names.contains(&one.name.as_str()));
        wanted.map(move |one| (&cell.keys, one))
    });
    let slower = numbers.clone().filter(|(_, one)| one.one > one.other * margin);
    let told = |(keys, one): (&_, &Difference)| {
        format!("{keys:?}: {}: {:.2} over {:.2}", one.name, one.one, one.other)
    };
    (numbers.count(), slower.map(told).collect())
}

#[test]
fn copies_behind_their_brake_cost_a_bottleneck_two_percent_of_a_mean_or_p99_at_most() {
    let text = text_of("../../experiments/defaults/tcp-bottleneck.toml");
    let narrow = text
        .replace("[\"64kbit\", \"128kbit\", \"10mbit\"]", "[\"64kbit\", \"128kbit\"]")
        .replace("\"flow.game.count\" = [1, 2, 4, 8]", "\"flow.game.count\" = [1, 2, 4]");
    let plan = Plan::parse(&narrow, Size::Normal, Some(5)).unwrap();
    assert_eq!(plan.cells.len(), 2 * 3 * 6);
    let finished = run_all(&plan, 2).unwrap();
    let results = (plan, finished);
    for protocol in ["tcp", "sctp"] {
        let beside_none = |copies: &str| {
            let (with, without) = (format!("{protocol}, {copies}"), format!("{protocol}, none"));
            slower_with_copies(&results, (&with, &without), 1.02)
        };
        assert_eq!(beside_none("brake"), (12, vec![]), "{protocol}");
        // Without the brake nearly all are: the test can fail.
        let (_, slower) = beside_none("no brake");
        assert!(slower.len() >= 8, "{protocol}: {slower:?}");
    }
}

#[test]
fn thin_streams_that_nearly_fill_a_line_are_no_worse_off_for_the_margin_that_learns() {
    let (plan, finished) = results_of("tests/thin-shared.toml");
    let beside = |other: &str| {
        let compared = compare(&plan, &finished, KEY, ("thin", other), &[]);
        let found = tally(&compared, &["latency.mean"], 0.01);
        (found.compared, found.lower, found.higher.len())
    };
    assert_eq!(beside("rfc"), (1, 0, 0));
    // Each premature timeout adds a packet to the queue.
    assert_eq!(beside("thin, fixed margin"), (1, 1, 0));
}
