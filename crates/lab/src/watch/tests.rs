use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use results::{Ladder, Results, Role};
use serde_json::Value;
use trace::capture::Capture;

use super::*;
use crate::engine::tests::PLAN;
use crate::engine::{Job, run_all};
use crate::plan::{Plan, Size};
use crate::record::{Files, FlowName, check, record};

const ONE_LOSS: &str = r#"
title = "One loss"
[run]
duration = "10s"
seeds = 1
[network]
kind = "pair"
rtt = "100ms"
forward = { loss = "packets 6" }
[[flow]]
name = "thin"
transport = "sctp"
policy = "lksctp"
receiver = { delayed_ack = "off" }
workload = { arrivals = "250ms", size = 100 }
[measure]
latency = {}
"#;

fn results(text: &str) -> Vec<Results> {
    let plan = Plan::parse(text, Size::Normal, None).unwrap();
    run_all(&plan).unwrap().into_values().collect()
}

fn ladder(text: &str, measure: &str) -> Ladder {
    let results = results(&format!("{text}ladder = {measure}\n"));
    results[0].ladders[0].clone()
}

#[test]
fn a_ladder_begins_with_the_loss_and_shows_what_it_leads_to() {
    let ladder = ladder(ONE_LOSS, "{ from = \"loss\", span = \"1s\" }");
    let lost = &ladder.arrows[0];
    assert_eq!((lost.from, lost.sent_ms, lost.arrived_ms, lost.role), (0, 0.0, None, Role::Data));
    // Three messages behind it are reported, the third after 750 ms and a round trip.
    let again: Vec<_> = ladder.arrows.iter().filter(|one| one.role == Role::Again).collect();
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].sent_ms, again[0].arrived_ms), (850.0, Some(900.0)));
    assert_eq!(again[0].label, lost.label);
    let sacks: Vec<_> = ladder.arrows.iter().filter(|one| one.label.starts_with("SACK")).collect();
    assert!(sacks.iter().all(|one| one.from == 1 && one.role == Role::Ack));
    let gaps: Vec<_> = sacks.iter().filter_map(|one| one.label.split_once(" +")).collect();
    assert_eq!(gaps.iter().map(|(_, beyond)| *beyond).collect::<Vec<_>>(), ["1", "2", "3"]);
    let notes: Vec<_> =
        ladder.notes.iter().map(|one| (one.side, one.at_ms, one.label.as_str())).collect();
    let number: u32 = lost.label.strip_prefix("TSN ").unwrap().parse().unwrap();
    let delivered = format!("messages {number}-{} delivered", number + 3);
    assert_eq!(notes, [(0, 850.0, "fast retransmit"), (1, 900.0, delivered.as_str())]);
    assert!(ladder.arrows.windows(2).all(|pair| pair[0].sent_ms <= pair[1].sent_ms));
    assert!(ladder.span_ms >= 950.0 && ladder.span_ms < 1100.0, "{}", ladder.span_ms);
}

#[test]
fn a_ladder_of_a_connection_counts_bytes_from_its_first() {
    let text = ONE_LOSS.replace("sctp\"\npolicy = \"lksctp", "tcp\"\npolicy = \"linux");
    let all = ladder(&text, "{ from = \"0s\", span = \"2s\" }");
    let labels: Vec<&str> = all.arrows.iter().map(|one| one.label.as_str()).collect();
    assert_eq!(labels[..4], ["SYN", "SYN ACK", "ACK 0", "bytes 0-99"], "{labels:?}");
    assert_eq!((all.arrows[1].from, all.arrows[1].role), (1, Role::Other));
    assert_eq!(labels[4], "ACK 100");
    // Close enough to each other that reports come before the probe.
    let text = text.replace("250ms", "20ms");
    let loss = ladder(&text, "{ from = \"loss\", span = \"2s\" }");
    assert_eq!((loss.arrows[0].arrived_ms, loss.arrows[0].role), (None, Role::Data));
    let selective = loss.arrows.iter().find(|one| one.label.contains(" SACK "));
    let start = loss.arrows[0].label.strip_prefix("bytes ").unwrap().split('-').next().unwrap();
    assert!(selective.unwrap().label.starts_with(&format!("ACK {start} SACK ")));
}

#[test]
fn a_run_that_is_watched_has_the_same_numbers() {
    let watched = format!("{PLAN}ladder = {{ flow = 0, from = \"5s\", span = \"2s\" }}\n");
    for (plain, watched) in results(PLAN).into_iter().zip(results(&watched)) {
        assert_eq!(plain.rows, watched.rows);
        assert_eq!(watched.ladders.len(), 2, "a flow of each group");
        assert!(watched.ladders.iter().all(|one| one.arrows.len() > 20));
    }
}

