//! Differences between two values of a key, number by number and quantile by quantile.

use results::{
    CONFIDENCE, Distribution, Labels, MeanInterval, QuantileInterval, Series, Unit, mean,
    paired_difference,
};

use crate::engine::Finished;
use crate::plan::{Plan, text_of};
use crate::statistics;

/// Two cells that differ in nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Other varied keys, and their values here.
    pub keys: Labels,
    /// Every number that both have.
    pub differences: Vec<Difference>,
    /// Every quantile of a distribution that both have.
    pub quantiles: Vec<QuantilePair>,
}

/// The means of a number in two cells, and their difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Name of the group of flows, the link or the study.
    pub of: String,
    /// The measure with its labels: `measure[labels]`.
    pub name: String,
    /// Unit of both values and of their difference.
    pub unit: Unit,
    /// Mean of the first cell over the seeds that both have.
    pub one: f64,
    /// Mean of the second cell over the same seeds.
    pub other: f64,
    /// Mean of the first minus the second, pair by pair; `None` with fewer than two pairs.
    pub difference: Option<MeanInterval>,
    /// Runs with equal seeds that both cells have.
    pub pairs: usize,
}

/// A quantile of a distribution in two cells.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantilePair {
    /// Name of the group of flows.
    pub of: String,
    /// The measure of the distribution with its labels: `measure[labels]`.
    pub name: String,
    /// The quantile, from 0 to 1.
    pub quantile: f64,
    /// Quantile of the first cell; `None` with too few values.
    pub one: Option<QuantileInterval>,
    /// Quantile of the second cell; `None` with too few values.
    pub other: Option<QuantileInterval>,
}

impl Difference {
    /// Whether chance alone makes such a difference in less than one of twenty comparisons.
    pub fn is_beyond_chance(&self) -> bool {
        self.difference.is_some_and(|one| one.low > 0.0 || one.high < 0.0)
    }
}

/// Number of comparisons, and those that are worse beyond chance: for a value that must not be
/// worse than another anywhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally<'a> {
    /// Numbers that both results have.
    pub compared: usize,
    /// Numbers of the first that are lower beyond chance.
    pub lower: usize,
    /// Numbers of the first that are higher beyond chance, with the values of the varied keys;
    /// largest relative difference first.
    pub higher: Vec<(&'a Labels, &'a Difference)>,
}

/// Row of the measure `latency` that counts messages that never arrived.
const UNDELIVERED: &str = "messages.undelivered";

/// Counts in how many cells the numbers of these names (`latency.mean`) are higher or lower beyond
/// chance. Numbers that differ by less than `least`, in their unit, count as alike: in virtual
/// time, a nanosecond in each run is beyond chance. More messages that never arrived count as
/// higher too, whatever the names: latencies are those of delivered messages only.
pub fn tally<'a>(all: &'a [Comparison], names: &[&str], least: f64) -> Tally<'a> {
    let mut tally = Tally::default();
    for comparison in all {
        let loses = |one: &&Difference| one.name == UNDELIVERED && one.one > one.other;
        let lost = comparison.differences.iter().filter(loses);
        tally.higher.extend(lost.map(|one| (&comparison.keys, one)));
        let wanted = |one: &&Difference| names.contains(&one.name.as_str());
        for one in comparison.differences.iter().filter(wanted) {
            tally.compared += 1;
            let counts = |mean: f64| one.is_beyond_chance() && mean.abs() >= least;
            match one.difference.map(|interval| interval.mean).filter(|mean| counts(*mean)) {
                Some(mean) if mean > 0.0 => tally.higher.push((&comparison.keys, one)),
                Some(_) => tally.lower += 1,
                None => {}
            }
        }
    }
    let excess = |one: &Difference| one.one / one.other.max(f64::MIN_POSITIVE);
    tally.higher.sort_by(|(_, one), (_, other)| excess(other).total_cmp(&excess(one)));
    tally
}

