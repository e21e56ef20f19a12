//! Searches whose answers are known.

use lab::plan::{Plan, Size};

use super::*;

/// A stream over a network without losses, whose mean latency is half of the round trip; the size
/// of messages changes nothing.
const PLAN: &str = concat!(
    include_str!("../../../lab/tests/fit.toml"),
    r#"
[fit.unknown]
"network.rtt" = { from = "20ms", to = "420ms" }
"flow.f.workload.size" = [50, 150]
"#
);

fn search(text: &str, tries: u64, seed: u64, threads: usize) -> Result<Searched, FitError> {
    let plan = Plan::parse(text, Size::Normal, None).unwrap();
    let (fit, stopped) = (Fit::of(&plan).unwrap(), AtomicBool::new(false));
    let (mut seen, mut lowest) = (0, f64::INFINITY);
    let searched =
        Search { fit: &fit, tries, seed, threads, stopped: &stopped }.run(|tried, cost| {
            assert!(tried >= seen && cost <= lowest, "{tried} {cost}");
            (seen, lowest) = (tried, cost);
        });
    if let Ok(searched) = &searched {
        assert_eq!((searched.tried, searched.best.cost), (seen, lowest));
    }
    searched
}

#[test]
fn a_setting_that_gives_the_number_is_found_and_ends_the_search() {
    let found = search(PLAN, 300, 1, 2).unwrap();
    assert!(found.tried < 300 && !found.stopped, "{found:?}");
    assert!(found.best.residuals[0].is_within_rounding(), "{found:?}");
    let rtt = &found.best.setting.texts()[1];
    assert_eq!(rtt.0, "network.rtt");
    let rtt: f64 = rtt.1.trim_end_matches("ms").parse().unwrap();
    assert!((rtt - 80.0).abs() < 0.2, "{found:?}");
}

#[test]
fn the_answer_depends_on_the_seed_and_not_on_the_number_of_threads() {
    let impossible = PLAN.replace("from = \"20ms\"", "from = \"100ms\"");
    let (one, many) =
        (search(&impossible, 40, 1, 1).unwrap(), search(&impossible, 40, 1, 3).unwrap());
    assert_eq!(format!("{one:?}"), format!("{many:?}"));
    assert_eq!((one.tried, one.refused), (40, 0));
    assert!(!one.best.residuals[0].is_within_rounding());
    // The nearest that there is.
    assert!(one.best.residuals[0].here.is_some_and(|here| here < 60.0), "{one:?}");
    let other = search(&impossible, 40, 2, 1).unwrap();
    assert_ne!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn settings_that_make_no_sense_are_left_out_and_told_if_there_are_no_others() {
    let some = PLAN.replace("[50, 150]", "[100, -1]");
    let found = search(&some, 60, 1, 2).unwrap();
    assert!(found.refused > 0 && found.best.cost < f64::INFINITY, "{found:?}");
    let none = PLAN.replace("[50, 150]", "[-1, -2]");
    let error = search(&none, 20, 1, 2).unwrap_err().to_string();
    assert!(error.contains("no setting in the ranges") && error.contains("size"), "{error}");
}

#[test]
fn a_search_that_is_stopped_says_so() {
    let plan = Plan::parse(PLAN, Size::Normal, None).unwrap();
    let (fit, stopped) = (Fit::of(&plan).unwrap(), AtomicBool::new(true));
    let search = Search { fit: &fit, tries: 40, seed: 1, threads: 1, stopped: &stopped };
    assert!(matches!(search.run(|_, _| ()), Err(FitError::Stopped)));
    stopped.store(false, Ordering::Relaxed);
    let never = "20ms\", to = \"420ms";
    let text = PLAN.replace(never, "100ms\", to = \"420ms");
    let plan = Plan::parse(&text, Size::Normal, None).unwrap();
    let fit = Fit::of(&plan).unwrap();
    let search = Search { fit: &fit, tries: 400, seed: 1, threads: 1, stopped: &stopped };
    let found = search.run(|tried, _| stopped.store(tried >= 16, Ordering::Relaxed)).unwrap();
    assert!(found.stopped && found.tried < 30, "{found:?}");
}
