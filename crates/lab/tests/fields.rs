//! No field of a policy is a trap: each field that a protocol accepts changes what that protocol
//! does somewhere.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fmt::Write as _;

use lab::plan::{Plan, Size};
use recovery::policy::{FIELDS, Field, Protocol};
use runner::threads::run_all;

use self::support::text_of;

/// Networks, with what flows over them.
const SCENES: [(&str, &str); 10] = [
    // A thin stream; packets of the set-up are lost, too.
    (
        "rtt = '100ms'\nloss = '20%'\njitter = '10ms'\npaired = false",
        "workload = { arrivals = '120ms', size = 100 }",
    ),
    // Thin and in an outage, after which the path is longer.
    (
        "rtt = '40ms'\nblackouts = ['4s..9s', '14s..17s']\nprofile = '11s delay=150ms'",
        "workload = { arrivals = '50ms', size = 100 }",
    ),
    // Thin streams beside each other, which nearly fill a line.
    (
        "rtt = '60ms'\nloss = '2%'\nrate = '64kbit'\nqueue = '16kB'",
        "count = 8\nworkload = { arrivals = '~200ms', size = 100 }",
    ),
    // A greedy flow, limited by its window.
    (
        "rtt = '100ms'\nloss = '1%'\nrate = '10mbit'\nqueue = '60p'",
        "workload = { arrivals = 'greedy', size = 1000 }",
    ),
    // Overtaken packets.
    (
        "rtt = '50ms'\nrate = '10mbit'\nreorder = '3% 30ms'\nloss = '0.5%'",
        "workload = { arrivals = 'greedy', size = 1000 }",
    ),
    // Bursts with pauses, so that windows grow and are idle.
    ("rtt = '50ms'\nloss = '0.2%'", "workload = { arrivals = 'bursts 60 1ms 4s', size = 1200 }"),
    // Packets that are overtaken by little.
    (
        "rtt = '200ms'\nreorder = '10% 12ms'\nloss = '3%'",
        "workload = { arrivals = 'bursts 4 5ms 150ms', size = 500 }",
    ),
    // A window of few packets.
    (
        "rtt = '100ms'\nrate = '200kbit'\nqueue = '3p'\nloss = '2%'",
        "workload = { arrivals = 'greedy', size = 1000 }",
    ),
    // A few packets at a time, more than a window that was halved twice.
    ("rtt = '100ms'\nloss = '6%'", "workload = { arrivals = 'bursts 4 5ms 150ms', size = 1400 }"),
    // No loss but that of a queue, and acknowledgements that wait.
    (
        "rtt = '80ms'\nrate = '5mbit'\nqueue = '200p'",
        "receiver = { delayed_ack = '200ms', every = 2 }\nworkload = { arrivals = 'greedy', size = 1400 }",
    ),
];

/// Other fields that a field needs to have an effect, on top of the preset `rfc`.
const AROUND: [&str; 15] = [
    "",
    "backoff = 'linear:6', dup-threshold-thin = '1'",
    "rto-min = '10ms', rto-min-variation = '0s', thin-detector = 'always', backoff = 'linear:2'",
    "early-retransmit = 'on', congestion = 'newreno'",
    "thin-detector = 'always', backoff = 'linear:6'",
    "rack = 'on', undo = 'on', tail-probe = '50ms', frto = 'on'",
    "congestion = 'cubic', prr = 'on'",
    "congestion = 'newreno'",
    "congestion = 'vegas'",
    "early-retransmit = 'on', thin-detector = 'always', rto-min = '200ms'",
    "early-timer = '50ms'",
    "bundling = 'paper', thin-detector = 'always'",
    "bundling = 'linux', bundling-reaction = 'presume', congestion = 'newreno'",
    "rto-min = '10ms', rto-min-variation = '0s', thin-detector = 'always', backoff = 'linear:6', linear-step = '600ms'",
    "bundling = 'linux', bundling-when = 'always', bundling-reaction = 'verified', frto = 'on'",
];

/// Candidate values: each field accepts some of them.
const VALUES: [&str; 19] = [
    "on",
    "off",
    "0",
    "1",
    "2",
    "3",
    "9",
    "0s",
    "10ms",
    "70ms",
    "2s",
    "1/2",
    "1/3",
    "1/64",
    "100B",
    "5000B",
    "always",
    "fewer-than-four",
    "linear:1",
];

