//! Each transport carries messages through the laboratory, and the oracles repair as they should.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use base::Duration;
use lab::compare::{Row, side_by_side};
use lab::engine::run_all;
use lab::peers::Peers;
use lab::plan::{Plan, Size};
use peers::Registry;
use programs::missing::{Missing, available};

const OTHERS: [&str; 6] = ["quic", "kcp", "enet", "dcsctp", "sctp-proto", "usrsctp"];

/// Whether a transport is on this machine; where it is not, standard error says why.
fn is_here(name: &str) -> bool {
    let reason = Registry.missing(name);
    available(reason.map_or(Ok(()), |reason| Err(Missing(reason)))).is_some()
}

fn plan(network: &str, arrivals: &str, size: usize, flows: &[String]) -> Plan {
    peers::register();
    let flows: Vec<String> = flows.iter().map(|flow| format!("{{ {flow} }}")).collect();
    let text = format!(
        "title = \"t\"\nabout = \"a\"\n[run]\nduration = \"30s\"\nwarm_up = \"5s\"\nseeds = 1\ngrace = \"300s\"\n\
         [network]\nkind = \"pair\"\n{network}\n\
         [[flow]]\nname = \"f\"\ntransport = \"oracle-bundling\"\nset_up = \"5s\"\n\
         workload = {{ arrivals = \"{arrivals}\", size = {size} }}\n\
         [sweep]\n\"flow.f\" = [{}]\n[measure]\nlatency = {{}}\ncost = {{}}\n",
        flows.join(", ")
    );
    let mut plan = Plan::parse(&text, Size::Normal, None).unwrap();
    plan.keep_distributions();
    plan
}

fn rows(plan: &Plan) -> Vec<Row> {
    let finished = run_all(plan).unwrap();
    let mut groups = side_by_side(plan, &finished, Duration::from_millis(10)).unwrap();
    assert_eq!(groups.len(), 1);
    groups.remove(0).rows
}

/// Each transport as it is and tuned.
fn all() -> Vec<String> {
    let both = |name| [false, true].map(|tuned| format!("transport = \"{name}\", tuned = {tuned}"));
    OTHERS.into_iter().filter(|name| is_here(name)).flat_map(both).collect()
}

#[test]
fn every_transport_delivers_every_message_in_order_over_a_network_that_loses_some() {
    let plan = plan("rtt = \"100ms\"\nloss = \"3%\"", "50ms", 100, &all());
    for row in rows(&plan) {
        assert_eq!((row.undelivered, row.failed), (0, 0), "{row:?}");
        // Packets were lost, and repair took at least one more packet; bytes include headers.
        assert!(row.latency.max > 20.0 && row.bytes > 110.0, "{row:?}");
        assert!(row.packets < 6.0 && row.needless < 1.0, "{row:?}");
    }
}

#[test]
fn without_loss_what_is_tuned_is_as_fast_as_the_network_and_hardly_sends_anything_twice() {
    let tuned = OTHERS.map(|name| format!("transport = \"{name}\", tuned = true"));
    for row in rows(&plan("rtt = \"100ms\"", "250ms", 100, &tuned)) {
        assert!(row.latency.max < 2.0 && row.on_time == 100.0, "{row:?}");
        assert_eq!((row.undelivered, row.failed), (0, 0), "{row:?}");
        // The timeout of sctp-proto comes down to the round trip itself where that never varies.
        let most = if row.name.contains("sctp-proto") { 0.03 } else { 0.0 };
        assert!(row.needless <= most, "{row:?}");
    }
}

