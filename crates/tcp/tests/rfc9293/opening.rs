//! Section 3.5: connection establishment.

use base::{Duration, Machine};
use tcp::{ConnectionOptions, EndpointOptions, Event, Failure, Received, SoftError, State};

use crate::support::{Bench, LOCAL, REMOTE, address};

#[test]
fn a_syn_to_a_listener_is_answered_and_the_ack_makes_a_connection() {
    let mut bench = Bench::listening(Bench::plain());
    bench.inject("S 0:0(0) <mss 1000>");
    bench.expect(&["S. 0:0(0) ack 1 <mss 1460>"]);
    assert_eq!(bench.take_events(), []);
    bench.inject(". 1:1(0) ack 1");
    bench.expect(&[]);
    let listener = bench.listener.unwrap();
    assert_eq!(bench.take_events(), [Event::Incoming { listener }]);
    assert_eq!(bench.state(), Some(State::Established));
}

#[test]
fn an_open_sends_a_syn_and_acknowledges_the_answer() {
    let mut bench = Bench::opening(Bench::plain());
    bench.expect(&["S 0:0(0) <mss 1460>"]);
    bench.inject("S. 0:0(0) ack 1 <mss 1000>");
    bench.expect(&[". 1:1(0) ack 1"]);
    assert_eq!(bench.take_events(), [Event::Established]);
}

#[test]
fn what_was_sent_before_the_answer_goes_with_the_ack() {
    let mut bench = Bench::opening(Bench::plain());
    bench.send(100);
    bench.own(|own, now| own.shutdown_write(now));
    bench.sent.clear();
    bench.inject("S. 0:0(0) ack 1 <mss 1000>");
    bench.expect(&["FP. 1:101(100) ack 1"]);
    assert_eq!(bench.state(), Some(State::FinWait1));
}

#[test]
fn what_was_taken_before_the_answer_goes_even_if_the_buffer_shrinks_meanwhile() {
    let mut bench = Bench::opening(Bench::plain());
    assert_eq!(bench.send(3000), 3000);
    bench.act(|endpoint, now, id| {
        endpoint.connection_mut(id).unwrap().set_options(now, |options| options.send_buffer = 10);
    });
    bench.sent.clear();
    bench.inject("S. 0:0(0) ack 1 <mss 1460>");
    let sent: usize = bench.sent.iter().map(|(_, segment, _)| segment.payload.len()).sum();
    assert_eq!(sent, 3000);
}

#[test]
fn both_sides_may_open_at_once() {
    let mut bench = Bench::opening(Bench::plain());
    bench.sent.clear();
    bench.inject("S 0:0(0) <mss 1000>");
    bench.expect(&["S. 0:0(0) ack 1 <mss 1460>"]);
    assert_eq!(bench.state(), Some(State::SynReceived));
    bench.inject("S. 0:0(0) ack 1 <mss 1000>");
    bench.expect(&[]);
    assert_eq!(bench.state(), Some(State::Established));
    assert_eq!(bench.take_events(), [Event::Established]);
}

#[test]
fn closing_in_syn_received_finishes_as_soon_as_the_connection_is_established() {
    for data in [false, true] {
        let mut bench = Bench::opening(Bench::plain());
        bench.inject("S 0:0(0) <mss 1000>");
        bench.sent.clear();
        if data {
            bench.send(5);
        }
        bench.own(|own, now| own.close(now));
        assert_eq!(bench.state(), Some(State::SynReceived));
        bench.expect(&[]);
        bench.inject(". 1:1(0) ack 1");
        bench.expect(if data { &["FP. 1:6(5) ack 1"] } else { &["F. 1:1(0) ack 1"] });
        assert_eq!(bench.state(), Some(State::FinWait1));
    }
}

#[test]
fn a_segment_that_nobody_waits_for_is_reset() {
    let mut bench = Bench::new(EndpointOptions::default());
    bench.inject("S 0:0(0)");
    bench.expect(&["R. 0:0(0) ack 1"]);
    bench.inject("FP. 5:15(10) ack 77");
    bench.expect(&["R 77:77(0)"]);
    bench.inject("P 5:15(10)");
    bench.expect(&["R. 0:0(0) ack 15"]);
    bench.inject("R 5:5(0)");
    bench.inject("R. 5:5(0) ack 3");
    bench.expect(&[]);
    assert_eq!((bench.endpoint.stats().no_connection, bench.endpoint.stats().resets), (5, 3));
}

