//! RFC 3168, section 6.1.1: which side marks segments and which echoes marks, for each combination
//! of SYNs.

use base::Ecn;
use tcp::{ConnectionOptions, EcnMode};

use crate::support::Bench;

fn options(ecn: EcnMode) -> ConnectionOptions {
    ConnectionOptions { ecn, ..Bench::plain() }
}

/// The codepoint and the text of the only segment sent.
#[track_caller]
fn only(bench: &mut Bench) -> (Ecn, String) {
    assert_eq!(bench.sent.len(), 1);
    (bench.sent[0].2, bench.taken().pop().unwrap())
}

#[test]
fn data_is_marked_where_all_syns_agree() {
    let mut bench = Bench::listening(options(EcnMode::Passive));
    bench.inject("SEW 0:0(0) <mss 1460>");
    bench.expect(&["S.E 0:0(0) ack 1 <mss 1460>"]);
    bench.inject(". 1:1(0) ack 1");
    bench.send(100);
    assert_eq!(only(&mut bench), (Ecn::Ect0, "P. 1:101(100) ack 1".into()));
}

#[test]
fn once_a_syn_ack_did_not_grant_it_nothing_is_marked_but_marks_are_echoed() {
    let mut bench = Bench::listening(options(EcnMode::Passive));
    bench.inject("SEW 0:0(0) <mss 1460>");
    bench.wait(1000);
    bench.expect(&["S.E 0:0(0) ack 1 <mss 1460>", "S. 0:0(0) ack 1 <mss 1460>"]);
    bench.inject(". 1:1(0) ack 1");
    bench.send(100);
    assert_eq!(only(&mut bench), (Ecn::NotEct, "P. 1:101(100) ack 1".into()));
    let info = bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    assert!(!info.ecn);
    // The peer may have received the first one.
    bench.inject_with("P. 1:1001(1000) ack 101", Ecn::Ce);
    bench.inject("P. 1001:2001(1000) ack 101");
    assert_eq!(bench.taken().last().unwrap(), ".E 101:101(0) ack 2001");
    bench.inject("PW. 2001:3001(1000) ack 101");
    bench.inject("P. 3001:4001(1000) ack 101");
    assert_eq!(bench.taken().last().unwrap(), ". 101:101(0) ack 4001");
}

#[test]
fn a_peer_that_asks_no_more_gets_neither_marks_nor_echoes() {
    let mut bench = Bench::listening(options(EcnMode::Passive));
    bench.inject("SEW 0:0(0) <mss 1460>");
    bench.inject("S 0:0(0) <mss 1460>");
    bench.expect(&["S.E 0:0(0) ack 1 <mss 1460>", "S. 0:0(0) ack 1 <mss 1460>"]);
    bench.inject(". 1:1(0) ack 1");
    bench.send(100);
    assert_eq!(only(&mut bench), (Ecn::NotEct, "P. 1:101(100) ack 1".into()));
    bench.inject_with("P. 1:1001(1000) ack 101", Ecn::Ce);
    bench.inject("P. 1001:2001(1000) ack 101");
    assert_eq!(bench.taken().last().unwrap(), ". 101:101(0) ack 2001");
}

#[test]
fn once_a_syn_did_not_ask_an_answer_that_grants_makes_no_marks_but_echoes() {
    let mut bench = Bench::opening(options(EcnMode::Active));
    bench.wait(1000);
    bench.expect(&["SEW 0:0(0) <mss 1460>", "S 0:0(0) <mss 1460>"]);
    bench.inject("S.E 0:0(0) ack 1 <mss 1460>");
    bench.sent.clear();
    bench.send(100);
    assert_eq!(only(&mut bench), (Ecn::NotEct, "P. 1:101(100) ack 1".into()));
    bench.inject_with("P. 1:1001(1000) ack 101", Ecn::Ce);
    bench.inject("P. 1001:2001(1000) ack 101");
    assert_eq!(bench.taken().last().unwrap(), ".E 101:101(0) ack 2001");
}