#[test]
fn an_oracle_repairs_a_loss_one_round_trip_after_the_packet_left() {
    // Messages come each 30 ms. The 40th packet is lost; its copy leaves 100 ms later as the 44th,
    // which is lost, too, and the next 100 ms after that. So one message is 200 ms late, and
    // the six behind it 170, 140 and so on to 20.
    let flows = ["transport = \"oracle-retransmission\"".to_owned()];
    let lost = "rtt = \"100ms\"\n[network.forward]\nloss = \"packets 40 44\"";
    let [row] = &rows(&plan(lost, "30ms", 30, &flows))[..] else { panic!("one row") };
    let messages = 833.0;
    assert_eq!((row.latency.max, row.needless, row.undelivered), (200.0, 0.0, 0), "{row:?}");
    // Quantiles have three digits.
    assert!(row.latency.p50 < 0.01, "{row:?}");
    let late = 200.0 + 170.0 + 140.0 + 110.0 + 80.0 + 50.0 + 20.0;
    assert!((row.latency.mean - late / messages).abs() < 1e-6, "{row:?}");
    assert!((row.packets - (messages + 2.0) / messages).abs() < 1e-9, "{row:?}");
    // 30 bytes behind 28 of IP and UDP.
    assert!((row.bytes - 58.0 * (messages + 2.0) / messages).abs() < 1e-9, "{row:?}");
}

#[test]
fn an_oracle_follows_a_round_trip_that_steps() {
    // The delay each way steps from 50 to 100 ms before the 40th packet, which is lost: its copy
    // leaves 200 ms after it. Latency counts above the 50 ms of the beginning.
    let flows = ["transport = \"oracle-retransmission\"".to_owned()];
    let network =
        "rtt = \"100ms\"\nprofile = \"8s delay=100ms\"\n[network.forward]\nloss = \"packets 40\"";
    let [row] = &rows(&plan(network, "100ms", 30, &flows))[..] else { panic!("one row") };
    assert_eq!((row.latency.max, row.needless, row.undelivered), (250.0, 0.0, 0), "{row:?}");
}

#[test]
fn an_oracle_that_bundles_repairs_a_loss_by_the_next_message() {
    // The 40th packet is lost; the next one, 30 ms later, brings both messages; where that is lost
    // too, the one after.
    let flows = ["transport = \"oracle-bundling\"".to_owned()];
    let lost = "rtt = \"100ms\"\n[network.forward]\nloss = \"packets 40 90 91\"";
    let [row] = &rows(&plan(lost, "30ms", 30, &flows))[..] else { panic!("one row") };
    let messages = 833.0;
    assert_eq!((row.latency.max, row.needless, row.undelivered), (60.0, 0.0, 0), "{row:?}");
    assert!((row.latency.mean - (30.0 + 60.0 + 30.0) / messages).abs() < 1e-6, "{row:?}");
    assert_eq!(row.packets, 1.0, "{row:?}");
    assert!((row.bytes - (58.0 + 30.0 * 4.0 / messages)).abs() < 1e-9, "{row:?}");
}

