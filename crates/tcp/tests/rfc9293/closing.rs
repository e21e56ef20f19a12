//! Section 3.6: how connections end.

use base::Duration;
use tcp::{ConnectionOptions, Event, Failure, Received, State};

use crate::support::Bench;

#[test]
fn this_side_finishes_first_and_waits() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.own(|own, now| own.shutdown_write(now));
    bench.expect(&["F. 1:1(0) ack 1"]);
    assert_eq!(bench.state(), Some(State::FinWait1));
    bench.inject(". 1:1(0) ack 2");
    assert_eq!(bench.state(), Some(State::FinWait2));
    // Half-closed: the peer may continue.
    bench.inject("P. 1:11(10) ack 2");
    assert!(matches!(bench.receive(), Received::Data(data) if data.len() == 10));
    bench.inject("F. 11:11(0) ack 2");
    assert_eq!(bench.state(), Some(State::TimeWait));
    assert_eq!(bench.taken().last().unwrap(), ". 2:2(0) ack 12");
    assert_eq!(bench.receive(), Received::Finished);
    assert_eq!(bench.take_events(), [Event::Readable, Event::Readable, Event::Closed]);
    bench.wait(59_999);
    assert_eq!(bench.state(), Some(State::TimeWait));
    bench.wait(1);
    assert_eq!(bench.state(), Some(State::Closed));
}

#[test]
fn the_peer_finishes_first() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("F. 1:1(0) ack 1");
    bench.expect(&[". 1:1(0) ack 2"]);
    assert_eq!((bench.state(), bench.receive()), (Some(State::CloseWait), Received::Finished));
    bench.send(10);
    bench.expect(&["P. 1:11(10) ack 2"]);
    bench.inject(". 2:2(0) ack 11");
    bench.own(|own, now| own.close(now));
    bench.expect(&["F. 11:11(0) ack 2"]);
    assert_eq!(bench.state(), Some(State::LastAck));
    bench.inject(". 2:2(0) ack 12");
    bench.expect(&[]);
    assert_eq!(bench.state(), Some(State::Closed));
    assert_eq!(bench.take_events(), [Event::Readable, Event::Closed]);
    bench.act(|endpoint, now, id| endpoint.release(now, id));
    assert_eq!(bench.endpoint.connection_count(), 0);
}

#[test]
fn both_sides_finish_at_once() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.own(|own, now| own.shutdown_write(now));
    bench.inject("F. 1:1(0) ack 1");
    bench.expect(&["F. 1:1(0) ack 1", ". 2:2(0) ack 2"]);
    assert_eq!(bench.state(), Some(State::Closing));
    bench.inject(". 2:2(0) ack 2");
    assert_eq!(bench.state(), Some(State::TimeWait));
}

#[test]
fn a_fin_that_acknowledges_ours_leads_to_time_wait_at_once() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.own(|own, now| own.shutdown_write(now));
    bench.inject("F. 1:1(0) ack 2");
    bench.expect(&["F. 1:1(0) ack 1", ". 2:2(0) ack 2"]);
    assert_eq!(bench.state(), Some(State::TimeWait));
    // A repeated FIN is acknowledged again, and restarts the wait.
    bench.wait(30_000);
    bench.inject("F. 1:1(0) ack 2");
    bench.expect(&[". 2:2(0) ack 2"]);
    bench.wait(59_999);
    assert_eq!(bench.state(), Some(State::TimeWait));
    bench.wait(1);
    assert_eq!(bench.state(), Some(State::Closed));
}

#[test]
fn closing_with_unread_data_resets() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("P. 1:11(10) ack 1");
    bench.sent.clear();
    bench.own(|own, now| own.close(now));
    bench.expect(&["R. 1:1(0) ack 11"]);
    assert_eq!(bench.state(), Some(State::Closed));
}

#[test]
fn data_for_a_closed_connection_resets_it() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.act(|endpoint, now, id| endpoint.release(now, id));
    bench.expect(&["F. 1:1(0) ack 1"]);
    bench.inject(". 1:1(0) ack 2");
    bench.inject("P. 1:11(10) ack 2");
    bench.expect(&["R 2:2(0)"]);
    assert_eq!(bench.endpoint.connection_count(), 0);
}

#[test]
fn without_lingering_a_close_resets_and_with_it_the_peer_has_so_long() {
    let linger = |span| ConnectionOptions { linger: Some(span), ..Bench::plain() };
    let mut bench = Bench::accepted(linger(Duration::ZERO));
    bench.own(|own, now| own.close(now));
    bench.expect(&["R. 1:1(0) ack 1"]);

    let mut bench = Bench::accepted(linger(Duration::from_secs(2)));
    let start = bench.now;
    bench.own(|own, now| own.close(now));
    bench.sent.clear();
    bench.wait(10_000);
    assert_eq!(bench.sent.last().unwrap().0, start + Duration::from_secs(2));
    assert_eq!(bench.taken().last().unwrap(), "R. 2:2(0) ack 1");
    assert_eq!(bench.take_events(), [Event::Failed(Failure::Aborted)]);
}

