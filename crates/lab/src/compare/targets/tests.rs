use results::LatencySummary;

use super::*;
use crate::compare::Maker;
use crate::engine::run_all;
use crate::plan::Size;

const PLAN: &str = r#"
title = "Streams"
[run]
duration = "60s"
warm_up = "2s"
seeds = 2
[network]
kind = "pair"
rtt = "100ms"
[[flow]]
name = "thin"
transport = "sctp"
policy = "lksctp"
workload = { arrivals = "250ms", size = 100 }
[sweep]
"flow.thin.policy" = ["lksctp", "thin", "latency"]
"case" = [
    { name = "clean", "network.rtt" = "100ms" },
    { name = "lossy", "network.forward" = { loss = "packets 100" } },
]
[measure]
latency = {}
cost = {}
"#;

/// Runs the plan with these targets in their own cells only; returns its table and the targets
/// whose result differs from the plan's note.
fn judged(targets: &str) -> (String, Vec<String>) {
    let mut plan = Plan::parse(&format!("{PLAN}{targets}"), Size::Normal, None).unwrap();
    plan.keep_distributions();
    plan.keep_targets_alone();
    let finished = run_all(&plan).unwrap();
    let reached = reached(&plan, &finished).unwrap();
    let other = reached.iter().flat_map(Reached::not_as_known);
    (Reached::listing(&reached).markdown(), other.collect())
}

#[test]
fn a_number_is_met_if_it_rounds_to_the_target_s_digits_and_missed_beyond() {
    // 100 bytes behind the headers of a DATA chunk (16), SCTP (12) and IP (20); no latency above
    // the delay of the network.
    let of = |most: &str| {
        judged(&format!(
            "[[target]]\nwhere = {{ case = \"clean\", \"flow.thin.policy\" = \"lksctp\" }}\nmost = {{ {most} }}\n"
        ))
    };
    let (table, other) = of("bytes = 148, mean = \"0.0\", packets = \"1.00\"");
    let line = "| clean · lksctp | mean 0.0 ms, bytes 148 B, packets 1.00 | mean 0.0, bytes 148, packets 1.00 | met |  |\n";
    assert!(table.contains(line), "{table}");
    assert!(table.ends_with("3 of 3 numbers are met.\n"), "{table}");
    assert_eq!(other, Vec::<String>::new());
    let (table, other) = of("bytes = 147");
    assert!(table.contains("| bytes **148** | **missed** |"), "{table}");
    assert!(table.ends_with("0 of 1 numbers are met.\n"), "{table}");
    assert_eq!(other, ["bytes misses in 1 of 1, the plan says 0"]);
}

#[test]
fn a_miss_that_is_known_is_as_known_until_the_number_is_met() {
    let of = |bytes: u32| {
        judged(&format!(
            "[[target]]\nwhere = {{ \"flow.thin.policy\" = \"lksctp\", case = \"clean\" }}\nmost = {{ bytes = {bytes} }}\n\
             missed = {{ bytes = 1 }}\ntried = \"shorter headers\"\n"
        ))
    };
    let (table, other) = of(147);
    assert!(table.contains("| **missed** | shorter headers |"), "{table}");
    assert_eq!(other, Vec::<String>::new());
    assert_eq!(of(148).1, ["bytes misses in 0 of 1, the plan says 1"]);
}

#[test]
fn a_row_is_compared_with_the_lowest_of_others_in_every_case_and_cases_that_miss_are_named() {
    let ahead = |of: &str, most: &str| {
        judged(&format!(
            "[[target]]\nwhere = {{ \"flow.thin.policy\" = \"{of}\" }}\nahead_of = [\"lksctp\", \"thin\"]\nmost = {{ {most} }}\n"
        ))
    };
    let (table, _) = ahead("latency", "mean = \"0.0\", max = 0");
    assert!(table.contains("| mean in 2 of 2, max in 2 of 2 | met |"), "{table}");
    // The standard timer of a second, beside one of 200 ms.
    let lksctp = "[[target]]\nwhere = { \"flow.thin.policy\" = \"lksctp\" }\nahead_of = [\"thin\"]\nmost = { max = 0 }\n";
    let (table, other) = judged(lksctp);
    assert!(table.contains("| max in 1 of 2 (lossy **"), "{table}");
    assert_eq!(other, ["max misses in 1 of 2, the plan says 0"]);
}

#[test]
fn transports_that_lost_messages_are_no_competitors_and_miss_where_others_lost_none() {
    let row = |name: &str, mean: f64, undelivered| Row {
        name: name.to_owned(),
        maker: Maker::Others,
        latency: LatencySummary {
            count: 1,
            mean,
            p50: 0.0,
            p90: 0.0,
            p99: 0.0,
            p999: 0.0,
            max: 0.0,
        },
        on_time: 100.0,
        bytes: 100.0,
        packets: 1.0,
        needless: 0.0,
        undelivered,
        failed: 0,
    };
    let plan = format!(
        "{PLAN}[[target]]\nwhere = {{ \"flow.thin.policy\" = \"latency\" }}\nahead_of = [\"lksctp\", \"thin\"]\nmost = {{ mean = 0 }}\n"
    );
    let plan = Plan::parse(&plan, Size::Normal, None).unwrap();
    let of = |ours: u64, [lksctp, thin]: [u64; 2]| {
        let rows =
            vec![row("lksctp", 1.0, lksctp), row("thin", 5.0, thin), row("latency", 3.0, ours)];
        let table = SideBySide { keys: Vec::new(), rows };
        value(&plan.base.targets[0], (&table, &table.rows[2]), Quantity::Mean)
    };
    assert_eq!(of(0, [0, 0]), Some(2.0));
    assert_eq!(of(0, [1, 0]), Some(-2.0), "only the slower one delivered everything");
    assert_eq!(of(0, [1, 1]), None, "no other transport delivered everything");
    assert_eq!(of(1, [0, 0]), Some(f64::INFINITY));
    assert_eq!(of(1, [1, 1]), None);
}

#[test]
fn each_cell_that_misses_has_a_cause_and_each_cause_a_cell_that_misses() {
    let of = |causes: &str| {
        judged(&format!(
            "[[target]]\nwhere = {{ \"flow.thin.policy\" = \"lksctp\" }}\nmost = {{ bytes = 140, max = 100 }}\n\
             missed = {{ bytes = 2, max = 1 }}\ntried = {{ {causes} }}\n"
        ))
    };
    let (table, other) = of("clean = \"headers\", lossy = \"timers of a second\"");
    assert!(table.contains("| *clean* (1): headers; *lossy* (1): timers of a second |"), "{table}");
    assert_eq!(other, Vec::<String>::new());
    let (_, other) = of("loss = \"timers of a second\", snow = \"shovels\"");
    let told = [
        "tried has no cause for clean, which misses",
        "nothing misses for the cause snow in tried",
    ];
    assert_eq!(other, told);
}

#[test]
fn three_of_the_cells_that_miss_are_named_and_the_others_counted() {
    let cells = [5.0, 2.0, 9.0, 3.0, 4.0].iter().enumerate();
    let most = Stated { text: "1".to_owned(), number: 1.0 };
    let here = cells.map(|(place, here)| (place.to_string(), *here)).collect();
    let number = Number { quantity: Quantity::Mean, most: &most, known: 5, here };
    assert_eq!(number.had(), "mean in 0 of 5 (2 **9**; 0 **5**; 4 **4**; 2 more)");
}
