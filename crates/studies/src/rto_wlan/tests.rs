use std::collections::BTreeSet;

use results::{Labels, Results, Row};
use serde_json::json;

use super::gains::{Analysis, Pair, analyse, grid, rank};
use super::*;
use crate::run;
use lab::study::CellResults;

fn millis(values: &[u64]) -> Vec<Duration> {
    values.iter().copied().map(Duration::from_millis).collect()
}

fn default_findings(seed: u64) -> Results {
    run(NAME, json!({}), seed).unwrap()
}

#[test]
fn three_round_trips_by_hand() {
    // After 100 ms: SRTT 100, RTTVAR 50, so 300. After 200 with alpha 1/2, beta 1/2: RTTVAR 75,
    // SRTT 150, so 450.
    let rtts = millis(&[100, 200, 500]);
    let timeouts =
        to_timeouts(&rtts, Pair::new(5, 0).alpha(), Pair::new(0, 5).beta(), Deviation::Absolute);
    assert_eq!(timeouts, millis(&[300, 450]));
    let analysis = analyse(&rtts, Pair::new(5, 5), Deviation::Absolute);
    assert_eq!(analysis, Analysis { delay: Duration::from_millis(100), spurious: 1 });
}

#[test]
fn without_gains_the_timeout_is_three_times_the_first_round_trip_for_ever() {
    let rtts = millis(&[10, 5, 29, 30, 31, 500]);
    let analysis = analyse(&rtts, Pair::new(0, 0), Deviation::Absolute);
    assert_eq!(analysis, Analysis { delay: Duration::from_millis(25 + 1), spurious: 2 });
}

#[test]
fn the_signed_variation_is_below_a_rising_round_trip_time_and_the_truncated_one_decays() {
    let rising: Vec<u64> = (1..=50).map(|step| step * 40).collect();
    let spurious = |deviation| analyse(&millis(&rising), Pair::new(3, 3), deviation).spurious;
    assert_eq!(spurious(Deviation::Absolute), 0);
    assert!(spurious(Deviation::Signed) > 40, "{}", spurious(Deviation::Signed));
    assert!(spurious(Deviation::Truncated) > 40, "{}", spurious(Deviation::Truncated));
}

#[test]
fn places_and_ranks_are_permutations_and_the_best_is_nearest_to_the_corner() {
    let rtts = Walk::default().average(1).round_trips;
    let ranked = rank(&rtts, Deviation::Absolute);
    let places = |of: fn(&Ranked) -> u32| ranked.iter().map(of).collect::<BTreeSet<_>>();
    assert_eq!(ranked.len(), 121);
    assert_eq!(places(|one| one.by_delay), (0..121).collect());
    assert_eq!(places(|one| one.by_spurious), (0..121).collect());
    assert_eq!(places(|one| one.rank), (1..=121).collect());
    assert!(ranked.is_sorted_by(|a, b| a.distance() <= b.distance()));
    for pair in ranked.windows(2).filter(|pair| pair[0].by_delay < pair[1].by_delay) {
        assert!(pair[0].analysis.delay <= pair[1].analysis.delay);
    }
}

/// Places that count from 0 and Euclidean distances imply this: a number with two
/// digits that is no such root would show it.
#[test]
fn every_distance_that_the_paper_prints_is_that_of_two_places_from_0_to_120() {
    for printed in [41.05, 44.91, 45.54, 46.40, 48.17, 148.92, 149.20, 149.24, 150.81, 166.88] {
        let is_root = |x: u32, y: u32| {
            let distance = f64::from(x * x + y * y).sqrt();
            (distance - printed).abs() < 0.005
        };
        assert!((0..=120).any(|x| (0..=120).any(|y| is_root(x, y))), "{printed}");
    }
}