/// A connection whose peer asked for ECN.
fn agreed(accepted: ConnectionOptions) -> Bench {
    let mut bench = Bench::listening(accepted);
    bench.inject("SEW 0:0(0) <mss 1460>");
    bench.inject(". 1:1(0) ack 1");
    bench.sent.clear();
    bench
}

#[test]
fn no_syn_and_no_syn_ack_is_marked() {
    let mut bench = Bench::opening(options(EcnMode::Active));
    assert_eq!(only(&mut bench), (Ecn::NotEct, "SEW 0:0(0) <mss 1460>".into()));
    let mut bench = Bench::listening(options(EcnMode::Passive));
    bench.inject("SEW 0:0(0) <mss 1460>");
    assert_eq!(only(&mut bench).0, Ecn::NotEct);
}

#[test]
fn a_mark_outside_of_the_window_is_not_echoed() {
    let mut bench = agreed(options(EcnMode::Passive));
    bench.inject_with("P. 70000:70010(10) ack 1", Ecn::Ce);
    bench.inject_with("P. -20:-10(10) ack 1", Ecn::Ce);
    assert!(bench.taken().iter().all(|text| text.starts_with(". ")));
    bench.inject_with("P. 1:1461(1460) ack 1", Ecn::Ce);
    assert!(bench.taken()[0].starts_with(".E "));
}

#[test]
fn a_mark_on_a_probe_of_the_closed_window_is_echoed() {
    let options = ConnectionOptions { receive_buffer: 2000, ..options(EcnMode::Passive) };
    let mut bench = agreed(options);
    bench.inject(". 1:1461(1460) ack 1");
    bench.inject("P. 1461:2001(540) ack 1");
    bench.sent.clear();
    bench.inject_with(". 2001:2002(1) ack 1", Ecn::Ce);
    assert!(bench.taken()[0].starts_with(".E "));
}

#[test]
fn of_segments_that_one_acknowledgement_answers_one_mark_is_enough() {
    for marked in [0, 1] {
        let mut bench = agreed(options(EcnMode::Passive));
        for (index, text) in ["P. 1:101(100) ack 1", "P. 101:201(100) ack 1"].iter().enumerate() {
            bench.inject_with(text, if index == marked { Ecn::Ce } else { Ecn::Ect0 });
        }
        let texts = bench.taken();
        assert_eq!(texts.last().unwrap(), ".E 1:1(0) ack 201");
        assert!(texts.iter().all(|text| text.starts_with(".E ")), "{texts:?}");
    }
}

#[test]
fn an_echo_does_not_open_a_window_of_one_segment() {
    let mut bench = agreed(options(EcnMode::Passive));
    bench.send(1460);
    // A timeout leaves a window of one segment; the echo answers the retransmission.
    bench.wait(1000);
    let window = |bench: &Bench| {
        bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now).path.cwnd
    };
    assert_eq!(window(&bench), 1460);
    bench.inject(".E 1:1(0) ack 1461");
    assert_eq!(window(&bench), 1460);
}

#[test]
fn the_window_reduced_is_told_once_with_new_data_and_not_with_a_probe() {
    let mut bench = agreed(options(EcnMode::Passive));
    bench.send(14_600);
    bench.sent.clear();
    // The echo comes with a closed window: the data after the probe confirms it, the probe does
    // not.
    bench.inject(".E 1:1(0) ack 14601 win 0");
    bench.send(3000);
    bench.wait(10_000);
    let probes = bench.taken();
    assert!(!probes.is_empty() && probes.iter().all(|text| text.starts_with(". 14601:14602(1)")));
    bench.inject(". 1:1(0) ack 14602 win 65535");
    let texts = bench.taken();
    assert!(
        texts[0].contains('W') && texts[1..].iter().all(|text| !text.contains('W')),
        "{texts:?}"
    );
}
