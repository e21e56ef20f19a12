//! What a peer may make of the timestamps that it echoes (RFC 7323, section 4): a number that was never sent, or
//! one from before what it acknowledges, is no measure.

use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use tcp::{ConnectionInfo, ConnectionOptions};

use crate::support::Bench;

/// A connection whose handshake took 100 ms; the second is this side's TSval at its end.
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

/// Data, its retransmission by the timer, and an acknowledgement that echoes so many milliseconds after the
/// handshake's end. Data left at 5000 ms, and again 300 ms (the timeout) later.
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