/// Fields whose effect plans have no room for, or show only after many runs: where a test holds it,
/// a script of `conformance/` that fails with another value, or a test by its name.
const ELSEWHERE: &[(Protocol, &str, &str)] = &[
    (Protocol::Sctp, "linear-setup", "sctp/thin/linear-setup"),
    (Protocol::Tcp, "linear-setup", "tcp/open/linear-syns"),
    (Protocol::Sctp, "retransmission-path", "sctp/multihoming/alternate"),
    (Protocol::Sctp, "congestion", "sctp/cwnd/congestion-avoidance"),
    (Protocol::Sctp, "mtu-probes", "sctp/path-mtu/lost-probes"),
    (Protocol::Sctp, "mtu-probe-timer", "sctp/path-mtu/lost-probes"),
    (Protocol::Sctp, "mtu-raise-timer", "sctp/path-mtu/too-big"),
    (Protocol::Sctp, "mtu-base", "sctp/path-mtu/search"),
    (Protocol::Sctp, "mtu-sizes", "sctp/path-mtu/search"),
    (Protocol::Sctp, "linear-queue", "sctp/thin/linear-queue"),
    (Protocol::Sctp, "outage-data", "sctp/thin/outage-data"),
    (Protocol::Tcp, "outage-data", "tcp/thin/outage-data"),
    (
        Protocol::Sctp,
        "mtu-timeouts",
        "crates/sctp/tests/packets/path_mtu.rs::the_policy_says_how_many_timeouts_make_a_black_hole",
    ),
    (Protocol::Tcp, "rto-initial", "tcp/rto/first-sample"),
    (Protocol::Tcp, "backoff-ends", "tcp/thin/thick-doubles"),
    (Protocol::Tcp, "error-counting", "tcp/thin/errors-at-every-expiry"),
    (Protocol::Tcp, "partial-ack", "tcp/fast-retransmit/impatient"),
    (Protocol::Tcp, "congestion", "tcp/cwnd/congestion-avoidance"),
    (Protocol::Tcp, "handshake-losses", "tcp/open/lost-syns"),
    (Protocol::Tcp, "limited-transmit", "tcp/fast-retransmit/limited-transmit"),
    (
        Protocol::Tcp,
        "mtu-probes",
        "crates/tcp/src/path_mtu/tests.rs::the_policy_says_how_many_probes_are_sent_and_how_far_apart",
    ),
    (
        Protocol::Tcp,
        "mtu-probe-timer",
        "crates/tcp/src/path_mtu/tests.rs::the_policy_says_how_many_probes_are_sent_and_how_far_apart",
    ),
    (Protocol::Tcp, "mtu-raise-timer", "tcp/icmp/path-mtu-raised"),
    (Protocol::Tcp, "mtu-timeouts", "tcp/icmp/black-hole"),
    (Protocol::Tcp, "mtu-base", "tcp/icmp/black-hole"),
    (
        Protocol::Tcp,
        "mtu-sizes",
        "crates/tcp/src/path_mtu/tests.rs::the_policy_says_which_sizes_are_tried_and_where_the_search_begins",
    ),
    (Protocol::Tcp, "mtu-patience", "tcp/icmp/path-mtu-patience"),
];

/// Whether a test holds the effect of this field elsewhere.
fn is_held_elsewhere(protocol: Protocol, field: &Field) -> bool {
    let row = ELSEWHERE.iter().find(|(of, name, _)| (*of, *name) == (protocol, field.name));
    let Some((_, _, place)) = row else { return false };
    let (file, what) = match place.split_once("::") {
        Some((file, test)) => (format!("../../{file}"), format!("fn {test}()")),
        // The table of stacks with one changed field each, which must fail their scripts.
        None => ("../packetdrill/src/own_scripts.rs".to_owned(), format!("(\"{place}\", \"")),
    };
    let text = text_of(&file);
    let change = format!("{}=", field.name);
    let found = text
        .lines()
        .any(|line| line.contains(&what) && (place.contains("::") || line.contains(&change)));
    assert!(found, "{place} holds nothing of {}", field.name);
    true
}

/// The results of a plan with one policy.
fn results(protocol: Protocol, (network, flow): (&str, &str), policy: &str) -> Option<String> {
    let (transport, comma) =
        (protocol.to_string().to_lowercase(), if policy.is_empty() { "" } else { ", " });
    let text = format!(
        "title = 'a field'\nabout = 'a field'\n[run]\nduration = '20s'\nwarm_up = '0s'\nseeds = 1\ngrace = '10s'\n\
         [network]\nkind = 'pair'\n{network}\n[[flow]]\nname = 'flow'\ntransport = '{transport}'\n\
         policy = {{ preset = 'rfc'{comma}{policy} }}\n{flow}\n[measure]\nlatency = {{ of = ['flow'] }}\n\
         traffic = {{ of = ['flow'] }}\nretransmissions = {{ of = ['flow'] }}\ncost = {{ of = ['flow'] }}\n"
    );
    // A detail of copies needs copies.
    let plan = Plan::parse(&text, Size::Full, None).ok()?;
    Some(format!("{:?}", run_all(&plan, 2).unwrap()))
}

/// The values of a field that are tried.
fn values(field: &Field) -> Vec<&'static str> {
    let words = field.value.split('|').filter(|word| !word.chars().any(char::is_uppercase));
    let all = VALUES.into_iter().chain(words);
    all.filter(|value| field.check(value).is_ok()).collect()
}

#[test]
fn each_field_that_a_protocol_accepts_has_an_effect_on_it() {
    let mut without = String::new();
    for protocol in [Protocol::Sctp, Protocol::Tcp] {
        let mut plain = std::collections::BTreeMap::new();
        for field in FIELDS.iter().filter(|field| field.is_of(protocol)) {
            if is_held_elsewhere(protocol, field) {
                continue;
            }
            let mut cases = AROUND
                .iter()
                .flat_map(|around| (0..SCENES.len()).map(move |scene| (*around, scene)));
            let found = cases.find(|(around, scene)| {
                if around.split(", ").any(|other| other.starts_with(&format!("{} ", field.name))) {
                    return false;
                }
                let run = |policy: &str| results(protocol, SCENES[*scene], policy);
                // Without copies, none of their details can be set.
                if field.name.starts_with("bundling-") && !around.contains("bundling = ") {
                    return false;
                }
                let before = plain.entry((*around, *scene)).or_insert_with(|| run(around)).clone();
                values(field).iter().any(|value| {
                    let comma = if around.is_empty() { "" } else { ", " };
                    let after = run(&format!("{around}{comma}{} = '{value}'", field.name));
                    after.is_some() && after != before
                })
            });
            if found.is_none() {
                writeln!(without, "{protocol}: {}", field.name).unwrap();
            }
        }
    }
    assert_eq!(without, "", "fields without effect");
}
