//! Sections 3.1, 3.4 and 3.10.7: window fields, and what a segment is when the window is closed or
//! several come at once.

use base::Ecn;
use tcp::{ConnectionOptions, Event, Failure, Received, SendFlags, State};

use crate::support::Bench;

fn established(syn: &str, ack: &str, options: ConnectionOptions) -> Bench {
    let mut bench = Bench::listening(options);
    bench.inject(syn);
    bench.inject(ack);
    bench.sent.clear();
    bench.events.clear();
    bench
}

#[test]
fn a_window_with_its_highest_bit_set_is_a_large_one() {
    let mut bench =
        established("S 0:0(0) win 32768 <mss 1460>", ". 1:1(0) ack 1 win 32768", Bench::plain());
    bench.send(40_000);
    let mut sent = 0;
    // The congestion window opens with each acknowledgement, the window does not move.
    for acked in [1461, 2921, 4381] {
        sent = bench.sent.iter().map(|(_, s, _)| s.payload.len()).sum::<usize>();
        bench.inject(&format!(". 1:1(0) ack {acked} win 32768"));
    }
    assert!(sent > 14_600, "{sent}");
    let info = bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    assert_eq!(info.send_window, 32_768);
}

#[test]
fn a_window_is_kept_with_all_the_bits_that_scaling_gives_it() {
    let options = ConnectionOptions { window_scaling: true, ..Bench::plain() };
    let bench = established("S 0:0(0) <mss 1460,wscale 14>", ". 1:1(0) ack 1 win 65535", options);
    let info = bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    assert_eq!(info.send_window, 65_535 << 14);
}

#[test]
fn the_window_of_a_syn_ack_is_not_scaled_though_the_next_one_is() {
    let options = || ConnectionOptions { window_scaling: true, ..Bench::plain() };
    let window = |bench: &Bench| {
        bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now).send_window
    };
    for simultaneous in [false, true] {
        let mut bench = Bench::opening(options());
        if simultaneous {
            bench.inject("S 0:0(0) win 500 <mss 1460,wscale 7>");
        }
        bench.inject("S. 0:0(0) ack 1 win 1000 <mss 1460,wscale 7>");
        assert_eq!(bench.state(), Some(State::Established));
        assert_eq!(window(&bench), 1000, "both at once: {simultaneous}");
        bench.inject(". 1:1(0) ack 1 win 1000");
        assert_eq!(window(&bench), 128_000, "both at once: {simultaneous}");
    }
}

#[test]
fn a_segment_is_as_large_as_the_smaller_of_both_sides_allows_less_its_options() {
    for (peers, own, stamped, expected) in [
        (1000, None, false, 1000),
        (1000, None, true, 988),
        (4000, None, false, 1460),
        (4000, None, true, 1448),
        (1460, Some(600), true, 588),
    ] {
        let options = ConnectionOptions { timestamps: stamped, max_segment: own, ..Bench::plain() };
        let stamp = if stamped { ",TS 7 0" } else { "" };
        let mut bench = Bench::listening(options);
        bench.inject(&format!("S 0:0(0) <mss {peers}{stamp}>"));
        let echo = bench.sent[0].1.options.timestamps.map_or(0, |stamps| stamps.value);
        let stamp = if stamped { format!(" <TS 8 {echo}>") } else { String::new() };
        bench.inject(&format!(". 1:1(0) ack 1{stamp}"));
        bench.sent.clear();
        bench.send(10_000);
        assert_eq!(bench.sent[0].1.payload.len(), expected, "{peers} {own:?} {stamped}");
    }
}

fn closed() -> Bench {
    let mut bench = Bench::accepted(ConnectionOptions { receive_buffer: 2000, ..Bench::plain() });
    bench.inject(". 1:1461(1460) ack 1");
    bench.inject("P. 1461:2001(540) ack 1");
    bench.sent.clear();
    bench.events.clear();
    let info = bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    assert_eq!(info.receive_window, 0);
    bench
}

#[test]
fn a_reset_counts_while_the_window_is_closed() {
    let mut bench = closed();
    bench.inject("R 2002:2002(0)");
    assert_eq!(bench.state(), Some(State::Established));
    bench.inject("R 2001:2001(0)");
    assert_eq!(bench.take_events(), [Event::Failed(Failure::Reset)]);
}

#[test]
fn an_urgent_pointer_counts_while_the_window_is_closed() {
    let mut bench = closed();
    bench.inject("U. 2001:2001(0) ack 1 urg 5");
    assert_eq!(bench.take_events(), [Event::Urgent]);
    // A probe of the window may bring it, too: its byte does not count, its pointer does.
    let mut bench = closed();
    bench.inject("U. 2001:2002(1) ack 1 urg 5");
    assert_eq!(bench.take_events(), [Event::Urgent]);
    let connection = bench.endpoint.connection(bench.id.unwrap()).unwrap();
    assert_eq!(connection.urgent_mark(), Some(2004));
}

