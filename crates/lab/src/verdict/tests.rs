use super::*;

fn expectation(text: &str) -> Expectation {
    toml::from_str(&format!("measure = \"x\"\nsource = \"s\"\n{text}")).unwrap()
}

/// What becomes of an expectation beside a mean with so much on either side.
fn word(text: &str, mean: f64, half: f64) -> Word {
    weigh(&expectation(text), Found { mean, low: mean - half, high: mean + half })
}

#[test]
fn a_number_is_the_same_where_the_interval_is_within_its_tolerance() {
    let paper = "value = 100\ntolerance = 0.1";
    for (mean, half, expected) in [
        (100.0, 0.0, Word::Same),
        (109.0, 0.5, Word::Same),
        // The mean is inside and well known: half of the tolerance either way.
        (109.0, 5.0, Word::Same),
        (109.0, 5.1, Word::NotDecided),
        // The mean is outside, the interval touches.
        (112.0, 3.0, Word::NotDecided),
        (88.0, 1.0, Word::Differs),
        (112.0, 1.9, Word::Differs),
    ] {
        assert_eq!(word(paper, mean, half), expected, "{mean} +- {half}");
    }
}

#[test]
fn few_runs_cannot_tell_what_is_the_same() {
    // Two seeds: Student's interval holds nearly everything.
    assert_eq!(word("value = 3.5", 2.62, 0.62), Word::NotDecided);
    assert_eq!(word("value = 261", 284.0, 184.0), Word::NotDecided);
    // More runs of the same decide, for or against.
    assert_eq!(word("value = 261", 284.0, 10.0), Word::Same);
    assert_eq!(word("value = 3.5", 2.62, 0.3), Word::Differs);
}

#[test]
fn a_bound_is_decided_by_the_end_of_the_interval() {
    for (text, mean, half, expected) in [
        ("below = 1", 0.5, 0.4, Word::Same),
        ("below = 1", 0.895, 0.133, Word::NotDecided),
        ("below = 1", 1.05, 0.1, Word::NotDecided),
        ("below = 1", 1.5, 0.4, Word::Differs),
        ("above = 1", 1.5, 0.4, Word::Same),
        ("above = 1", 1.5, 0.6, Word::NotDecided),
        ("above = 1", 1.0, 0.0, Word::Differs),
        ("above = 1\nbelow = 2", 1.5, 0.4, Word::Same),
        ("above = 1\nbelow = 2", 1.5, 0.6, Word::NotDecided),
        ("above = 1\nbelow = 2", 2.5, 0.4, Word::Differs),
    ] {
        assert_eq!(word(text, mean, half), expected, "{text}: {mean} +- {half}");
    }
}

#[test]
fn a_ratio_of_one_is_not_the_same_as_an_effect_of_fifteen_percent() {
    for (paper, mean, half, expected) in [
        (1.15, 1.0, 0.01, Word::Differs),
        (1.15, 1.14, 0.01, Word::Same),
        (1.15, 1.05, 0.01, Word::SameDirection),
        (1.33, 1.16, 0.02, Word::SameDirection),
        (1.33, 1.30, 0.01, Word::Same),
        (1.33, 1.15, 0.20, Word::NotDecided),
        (0.85, 0.84, 0.005, Word::Same),
        // Beyond doubt not 1.9, and nobody knows on which side of 1.
        (1.9, 1.1, 0.2, Word::Differs),
        (1.9, 1.2, 0.1, Word::SameDirection),
        (1.9, 0.9, 0.05, Word::Differs),
        (0.5, 0.7, 0.05, Word::SameDirection),
        (0.5, 1.2, 0.05, Word::Differs),
    ] {
        let text = format!("value = {paper}\nover = \"other\"");
        assert_eq!(word(&text, mean, half), expected, "{paper}: {mean} +- {half}");
    }
}

#[test]
fn a_tolerance_of_a_ratio_is_never_more_than_its_share() {
    for (paper, tolerance, expected) in
        [(1.9, 0.15, 0.135), (0.2, 0.15, 0.03), (1.05, 0.15, 0.02), (1.05, 0.01, 0.0105)]
    {
        let found = room(paper, tolerance, true);
        assert!((found - expected).abs() < 1e-12, "{paper}, {tolerance}: {found}");
    }
    assert!((room(1.15, 0.1, false) - 0.115).abs() < 1e-12);
}

#[test]
fn what_the_paper_calls_equal_has_no_direction() {
    let paper = "value = 1\ntolerance = 0.05\nover = \"other\"";
    for (mean, half, expected) in [
        (0.97, 0.01, Word::Same),
        (0.1, 0.01, Word::Differs),
        (0.9, 0.01, Word::Differs),
        (1.2, 0.01, Word::Differs),
        (0.94, 0.02, Word::NotDecided),
    ] {
        assert_eq!(word(paper, mean, half), expected, "{mean} +- {half}");
    }
}

#[test]
fn what_is_not_reported_is_said_to_be_so() {
    assert_eq!(word("reported = false", 7.0, 3.0), Word::NotReported);
}

#[test]
fn one_run_where_chance_plays_decides_nothing() {
    use crate::engine::{Shard, tests};
    use crate::plan::Size;

    let text = tests::PLAN.to_owned()
        + "\n[[expect]]\nof = \"sctp\"\nmeasure = \"latency.mean\"\nabove = 0\nsource = \"s\"\n";
    for (seeds, expected) in [(1, Word::NotDecided), (3, Word::Same)] {
        let plan = Plan::parse(&text, Size::Normal, Some(seeds)).unwrap();
        let finished = tests::run_all(&plan, Shard::default(), &Default::default(), 1);
        assert_eq!(judge(&plan, &finished)[0].word, expected, "{seeds} seeds");
    }
}