#[test]
fn lingering_ends_a_connection_that_is_not_even_established() {
    let linger = Some(Duration::from_millis(1500));
    let mut bench = Bench::opening(ConnectionOptions { linger, ..Bench::plain() });
    bench.inject("S 0:0(0) <mss 1460>");
    assert_eq!(bench.state(), Some(State::SynReceived));
    let start = bench.now;
    bench.own(|own, now| own.close(now));
    bench.sent.clear();
    bench.wait(10_000);
    bench.expect_at(start, &[(1500, "R. 1:1(0) ack 1")]);
    assert_eq!(bench.take_events(), [Event::Failed(Failure::Aborted)]);
}

#[test]
fn an_abort_before_the_peer_answered_sends_nothing() {
    let mut bench = Bench::opening(Bench::plain());
    assert_eq!(bench.state(), Some(State::SynSent));
    bench.sent.clear();
    bench.own(|own, now| own.abort(now));
    bench.expect(&[]);
    assert_eq!(bench.state(), Some(State::Closed));
}

#[test]
fn an_abort_resets_in_every_state_in_which_the_peer_knows_of_the_connection() {
    fn finished(bench: &mut Bench) {
        bench.own(|own, now| own.shutdown_write(now));
    }
    fn in_fin_wait_2(bench: &mut Bench) {
        finished(bench);
        bench.inject(". 1:1(0) ack 2");
    }
    fn in_close_wait(bench: &mut Bench) {
        bench.inject("F. 1:1(0) ack 1");
    }
    let mut received = Bench::opening(Bench::plain());
    received.inject("S 0:0(0) <mss 1460>");
    received.sent.clear();
    let after = |way: fn(&mut Bench)| {
        let mut bench = Bench::accepted(Bench::plain());
        way(&mut bench);
        bench.sent.clear();
        bench
    };
    let cases = [
        (received, State::SynReceived, "R. 1:1(0) ack 1", "R 1:1(0)"),
        (after(|_| ()), State::Established, "R. 1:1(0) ack 1", "R 1:1(0)"),
        (after(finished), State::FinWait1, "R. 2:2(0) ack 1", "R 1:1(0)"),
        (after(in_fin_wait_2), State::FinWait2, "R. 2:2(0) ack 1", "R 1:1(0)"),
        (after(in_close_wait), State::CloseWait, "R. 1:1(0) ack 2", "R 1:1(0)"),
    ];
    for (mut bench, state, reset, stray) in cases {
        assert_eq!(bench.state(), Some(state));
        bench.own(|own, now| own.abort(now));
        assert_eq!(bench.taken(), [reset], "{state:?}");
        assert_eq!(bench.state(), Some(State::Closed), "{state:?}");
        // The connection is gone: a segment of the peer is a stray one.
        bench.inject(". 1:1(0) ack 1");
        assert_eq!(bench.taken(), [stray], "{state:?}");
    }
}

#[test]
fn nobody_waits_for_ever_for_the_fin_of_a_peer() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.own(|own, now| own.shutdown_write(now));
    bench.inject(". 1:1(0) ack 2");
    bench.wait(3_600_000);
    assert_eq!(bench.state(), Some(State::FinWait2));
    bench.act(|endpoint, now, id| endpoint.release(now, id));
    bench.wait(59_999);
    assert_eq!(bench.endpoint.connection_count(), 1);
    bench.wait(1);
    assert_eq!(bench.endpoint.connection_count(), 0);
}

#[test]
fn a_released_connection_leaves_a_few_bytes_in_time_wait() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.act(|endpoint, now, id| endpoint.release(now, id));
    bench.inject("F. 1:1(0) ack 2");
    assert_eq!(bench.endpoint.connection_count(), 0);
    bench.sent.clear();
    bench.inject("F. 1:1(0) ack 2");
    bench.expect(&[". 2:2(0) ack 2"]);
    // A SYN beyond the old sequence numbers opens a new connection, whose own numbers are beyond
    // the old ones.
    let old = bench.iss;
    bench.inject("S 70:70(0)");
    assert!(bench.iss.is_after(old.advance(1)));
    assert_eq!(bench.taken().len(), 1);
    bench.inject(". 71:71(0) ack 1");
    assert_eq!(bench.state(), Some(State::Established));
}
