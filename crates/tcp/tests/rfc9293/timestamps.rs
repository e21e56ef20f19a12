//! Echoed timestamps (RFC 7323, section 4): a value that was never sent, or one older than the
//! acknowledged data, is no measurement.

use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use tcp::{ConnectionInfo, ConnectionOptions};

use crate::support::Bench;

/// A connection whose handshake took 100 ms, and this side's TSval at its end.
fn connected() -> (Bench, u32) {
    let options = ConnectionOptions {
        timestamps: true,
        sack: true,
        policy: Arc::new(RecoveryPolicy::tcp_linux()),
        ..Bench::plain()
    };
    let mut bench = Bench::listening(options);
    bench.inject("S 0:0(0) <mss 1460,sackOK,TS 1000 0>");
    let sent = bench.sent.last().unwrap().1.options.timestamps.unwrap().value;
    bench.wait(100);
    bench.inject(&format!(". 1:1(0) ack 1 <TS 1100 {sent}>"));
    bench.sent.clear();
    (bench, sent.wrapping_add(100))
}

fn info(bench: &Bench) -> ConnectionInfo {
    bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now)
}

/// Data, its retransmission by the timer, and an acknowledgement that echoes a number of
/// milliseconds after the handshake's end. Data left at 5000 ms, and again 300 ms (the timeout)
/// later.
fn acknowledged_with(echo: i32) -> ConnectionInfo {
    let (mut bench, clock) = connected();
    bench.wait(5000);
    bench.send(2000);
    bench.wait(500);
    assert!(info(&bench).recovery.timeouts >= 1);
    let echo = clock.wrapping_add_signed(echo);
    bench.inject(&format!(". 1:1(0) ack 2001 <TS 6600 {echo}>"));
    info(&bench)
}

#[test]
fn an_echo_of_what_it_acknowledges_is_a_measure_and_shows_that_a_timeout_was_needless() {
    let right = acknowledged_with(5000);
    assert_eq!(right.path.latest_rtt, Some(Duration::from_millis(500)));
    assert_eq!(right.recovery.undone, 1);
}

#[test]
fn an_echo_from_before_is_neither_a_measure_nor_evidence() {
    for echo in [4999, 0, -100, -101, -2_000_000_000, 5501, 2_000_000_000] {
        let wrong = acknowledged_with(echo);
        assert_eq!(wrong.path.latest_rtt, Some(Duration::from_millis(100)), "{echo}");
        assert_eq!(wrong.path.srtt, Some(Duration::from_millis(100)), "{echo}");
        assert_eq!(wrong.recovery.undone, 0, "{echo}");
    }
}

/// A connection with timestamps and window scale, both negotiated.
fn agreed() -> Bench {
    let options = ConnectionOptions { timestamps: true, window_scaling: true, ..Bench::plain() };
    let mut bench = Bench::listening(options);
    bench.inject("S 0:0(0) <mss 1460,TS 100 0,wscale 3>");
    let value = stamp(&bench);
    bench.inject(&format!(". 1:1(0) ack 1 win 1000 <TS 101 {value}>"));
    bench.sent.clear();
    bench
}

/// The timestamp of the latest segment.
fn stamp(bench: &Bench) -> u32 {
    bench.sent.last().unwrap().1.options.timestamps.unwrap().value
}

#[test]
fn all_segments_have_timestamps_once_they_are_agreed() {
    let mut bench = agreed();
    bench.send(10);
    let value = stamp(&bench);
    bench.inject(&format!("P. 1:11(10) ack 11 <TS 102 {value}>"));
    bench.wait(300);
    bench.send(10);
    bench.wait(5000);
    bench.own(|own, now| own.shutdown_write(now));
    bench.own(|own, now| own.abort(now));
    let kinds = bench.sent.iter().map(|(_, segment, _)| segment.flags.to_string());
    let kinds: Vec<String> = kinds.collect();
    assert!(kinds.iter().any(|flags| flags.contains('F')) && kinds.last().unwrap() == "R.");
    assert!(bench.sent.iter().all(|(_, segment, _)| segment.options.timestamps.is_some()));
}

#[test]
fn the_timestamp_clock_ticks_each_millisecond() {
    let mut bench = agreed();
    bench.send(10);
    let first = stamp(&bench);
    bench.inject(". 1:1(0) ack 11 <TS 102 0>");
    bench.wait(1234);
    bench.send(10);
    assert_eq!(stamp(&bench).wrapping_sub(first), 1234);
}

#[test]
fn options_behind_the_syn_change_nothing_that_was_agreed() {
    let mut bench = agreed();
    let info =
        |bench: &Bench| bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    let before = info(&bench);
    bench.inject(". 1:1(0) ack 1 win 1000 <mss 200,sackOK,TS 103 0,wscale 7>");
    let after = info(&bench);
    assert_eq!(after.window_scale.map(|(peers, _)| peers), Some(3));
    assert_eq!((after.send_window, after.send_mss, after.sack), (8000, before.send_mss, false));
}

#[test]
fn a_scale_beyond_14_counts_as_14() {
    let options =
        ConnectionOptions { window_scaling: true, window_shift: Some(20), ..Bench::plain() };
    let mut bench = Bench::listening(options);
    bench.inject("S 0:0(0) <mss 1460,wscale 15>");
    assert!(bench.sent[0].1.options.window_scale.unwrap() <= 14);
    bench.inject(". 1:1(0) ack 1 win 1");
    let info = bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    assert_eq!((info.window_scale.map(|(peers, _)| peers), info.send_window), (Some(14), 1 << 14));
}

#[test]
fn timestamps_that_were_not_agreed_are_ignored_and_their_segment_counts() {
    let options = ConnectionOptions { timestamps: true, ..Bench::plain() };
    let mut bench = Bench::listening(options);
    bench.inject("S 0:0(0) <mss 1460>");
    bench.inject(". 1:1(0) ack 1 win 1000");
    bench.sent.clear();
    // The second would be an old duplicate, by its timestamp.
    bench.inject("P. 1:11(10) ack 1 win 1000 <TS 200 0>");
    bench.inject("P. 11:21(10) ack 1 win 1000 <TS 100 0>");
    bench.sent.clear();
    bench.send(10);
    bench.expect(&["P. 1:11(10) ack 21"]);
}

#[test]
fn the_echo_of_a_segment_without_ack_is_not_looked_at() {
    let options = ConnectionOptions { timestamps: true, ..Bench::plain() };
    for echo in [0, 1, u32::MAX] {
        let mut bench = Bench::listening(options.clone());
        bench.inject(&format!("S 0:0(0) <mss 1460,TS 100 {echo}>"));
        let answer = bench.sent[0].1.options.timestamps.unwrap();
        assert_eq!(answer.echo, 100);
        bench.inject(&format!(". 1:1(0) ack 1 win 1000 <TS 101 {}>", answer.value));
        let info = bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
        assert_eq!(info.path.latest_rtt.map(|rtt| rtt.as_nanos()), Some(0), "{echo}");
    }
}