/// Compares the cells in which `key` has the first value with those in which it has the second,
/// both as they are written on a command line.
pub fn compare(
    plan: &Plan,
    finished: &Finished,
    key: &str,
    (one, other): (&str, &str),
    quantiles: &[f64],
) -> Vec<Comparison> {
    let (one, other) = (text_of(one), text_of(other));
    let texts: Vec<Labels> = plan.cells.iter().map(|(cell, _)| cell.texts()).collect();
    let is = |texts: &Labels, value: &str| texts.contains(&(key.to_owned(), value.to_owned()));
    let rest = |texts: &Labels| -> Labels {
        texts.iter().filter(|(name, _)| name != key).cloned().collect()
    };
    let ones = texts.iter().enumerate().filter(|(_, texts)| is(texts, &one));
    let pairs = ones.filter_map(|(place, cell)| {
        let keys = rest(cell);
        let found = texts.iter().position(|texts| is(texts, &other) && rest(texts) == keys)?;
        Some(Comparison {
            differences: differences(finished, place, found),
            quantiles: quantile_pairs(finished, (place, found), quantiles),
            keys,
        })
    });
    pairs.collect()
}

fn differences(finished: &Finished, one: usize, other: usize) -> Vec<Difference> {
    let others = statistics::series(finished, other);
    let beside = |one: Series| {
        let other = others.iter().find(|other| other.of == one.of && other.name() == one.name())?;
        let both: Vec<(f64, f64)> = one
            .values
            .iter()
            .filter_map(|(seed, value)| Some((*value, *other.values.get(seed)?)))
            .collect();
        (!both.is_empty()).then(|| Difference {
            of: one.of.clone(),
            name: one.name(),
            unit: one.unit.clone(),
            one: mean(both.iter().map(|both| both.0)),
            other: mean(both.iter().map(|both| both.1)),
            difference: paired_difference(&one.values, &other.values, CONFIDENCE),
            pairs: both.len(),
        })
    };
    statistics::series(finished, one).into_iter().filter_map(beside).collect()
}