#[test]
fn a_listener_resets_acks_and_ignores_what_has_neither_syn_nor_ack() {
    let mut bench = Bench::listening(Bench::plain());
    bench.inject(". 1:1(0) ack 5");
    bench.expect(&["R 5:5(0)"]);
    bench.inject("S. 1:1(0) ack 5");
    bench.expect(&["R 5:5(0)"]);
    bench.inject("R 1:1(0)");
    bench.inject("P 1:2(1)");
    bench.expect(&[]);
    assert_eq!(bench.endpoint.connection_count(), 0);
}

#[test]
fn in_syn_sent_a_wrong_ack_is_reset_and_only_a_reset_that_acknowledges_the_syn_counts() {
    let mut bench = Bench::opening(Bench::plain());
    bench.sent.clear();
    bench.inject("S. 0:0(0) ack 2");
    bench.expect(&["R 2:2(0)"]);
    bench.inject("S. 0:0(0) ack 0");
    bench.expect(&["R 0:0(0)"]);
    bench.inject(". 0:0(0) ack 0");
    bench.expect(&["R 0:0(0)"]);
    bench.inject("R. 0:0(0) ack 2");
    bench.inject("R 0:0(0)");
    bench.inject(". 0:0(0) ack 1");
    bench.expect(&[]);
    assert_eq!((bench.state(), bench.take_events()), (Some(State::SynSent), vec![]));
    bench.inject("R. 0:0(0) ack 1");
    assert_eq!(bench.take_events(), [Event::Failed(Failure::Refused)]);
    assert_eq!(bench.state(), Some(State::Closed));
    bench.expect(&[]);
}

#[test]
fn the_syn_is_sent_again_with_twice_the_timeout_until_the_limit() {
    let options = ConnectionOptions { syn_retries: 3, ..Bench::plain() };
    let mut bench = Bench::opening(options);
    let start = bench.now;
    bench.wait(60_000);
    let syn = "S 0:0(0) <mss 1460>";
    bench.expect_at(start, &[(0, syn), (1000, syn), (3000, syn), (7000, syn)]);
    let told = Event::SoftError(SoftError::Retransmissions);
    assert_eq!(bench.take_events(), [told, Event::Failed(Failure::NoAnswer)]);
}

#[test]
fn the_syn_ack_is_sent_again_and_then_forgotten_without_a_word() {
    let mut bench = Bench::listening(ConnectionOptions { syn_ack_retries: 2, ..Bench::plain() });
    let start = bench.now;
    bench.inject("S 0:0(0)");
    // A repeated SYN is answered at once, and the timer is unaffected.
    bench.wait(500);
    bench.inject("S 0:0(0)");
    bench.wait(60_000);
    let syn = "S. 0:0(0) ack 1 <mss 1460>";
    bench.expect_at(start, &[(0, syn), (500, syn), (1000, syn), (3000, syn)]);
    assert_eq!((bench.take_events(), bench.endpoint.connection_count()), (vec![], 0));
    // Six times in a minute by default.
    let mut bench = Bench::listening(Bench::plain());
    let start = bench.now;
    bench.inject("S 0:0(0)");
    bench.wait(3_600_000);
    let times = [0, 1000, 3000, 7000, 15_000, 31_000];
    bench.expect_at(start, &times.map(|at| (at, syn)));
    assert_eq!((bench.take_events(), bench.endpoint.connection_count()), (vec![], 0));
}

#[test]
fn a_reset_ends_a_half_open_connection_without_a_word() {
    let mut bench = Bench::listening(Bench::plain());
    bench.inject("S 0:0(0)");
    bench.sent.clear();
    bench.inject("R 0:0(0)");
    bench.expect(&[]);
    bench.inject("R 2:2(0)");
    bench.expect(&[". 1:1(0) ack 1"]);
    assert_eq!(bench.endpoint.connection_count(), 1);
    bench.inject("R 1:1(0)");
    assert_eq!((bench.take_events(), bench.endpoint.connection_count()), (vec![], 0));
}

#[test]
fn a_wrong_ack_of_the_syn_ack_is_reset_and_the_right_one_still_counts() {
    let mut bench = Bench::listening(Bench::plain());
    bench.inject("S 0:0(0)");
    bench.sent.clear();
    bench.inject(". 1:1(0) ack 2");
    bench.expect(&["R 2:2(0)"]);
    bench.inject("F. 1:11(10) ack 1");
    bench.expect(&[". 1:1(0) ack 12"]);
    assert_eq!(bench.state(), Some(State::CloseWait));
}

