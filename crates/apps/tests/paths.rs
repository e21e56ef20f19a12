//! Two relayed paths over loopback, of which the first dies: server, relays and client in one
//! process.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration as StdDuration;

use apps::emulate::{EmulateOptions, LinkOptions, PathOptions, emulate_until, parse_profile};
use apps::send::{Messages, SendOptions, SendReport, send_until};
use apps::serve::{ServeOptions, serve_until};
use apps::{Notice, ServerKey};
use base::Duration;
use lab::{Arrivals, Limit, WorkloadPlan};
use thinstream::{AssociationOptions, RecoveryPolicy, Redundancy, SwitchoverPolicy, new_identity};

/// One-way delay of each path.
const DELAY: Duration = Duration::from_millis(20);
/// Due every 50 ms, so that the first path dies in the middle.
const MESSAGES: u64 = 80;

/// Timeouts that keep the test short.
fn policy() -> Arc<RecoveryPolicy> {
    let mut policy = RecoveryPolicy::sctp_thin();
    policy.rto.initial = Duration::from_millis(300);
    policy.rto.min = Duration::from_millis(150);
    policy.rto.min_while_thin = None;
    policy.rto.max = Duration::from_millis(600);
    Arc::new(policy)
}

/// The relays at both addresses of `net`; the first carries nothing from 1.5 s to the end.
fn relays(net: u8, ports: (u16, u16)) -> EmulateOptions {
    let path = |host: u8| {
        let at = |port| SocketAddr::from(([127, 0, net, host], port));
        let mut link = LinkOptions { delay: DELAY, ..LinkOptions::default() };
        if host == 1 {
            link.profile = parse_profile("1500ms loss=100%").unwrap();
        }
        PathOptions { up: link.clone(), down: link, ..PathOptions::new(at(ports.0), at(ports.1)) }
    };
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
    EmulateOptions { paths: vec![path(1), path(2)], ..EmulateOptions::new(nowhere, nowhere) }
}

/// Sends over both paths; the report and the lines that were printed.
async fn over_two_paths(net: u8, switchover: SwitchoverPolicy) -> (SendReport, Vec<String>) {
    let hosts = [1, 2].map(|host| SocketAddr::from(([127, 0, net, host], 0)));
    let association = AssociationOptions {
        switchover,
        heartbeat_interval: Some(Duration::from_millis(200)),
        ..AssociationOptions::default()
    };
    let mut serving = ServeOptions::new(hosts[0]);
    let key = new_identity();
    serving.identity = Some(key.clone());
    serving.listen = hosts.to_vec();
    (serving.policy, serving.association) = (policy(), association.clone());
    let (ready, server) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let on_ready = |at: SocketAddr| ready.send(at).unwrap();
        serve_until(&serving, &mut |_| (), on_ready, std::future::pending()).await.unwrap();
    });
    let server = server.await.unwrap();
    // The port is the same at both addresses, since a peer lists addresses without ports.
    let port = UdpSocket::bind(hosts[0]).unwrap().local_addr().unwrap().port();
    let (ready, relay) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let options = relays(net, (port, server.port()));
        let on_ready = |at: &[SocketAddr]| ready.send(at[0]).unwrap();
        emulate_until(&options, on_ready, std::future::pending()).await.unwrap();
    });
    let mut options = SendOptions::new(relay.await.unwrap());
    options.local = hosts.to_vec();
    options.server = Some(ServerKey::Known(key.fingerprint()));
    (options.policy, options.association) = (policy(), association);
    let plan = WorkloadPlan {
        arrivals: Arrivals::Constant { interval: Duration::from_millis(50) },
        size: lab::Sizes::Constant(60),
        limit: Limit::Count(MESSAGES),
    };
    options.messages = Messages::Workload { plan, seed: 1 };
    let mut lines = Vec::new();
    let mut notice = |notice| {
        if let Notice::Line(line) = notice {
            lines.push(line);
        }
    };
    let sending = send_until(&options, &mut notice, std::future::pending());
    let report = tokio::time::timeout(StdDuration::from_secs(60), sending).await.unwrap().unwrap();
    (report, lines)
}

/// Index of the first line that contains `text`.
fn place(lines: &[String], text: &str) -> usize {
    let found = lines.iter().position(|line| line.contains(text));
    assert!(found.is_some(), "no \"{text}\" in {lines:#?}");
    found.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_leaves_a_path_that_dies_and_every_message_comes_back() {
    let (report, lines) = over_two_paths(21, SwitchoverPolicy::EVIDENCE).await;
    assert_eq!((report.messages, report.answers, report.damaged), (MESSAGES, MESSAGES, 0));
    assert_eq!(report.failure, None);
    let confirmed = place(&lines, "path 127.0.21.2:");
    let failed = lines
        .iter()
        .position(|line| line.contains("path 127.0.21.1:") && line.contains("potentially failed"));
    let moved = place(&lines, "data takes 127.0.21.2:");
    assert!(failed.is_some_and(|failed| confirmed < failed && failed <= moved), "{lines:#?}");
    // Two timeouts of the client, two of the server, and a margin for a busy machine.
    assert!(report.round_trip_ms.unwrap().max < 10_000.0, "{report}");
    let [first, second] = &report.transfer.paths[..] else { panic!("{report}") };
    assert!(first.primary && !first.carries_data && first.state != "active", "{report}");
    assert!(second.carries_data && second.state == "active" && second.data_packets > 0, "{report}");
    assert_eq!(second.redundant_packets, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_on_two_paths_at_once_does_not_wait_for_a_timer() {
    let switchover =
        SwitchoverPolicy { redundancy: Redundancy::ALL_PATHS, ..SwitchoverPolicy::EVIDENCE };
    let (report, lines) = over_two_paths(22, switchover).await;
    assert_eq!(
        (report.messages, report.answers, report.failure.as_deref()),
        (MESSAGES, MESSAGES, None)
    );
    place(&lines, "path 127.0.22.2:");
    let redundant: u32 = report.transfer.paths.iter().map(|path| path.redundant_packets).sum();
    assert!(redundant > 0, "{report}");
    // A loaded machine may hold up any one message; most come in the round-trip time of 40 ms, and
    // none of those 50 after the death waits for a timer.
    assert!(report.round_trip_ms.unwrap().p90 < 140.0, "{report}");
}
