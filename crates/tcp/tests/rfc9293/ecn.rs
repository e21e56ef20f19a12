//! RFC 3168, section 6.1.1: who may mark segments, and who echoes marks, when SYNs differ in what they ask for.

use base::Ecn;
use tcp::{ConnectionOptions, EcnMode};

use crate::support::Bench;

fn options(ecn: EcnMode) -> ConnectionOptions {
    ConnectionOptions { ecn, ..Bench::plain() }
}

/// The codepoint and the text of the only segment that left.
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
    // The peer may have got the first one.
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