#[test]
fn options_are_agreed_as_both_sides_offer_them() {
    let mut bench = Bench::opening(ConnectionOptions {
        receive_buffer: 1 << 20,
        ..ConnectionOptions::default()
    });
    let offered = bench.taken();
    assert!(offered[0].starts_with("S 0:0(0) <mss 1460,sackOK,TS "), "{offered:?}");
    assert!(offered[0].ends_with(" 0,wscale 5>"), "{offered:?}");
    bench.inject("S. 0:0(0) ack 1 <mss 1000,sackOK,wscale 3>");
    bench.expect(&[". 1:1(0) ack 1"]);
    bench.inject("P. 101:201(100) ack 1");
    bench.expect(&[". 1:1(0) ack 1 <sack 101:201>"]);
}

#[test]
fn what_was_offered_counts_even_if_the_options_change_before_the_answer() {
    let mut bench = Bench::opening(ConnectionOptions {
        receive_buffer: 1 << 20,
        ..ConnectionOptions::default()
    });
    bench.act(|endpoint, now, id| {
        endpoint.connection_mut(id).unwrap().set_options(now, |options| {
            options.receive_buffer = 4000;
            options.timestamps = false;
            options.sack = false;
        });
    });
    bench.sent.clear();
    bench.inject("S. 0:0(0) ack 1 <mss 1000,sackOK,TS 7 0,wscale 3>");
    let info = bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    assert_eq!((info.timestamps, info.sack, info.window_scale), (true, true, Some((3, 5))));
    assert!(bench.taken()[0].contains("TS "));
}

#[test]
fn an_answer_grants_no_more_than_was_asked_for() {
    let mut bench = Bench::listening(ConnectionOptions::default());
    bench.inject("S 0:0(0) <mss 1000>");
    bench.expect(&["S. 0:0(0) ack 1 <mss 1460>"]);
}

#[test]
fn a_syn_may_lose_its_options_but_a_syn_ack_keeps_to_what_was_agreed() {
    let options =
        ConnectionOptions { timestamps: true, option_syn_retries: Some(0), ..Bench::plain() };
    let mut bench = Bench::opening(options.clone());
    bench.wait(1000);
    let offers = |bench: &Bench, index: usize| bench.sent[index].1.options.timestamps.is_some();
    assert_eq!((offers(&bench, 0), offers(&bench, 1)), (true, false));

    let mut bench = Bench::listening(options);
    bench.inject("S 0:0(0) <mss 1460,TS 100 0>");
    bench.wait(1000);
    assert_eq!((offers(&bench, 0), offers(&bench, 1)), (true, true));
    let sent = bench.sent[1].1.options.timestamps.unwrap().value;
    bench.inject(&format!("P. 1:11(10) ack 1 <TS 1100 {sent}>"));
    let own = bench.endpoint.connection(bench.id.unwrap()).unwrap();
    assert_eq!((own.state(), own.readable_bytes()), (State::Established, 10));
}

#[test]
fn ports_are_chosen_and_addresses_checked() {
    let mut bench = Bench::new(EndpointOptions::default());
    let (now, options) = (bench.now, ConnectionOptions::default());
    let mut connect = |local: &str, remote: &str| {
        bench.endpoint.connect(now, address(local), address(remote), options.clone())
    };
    let first = connect("10.0.0.1:0", "10.0.0.2:80").unwrap();
    for (local, remote) in [
        ("0.0.0.0:5", "10.0.0.2:80"),
        ("10.0.0.1:5", "10.0.0.2:0"),
        ("10.0.0.1:5", "224.0.0.1:80"),
        ("10.0.0.1:5", "255.255.255.255:80"),
        ("10.0.0.1:5", "240.0.0.1:80"),
        ("240.0.0.1:5", "10.0.0.2:80"),
        ("10.0.0.1:5", "[2001:db8::1]:80"),
    ] {
        assert!(connect(local, remote).is_err(), "{local} {remote}");
    }
    connect("10.0.0.1:5", "10.0.0.2:80").unwrap();
    assert!(connect("10.0.0.1:5", "10.0.0.2:80").is_err());
    assert!(bench.endpoint.connection(first).unwrap().local().port() >= 49_152);
}

#[test]
fn no_more_connections_are_opened_than_the_endpoint_may_have() {
    let options = EndpointOptions { max_connections: 2, ..EndpointOptions::default() };
    let mut bench = Bench::new(options);
    let now = bench.now;
    let mut connect = |port: u16| {
        let remote = std::net::SocketAddr::from(([10, 0, 0, 2], port));
        bench.endpoint.connect(now, address("10.0.0.1:0"), remote, ConnectionOptions::default())
    };
    let first = connect(80).unwrap();
    connect(81).unwrap();
    assert_eq!(connect(82), Err(tcp::ConnectError::TooMany));
    bench.endpoint.release(now, first);
    let mut buffer = Vec::new();
    while bench.endpoint.poll_transmit(now, &mut buffer).is_some() {}
    let remote = address("10.0.0.2:82");
    let options = ConnectionOptions::default();
    assert!(bench.endpoint.connect(now, address("10.0.0.1:0"), remote, options).is_ok());
}

