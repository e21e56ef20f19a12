use super::*;
use lab::engine::{Shard, run_all};
use lab::plan::Size;
use lab::stored::manifest::Surroundings;
use lab::verdict::Word;

/// Also run by the tests of the engine.
const PLAN: &str = include_str!("../../../lab/tests/two-transports.toml");

const EXPECTED: &str = r#"
[[expect]]
where = { "flow.sctp.policy" = "thin" }
versus = { "flow.sctp.policy" = "lksctp" }
of = "sctp"
measure = "latency.mean[order=1]"
below = 1
source = "section 6.1"
note = "not shown, since it is the same"

[[expect]]
where = { "flow.sctp.policy" = "thin" }
of = "tcp"
over = "sctp"
measure = "latency.mean"
value = 1000
source = "made up"
note = "a note"

[[expect]]
measure = "nothing.of.this"
value = 3
unit = "ms"
source = "made up"

[[expect]]
measure = "link.loss"
of = "link forward"
unit = "%"
reported = false
source = "made up"

[open]
"network.queue" = "nothing is said of one"
"#;

pub(crate) fn study() -> PlanResults {
    let text =
        PLAN.replacen("[run]", "paper = \"sctp-thin\"\nreproduces = \"8a\"\n[run]", 1) + EXPECTED;
    let plan = Plan::parse(&text, Size::Normal, None).unwrap();
    let finished = run_all(&plan).unwrap();
    let around =
        Surroundings { time_s: Some(1_795_287_600), wall_s: Some(2.4), ..Surroundings::default() };
    let manifest = Manifest::new(&plan, Shard::default(), finished.len() as u64, around);
    PlanResults {
        id: "two".to_owned(),
        plan,
        finished,
        manifest,
        commands: vec!["do it".to_owned()],
    }
}

#[test]
fn a_study_becomes_a_section_with_all_that_its_plan_says() {
    let (document, problems) = document("All", "about", &[study()]);
    assert_eq!(problems, [""; 0]);
    let [section] = document.sections.as_slice() else { panic!() };
    assert_eq!((section.id.as_str(), section.group.as_deref()), ("two", Some("sctp-thin")));
    assert_eq!(section.title, "Figure 8a: Two transports over loss");
    assert!(!section.figures.is_empty());
    assert_eq!(section.open[0].name, "network.queue");
    let set = |name: &str| {
        let entry = section.parameters.iter().find(|entry| entry.name == name);
        entry.map(|entry| entry.value.as_str())
    };
    assert_eq!(set("network.rtt"), Some("100ms"));
    assert_eq!(set("flow.tcp.workload.arrivals"), Some("~100ms"));
    assert_eq!(set("flow.sctp.policy"), Some("lksctp | thin"));
    assert_eq!(set("runs"), Some("6 of 6: 2 cells, seeds 1 to 3; 2 s"));
    let finished = document.provenance.iter().find(|entry| entry.name == "Finished");
    assert_eq!(finished.map(|entry| entry.value.as_str()), Some("2026-11-21 19:00 UTC"));
    // Without [full] the paper's size is the plan's own: 2.4 s. Then it is ten thousand times as
    // much.
    let full = |document: &Document| {
        let entry = document.provenance.iter().find(|entry| entry.name == "With --full");
        entry.map(|entry| entry.value[..15].to_owned())
    };
    assert_eq!(full(&document).as_deref(), Some("about 0.1 hours"));
    let mut longer = study();
    let text = longer.plan.text + "[full]\nduration = \"10min\"\nseeds = 1500\n";
    longer.plan = Plan::parse(&text, Size::Normal, None).unwrap();
    let (document, _) = super::document("All", "about", &[longer]);
    assert_eq!(full(&document).as_deref(), Some("about 6.7 hours"));
}

