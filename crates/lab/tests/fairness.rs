//! What thin streams of the `latency` presets leave to others on a bottleneck, and to each other where it is too narrow.

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
fn greedy_flows_get_as_much_beside_200_streams_of_sctp_s_latency_as_beside_200_of_rfc() {
    let (plan, finished) = results_of("tests/fairness.toml");
    let compared = compare(&plan, &finished, KEY, ("sctp latency", "sctp rfc"), &[]);
    let [(latency, rfc)] = pair(&compared, "greedy", "goodput.mean")[..] else { panic!() };
    assert!((latency / rfc - 1.0).abs() < 0.03, "{latency} beside {rfc}");
    let [(jain, _)] = pair(&compared, "thin", "goodput.jain")[..] else { panic!() };
    assert!(jain > 0.95, "{jain}");
    // TCP's copies ride along with messages whose acknowledgement the receiver delays: a price, which is bounded.
    let compared = compare(&plan, &finished, KEY, ("tcp latency", "tcp sack"), &[]);
    let [(latency, sack)] = pair(&compared, "greedy", "goodput.mean")[..] else { panic!() };
    assert!(latency / sack > 0.95, "{latency} beside {sack}");
}

#[test]
fn a_line_that_thin_streams_fill_is_no_slower_with_sctp_s_latency_and_at_overload_it_backs_off() {
    let (plan, finished) = results_of("tests/overload.toml");
    let compared = compare(&plan, &finished, KEY, ("sctp latency", "sctp rfc"), &[]);
    let means = pair(&compared, "thin", "latency.mean");
    let [_, (latency, rfc), _] = means[..] else { panic!("{means:?}") };
    assert!(latency <= rfc * 1.01, "nine tenths full: {latency} beside {rfc}");
    let without =
        compare(&plan, &finished, KEY, ("sctp latency", "sctp latency, whatever the queue"), &[]);
    let losses = pair(&without, "link forward", "link.loss");
    let [_, _, (latency, without)] = losses[..] else { panic!("{losses:?}") };
    assert!(latency < without * 2.0 / 3.0, "overloaded: {latency} % beside {without} %");
}