#[test]
fn text_of_a_syn_ack_is_delivered_once_the_connection_is_established() {
    let data = |length| Received::Data(crate::support::notation::pattern(0, length));
    let mut bench = Bench::opening(Bench::plain());
    bench.inject("S. 0:10(10) ack 1 <mss 1460>");
    assert_eq!((bench.state(), bench.receive()), (Some(State::Established), data(10)));
    // Simultaneous open: no data is delivered before the own SYN is acknowledged.
    let mut bench = Bench::opening(Bench::plain());
    bench.inject("S 0:10(10) <mss 1460>");
    assert_eq!((bench.state(), bench.receive()), (Some(State::SynReceived), Received::Nothing));
    bench.inject(". 11:11(0) ack 1");
    assert_eq!((bench.state(), bench.receive()), (Some(State::Established), data(10)));
}

#[test]
fn an_old_syn_is_reset_by_its_supposed_sender_and_the_new_one_connects() {
    // Figure 9: the SYN 90 is old, the valid one is 100.
    let mut bench = Bench::listening(Bench::plain());
    bench.inject("S 90:90(0)");
    assert_eq!(bench.taken(), ["S. 0:0(0) ack 91 <mss 1460>"]);
    bench.inject("R 91:91(0)");
    assert_eq!(bench.endpoint.connection_count(), 0);
    bench.inject("S 100:100(0)");
    assert_eq!(bench.taken(), ["S. 0:0(0) ack 101 <mss 1460>"]);
    bench.inject(". 101:101(0) ack 1");
    assert_eq!(bench.state(), Some(State::Established));
}

#[test]
fn a_peer_that_lost_its_memory_resets_the_half_that_is_left() {
    // Figure 10: the answer to its SYN is what this side expects, and the reset that follows has
    // exactly that number.
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("S 5000:5000(0)");
    bench.expect(&[". 1:1(0) ack 1"]);
    bench.inject("R 1:1(0)");
    assert_eq!(bench.take_events(), [Event::Failed(Failure::Reset)]);
    // Figure 11: this side sends, and the peer has no connection.
    let mut bench = Bench::accepted(Bench::plain());
    bench.send(10);
    bench.inject("R 1:1(0)");
    assert_eq!(bench.take_events(), [Event::Failed(Failure::Reset)]);
}

#[test]
fn an_mss_is_asked_for_that_the_mtu_carries() {
    for (path_mtu, mss) in [(1500, 1460), (1400, 1360), (576, 536)] {
        let bench = Bench::opening(ConnectionOptions { path_mtu, ..Bench::plain() });
        assert_eq!(bench.sent[0].1.options.mss, Some(mss));
        let mut bench = Bench::listening(ConnectionOptions { path_mtu, ..Bench::plain() });
        bench.inject("S 0:0(0) <mss 9000>");
        assert_eq!(bench.sent[0].1.options.mss, Some(mss));
    }
}

#[test]
fn numbers_and_timestamps_of_a_syn_and_a_syn_ack_follow_the_clock_and_differ_between_pairs() {
    let opened = |passive: bool, at: u64, remote: &str| {
        let options = ConnectionOptions { timestamps: true, ..Bench::plain() };
        let mut bench = Bench::new(EndpointOptions::default()).between(LOCAL, remote);
        bench.now += Duration::from_millis(at);
        if passive {
            bench.listen(options);
            bench.inject("S 0:0(0) <mss 1460,TS 7 0>");
        } else {
            bench.open(options);
        }
        let syn = &bench.sent[0].1;
        (syn.seq, syn.options.timestamps.unwrap().value)
    };
    for passive in [false, true] {
        let (seq, stamp) = opened(passive, 0, REMOTE);
        let later = (seq.advance(250_000), stamp.wrapping_add(1000));
        assert_eq!(opened(passive, 1000, REMOTE), later, "passive: {passive}");
        let (other_seq, other_stamp) = opened(passive, 0, "10.0.0.3:4000");
        for apart in [other_seq.distance_from(seq), other_stamp.wrapping_sub(stamp)] {
            assert!(apart.min(apart.wrapping_neg()) > 1000, "passive: {passive}");
        }
    }
}

#[test]
fn closing_what_is_not_answered_yet_ends_it_without_a_segment() {
    let mut bench = Bench::opening(Bench::plain());
    bench.sent.clear();
    bench.own(|own, now| own.close(now));
    assert_eq!(bench.state(), Some(State::Closed));
    bench.wait(100_000);
    bench.expect(&[]);
}
