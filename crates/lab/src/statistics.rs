//! Numbers of a cell over its seeds.

use std::collections::BTreeMap;

use results::{BySeed, Distribution, Labels, LatencyRecorder, Row, Series, full_name};

use crate::engine::Finished;

/// The numbers of a cell, in the order of their first appearance.
pub fn series(finished: &Finished, cell: usize) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (job, results) in finished.iter().filter(|(job, _)| job.cell == cell) {
        for Row { of, measure, labels, value, unit } in &results.rows {
            let key = (of.clone(), full_name(measure, labels));
            let place = *places.entry(key).or_insert_with(|| {
                let (of, measure, labels) = (of.clone(), measure.clone(), labels.clone());
                all.push(Series { of, measure, labels, unit: unit.clone(), values: BySeed::new() });
                all.len() - 1
            });
            all[place].values.insert(job.seed, *value);
        }
    }
    all
}

/// The distributions of times in a cell, each from the first seed that has it.
pub fn latencies(finished: &Finished, cell: usize) -> Vec<&Distribution> {
    let mut all: Vec<&Distribution> = Vec::new();
    let results = finished.iter().filter(|(job, _)| job.cell == cell).map(|(_, results)| results);
    for one in results.flat_map(|results| &results.distributions).filter(|one| one.unit == "ns") {
        let same = |known: &&Distribution| {
            (&known.of, &known.measure, &known.labels) == (&one.of, &one.measure, &one.labels)
        };
        if !all.iter().any(same) {
            all.push(one);
        }
    }
    all
}

/// The distribution of a measure in a cell, pooled over all seeds.
pub fn pooled(finished: &Finished, cell: usize, name: (&str, &str, &Labels)) -> LatencyRecorder {
    let mut pooled = LatencyRecorder::new();
    for (_, one) in of_measure(finished, cell, name) {
        one.bins.iter().for_each(|(value, count)| pooled.record_bin(*value, *count));
    }
    pooled
}

/// The distributions of a measure in a cell, by seed.
pub fn by_seed(
    finished: &Finished,
    cell: usize,
    name: (&str, &str, &Labels),
) -> Vec<LatencyRecorder> {
    let mut seeds: BTreeMap<u64, LatencyRecorder> = BTreeMap::new();
    for (seed, one) in of_measure(finished, cell, name) {
        let recorder = seeds.entry(seed).or_default();
        one.bins.iter().for_each(|(value, count)| recorder.record_bin(*value, *count));
    }
    seeds.into_values().collect()
}

/// Seeds of a cell with their distributions of a measure.
fn of_measure<'a>(
    finished: &'a Finished,
    cell: usize,
    (of, measure, labels): (&'a str, &'a str, &'a Labels),
) -> impl Iterator<Item = (u64, &'a Distribution)> {
    let of_cell = finished.iter().filter(move |(job, _)| job.cell == cell);
    let all = of_cell
        .flat_map(|(job, results)| results.distributions.iter().map(move |one| (job.seed, one)));
    all.filter(move |(_, one)| {
        (one.of.as_str(), one.measure.as_str(), &one.labels) == (of, measure, labels)
    })
}
