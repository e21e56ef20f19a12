//! Each mechanism of `latency` has a row in a plan that shows what the mechanism is good for.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use recovery::policy::{Protocol, RecoveryPolicy};
use toml::{Table, Value};

use self::support::text_of;

/// Fields that rows of a sweep change in `latency`: rows that are policies, or flows of this
/// transport that have one.
fn changed(file: &str, key: &str, transport: Option<&str>) -> BTreeSet<String> {
    let plan: Table = text_of(file).parse().unwrap();
    let rows = plan["sweep"][key].as_array().unwrap().iter().filter_map(Value::as_table);
    let policies = rows.filter_map(|row| match transport {
        None => Some(row),
        Some(name) => (row["transport"].as_str() == Some(name))
            .then(|| row.get("policy").and_then(Value::as_table))
            .flatten(),
    });
    let of_latency = policies.filter(|row| row["preset"].as_str() == Some("latency"));
    let fields = of_latency.flat_map(|row| row.keys());
    fields.filter(|field| !["name", "preset"].contains(&field.as_str())).cloned().collect()
}

/// Fields in which `latency` differs from the RFCs' recovery, to which copies without any limit
/// were added: the mechanisms that the preset consists of.
fn mechanisms(protocol: Protocol) -> BTreeSet<String> {
    let latency = RecoveryPolicy::of_preset(protocol, "latency").unwrap();
    let mut plain = RecoveryPolicy::of_preset(protocol, "rfc").unwrap();
    plain.set("bundling", "paper").unwrap();
    let fields =
        latency.fields().filter(|(field, value)| field.get(&plain).as_ref() != Some(value));
    fields.map(|(field, _)| field.name.to_owned()).collect()
}

#[test]
fn every_mechanism_of_latency_has_a_row_without_it() {
    for (protocol, file, transport) in [
        (Protocol::Sctp, "tests/ablation.toml", "sctp"),
        (Protocol::Tcp, "tests/ablation-tcp.toml", "tcp"),
    ] {
        let mechanisms = mechanisms(protocol);
        assert!(mechanisms.len() > 20, "{mechanisms:?}");
        let mut rows = changed(file, "flow.stream.policy", None);
        // What only the first message of a connection meets is in the plan of these.
        rows.extend(changed("../peers/plans/set-up.toml", "flow.stream", Some(transport)));
        let without: Vec<_> = mechanisms.difference(&rows).collect();
        assert!(without.is_empty(), "{protocol}: no row without {without:?}");
    }
}