#[test]
fn the_walks_agree_with_the_text_where_it_is_possible() {
    let all: Vec<Results> = (1..=5).map(default_findings).collect();
    let value = |measure: &str, labels: &[(&str, &str)]| {
        mean(all.iter().map(|findings| findings.value(measure, labels).unwrap()))
    };
    let near = |here: f64, paper: f64, share: f64| {
        assert!((here / paper - 1.0).abs() < share, "{here} here, {paper} in the paper");
    };
    near(value("example.rto", &[("after", "10s")]), 2802.0, 0.2);
    near(value("example.rto.mean", &[]), 3.148, 0.2);
    let pair = |alpha, beta| [("alpha", alpha), ("beta", beta)];
    near(value("delay", &pair("0.0", "0.0")), 3.4, 0.2);
    near(value("delay", &pair("0.0", "0.2")), 105.11, 0.2);
    for findings in &all {
        let least = |of| findings.value(of, &[]);
        assert_eq!(least("delay.lowest.alpha").zip(least("delay.lowest.beta")), Some((0.0, 0.0)));
    }
}

#[test]
fn the_average_rises_because_walks_leave_one_after_another() {
    let findings = default_findings(1);
    let rtt = |seconds| findings.value("profile.rtt", &[("seconds", seconds)]).unwrap();
    assert!(rtt("1-60") * 3.0 < rtt("61-100") && rtt("61-100") * 2.0 < rtt("101-220"));
}

#[test]
fn a_walk_that_leaves_later_differs_only_between() {
    let walk = Walk::default();
    let (early, late) = (walk.single(3, 0, Some(100)), walk.single(3, 0, Some(150)));
    assert_eq!(early.round_trips[..100], late.round_trips[..100]);
    assert_eq!(early.round_trips[150..], late.round_trips[150..]);
    assert_ne!(early.round_trips, late.round_trips);
}

#[test]
fn the_same_seed_gives_the_same_and_another_seed_another() {
    assert_eq!(default_findings(4), default_findings(4));
    assert_ne!(default_findings(4).rows, default_findings(5).rows);
}

#[test]
fn a_wrong_parameter_is_named() {
    let refused = |parameters| run(NAME, parameters, 1).unwrap_err().to_string();
    assert!(refused(json!({ "unti": "3s" })).contains("unti"));
    assert!(refused(json!({ "until": "300s" })).contains("250 s"));
    assert!(refused(json!({ "deviation": "square" })).contains("truncated"));
    assert!(refused(json!({ "walk": { "long_stalls": 2.0 } })).contains("walk.long_stalls"));
    assert!(run("rto", json!({}), 1).unwrap_err().to_string().contains("rto-wlan"));
}

#[test]
fn gains_are_read_as_fractions_and_as_decimals() {
    let read = |alpha: serde_json::Value| {
        let parameters = json!({ "alpha": alpha });
        serde_json::from_value::<transfer::Parameters>(parameters).map(|read| read.alpha)
    };
    let is = |alpha, numerator, denominator| {
        assert_eq!(read(alpha).unwrap(), recovery::rtt::Ratio::new(numerator, denominator));
    };
    is(json!("1/8"), 1, 8);
    is(json!(0.7), 7, 10);
    is(json!("1.0"), 10, 10);
    is(json!(0.125), 125, 1000);
    assert!(read(json!(1.1)).unwrap_err().to_string().contains("1/8 or 0.7"));
    assert!(read(json!("fast")).is_err());
    assert_eq!(grid().count(), 121);
}

// ---- transfers -------------------------------------------------------------------------------

/// Section 5: a timeout of 2.8 s, doubled up to 60 s.
#[test]
fn data_stays_on_a_dead_path_as_long_as_the_sums_of_the_paper_say() {
    for (path_max_retrans, expected) in [(0, 2.8), (1, 8.4), (2, 19.6), (5, 146.8)] {
        let parameters = json!({
            "input": "constant", "other_rtt": "100ms", "rate": "2mbit", "rto_min": "2800ms",
            "from": "0s", "lost_after": "1s", "duration": "160s",
            "path_max_retrans": path_max_retrans,
        });
        let findings = run(transfer::NAME, parameters, 1).unwrap();
        let here = findings.value("switchover", &[]).unwrap();
        assert!((here - expected).abs() < 0.15, "{here} instead of {expected}");
    }
}

