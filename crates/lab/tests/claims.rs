//! docs/claims.md: the papers' claims beside the rows that test them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use lab::experiments;
use toml::Value;

const PAGE: &str = include_str!("../../../docs/claims.md");

/// A claim of the page: the last cell of its line.
struct Claim<'a> {
    paper: &'a str,
    line: &'a str,
    rows: &'a str,
}

impl<'a> Claim<'a> {
    /// Plans, and words of the rows that test the claim.
    fn named(&self) -> Vec<(&'a str, &'a str)> {
        let one = |text: &'a str| {
            let (plan, words) = text.trim().split_once(' ').unwrap_or_default();
            let plan = plan.strip_prefix('`').and_then(|plan| plan.strip_suffix('`'));
            let words = words.strip_prefix('"').and_then(|words| words.strip_suffix('"'));
            plan.zip(words).unwrap_or_else(|| panic!("{}: {text} is no plan with words", self.line))
        };
        if self.has_none() { Vec::new() } else { self.rows.split("; ").map(one).collect() }
    }

    fn has_none(&self) -> bool {
        self.rows.starts_with("no row: ")
    }
}

fn claims() -> Vec<Claim<'static>> {
    let mut all = Vec::new();
    for section in PAGE.split("\n## ").skip(1) {
        let (paper, text) = section.split_once('\n').unwrap();
        let lines = text.lines().filter(|line| line.starts_with("| "));
        for line in lines.filter(|line| !line.starts_with("| place ")) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [_place, _words, rows] = cells[..] else { panic!("{line}: not three cells") };
            all.push(Claim { paper, line, rows });
        }
    }
    all
}

/// Sources of the rows of a plan, with what they count as.
fn sources(plan: &str) -> Vec<(String, Value)> {
    let found = experiments::all().into_iter().find(|one| one.name == plan);
    let text = found.unwrap_or_else(|| panic!("there is no plan {plan}")).text;
    let table: toml::Table = text.parse().unwrap();
    let rows = table.get("expect").and_then(Value::as_array).cloned().unwrap_or_default();
    rows.into_iter().map(|row| (row["source"].as_str().unwrap().to_owned(), row)).collect()
}

#[test]
fn each_row_that_a_claim_names_is_in_its_plan() {
    let all = claims();
    assert!(all.len() > 100, "{}", all.len());
    for claim in &all {
        for (plan, words) in claim.named() {
            let plan = format!("{}/{plan}", claim.paper);
            let is_there = sources(&plan).iter().any(|(source, _)| source.contains(words));
            assert!(is_there, "no row of {plan} says \"{words}\": {}", claim.line);
        }
    }
}

#[test]
fn each_row_that_a_paper_reports_is_a_claim_of_the_page() {
    let mut named: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for claim in &claims() {
        for (plan, words) in claim.named() {
            named.entry(format!("{}/{plan}", claim.paper)).or_default().push(words);
        }
    }
    let papers: Vec<&str> = claims().iter().map(|claim| claim.paper).collect();
    let of_paper = |name: &str| papers.iter().any(|paper| name.split('/').next() == Some(paper));
    for plan in experiments::all().into_iter().filter(|plan| of_paper(plan.name)) {
        for (source, row) in sources(plan.name) {
            let is_reported = row.get("reported").and_then(Value::as_bool).unwrap_or(true);
            let kind = row.get("kind").and_then(Value::as_str).unwrap_or_default();
            // A bound may be a control of ours; an input is no result.
            if !is_reported || ["input", "bound"].contains(&kind) {
                continue;
            }
            let known = named.get(plan.name).into_iter().flatten().any(|one| source.contains(one));
            assert!(known, "{}: no claim of docs/claims.md names \"{source}\"", plan.name);
        }
    }
}

#[test]
fn the_head_of_the_page_counts_claims_with_and_without_a_row() {
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for claim in claims() {
        let count = counts.entry(claim.paper).or_default();
        count[0] += 1;
        count[if claim.has_none() { 2 } else { 1 }] += 1;
    }
    for (paper, [all, tested, without]) in counts {
        let line = format!("| {paper} | {all} | {tested} | {without} |");
        assert!(PAGE.contains(&line), "the head of docs/claims.md lacks {line}");
    }
}
