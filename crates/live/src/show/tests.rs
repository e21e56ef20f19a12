use std::collections::BTreeMap;

use super::*;
use crate::frame::{Line, SideFrame};

fn setting(policies: [&str; 2], changes: &[&str]) -> Setting {
    Setting {
        application: "game".to_owned(),
        network: "continent".to_owned(),
        policies: policies.map(str::to_owned),
        flows: 1,
        flow: 0,
        seed: 1,
        changes: changes.iter().map(|one| (*one).to_owned()).collect(),
    }
}

fn show(policies: [&str; 2], changes: &[&str]) -> Show {
    Show::new(setting(policies, changes), None).unwrap()
}

const SCTP: [&str; 2] = ["sctp:rfc", "sctp:latency"];

/// The messages that left for the first time alone in a packet, each with whether it was lost.
fn fates(side: &SideFrame) -> BTreeMap<u64, bool> {
    let new = |line: &Line| {
        let first =
            line.messages.iter().filter(|(_, copy)| *copy == 1).map(|(message, _)| *message);
        first.collect::<Vec<_>>()
    };
    let alone = side.lines.iter().filter_map(|line| match new(line)[..] {
        [message] => Some((message, side.fates.contains(&(line.id, None)))),
        _ => None,
    });
    alone.collect()
}

fn lost(side: &SideFrame) -> Vec<u64> {
    fates(side).into_iter().filter_map(|(message, lost)| lost.then_some(message)).collect()
}

fn latency(side: &SideFrame, message: u64) -> f64 {
    side.marks.iter().find(|mark| mark.message == message).unwrap().latency_ms
}

#[test]
fn both_sides_lose_the_same_messages_over_sctp_and_tcp() {
    for policies in [SCTP, ["sctp:rfc", "tcp:sack"], ["tcp:linux", "tcp:latency"]] {
        let frame = show(policies, &["0:loss=10"]).advance(30_000.0).unwrap();
        let [left, right] = frame.sides.each_ref().map(fates);
        let both = left.iter().filter_map(|(message, lost)| Some((lost, right.get(message)?)));
        assert!(both.clone().all(|(left, right)| left == right), "{policies:?}");
        assert!(both.clone().count() > 200 && both.filter(|(lost, _)| **lost).count() > 15);
        // All messages are delivered except for the youngest.
        let [left, right] = frame.sides.map(|side| side.marks.len());
        assert!(left > 270 && right > 290, "{left} {right}");
    }
}

#[test]
fn a_dropped_message_is_lost_once_on_both_sides_and_nothing_else_changes_before() {
    let at = |changes: &[&str]| {
        show(SCTP, &[&["0:loss=0"], changes].concat()).advance(10_000.0).unwrap()
    };
    let (before, after) = (at(&[]), at(&["m17"]));
    for (whole, dropped) in before.sides.iter().zip(&after.sides) {
        assert!(lost(whole).is_empty());
        assert_eq!(lost(dropped), [17]);
        assert!((latency(whole, 17) - 50.0).abs() < 1.0);
        let until = whole.lines.iter().position(|line| line.messages.contains(&(17, 1))).unwrap();
        assert_eq!(whole.lines[..=until], dropped.lines[..=until]);
    }
    let [rfc, ours] = after.sides.each_ref().map(|side| latency(side, 17));
    // Three later messages report the loss to `rfc`: 300 ms, and then a round trip and a half.
    assert!(rfc > 400.0 && ours < 200.0, "{rfc} {ours}");
}

#[test]
fn a_change_in_the_past_gives_the_same_as_one_that_was_there_from_the_beginning() {
    let mut live = show(SCTP, &[]);
    live.advance(4_000.0).unwrap();
    live.change("m17").unwrap();
    live.change("2000:loss=20").unwrap();
    let again = live.advance(8_000.0).unwrap();
    let whole = show(SCTP, &["m17", "2000:loss=20"]).advance(8_000.0).unwrap();
    assert_eq!(again, whole);
    assert_eq!(live.numbers(), {
        let mut other = show(SCTP, &["2000:loss=20", "m17"]);
        other.advance(3_000.0).unwrap();
        other.advance(8_000.0).unwrap();
        other.numbers()
    });
    live.undo("m17").unwrap();
    assert_eq!(live.setting().changes, ["2000:loss=20"]);
}