#[test]
fn a_hint_moves_data_before_the_path_is_lost() {
    let with = |hint: &str| {
        let parameters = json!({
            "rate": "1mbit", "lost_after": "10s", "duration": "60s", "hint": hint,
            "switchover": "evidence",
        });
        run(transfer::NAME, parameters, 1).unwrap()
    };
    let (told, untold) = (with("2s"), with("none"));
    assert_eq!(told.value("switchover", &[]), Some(-2.0));
    assert!(untold.value("switchover", &[]).unwrap() > 0.0);
    assert!(told.value("megabytes", &[]) > untold.value("megabytes", &[]));
}

fn as_results(cells: &[(Labels, Results)]) -> Vec<CellResults<'_>> {
    let cell = |(keys, results)| CellResults { keys: Labels::clone(keys), results };
    cells.iter().map(|(keys, results)| cell((keys, results))).collect()
}

#[test]
fn cells_are_ranked_apart_for_what_else_was_swept() {
    let cell = |alpha: &str, input: &str, megabytes: f64| {
        let keys = [("parameters.alpha", alpha), ("parameters.input", input)];
        let rows = vec![
            Row::new(transfer::NAME, "switchover", -megabytes, "s"),
            Row::new(transfer::NAME, "megabytes", megabytes, "MB"),
        ];
        let keys: Labels = keys.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        (keys, Results { rows, ..Results::default() })
    };
    let mut cells = vec![
        cell("0.1", "walk", 20.0),
        cell("0.2", "walk", 21.0),
        cell("0.3", "walk", 1.0),
        cell("0.4", "walk", 20.0),
        cell("0.1", "average", 5.0),
        cell("0.2", "average", 7.0),
    ];
    // An unfinished transfer has no rank, and takes none from others.
    cells[5].1.rows.clear();
    let rows = transfer::rank(&as_results(&cells));
    let of = |measure: &str| {
        let rows = rows.iter().filter(|(_, row)| row.measure == measure);
        rows.map(|(place, row)| (*place, row.value)).collect::<Vec<_>>()
    };
    let ranked = [(0, 2.5), (1, 1.0), (2, 4.0), (3, 2.5), (4, 1.0)];
    assert_eq!(of("rank.simulated"), ranked);
    // The more was transferred the sooner data left the path, in the only group that has an order.
    assert_eq!(of("rank.correlation"), [(0, -1.0)]);
}

#[test]
fn a_sweep_over_all_pairs_of_table_2_says_how_far_its_order_is_that_of_the_paper() {
    let cell = |pair: Pair, megabytes: f64| {
        let (alpha, beta) = pair.texts();
        let keys = [("parameters.alpha", alpha), ("parameters.beta", beta)];
        let keys: Labels = keys.map(|(key, value)| (key.to_owned(), value)).to_vec();
        let rows = vec![Row::new(transfer::NAME, "megabytes", megabytes, "MB")];
        (keys, Results { rows, ..Results::default() })
    };
    let agreement = |of: &dyn Fn(u32) -> f64| {
        let cells: Vec<_> =
            gains::TABLE_2.iter().map(|(pair, rank)| cell(*pair, of(*rank))).collect();
        let rows = transfer::rank(&as_results(&cells));
        rows.iter().find(|(_, row)| row.measure == "rank.agreement").map(|(_, row)| row.value)
    };
    assert_eq!(agreement(&|rank| 1000.0 - f64::from(rank)), Some(1.0));
    assert_eq!(agreement(&|rank| f64::from(rank)), Some(-1.0));
    // Equal numbers have no order.
    assert_eq!(agreement(&|_| 3.0), None);
    let one = [cell(Pair::new(7, 7), 1.0)];
    assert!(
        transfer::rank(&as_results(&one)).iter().all(|(_, row)| row.measure == "rank.simulated")
    );
}

#[test]
fn a_transfer_begins_with_the_first_timeout_of_the_paper() {
    let read = |parameters| {
        serde_json::from_value::<transfer::Parameters>(parameters).unwrap().rto_initial
    };
    assert_eq!(read(json!({})), Duration::from_secs(3));
    assert_eq!(read(json!({ "rto_initial": "1s" })), Duration::from_secs(1));
}