fn quantile_pairs(
    finished: &Finished,
    (one, other): (usize, usize),
    quantiles: &[f64],
) -> Vec<QuantilePair> {
    let mut pairs = Vec::new();
    for Distribution { of, measure, labels, .. } in statistics::latencies(finished, one) {
        let pooled = |cell| statistics::pooled(finished, cell, (of, measure, labels));
        let (one, other) = (pooled(one), pooled(other));
        pairs.extend(quantiles.iter().map(|quantile| QuantilePair {
            of: of.clone(),
            name: results::full_name(measure, labels),
            quantile: *quantile,
            one: one.quantile_interval(*quantile, CONFIDENCE),
            other: other.quantile_interval(*quantile, CONFIDENCE),
        }));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::run_all;
    use crate::plan::Size;

    const PLAN: &str = r#"
title = "A thin stream"
[run]
duration = "60s"
seeds = 8
[network]
kind = "pair"
rtt = "100ms"
loss = "5%"
[[flow]]
name = "thin"
count = 3
transport = "sctp"
policy = "lksctp"
workload = { arrivals = "250ms", size = 100 }
[sweep]
"network.loss" = ["5%", "10%"]
[measure]
latency = { of = "thin", limits = ["fps", "150ms"] }
"#;

    fn compared(texts: [&str; 2]) -> Vec<Comparison> {
        let key = "flow.thin.policy";
        let varied = texts.map(str::to_owned);
        let mut plan = Plan::parse_varied(PLAN, Size::Normal, None, Some((key, &varied))).unwrap();
        plan.keep_distributions();
        let finished = run_all(&plan).unwrap();
        compare(&plan, &finished, key, (texts[0], texts[1]), &[0.5, 0.99, 0.9999])
    }

    #[test]
    fn a_tally_counts_what_is_beyond_chance_and_names_what_is_higher() {
        let one = |name: &str, (one, other): (f64, f64), half: f64| {
            let mean = one - other;
            let interval = MeanInterval { mean, low: mean - half, high: mean + half };
            let (of, name, unit) = ("game".to_owned(), name.to_owned(), Unit::Borrowed("ms"));
            Difference { of, name, unit, one, other, difference: Some(interval), pairs: 5 }
        };
        let keys: Labels = vec![("network.rtt".to_owned(), "20ms".to_owned())];
        let differences = vec![
            one("latency.mean", (12.0, 10.0), 1.0),
            one("latency.mean", (30.0, 10.0), 1.0),
            one("latency.mean", (12.0, 10.0), 3.0),
            one("latency.mean", (8.0, 10.0), 1.0),
            one("latency.mean", (10.0001, 10.0), 0.0),
            one("latency.max", (12.0, 10.0), 1.0),
            one(UNDELIVERED, (0.0, 2.0), 1.0),
        ];
        let all = [Comparison { keys, differences, quantiles: Vec::new() }];
        let found = tally(&all, &["latency.mean"], 0.01);
        assert_eq!((found.compared, found.lower), (5, 1));
        let higher: Vec<f64> = found.higher.iter().map(|(_, one)| one.one).collect();
        assert_eq!(higher, [30.0, 12.0]);
    }

    #[test]
    fn messages_that_never_arrive_are_worse_whatever_the_others_took() {
        let one = |name: &str, (one, other): (f64, f64)| {
            let mean = one - other;
            let interval = MeanInterval { mean, low: mean, high: mean };
            let (of, name, unit) = ("game".to_owned(), name.to_owned(), Unit::Borrowed(""));
            Difference { of, name, unit, one, other, difference: Some(interval), pairs: 5 }
        };
        let differences = vec![one("latency.mean", (1.0, 10.0)), one(UNDELIVERED, (0.2, 0.0))];
        let all = [Comparison { keys: Labels::new(), differences, quantiles: Vec::new() }];
        let found = tally(&all, &["latency.mean"], 0.01);
        assert_eq!((found.compared, found.lower, found.higher.len()), (1, 1, 1));
    }

    #[test]
    fn a_policy_that_is_better_is_so_beyond_chance_and_quantiles_have_intervals() {
        let all = compared(["thin", "lksctp"]);
        assert_eq!(all.len(), 2);
        let keys: Vec<_> = all.iter().map(|one| one.keys[0].1.as_str()).collect();
        assert_eq!(keys, ["5%", "10%"]);
        for one in &all {
            let number = |name: &str| one.differences.iter().find(|one| one.name == name).unwrap();
            let due = number("messages.due");
            assert_eq!((due.one, due.pairs, due.is_beyond_chance()), (due.other, 8, false));
            let mean = number("latency.mean");
            let difference = mean.difference.unwrap();
            assert!((difference.mean - (mean.one - mean.other)).abs() < 1e-9);
            assert!(difference.high < 0.0 && mean.is_beyond_chance(), "{mean:?}");
            let tail = one.quantiles.iter().find(|one| one.quantile == 0.99).unwrap();
            let (thin, lksctp) = (tail.one.unwrap(), tail.other.unwrap());
            assert!(thin.low <= thin.value && thin.value <= thin.high);
            assert!(thin.high < lksctp.low, "{thin:?} {lksctp:?}");
            // 5664 messages say nothing of one in ten thousand from above.
            assert!(one.quantiles.iter().any(|one| one.quantile == 0.9999 && one.one.is_none()));
        }
    }

    #[test]
    fn a_policy_differs_from_itself_in_nothing() {
        let all = compared(["lksctp", "{ name = \"the same\", preset = \"lksctp\" }"]);
        assert_eq!(all.len(), 2);
        for one in all {
            let same = one.differences.iter().all(|one| one.one == one.other);
            assert!(same && one.differences.len() > 4);
        }
    }

    #[test]
    fn limits_have_names() {
        let all = compared(["lksctp", "thin"]);
        let beyond = |name: &str| {
            let found = all[0].differences.iter().find(|one| one.name == name);
            found.map(|one| one.other)
        };
        let (fps, other) =
            (beyond("latency.beyond[limit=fps]"), beyond("latency.beyond[limit=150ms]"));
        assert!(fps.zip(other).is_some_and(|(fps, other)| fps > other && other > 0.0));
    }
}
