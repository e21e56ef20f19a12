use super::*;

use base::Duration;
use netsim::capture::PcapWriter;
use trace::Options;
use trace::capture::Capture;

use crate::engine::{Job, run_all, run_cell};
use crate::plan::{Plan, Size, Subject};
use crate::policy_text::TransportName;
use crate::watch::tests::recorded;
use crate::workload::{Limit, Recording, Workload, WorkloadPlan, recording_of_file};

const PLAN: &str = r#"
title = "A flow of each transport"
[run]
duration = "20s"
seeds = 1
[network]
kind = "pair"
rtt = "100ms"
[[flow]]
name = "sctp"
transport = "sctp"
policy = "lksctp"
receiver = { delayed_ack = "off" }
workload = { arrivals = "~100ms", size = "pareto 30B 300B 3000B" }
[[flow]]
name = "tcp"
transport = "tcp"
policy = "linux"
receiver = { delayed_ack = "off" }
workload = { arrivals = "~100ms", size = "pareto 30B 200B 1400B" }
[measure]
latency = {}
"#;

fn lossy() -> String {
    PLAN.replace("rtt = \"100ms\"", "rtt = \"100ms\"\nloss = \"5%\"")
}

/// Reports of the sender's and of the receiver's capture of a flow.
fn captured(plan: &str, flow: &str) -> [Vec<u8>; 2] {
    let [sender, receiver, _] = recorded(plan, flow);
    [sender, receiver]
}

fn messages(recording: &Recording) -> Vec<(Duration, usize)> {
    assert_eq!(recording.streams().len(), 1);
    let all = &recording.streams()[0].messages;
    let begin = all[0].0;
    all.iter().map(|(at, size)| (at.saturating_sub(begin), *size)).collect()
}

/// Messages that flow number `flow` of the plan sends.
fn written(plan: &str, flow: usize) -> Vec<(Duration, usize)> {
    let plan = Plan::parse(plan, Size::Normal, None).unwrap();
    let Subject::Flows(flows) = &plan.base.subject else { unreachable!() };
    let workload = &flows.flows[flow].workload;
    let arrivals = workload.drawn().unwrap();
    let size = workload.size.as_ref().unwrap().0;
    let limit = Limit::Time(Duration::from_secs(19));
    let plan = WorkloadPlan { arrivals, size, limit };
    let begin = base::Instant::from_millis(1000);
    let all: Vec<_> = Workload::new(plan, 1, flow as u64, begin).unwrap().collect();
    all.iter().map(|one| (one.due.since(all[0].due), one.size)).collect()
}

fn sizes(all: &[(Duration, usize)]) -> Vec<usize> {
    all.iter().map(|(_, size)| *size).collect()
}

/// Equal messages at equal times, except for some that had to wait for room in the window.
fn assert_alike(found: &[(Duration, usize)], expected: &[(Duration, usize)], what: &str) {
    assert_alike_but(found, expected, what, 20);
}

/// Asserts that the delays agree; one in `one_in` messages may have waited.
fn assert_alike_but(
    found: &[(Duration, usize)],
    expected: &[(Duration, usize)],
    what: &str,
    one_in: usize,
) {
    assert_eq!(sizes(found), sizes(expected), "{what}");
    let pairs = || found.iter().zip(expected);
    assert!(pairs().all(|(one, other)| one.0 >= other.0), "{what}: earlier than they were due");
    let held_back = pairs().filter(|(one, other)| one.0 > other.0).count();
    assert!(held_back * one_in < found.len(), "{what}: {held_back} of {}", found.len());
}

#[test]
fn a_recording_whose_clock_jumped_by_years_is_refused_with_what_would_be_right() {
    let replayed = |seconds: &str| {
        let text = format!("time_s,size\n0,100\n0.5,100\n{seconds},100\n");
        let recording = Recording::parse(&text).unwrap();
        let replay = Replay {
            of: "a capture",
            recording: &recording,
            measured: None,
            policies: &["linux".parse().unwrap()],
            networks: &["rtt=50ms".parse().unwrap()],
            delayed_ack: None,
            seeds: 1,
        };
        replay.plan().map(drop).map_err(|error| error.to_string())
    };
    let refused = replayed("1200000000").unwrap_err();
    assert!(refused.contains("clock of the capture") && refused.contains("--start"), "{refused}");
    assert_eq!(replayed("30000000"), Ok(()), "most of a year");
}

#[test]
fn a_capture_of_the_laboratory_gives_the_messages_that_were_sent() {
    for (number, flow) in ["sctp", "tcp"].into_iter().enumerate() {
        let [sender, _] = captured(PLAN, flow);
        let recording = recording_of_file(&sender, None).unwrap();
        let expected = written(PLAN, number);
        assert!(expected.len() > 150);
        assert_alike(&messages(&recording), &expected, flow);
    }
}

