//! docs/targets.md has the targets of the plans as they are: bounds, how many numbers miss, and
//! what was tried.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use lab::plan::{Plan, Quantity, Size, Target, Tried};

/// Plans whose targets `crates/lab/tests/latency.rs` reaches, or misses, in runs.
const RUN: [&str; 3] = ["lab/tests/latency", "lab/tests/latency-tcp", "lab/tests/thin-full"];

/// Plans whose targets `make comparison` runs.
const COMPARED: [&str; 6] = [
    "peers/plans/thin",
    "peers/plans/networks",
    "peers/plans/held-out",
    "peers/plans/random",
    "peers/plans/random-held-out",
    "peers/plans/receivers",
];

fn text_of(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// The table of a plan's targets in the page: its rows, and the sentence below it.
fn table<'a>(page: &'a str, title: &str) -> (Vec<Vec<&'a str>>, &'a str) {
    let (_, section) =
        page.split_once(&format!("\n### {title}\n")).unwrap_or_else(|| panic!("{title}"));
    let section = section.split("\n### ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells = |line: &'a str| line.trim_start_matches("| ").split(" | ").collect();
    (rows.map(cells).collect(), section.trim().lines().last().unwrap())
}

/// Number of cells in which a number misses, as the page has it: `p99 **3**`, or `p99 in 3 of 5
/// (…)`.
fn missed(had: &str, quantity: Quantity) -> usize {
    let Some((_, counts)) = had.split_once(&format!("{quantity} in ")) else {
        return usize::from(had.contains(&format!("{quantity} **")));
    };
    let mut counts = counts.split([' ', ',']).filter_map(|word| word.parse::<usize>().ok());
    let (met, all) = (counts.next().unwrap(), counts.next().unwrap());
    all - met
}

/// Checks a row of the page against its target; returns how many numbers miss.
fn check(target: &Target, row: &[&str]) -> usize {
    let [name, most, had, verdict, tried] = row else { panic!("{row:?}") };
    assert_eq!((*name, *most), (&*target.name(), &*target.bounds()));
    let known = |quantity| target.missed.get(quantity).copied().unwrap_or(0);
    for quantity in target.most.keys() {
        assert_eq!(missed(had, *quantity), known(quantity), "{name}: {quantity} in {had}");
    }
    assert_eq!(*verdict == "met", target.missed.is_empty(), "{name}: {verdict}");
    let tried = tried.trim_end_matches('|').trim();
    match &target.tried {
        None => assert_eq!(tried, "", "{name}"),
        Some(Tried::ForAll(text)) => assert_eq!(tried, text, "{name}"),
        Some(Tried::ByCause(causes)) => {
            for (cause, text) in causes {
                let has_both = tried.contains(&format!("*{cause}* (")) && tried.contains(text);
                assert!(has_both, "{name}: {cause}: {tried}");
            }
        }
    }
    target.most.keys().map(known).sum()
}

/// Checks the table of a plan; returns how many numbers it has.
fn check_plan(page: &str, path: &str) -> usize {
    let plan = Plan::parse(&text_of(&format!("crates/{path}.toml")), Size::Normal, None).unwrap();
    let (rows, end) = table(page, &plan.base.title);
    assert_eq!(rows.len(), plan.base.targets.len(), "{path}");
    let missed: usize = plan.base.targets.iter().zip(&rows).map(|(one, row)| check(one, row)).sum();
    let mut counts = end.split(' ').filter_map(|word| word.parse::<usize>().ok());
    let (met, all) = (counts.next().unwrap(), counts.next().unwrap());
    assert_eq!(all - met, missed, "{path}: {end}");
    all
}

#[test]
fn the_page_has_each_target_with_its_bounds_misses_and_what_was_tried_and_says_how_many_are_run() {
    peers::register();
    let page = text_of("docs/targets.md");
    let run: usize = RUN.iter().map(|path| check_plan(&page, path)).sum();
    let compared: usize = COMPARED.iter().map(|path| check_plan(&page, path)).sum();
    let told = format!("{run} of the {} numbers", run + compared);
    assert!(page.contains(&told), "{told}");
}
