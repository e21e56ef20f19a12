//! Plans with `[fit]`, and the plans of their trials.

use super::*;
use crate::engine;
use crate::plan::Size;

/// A stream over a network whose losses are varied; without any its mean latency is half of the
/// round trip.
const PLAN: &str = concat!(
    include_str!("../../tests/fit.toml"),
    r#"
[sweep]
"network.loss" = ["0%", "5%"]
[[expect]]
where = { "network.loss" = "5%" }
measure = "latency.mean"
value = 70
unit = "ms"
source = "here"
[[expect]]
measure = "latency.mean"
above = 1
unit = "ms"
source = "here"
"#
);

/// The row of the plan that names no loss rate.
const ROW: &str = "measure = \"latency.mean\"\nvalue = \"40.0\"";

fn plan(fit: &str) -> Plan {
    Plan::parse(&format!("{PLAN}{fit}"), Size::Normal, None).unwrap()
}

#[test]
fn a_trial_has_the_setting_and_the_rows_of_its_cells() {
    let plan = plan(
        "[fit]\nwhere = { \"network.loss\" = \"0%\" }\n[fit.unknown]\n\"network.rtt\" = { from = \"20ms\", to = \"120ms\" }",
    );
    let fit = Fit::of(&plan).unwrap();
    assert_eq!(fit.unknowns().len(), 1);
    for (share, rtt, met) in [(0.6, "80ms", true), (0.1, "30ms", false)] {
        let setting = fit.setting(&[share]);
        assert_eq!(setting.texts(), [("network.rtt".to_owned(), rtt.to_owned())]);
        let trial = fit.plan(&setting).unwrap();
        assert_eq!((trial.cells.len(), trial.seeds, trial.base.expectations.len()), (1, 2, 1));
        let found = residuals(&trial, &engine::run_all(&trial).unwrap());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].is_within_rounding(), met, "{found:?}");
        assert_eq!(cost(&found) == 0.0, met, "{found:?}");
    }
}

#[test]
fn a_key_that_is_varied_can_be_unknown_and_rows_that_name_it_are_left_out() {
    let plan = plan("[fit.unknown]\n\"network.loss\" = [\"0%\", \"5%\"]");
    let named = format!("where = {{ \"network.loss\" = \"0%\" }}\n{ROW}");
    let text = plan.text.replace(ROW, &named);
    let of_losses = Plan::parse(&text, Size::Normal, None).unwrap();
    assert!(Fit::of(&of_losses).unwrap_err().to_string().contains("nothing to meet"));
    let fit = Fit::of(&plan).unwrap();
    let trial = fit.plan(&fit.setting(&[1.0])).unwrap();
    assert_eq!((trial.cells.len(), trial.base.expectations.len()), (1, 1));
    assert!(trial.text.contains("loss = \"5%\""), "{}", trial.text);
}

#[test]
fn a_plan_without_unknowns_is_refused_with_what_would_be_right() {
    let plan = Plan::parse(PLAN, Size::Normal, None).unwrap();
    assert!(Fit::of(&plan).unwrap_err().to_string().contains("[fit.unknown]"));
    for (fit, told) in [
        ("[fit]\n[fit.unknown]", "is empty"),
        (
            "[fit]\nwhere = { \"network.rtt\" = \"1ms\" }\n[fit.unknown]\n\"network.rtt\" = [\"1ms\", \"2ms\"]",
            "both in where and in unknown",
        ),
    ] {
        let error = Plan::parse(&format!("{PLAN}{fit}"), Size::Normal, None).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[test]
fn a_row_that_takes_less_than_a_rounding_is_met_within_what_it_takes() {
    let text = PLAN.replace("value = \"40.0\"", "value = 40\nwithin = 0.01");
    let fit = "[fit]\nwhere = { \"network.loss\" = \"0%\" }\n[fit.unknown]\n\"network.rtt\" = [\"80ms\", \"80.4ms\"]";
    let plan = Plan::parse(&format!("{text}{fit}"), Size::Normal, None).unwrap();
    let fit = Fit::of(&plan).unwrap();
    for (share, met) in [(0.0, true), (0.9, false)] {
        let trial = fit.plan(&fit.setting(&[share])).unwrap();
        let found = residuals(&trial, &engine::run_all(&trial).unwrap());
        assert_eq!((found[0].rounding, found[0].is_within_rounding()), (0.01, met), "{found:?}");
    }
}