#[test]
fn a_retransmission_and_an_answer_can_be_dropped_on_one_side() {
    let run = |changes: &[&str]| {
        show(["sctp:thin", "sctp:thin"], &[&["0:loss=0", "m17"], changes].concat())
            .advance(6_000.0)
            .unwrap()
    };
    let once = run(&[]);
    let same =
        |one: &SideFrame, other: &SideFrame| one.fates == other.fates && one.marks == other.marks;
    assert!(same(&once.sides[0], &once.sides[1]));
    let twice = run(&["a17.2"]);
    assert!(latency(&twice.sides[0], 17) > latency(&once.sides[0], 17) + 90.0);
    assert!(same(&twice.sides[1], &once.sides[1]));
    let answer = once.sides[1].lines.iter().find(|line| line.from == 1).unwrap();
    let deaf = run(&[&answer.drop]);
    assert!(deaf.sides[1].fates.contains(&(answer.id, None)));
    assert!(same(&deaf.sides[0], &once.sides[0]));
}

#[test]
fn loss_round_trip_and_cuts_change_from_their_time_on() {
    let mut one = show(SCTP, &["0:loss=0", "2000:rtt=300", "4000:cut", "5000:mend"]);
    let frame = one.advance(9_000.0).unwrap();
    for side in &frame.sides {
        let took = |from: f64, to: f64| {
            let data = side.lines.iter().filter(|line| line.from == 0);
            let sent = data.filter(|line| (from..to).contains(&line.sent_ms));
            let fate = |line: &Line| side.fates.iter().find(|(id, _)| *id == line.id).unwrap().1;
            sent.map(|line| fate(line).map(|at| (at - line.sent_ms).round())).collect::<Vec<_>>()
        };
        assert!(took(0.0, 1_999.0).iter().all(|took| *took == Some(50.0)));
        assert!(took(2_001.0, 3_999.0).iter().all(|took| *took == Some(150.0)));
        assert!(took(4_001.0, 4_999.0).iter().all(Option::is_none));
        assert!(took(5_001.0, 8_000.0).iter().all(|took| *took == Some(150.0)));
    }
}

#[test]
fn an_association_leaves_a_path_that_is_cut_and_a_connection_cannot() {
    let mut setting = setting(["sctp:latency", "tcp:latency"], &["0:loss=0", "3000:cut"]);
    setting.network = "two-paths".to_owned();
    let frame = Show::new(setting, None).unwrap().advance(20_000.0).unwrap();
    let last = frame.sides.map(|side| side.marks.last().unwrap().message);
    assert!(last[0] > 190 && last[1] < 31, "{last:?}");
}

#[test]
fn every_retransmission_tells_the_field_that_decided_and_its_source() {
    for policies in [
        SCTP,
        ["sctp:thin-paper", "sctp:freebsd-efr"],
        ["tcp:sack", "tcp:linux"],
        ["tcp:latency", "tcp:er"],
    ] {
        let frame = show(policies, &["0:loss=8"]).advance(60_000.0).unwrap();
        for (side, policy) in frame.sides.iter().zip(policies) {
            let again: Vec<_> = side.lines.iter().filter(|line| line.role == "again").collect();
            assert!(again.len() > 5, "{policy}");
            for line in again {
                assert!(
                    !line.why.fields.is_empty() && !line.why.text.is_empty(),
                    "{policy} {line:?}"
                );
            }
        }
    }
}

#[test]
fn the_wait_of_a_second_is_told_by_its_field() {
    let mut slow = setting(SCTP, &["0:loss=0", "m5"]);
    slow.application = "signalling".to_owned();
    slow.seed = 2;
    let mut slow = Show::new(
        Setting {
            changes: vec!["0:loss=0".into(), "m5".into(), "m6".into(), "m7".into(), "m8".into()],
            ..slow
        },
        None,
    )
    .unwrap();
    let frame = slow.advance(8_000.0).unwrap();
    let first =
        |side: &SideFrame| side.lines.iter().find(|line| line.role == "again").unwrap().why.clone();
    let [rfc, ours] = frame.sides.each_ref().map(first);
    assert_eq!((rfc.fields[0].name, rfc.fields[0].value.as_str()), ("rto-min", "1s"));
    assert!(rfc.fields[0].source.contains("RFC 9260") && rfc.text.contains("1.00 s"), "{rfc:?}");
    assert_eq!(ours.fields[0].name, "rto-min-thin");
}

