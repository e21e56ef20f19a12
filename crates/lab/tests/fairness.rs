//! Throughput that thin streams of the `latency` presets leave to others on a bottleneck, and to
//! each other where it is too narrow.

#![allow(clippy::panic, reason = "a test fails by panicking")]

mod support;

use lab::compare::{Comparison, compare};

use self::support::results_of;

const KEY: &str = "flow.thin";

/// A measure of flows `of`: with `one` and with `other`.
fn pair(compared: &[Comparison], of: &str, name: &str) -> Vec<(f64, f64)> {
    let found = compared.iter().flat_map(|cell| &cell.differences);
    let found = found.filter(|difference| difference.of == of && difference.name == name);
    found.map(|difference| (difference.one, difference.other)).collect()
}

#[test]
fn greedy_flows_get_as_much_beside_200_streams_of_latency_as_beside_200_standard_ones() {
    let (plan, finished) = results_of("tests/fairness.toml");
    for (one, standard) in [("sctp latency", "sctp rfc"), ("tcp latency", "tcp sack")] {
        let compared = compare(&plan, &finished, KEY, (one, standard), &[]);
        let [(latency, other)] = pair(&compared, "greedy", "goodput.mean")[..] else { panic!() };
        assert!((latency / other - 1.0).abs() < 0.03, "{one}: {latency} beside {other}");
        let [(jain, _)] = pair(&compared, "thin", "goodput.jain")[..] else { panic!() };
        assert!(jain > 0.95, "{one}: {jain}");
        // The streams make no queue of their own: their messages wait no longer than standard ones,
        // within what chance makes of the short run. The plan bounds its own run, of which
        // the test has a part, by 1 ms at the shortest twentieth.
        for quantile in ["0.05", "0.5"] {
            let name = format!("latency.quantile[quantile={quantile}]");
            let [(here, there)] = pair(&compared, "thin", &name)[..] else { panic!() };
            assert!(here < there + 3.0, "{one}: {name} {here} beside {there}");
        }
    }
}

#[test]
fn a_line_that_thin_streams_fill_or_overload_is_no_slower_with_latency_which_backs_off() {
    let (plan, finished) = results_of("tests/overload.toml");
    for (one, standard) in [("sctp latency", "sctp rfc"), ("tcp latency", "tcp sack")] {
        let compared = compare(&plan, &finished, KEY, (one, standard), &[]);
        let means = pair(&compared, "thin", "latency.mean");
        let [_, full, overloaded] = means[..] else { panic!("{one}: {means:?}") };
        // TCP's receivers delay acknowledgements by more than a new sender assumes.
        let most = if one == "sctp latency" { 1.01 } else { 1.2 };
        assert!(full.0 <= full.1 * most, "nine tenths full: {one}: {full:?}");
        assert!(overloaded.0 <= overloaded.1, "overloaded: {one}: {overloaded:?}");
    }
    let without =
        compare(&plan, &finished, KEY, ("sctp latency", "sctp latency, whatever the queue"), &[]);
    let losses = pair(&without, "link forward", "link.loss");
    let [_, _, (latency, without)] = losses[..] else { panic!("{losses:?}") };
    assert!(latency < without * 2.0 / 3.0, "overloaded: {latency} % beside {without} %");
}