#[test]
fn the_table_says_paper_and_here_in_words_and_what_was_not_measured() {
    let study = study();
    let rows = comparisons(&study.plan, &study.finished);
    let words: Vec<_> = rows.iter().map(|row| row.verdict).collect();
    assert_eq!(words, [Word::Same, Word::Differs, Word::NotMeasured, Word::NotReported]);
    assert_eq!(rows[0].measure, "sctp: latency.mean[order=1], ratio");
    assert_eq!(rows[0].case, "thin over lksctp");
    assert_eq!(rows[0].paper.as_deref(), Some("below 1"));
    assert!(rows[0].interval.as_ref().unwrap().contains(" to "));
    assert_eq!(rows[1].measure, "tcp: latency.mean over that of sctp: latency.mean");
    assert_eq!((rows[0].note.as_deref(), rows[1].note.as_deref()), (None, Some("a note")));
    assert_eq!((rows[2].paper.as_deref(), rows[2].here.as_str()), (Some("3 ms"), "–"));
    assert_eq!(rows[3].paper, None);
    assert_eq!(rows[1].interval.as_deref().map(|text| text.contains(" to ")), Some(true));
    assert_eq!(rows[2].interval, None);
    assert!(rows[3].here.ends_with(" %"));
}

#[test]
fn dates_are_those_of_the_calendar() {
    for (seconds, text) in [
        (0, "1970-01-01 00:00 UTC"),
        (951_782_400, "2000-02-29 00:00 UTC"),
        (1_709_251_199, "2024-02-29 23:59 UTC"),
        (4_102_444_800, "2100-01-01 00:00 UTC"),
    ] {
        assert_eq!(date(seconds), text);
    }
}

#[test]
fn names_of_files_have_nothing_that_a_shell_would_mind() {
    assert_eq!(slug("sctp-thin/fig 8a: What? (Ä)"), "sctp-thin-fig-8a-what");
}

#[test]
fn the_papers_number_is_printed_as_the_paper_has_it() {
    let mut study = study();
    let row = |value: &str| {
        format!(
            "\n[[expect]]\nof = \"sctp\"\nmeasure = \"latency.mean\"\nsource = \"s\"\nunit = \"ms\"\n{value}\n"
        )
    };
    for (value, shown) in [
        ("value = 14447", "14447 ms"),
        ("value = \"25.000\"", "25.000 ms"),
        ("above = 0.12345\nbelow = 67000", "0.12345 to 67000 ms"),
        (
            "value = 29085\nderived = \"30 s less three times 305 ms\"",
            "29085 ms, derived: 30 s less three times 305 ms",
        ),
    ] {
        study.plan = Plan::parse(&(PLAN.to_owned() + &row(value)), Size::Normal, None).unwrap();
        let rows = comparisons(&study.plan, &study.finished);
        assert_eq!(rows[0].paper.as_deref(), Some(shown));
    }
}

#[test]
fn a_row_says_what_it_is_of_how_many_seeds_and_why_it_is_not_judged() {
    let mut study = study();
    let rows = "\n[[expect]]\nof = \"sctp\"\nmeasure = \"messages.undelivered\"\nsource = \"s\"\nvalue = 0\nkind = \"input\"\n\
        [[expect]]\nof = \"sctp\"\nmeasure = \"latency.mean\"\nsource = \"s\"\nvalue = 1\nfull = true\nnote = \"of the value\"\n\
        [[expect]]\nof = \"sctp\"\nmeasure = \"latency.max\"\nversus = { \"flow.sctp.policy\" = \"lksctp\" }\nwhere = { \"flow.sctp.policy\" = \"thin\" }\nthan = { measure = \"latency.mean\" }\nsource = \"s\"\nbelow = 0\n";
    study.plan = Plan::parse(&(PLAN.to_owned() + rows), Size::Normal, None).unwrap();
    let rows = comparisons(&study.plan, &study.finished);
    assert_eq!((rows[0].verdict, rows[0].agreement), (Word::Input, Some(Word::Same)));
    assert_eq!(rows[0].interval.as_deref(), Some("3 seeds alike"));
    assert_eq!((rows[1].verdict, rows[1].here.as_str()), (Word::NotMeasured, "–"));
    assert_eq!(rows[1].note.as_deref(), Some(NOT_ASKED));
    assert_eq!(rows[2].measure, "sctp: latency.max, ratio, less sctp: latency.mean, ratio");
    assert_eq!(rows[2].case, "thin over lksctp");
}