#[test]
fn the_page_loses_what_the_laboratory_loses() {
    use lab::engine::{Job, run_cell};
    use lab::plan::{Plan, Size};
    let mut live = show(SCTP, &[]);
    live.advance(1e9).unwrap();
    let numbers = live.numbers();
    for (side, text) in numbers.iter().zip(live.plans().unwrap()) {
        let plan = Plan::parse(&text, Size::Normal, Some(1)).unwrap();
        let results = run_cell(&plan, Job { cell: 0, seed: 1 }).unwrap();
        // The laboratory waits for the last messages, the page ends.
        let count = results.value("latency.count", &[]).unwrap();
        assert!((0.0..=2.0).contains(&(count - side.delivered as f64)), "{count}");
        let sum = results.value("latency.mean", &[]).unwrap() * count;
        assert!((sum - side.mean_ms * side.delivered as f64).abs() < 2_000.0);
        let bytes = results.value("cost.bytes", &[]).unwrap() * count;
        assert!((bytes - side.bytes * side.delivered as f64).abs() < 1e-3);
    }
    assert!(live.advance(1e9).unwrap().is_over);
}

#[test]
fn twenty_flows_have_marks_and_lines_of_one() {
    let mut many = setting(SCTP, &[]);
    (many.flows, many.flow) = (20, 7);
    let frame = Show::new(many, None).unwrap().advance(5_000.0).unwrap();
    let flows: std::collections::BTreeSet<u32> =
        frame.sides[0].marks.iter().map(|mark| mark.flow).collect();
    assert_eq!(flows.len(), 20);
    let messages = frame.sides[0].lines.iter().flat_map(|line| &line.messages);
    assert!(messages.map(|(message, _)| *message).max() < Some(60));
    assert_eq!(frame.due.len(), 50);
}

#[test]
fn what_is_wrong_is_refused_with_what_would_be_right() {
    let wrong = |change: fn(&mut Setting)| {
        let mut setting = setting(SCTP, &[]);
        change(&mut setting);
        Show::new(setting, None).err().unwrap().to_string()
    };
    assert!(wrong(|one| one.application = "chess".into()).contains("game"));
    assert!(wrong(|one| one.application = "capture".into()).contains("drop it"));
    assert!(wrong(|one| one.network = "moon".into()).contains("satellite"));
    assert!(wrong(|one| one.policies[1] = "sctp:best".into()).contains("latency"));
    assert!(wrong(|one| one.policies[0] = "sctp:rfc;use-sack=off".into()).contains("use-sack"));
    assert!(wrong(|one| one.policies[0] = "sctp:rfc;speed=9".into()).contains("rto-min"));
    assert!(wrong(|one| one.policies[0] = "sctp:rfc;rto-min=\"".into()).contains("duration"));
    assert!(wrong(|one| one.flows = 0).contains("1 to 100"));
    assert!(wrong(|one| one.flow = 1).contains("0 to 0"));
    assert!(wrong(|one| one.changes = vec!["x".into()]).contains("3250:loss=5"));
    assert!(wrong(|one| one.changes = vec!["m1".into(); 501]).contains("500"));
    let mut fine = show(SCTP, &[]);
    assert!(fine.change("nonsense").is_err());
    assert_eq!(fine.advance(f64::NAN).unwrap().now_ms, 0.0);
}

#[test]
fn every_choice_runs() {
    for application in crate::choices::APPLICATIONS {
        for network in crate::choices::NETWORKS {
            let one = Setting {
                application: application.name.to_owned(),
                network: network.name.to_owned(),
                ..setting(["sctp:lksctp", "tcp:linux"], &[])
            };
            let mut show = Show::new(one, None).unwrap();
            let frame = show.advance(20_000.0).unwrap();
            assert!(
                frame.sides.iter().all(|side| !side.marks.is_empty()),
                "{} {}",
                application.name,
                network.name
            );
        }
    }
    for policy in crate::choices::policies() {
        let name = format!("{}:{}", policy.transport, policy.preset);
        let mut show = show([&name, "sctp:rfc"], &[]);
        assert!(!show.advance(2_000.0).unwrap().sides[0].marks.is_empty(), "{name}");
    }
}

#[test]
fn fields_of_a_policy_can_differ_from_its_preset() {
    let changes = &["0:loss=0", "m17", "m18", "m19", "m20"];
    let frame =
        show(["sctp:rfc", "sctp:rfc;rto-min-thin=200ms;backoff=linear"], changes).advance(9_000.0);
    let [rfc, ours] = frame.unwrap().sides.map(|side| latency(&side, 17));
    assert!(rfc > ours + 300.0, "{rfc} {ours}");
}
