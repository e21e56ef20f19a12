//! The presets `latency`, `latency-lean` and `latency-max` keep the bounds that their plans state: what retransmission and copies can
//! reach at best, and some milliseconds.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;

use lab::compare::{Difference, compare, tally};
use lab::engine::{Finished, Shard, run};
use lab::plan::{Plan, Size};
use lab::verdict::{Word, judge};

const KEY: &str = "flow.w1,w2,w3.policy";

/// The small version of a plan of this folder, and its results.
fn results_of(file: &str) -> (Plan, Finished) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let plan = Plan::parse(&std::fs::read_to_string(path).unwrap(), Size::Small, None).unwrap();
    let mut finished = Finished::new();
    run(&plan, Shard::default(), &BTreeSet::new(), 2, |job, results| {
        finished.insert(job, results);
        Ok(())
    })
    .unwrap();
    (plan, finished)
}

/// The rows that a plan's results miss, by their measure and cell, and how many they keep.
fn missed(plan: &Plan, finished: &Finished) -> (Vec<String>, usize) {
    let verdicts = judge(plan, finished);
    let differs = verdicts.iter().filter(|verdict| verdict.agreement == Word::Differs);
    let missed = differs.map(|verdict| {
        let network = format!("{:?}", verdict.expectation.cells);
        format!("{} {}", network, verdict.expectation.measure)
    });
    let kept = verdicts.iter().filter(|verdict| verdict.agreement == Word::Same).count();
    (missed.collect(), kept)
}

#[test]
fn sctp_s_latency_presets_keep_their_bounds_except_for_the_mean_and_the_tail_under_jitter() {
    let (plan, finished) = results_of("latency.toml");
    let (missed, kept) = missed(&plan, &finished);
    assert!(missed.iter().all(|row| row.contains("jitter")), "{missed:?}");
    assert!(kept >= 13, "{kept}");
}

#[test]
fn tcp_s_latency_keeps_its_bounds_but_where_a_single_message_waits_for_a_delayed_acknowledgement() {
    let (plan, finished) = results_of("latency-tcp.toml");
    let (missed, kept) = missed(&plan, &finished);
    // Without requests, and in two workloads whose messages travel alone.
    let alone = |row: &String| {
        row.contains("\"latency\"") && (row.contains("\"W1\"") || row.contains("\"W3\""))
    };
    assert!(missed.iter().all(alone), "{missed:?}");
    assert!(kept >= 9, "{kept}");
}

#[test]
fn latency_is_slower_than_thin_in_no_number_but_two_of_tcp_and_faster_in_most() {
    for file in ["latency.toml", "latency-tcp.toml"] {
        let (plan, finished) = results_of(file);
        for policy in ["latency", "latency-lean", "latency-max"] {
            let compared = compare(&plan, &finished, KEY, (policy, "thin"), &[]);
            let quantiles =
                [0.99, 0.999].map(|quantile| format!("latency.quantile[quantile={quantile}]"));
            let names = ["latency.mean", &quantiles[0], &quantiles[1]];
            let found = tally(&compared, &names, 0.01);
            // What rides along with messages that mostly travel alone makes their acknowledgements prompt now and then: a
            // variation, which lengthens the timer by a tenth.
            let excused = |difference: &Difference| {
                let little = difference.one < difference.other * 1.1;
                (file, policy, &*difference.of) == ("latency-tcp.toml", "latency", "w3") && little
            };
            let higher: Vec<_> = found.higher.iter().filter(|(_, one)| !excused(one)).collect();
            assert!(higher.is_empty(), "{file} {policy}: {higher:?}");
            println!("{file} {policy}: {} of {}", found.lower, found.compared);
            assert!(found.lower >= 8, "{file} {policy}: {} of {}", found.lower, found.compared);
        }
    }
}