#[test]
fn an_oracle_waits_for_what_is_only_late() {
    // No packet is lost, and each takes up to 40 ms more: nothing is sent again.
    let flows = ["oracle-retransmission", "oracle-bundling"];
    let flows = flows.map(|name| format!("transport = \"{name}\""));
    for row in rows(&plan("rtt = \"120ms\"\njitter = \"20ms\"", "30ms", 30, &flows)) {
        assert_eq!((row.packets, row.needless), (1.0, 0.0), "{row:?}");
        assert!(
            (15.0..25.0).contains(&row.latency.mean) && row.latency.max < 41.0,
            "above the least delay: {row:?}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_rows() {
    let plan = plan("rtt = \"100ms\"\nloss = \"5%\"\njitter = \"5ms\"", "50ms", 100, &all());
    assert_eq!(rows(&plan), rows(&plan));
}

#[test]
fn our_sender_is_as_fast_to_the_stacks_of_others_as_to_ours() {
    // With a fixed margin a single lost SACK makes no receiver look slower than another.
    let policy = "{ preset = \"thin\", thin-detector = \"always\", rto-min-thin = \"1ms\", request-sack = \"always\", rto-margin = \"fixed\" }";
    let of = |receiver: &str| {
        format!("transport = \"sctp\", policy = {policy}, receiver = {{ {receiver} }}")
    };
    let mut flows = vec![
        "",
        "stack = \"dcsctp\"",
        "stack = \"dcsctp\", tuned = true",
        "stack = \"sctp-proto\"",
    ];
    if is_here("usrsctp") {
        flows.extend(["stack = \"usrsctp\"", "stack = \"usrsctp\", tuned = true"]);
    }
    let flows: Vec<String> = flows.into_iter().map(of).collect();
    let plan = plan("rtt = \"100ms\"\nloss = \"5%\"", "250ms", 100, &flows);
    let rows = rows(&plan);
    for row in &rows[1..] {
        assert_eq!((row.undelivered, row.failed), (0, 0), "{row:?}");
        assert!(
            (row.latency.mean - rows[0].latency.mean).abs() < 1.0 && row.latency.max < 310.0,
            "{row:?}, ours {:?}",
            rows[0]
        );
    }
}

#[test]
fn what_a_plan_cannot_mean_is_refused_with_what_would_be_right() {
    peers::register();
    let refused = |flow: &str, size: usize| {
        let text = format!(
            "title = \"t\"\nabout = \"a\"\n[run]\nduration = \"30s\"\nseeds = 1\n[network]\nkind = \"pair\"\nrtt = \"9ms\"\n\
             [[flow]]\nname = \"f\"\nworkload = {{ arrivals = \"1s\", size = {size} }}\n{flow}\n[measure]\nlatency = {{}}\n"
        );
        Plan::parse(&text, Size::Normal, None).unwrap_err().to_string()
    };
    for (flow, size, told) in [
        ("transport = \"kcp\"", 9, "16 to 1000 bytes"),
        ("transport = \"kcp\"", 1200, "16 to 1000 bytes"),
        ("transport = \"pigeon\"", 99, "expected one of sctp, tcp, quic, kcp"),
        ("transport = \"sctp\"", 99, "a policy is missing"),
        ("transport = \"kcp\"\npolicy = \"thin\"", 99, "for ours only"),
        ("transport = \"oracle-bundling\"\ntuned = true", 99, "nothing to tune"),
        ("transport = \"sctp\"\npolicy = \"thin\"\ntuned = true", 99, "ours has a policy"),
        (
            "transport = \"tcp\"\npolicy = \"thin\"\nreceiver = { stack = \"dcsctp\" }",
            99,
            "\"sctp\" only",
        ),
        (
            "transport = \"sctp\"\npolicy = \"thin\"\nreceiver = { stack = \"kcp\" }",
            99,
            "does not speak SCTP",
        ),
    ] {
        let error = refused(flow, size);
        assert!(error.contains(told), "{flow}: {error}");
    }
}

#[test]
fn the_small_benchmark_has_every_transport_and_each_delivers_over_a_network_of_the_library() {
    peers::register();
    if !is_here("usrsctp") {
        return;
    }
    let text = include_str!("../plans/benchmark.toml");
    let mut plan = Plan::parse(text, Size::Small, None).unwrap();
    plan.keep_distributions();
    let rows = rows(&plan);
    for other in OTHERS {
        let named = rows.iter().filter(|row| row.name.to_lowercase().starts_with(other)).count();
        assert_eq!(named, 2, "{other} as it is and tuned");
    }
    for row in rows.iter().filter(|row| !row.name.contains("tuned")) {
        assert_eq!(row.undelivered, 0, "{row:?}");
        // A frame that Wi-Fi repeats, and what other guests of the hotel send, are on the way.
        assert!(row.latency.p50 > 3.0 && row.latency.max > 60.0, "{row:?}");
    }
    let full = Plan::parse(text, Size::Normal, None).unwrap();
    let networks = lab::plan::NetworkName::all().count();
    assert_eq!(full.cells.len(), 5 * networks * rows.len(), "five applications, all networks");
}

#[test]
fn the_plans_of_the_comparisons_are_plans_in_every_size() {
    peers::register();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("plans");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files: Vec<_> = files.collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        if text.contains("\"usrsctp\"") && !is_here("usrsctp") {
            continue;
        }
        for size in [Size::Normal, Size::Small] {
            let plan = Plan::parse(&text, size, None);
            assert!(plan.is_ok(), "{}: {}", file.display(), plan.err().unwrap());
        }
    }
}