#[test]
fn a_ladder_without_a_loss_or_of_a_long_time_has_an_end() {
    let few = ONE_LOSS.replace("packets 6", "packets 600");
    let results = results(&format!("{few}ladder = {{ from = \"loss\", span = \"1s\" }}\n"));
    assert_eq!(results[0].ladders, []);
    let long = ONE_LOSS.replace("250ms", "5ms");
    let long = ladder(&long, "{ from = \"2s\", span = \"8s\" }");
    assert_eq!(long.arrows.len(), MOST_PACKETS);
}

#[test]
fn what_no_ladder_can_show_is_told() {
    for (measure, told) in [
        ("{ flow = 1, from = \"1s\", span = \"1s\" }", "measure.ladder.flow is 1"),
        ("{ from = \"soon\", span = \"1s\" }", "neither a time such as 2s nor loss"),
        ("{ from = \"loss\", span = \"0s\" }", "measure.ladder.span is 0s"),
        ("{ of = \"fat\", from = \"loss\", span = \"1s\" }", "there is no such flow"),
    ] {
        let text = format!("{ONE_LOSS}ladder = {measure}\n");
        let error = Plan::parse(&text, Size::Normal, None).unwrap_err().to_string();
        assert!(error.contains(told), "{measure}: {error}");
    }
}

/// A file that the test reads afterwards.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Captures of sender and receiver, and events.
pub(crate) fn recorded(plan: &str, flow: &str) -> [Vec<u8>; 3] {
    let plan = Plan::parse(plan, Size::Normal, None).unwrap();
    let all = [Shared::default(), Shared::default(), Shared::default()];
    let [sender, receiver, events] = all.clone();
    let job = Job { cell: 0, seed: 1 };
    record(&plan, job, &flow.parse().unwrap(), Files { sender, receiver, events }).unwrap();
    all.map(|file| file.0.take())
}

fn events(text: &[u8]) -> Vec<Value> {
    let records = text.split(|byte| *byte == 0x1e).skip(1);
    records.map(|record| serde_json::from_slice(record).unwrap()).collect()
}

#[test]
fn captures_and_events_of_a_flow_tell_the_same_story() {
    for flow in ["sctp:1", "tcp"] {
        let [sender, receiver, told] = recorded(PLAN, flow);
        let open = |bytes| Capture::open(bytes).unwrap();
        let options = trace::Options::default();
        let clocks =
            trace::clock_difference(&mut open(&sender[..]), &mut open(&receiver[..]), &options);
        let (report, ()) =
            trace::compare(&mut open(&sender[..]), &mut open(&receiver[..]), clocks, options, ());
        assert_eq!(report.streams.len(), 1, "the receiver says nothing");
        let stream = &report.streams[0];
        assert_eq!((stream.at_sender, stream.is_whole), (Some(true), true));
        let events = events(&told);
        assert_eq!(events[0]["qlog_format"], "JSON-SEQ");
        let of_kind = |name: &'static str| events.iter().filter(move |one| one["name"] == name);
        let number = |event: &Value, key: &str| event["data"][key].as_u64().unwrap();
        let sent: Vec<_> = of_kind("transport:packet_sent")
            .map(|one| (number(one, "new"), number(one, "again"), number(one, "bytes")))
            .filter(|(_, _, bytes)| *bytes > 0)
            .collect();
        let packets = stream.totals.packets;
        assert_eq!(packets.data, sent.len() as u64, "{flow}");
        let again = sent.iter().filter(|(new, again, _)| *new == 0 && *again > 0).count() as u64;
        assert!(again > 5, "{flow}");
        assert_eq!(packets.retransmissions, again, "{flow}");
        if flow != "tcp" {
            let resent = of_kind("recovery:resent").count() as u64;
            assert_eq!(stream.totals.retransmissions.by_order.total(), resent);
        }
        let is_lost = |bytes: &[u8]| bytes.windows(4).filter(|four| four == b"lost").count();
        assert!(is_lost(&sender) > 5, "{flow}: what is lost says so where it left");
    }
}

#[test]
fn a_flow_that_is_not_there_is_not_captured() {
    let plan = Plan::parse(PLAN, Size::Normal, None).unwrap();
    for (flow, told) in [("sctp:3", "sctp:0 to sctp:2"), ("udp", "no flow udp:0")] {
        let error = check(&plan, &flow.parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    assert!("thin:x".parse::<FlowName>().is_err());
}