#[test]
fn a_reset_may_carry_data_which_is_not_delivered() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("R. 1:21(20) ack 1");
    assert_eq!(bench.take_events(), [Event::Failed(Failure::Reset)]);
    let mut bench = Bench::opening(Bench::plain());
    bench.inject("R. 0:20(20) ack 1");
    assert_eq!(bench.take_events(), [Event::Failed(Failure::Refused)]);
}

#[test]
fn a_reset_before_it_is_established_ends_what_this_side_opened_and_says_so() {
    let mut bench = Bench::opening(Bench::plain());
    bench.inject("S 0:0(0) <mss 1460>");
    assert_eq!(bench.state(), Some(State::SynReceived));
    bench.inject("R 1:1(0)");
    assert_eq!(bench.state(), Some(State::Closed));
    assert_eq!(bench.take_events(), [Event::Failed(Failure::Refused)]);
}

#[test]
fn segments_that_come_together_are_processed_before_anything_is_acknowledged() {
    // The last first, and twice: each alone calls for an acknowledgement at once.
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject_together(&[
        ". 2921:4381(1460) ack 1",
        ". 1461:2921(1460) ack 1",
        ". 1:1461(1460) ack 1",
        ". 1:1461(1460) ack 1",
    ]);
    bench.expect(&[". 1:1(0) ack 4381"]);
}

#[test]
fn an_acknowledgement_rides_on_data_that_is_there_to_be_sent() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject_and("P. 1:11(10) ack 1", |endpoint, now, id| {
        endpoint
            .connection_mut(id)
            .unwrap()
            .send(now, vec![1; 10].into(), SendFlags::default())
            .unwrap();
    });
    bench.expect(&["P. 1:11(10) ack 11"]);
    bench.wait(500);
    bench.expect(&[]);
}

#[test]
fn the_window_follows_the_latest_segment_and_no_older_one() {
    let mut bench = Bench::accepted(Bench::plain());
    let window = |bench: &Bench| {
        bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now).send_window
    };
    bench.inject("P. 11:21(10) ack 1 win 5000");
    assert_eq!(window(&bench), 5000);
    // Older by its number (SND.WL1).
    bench.inject("P. 1:11(10) ack 1 win 9000");
    assert_eq!(window(&bench), 5000);
    bench.send(20);
    bench.inject(". 21:21(0) ack 21 win 4000");
    assert_eq!(window(&bench), 4000);
    // The same number, an older acknowledgement (SND.WL2).
    bench.inject(". 21:21(0) ack 11 win 9000");
    assert_eq!(window(&bench), 4000);
    bench.inject(". 21:21(0) ack 21 win 3000");
    assert_eq!(window(&bench), 3000);
}

#[test]
fn no_acknowledgement_waits_for_half_a_second_whatever_the_policy_says() {
    let mut policy = recovery::RecoveryPolicy::tcp_rfc();
    policy.acknowledgement.delay = Some(base::Duration::from_secs(3));
    let mut bench = Bench::accepted(ConnectionOptions { policy: policy.into(), ..Bench::plain() });
    let start = bench.now;
    bench.inject_with("P. 1:11(10) ack 1", Ecn::NotEct);
    bench.wait(5000);
    bench.expect_at(start, &[(499, ". 1:1(0) ack 11")]);
}

#[test]
fn what_comes_behind_the_peers_fin_is_ignored() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("F. 1:1(0) ack 1");
    bench.events.clear();
    bench.inject("UP. 2:12(10) ack 1 urg 5");
    assert_eq!((bench.take_events(), bench.receive()), (vec![], Received::Finished));
    assert_eq!(bench.state(), Some(State::CloseWait));
}

#[test]
fn with_sack_a_duplicate_that_reports_nothing_new_lets_nothing_leave() {
    let options = ConnectionOptions { sack: true, ..Bench::plain() };
    let mut bench = established("S 0:0(0) <mss 1460,sackOK>", ". 1:1(0) ack 1", options);
    bench.send(30_000);
    assert_eq!(bench.sent.len(), 10);
    bench.sent.clear();
    // RFC 3042, section 2: limited transmit.
    bench.inject(". 1:1(0) ack 1");
    bench.expect(&[]);
    bench.inject(". 1:1(0) ack 1 <sack 1461:2921>");
    assert_eq!(bench.taken().len(), 1);
    bench.inject(". 1:1(0) ack 1 <sack 1461:2921>");
    bench.expect(&[]);
}