#[test]
fn a_replay_sends_what_was_recorded_so_that_its_capture_gives_the_same_recording() {
    for flow in ["sctp", "tcp"] {
        let [sender, _] = captured(PLAN, flow);
        let recording = recording_of_file(&sender, None).unwrap();
        let policies = ["sctp:thin".parse().unwrap(), "tcp:thin-rdb".parse().unwrap()];
        let networks = ["rtt=30ms".parse().unwrap()];
        let replay = Replay {
            of: "a test",
            recording: &recording,
            measured: None,
            delayed_ack: Some("off"),
            policies: &policies,
            networks: &networks,
            seeds: 1,
        };
        let plan = replay.plan().unwrap();
        assert_eq!(plan.jobs(), 2);
        for (cell, transport) in ["sctp", "tcp"].into_iter().enumerate() {
            let results = run_cell(&plan, Job { cell, seed: 1 }).unwrap();
            let count = results.value("latency.count", &[]).unwrap();
            assert_eq!(count, recording.count() as f64, "{transport}");
        }
        // A plan of one cell, so that its first is that.
        for policy in policies.clone() {
            let replay = Replay { policies: &[policy], ..replay.clone() };
            let plan = replay.plan().unwrap();
            let [sender, _] = captured(&plan.text, FLOWS);
            let again = messages(&recording_of_file(&sender, None).unwrap());
            assert_alike(&again, &messages(&recording), flow);
        }
    }
}

#[test]
fn losses_change_nothing_of_what_was_sent_but_what_had_to_wait() {
    let (loss, expected) = (lossy(), written(PLAN, 0));
    let [sender, receiver] = captured(&loss, "sctp");
    assert_alike_but(&messages(&recording_of_file(&sender, None).unwrap()), &expected, "sctp", 5);
    // In the receiver's capture the first transmission of lost data is missing: gaps in the numbers
    // show it.
    let arrived = messages(&recording_of_file(&receiver, None).unwrap());
    assert_eq!(sizes(&arrived), sizes(&expected));
    assert!(arrived.is_sorted_by_key(|(at, _)| *at));
    let bytes = |all: &[(Duration, usize)]| sizes(all).iter().sum::<usize>();
    let [sender, receiver] =
        captured(&loss, "tcp").map(|one| messages(&recording_of_file(&one, None).unwrap()));
    let expected = bytes(&written(PLAN, 1));
    assert_eq!((bytes(&sender), bytes(&receiver)), (expected, expected));
}

#[test]
fn a_capture_tells_of_its_network_where_it_was_taken_at_the_sender() {
    let report =
        |bytes: &[u8]| trace::analyse(&mut Capture::open(bytes).unwrap(), Options::default(), ()).0;
    // Copies repair nearly all losses of the last without a retransmission.
    let bundled = lossy().replace("\"linux\"", "\"thin-rdb\"");
    for (plan, flow) in [(lossy(), "sctp"), (lossy(), "tcp"), (bundled, "tcp")] {
        let [sender, receiver] = captured(&plan, flow);
        let seen = report(&sender);
        let conditions = Conditions::of(&seen.streams, &seen.all).unwrap();
        assert_eq!(conditions.rtt, Duration::from_millis(100), "{flow}");
        assert!((0.02..0.10).contains(&conditions.loss), "{flow}: {conditions:?}");
        assert!(!conditions.loss_is_lower_bound, "{flow}: {conditions:?}");
        let text = NetworkText::measured(&conditions).to_string();
        assert!(text.starts_with("rtt=100ms forward.loss=") && text.ends_with('%'), "{text}");
        let open = |bytes| Capture::open(bytes).unwrap();
        let (mut one, mut other) = (open(&sender[..]), open(&receiver[..]));
        let both = trace::compare(&mut one, &mut other, Some(0), Options::default(), ()).0;
        let conditions = Conditions::of(&both.streams, &both.all).unwrap();
        assert_eq!(conditions.jitter, Some(Duration::ZERO), "{flow}");
        let jitter = Some(Duration::from_micros(8930));
        let text = NetworkText::measured(&Conditions { jitter, ..conditions }).to_string();
        assert!(text.ends_with("% forward.jitter=exponential 8.93ms"), "{text}");
        assert_eq!(text.parse::<NetworkText>().unwrap().to_string(), text);
        let seen = report(&receiver);
        assert_eq!(Conditions::of(&seen.streams, &seen.all), None, "{flow}");
    }
}

#[test]
fn what_cannot_be_replayed_is_told() {
    let [sender, _] = captured(PLAN, "sctp");
    let refused = |bytes: &[u8], wanted: Option<&str>| {
        let wanted = wanted.map(|one| [one.to_owned()].into());
        recording_of_file(bytes, wanted.as_ref()).unwrap_err().to_string()
    };
    let cut = refused(&sender[..sender.len() / 2], None);
    assert!(cut.contains("cut off") && cut.contains("trace convert"), "{cut}");
    assert_eq!(refused(&sender, Some("7a")), "there is no stream 7a; there is 1a");
    let mut empty = PcapWriter::new(Vec::new()).unwrap();
    empty.add_interface("eth0").unwrap();
    assert_eq!(refused(&empty.into_inner(), None), "there are no messages in it");
    assert!(refused(&[0xff; 64], None).contains("neither a packet capture nor a table"));
    assert!(refused(b"", None).contains("there is nothing in it"));
}

#[test]
fn results_are_told_by_policy_and_network() {
    let recording = Recording::parse("time_s,size\n0,100\n0.5,100\n1,100\n").unwrap();
    let policies = ["thin", "tcp:thin"].map(|one| one.parse::<PolicyText>().unwrap());
    let policies = policies.map(|one| one.settled(TransportName::Sctp));
    let networks = ["rtt=20ms", "rtt=60ms loss=bursts 1% 3 queue=20p rate=1mbit"];
    let networks = networks.map(|one| one.parse::<NetworkText>().unwrap());
    let replay = Replay {
        of: "three \"messages\"",
        recording: &recording,
        measured: None,
        delayed_ack: None,
        policies: &policies,
        networks: &networks,
        seeds: 2,
    };
    let plan = replay.plan().unwrap();
    let finished = run_all(&plan).unwrap();
    let outcomes = outcomes(&plan, &finished);
    let names: Vec<_> =
        outcomes.iter().map(|one| (one.policy.as_str(), one.network.as_str())).collect();
    let [short, long] = ["rtt=20ms", "rtt=60ms loss=bursts 1% 3 queue=20p rate=1mbit"];
    assert_eq!(
        names,
        [("sctp:thin", short), ("tcp:thin", short), ("sctp:thin", long), ("tcp:thin", long)]
    );
    let with_delay = Replay { delayed_ack: Some("soon"), ..replay.clone() };
    assert!(with_delay.plan().unwrap_err().to_string().contains("receiver.delayed_ack \"soon\""));
    let mean = outcomes[0].number("latency.mean").unwrap();
    assert_eq!((mean.mean, mean.either_side), (10.0, Some(0.0)));
    assert_eq!(outcomes[0].number("trace.packets").unwrap().mean, 3.0);
    assert_eq!(outcomes[0].number("latency.nothing"), None);
}

#[test]
fn networks_and_policies_read_as_in_a_plan_and_say_what_is_wrong() {
    for text in ["rtt=100ms loss=bursts 5% 4 forward.jitter=5ms", "mtu=1500 allow_reordering=true"]
    {
        assert_eq!(text.parse::<NetworkText>().unwrap().to_string(), text);
    }
    let red: NetworkText = "rate=1mbit queue=red 5p 15p 60p weight=0.002 rtt=5ms".parse().unwrap();
    let keys: Vec<&str> = red.keys().keys().map(String::as_str).collect();
    assert_eq!(keys, ["queue", "rate", "rtt"]);
    for (text, told) in [
        ("", "rtt=100ms loss=2%"),
        ("los=5%", "\"los=5%\" does not begin with a key of a link"),
        ("mtu=big", "mtu=big is no number"),
        ("profile=/no/such/file", "/no/such/file: "),
    ] {
        let error = text.parse::<NetworkText>().unwrap_err();
        assert!(error.contains(told), "{text}: {error}");
    }
    assert_eq!(
        "linux".parse::<PolicyText>().unwrap().transport(TransportName::Sctp),
        TransportName::Tcp
    );
    assert_eq!(
        "thin".parse::<PolicyText>().unwrap().transport(TransportName::Tcp),
        TransportName::Tcp
    );
    let told =
        |text: &str| text.parse::<PolicyText>().unwrap().settled(TransportName::Sctp).to_string();
    assert_eq!(
        ["linux", "tcp:linux", "thin", "tcp:thin"].map(told),
        ["linux", "linux", "sctp:thin", "tcp:thin"]
    );
    for text in ["fast", "sctp:linux", "udp:thin"] {
        assert!(text.parse::<PolicyText>().unwrap_err().contains("lksctp"), "{text}");
    }
}
