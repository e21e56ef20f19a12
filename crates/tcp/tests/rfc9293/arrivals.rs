//! Section 3.10.7.4 with RFC 5961 and RFC 7323: acceptance of segments during a connection.

use base::{Datagram, DatagramMeta, Duration, Ecn, Machine};
use tcp::wire::{Flags, Pseudo, Segment};
use tcp::{ConnectionOptions, EcnMode, Event, Failure, Received, State};

use crate::support::{Bench, LOCAL, address};

#[test]
fn only_a_reset_with_the_expected_number_counts() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("R 0:0(0)");
    bench.inject("R 70000:70000(0)");
    bench.expect(&[]);
    bench.inject("R 2:2(0)");
    bench.expect(&[". 1:1(0) ack 1"]);
    assert_eq!(bench.state(), Some(State::Established));
    bench.inject("R 1:1(0)");
    bench.expect(&[]);
    assert_eq!(bench.take_events(), [Event::Failed(Failure::Reset)]);
}

#[test]
fn where_resets_are_not_strict_any_in_the_window_counts() {
    let mut bench = Bench::accepted(ConnectionOptions { strict_resets: false, ..Bench::plain() });
    bench.inject("R 70000:70000(0)");
    assert_eq!(bench.state(), Some(State::Established));
    bench.inject("R 60000:60000(0)");
    assert_eq!(bench.state(), Some(State::Closed));
}

#[test]
fn a_syn_in_mid_connection_is_challenged_wherever_it_stands() {
    let mut bench = Bench::accepted(Bench::plain());
    for number in ["0:0", "1:1", "500:500", "99999:99999"] {
        bench.inject(&format!("S {number}(0)"));
        bench.expect(&[". 1:1(0) ack 1"]);
    }
    bench.inject("S. 1:1(0) ack 1");
    bench.expect(&[". 1:1(0) ack 1"]);
    assert_eq!(bench.state(), Some(State::Established));
    // In the other synchronized states: what leads there, and the acknowledgement that is due
    // there.
    let cases: [(bool, &[&str], State, &str); 5] = [
        (true, &[], State::FinWait1, ". 2:2(0) ack 1"),
        (true, &[". 1:1(0) ack 2"], State::FinWait2, ". 2:2(0) ack 1"),
        (false, &["F. 1:1(0) ack 1"], State::CloseWait, ". 1:1(0) ack 2"),
        (true, &["F. 1:1(0) ack 1"], State::Closing, ". 2:2(0) ack 2"),
        (false, &["F. 1:1(0) ack 1", "close"], State::LastAck, ". 2:2(0) ack 2"),
    ];
    for (finishes, arrivals, state, challenge) in cases {
        let mut bench = Bench::accepted(Bench::plain());
        if finishes {
            bench.own(|own, now| own.shutdown_write(now));
        }
        for arrival in arrivals {
            match *arrival {
                "close" => bench.own(|own, now| own.shutdown_write(now)),
                segment => bench.inject(segment),
            }
        }
        bench.sent.clear();
        for number in ["0:0", "2:2", "500:500", "99999:99999"] {
            bench.inject(&format!("S {number}(0)"));
            assert_eq!(bench.taken(), [challenge], "{state:?}, {number}");
        }
        assert_eq!(bench.state(), Some(state));
    }
}

#[test]
fn challenges_are_limited() {
    let mut bench = Bench::accepted(Bench::plain());
    (0..100).for_each(|_| bench.inject("R 2:2(0)"));
    assert_eq!(bench.taken().len(), 5);
    bench.wait(1000);
    (0..100).for_each(|_| bench.inject("S 2:2(0)"));
    assert_eq!(bench.taken().len(), 5);
}

#[test]
fn the_number_of_challenges_and_its_interval_are_the_applications() {
    let challenge_ack_interval = Duration::from_secs(10);
    let options = ConnectionOptions { challenge_acks: 2, challenge_ack_interval, ..Bench::plain() };
    let mut bench = Bench::accepted(options);
    for expected in [2, 0] {
        (0..100).for_each(|_| bench.inject("R 2:2(0)"));
        assert_eq!(bench.taken().len(), expected);
        bench.wait(5000);
    }
    (0..100).for_each(|_| bench.inject("R 2:2(0)"));
    assert_eq!(bench.taken().len(), 2);
}

#[test]
fn an_ack_of_what_was_not_sent_is_answered_and_dropped() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("P. 1:11(10) ack 2");
    bench.expect(&[". 1:1(0) ack 1"]);
    assert_eq!(bench.receive(), Received::Nothing);
}

#[test]
fn an_ack_older_than_any_window_that_was_given_is_challenged() {
    let mut bench = Bench::listening(Bench::plain());
    bench.inject("S 0:0(0) win 1000 <mss 1460>");
    bench.inject(". 1:1(0) ack 1 win 1000");
    bench.send(3000);
    for ack in [1001, 2001, 3001] {
        bench.inject(&format!(". 1:1(0) ack {ack} win 1000"));
    }
    bench.sent.clear();
    bench.inject("P. 1:11(10) ack 2000 win 1000");
    bench.expect(&[". 3001:3001(0) ack 1"]);
    assert_eq!(bench.receive(), Received::Nothing);
    bench.inject("P. 1:11(10) ack 2001 win 1000");
    assert!(matches!(bench.receive(), Received::Data(_)));
}

#[test]
fn the_largest_window_that_was_given_counts_though_it_is_smaller_now() {
    let mut bench = Bench::listening(Bench::plain());
    bench.inject("S 0:0(0) win 3000 <mss 1460>");
    bench.inject(". 1:1(0) ack 1 win 3000");
    bench.send(3000);
    for ack in [1461, 2921, 3001] {
        bench.inject(&format!(". 1:1(0) ack {ack} win 1000"));
    }
    bench.sent.clear();
    bench.inject("P. 1:11(10) ack 0 win 1000");
    assert_eq!(
        (bench.taken(), bench.receive()),
        (vec![". 3001:3001(0) ack 1".into()], Received::Nothing)
    );
    bench.inject("P. 1:11(10) ack 1 win 1000");
    assert!(matches!(bench.receive(), Received::Data(_)));
}

#[test]
fn what_has_no_ack_is_dropped() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("P 1:11(10)");
    bench.inject("F 1:1(0)");
    bench.expect(&[]);
    assert_eq!((bench.state(), bench.receive()), (Some(State::Established), Received::Nothing));
}

#[test]
fn what_lies_outside_the_window_is_acknowledged() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("P. 65536:65546(10) ack 1");
    bench.expect(&[". 1:1(0) ack 1"]);
    bench.inject("P. -10:0(10) ack 1");
    bench.expect(&[". 1:1(0) ack 1"]);
    bench.inject(". 0:0(0) ack 1");
    bench.expect(&[". 1:1(0) ack 1"]);
}

#[test]
fn what_a_peer_acknowledges_counts_while_the_own_window_is_closed() {
    let options = ConnectionOptions { receive_buffer: 2000, ..Bench::plain() };
    let mut bench = Bench::accepted(options);
    bench.send(100);
    bench.inject(". 1:1461(1460) ack 1");
    bench.inject("P. 1461:2001(540) ack 1");
    bench.sent.clear();
    // A probe of the closed window.
    bench.inject(". 2001:2002(1) ack 101");
    bench.expect(&[". 101:101(0) ack 2001"]);
    let info = bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    assert_eq!((info.unacked_bytes, info.readable_bytes), (0, 2000));
}

fn stamped() -> Bench {
    let options = ConnectionOptions { timestamps: true, ..Bench::plain() };
    let mut bench = Bench::listening(options);
    bench.inject("S 0:0(0) <mss 1460,TS 1000 0>");
    let stamps = bench.sent[0].1.options.timestamps.unwrap();
    assert_eq!(stamps.echo, 1000);
    bench.inject(&format!(". 1:1(0) ack 1 <TS 1001 {}>", stamps.value));
    bench.sent.clear();
    bench
}

fn echo(bench: &Bench) -> u32 {
    bench.sent.last().unwrap().1.options.timestamps.unwrap().echo
}

#[test]
fn an_old_timestamp_is_an_old_duplicate_but_not_on_a_reset() {
    let mut bench = stamped();
    bench.inject("P. 1:11(10) ack 1 <TS 1000 0>");
    assert_eq!((bench.sent.len(), bench.receive()), (1, Received::Nothing));
    bench.inject("P. 1:11(10) ack 1 <TS 1001 0>");
    assert!(matches!(bench.receive(), Received::Data(_)));
    bench.inject("R 11:11(0) <TS 5 0>");
    assert_eq!(bench.state(), Some(State::Closed));
}

#[test]
fn a_segment_without_the_timestamps_that_were_agreed_is_dropped() {
    let mut bench = stamped();
    bench.inject("P. 1:11(10) ack 1");
    bench.expect(&[]);
    assert_eq!(bench.receive(), Received::Nothing);
    bench.act(|endpoint, now, id| {
        endpoint
            .connection_mut(id)
            .unwrap()
            .set_options(now, |options| options.tolerate_missing_timestamps = true);
    });
    bench.inject("P. 1:11(10) ack 1");
    assert!(matches!(bench.receive(), Received::Data(_)));
}

#[test]
fn a_segment_whose_ack_is_refused_moves_no_timestamp() {
    let mut bench = stamped();
    bench.inject("F. 1:1(0) ack 9999 <TS 200000 0>");
    assert_eq!(echo(&bench), 1001);
    bench.inject("F. 1:1(0) ack 1 <TS 1002 0>");
    assert_eq!(echo(&bench), 1002);
    assert_eq!(bench.state(), Some(State::CloseWait));
}

#[test]
fn a_reset_that_does_not_count_moves_no_timestamp() {
    let mut bench = stamped();
    for number in [-5, 0, 500] {
        bench.inject(&format!("R {number}:{number}(0) <TS 200000 0>"));
    }
    assert_eq!((bench.sent.len(), echo(&bench)), (1, 1001), "the challenge");
    // Else this would be an old duplicate.
    bench.inject("P. 1:11(10) ack 1 <TS 1002 0>");
    assert!(matches!(bench.receive(), Received::Data(_)));
}

fn with_ecn() -> Bench {
    let mut bench = Bench::listening(ConnectionOptions { ecn: EcnMode::Passive, ..Bench::plain() });
    bench.inject("SEW 0:0(0) <mss 1460>");
    bench.expect(&["S.E 0:0(0) ack 1 <mss 1460>"]);
    bench.inject(". 1:1(0) ack 1");
    bench
}

#[test]
fn congestion_is_echoed_until_the_peer_heard_and_new_data_may_be_marked() {
    let mut bench = with_ecn();
    bench.inject_with("P. 1:1461(1460) ack 1", Ecn::Ce);
    bench.expect(&[".E 1:1(0) ack 1461"]);
    bench.inject("P. 1461:2921(1460) ack 1");
    bench.inject("P. 2921:4381(1460) ack 1");
    assert!(bench.taken().iter().all(|text| text.starts_with(".E")));
    bench.inject("P.W 4381:5841(1460) ack 1");
    bench.inject("P. 5841:7301(1460) ack 1");
    assert!(bench.taken().iter().all(|text| text.starts_with(". ")));
    bench.send(10);
    assert_eq!(bench.sent[0].2, Ecn::Ect0);
}

#[test]
fn what_is_sent_again_and_pure_acks_are_not_to_be_marked() {
    let mut bench = with_ecn();
    bench.send(10);
    bench.wait(5000);
    let marks: Vec<Ecn> = bench.sent.iter().map(|(_, _, ecn)| *ecn).collect();
    assert_eq!(marks[0], Ecn::Ect0);
    assert!(marks.len() > 1 && marks[1..].iter().all(|ecn| *ecn == Ecn::NotEct));
}

#[test]
fn ecn_is_asked_for_once_and_granted_to_none_but_who_asks() {
    let mut bench = Bench::opening(ConnectionOptions { ecn: EcnMode::Active, ..Bench::plain() });
    bench.wait(1000);
    bench.expect(&["SEW 0:0(0) <mss 1460>", "S 0:0(0) <mss 1460>"]);
    let mut bench = Bench::listening(ConnectionOptions { ecn: EcnMode::Passive, ..Bench::plain() });
    bench.inject("SE 0:0(0)");
    bench.expect(&["S. 0:0(0) ack 1 <mss 1460>"]);
}

#[test]
fn both_bits_of_ecn_in_a_syn_ask_and_one_in_the_syn_ack_grants_and_nothing_else_does() {
    for syn in ["SE 0:0(0)", "SW 0:0(0)"] {
        let options = ConnectionOptions { ecn: EcnMode::Passive, ..Bench::plain() };
        let mut bench = Bench::listening(options);
        bench.inject(syn);
        bench.expect(&["S. 0:0(0) ack 1 <mss 1460>"]);
        bench.inject(". 1:1(0) ack 1");
        assert_eq!(bench.state(), Some(State::Established));
        bench.send(100);
        assert_eq!(bench.sent[0].2, Ecn::NotEct, "after {syn}");
        bench.expect(&["P. 1:101(100) ack 1"]);
        // Nor is a mark echoed.
        bench.inject_with("P. 1:1001(1000) ack 101", Ecn::Ce);
        bench.inject("P. 1001:2001(1000) ack 101");
        assert_eq!(bench.taken().last().unwrap(), ". 101:101(0) ack 2001", "after {syn}");
    }
    // A side without ECN grants nothing.
    let mut bench = Bench::listening(Bench::plain());
    bench.inject("SEW 0:0(0)");
    bench.expect(&["S. 0:0(0) ack 1 <mss 1460>"]);
    // Of the SYN ACK, ECE alone is the grant.
    for (syn_ack, ecn) in [
        ("S.E 0:0(0) ack 1", Ecn::Ect0),
        ("S. 0:0(0) ack 1", Ecn::NotEct),
        ("S.W 0:0(0) ack 1", Ecn::NotEct),
        ("S.EW 0:0(0) ack 1", Ecn::NotEct),
    ] {
        let options = ConnectionOptions { ecn: EcnMode::Active, ..Bench::plain() };
        let mut bench = Bench::opening(options);
        bench.inject(syn_ack);
        assert_eq!(bench.state(), Some(State::Established));
        bench.sent.clear();
        bench.send(100);
        assert_eq!(bench.sent[0].2, ecn, "after {syn_ack}");
    }
}

#[test]
fn urgent_data_is_announced_and_read_among_the_rest() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("UP. 1:11(10) ack 1 urg 5");
    assert_eq!(bench.take_events(), [Event::Urgent, Event::Readable]);
    let connection = bench.endpoint.connection(bench.id.unwrap()).unwrap();
    assert_eq!((connection.urgent_mark(), connection.readable_bytes()), (Some(4), 10));
    bench.sent.clear();
    bench.act(|endpoint, now, id| {
        let flags = tcp::SendFlags { urgent: true, ..tcp::SendFlags::default() };
        endpoint.connection_mut(id).unwrap().send(now, vec![1, 2, 3].into(), flags).unwrap()
    });
    assert!(bench.taken()[0].ends_with("1:4(3) ack 11 urg 3"));
}

#[test]
fn a_failed_connection_is_silent() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject("P. 1:11(10) ack 1");
    bench.inject("R 11:11(0)");
    bench.sent.clear();
    bench.wait(1_000_000);
    bench.expect(&[]);
    let id = bench.id.unwrap();
    let (now, data) = (bench.now, vec![1].into());
    assert!(
        bench
            .endpoint
            .connection_mut(id)
            .unwrap()
            .send(now, data, tcp::SendFlags::default())
            .is_err()
    );
    assert!(bench.endpoint.connection_mut(id).unwrap().receive(now, 10).is_err());
    bench.inject("P. 11:12(1) ack 1");
    bench.expect(&["R 1:1(0)"]);
    assert_eq!(bench.endpoint.poll_timeout(), None);
}

#[test]
fn the_delay_of_an_acknowledgement_is_the_policys() {
    let mut policy = recovery::RecoveryPolicy::default();
    policy.acknowledgement.delay = Some(Duration::from_millis(40));
    let options = ConnectionOptions { policy: policy.into(), ..Bench::plain() };
    let mut bench = Bench::accepted(options);
    let start = bench.now;
    bench.inject("P. 1:11(10) ack 1");
    bench.wait(1000);
    bench.expect_at(start, &[(40, ". 1:1(0) ack 11")]);
}

#[test]
fn a_segment_whose_checksum_is_wrong_counts_only_if_the_driver_vouches_for_it() {
    for (verified, states) in [(false, 0), (true, 1)] {
        let mut bench = Bench::listening(Bench::plain());
        let (local, remote) = (address(LOCAL), bench.remote);
        let mut syn = Segment::new(remote.port(), local.port());
        syn.flags = Flags::SYN;
        let mut datagram = Vec::new();
        syn.emit(Pseudo::new(remote.ip(), local.ip()), &mut datagram);
        datagram[16] ^= 1;
        let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
        let (now, endpoint) = (bench.now, &mut bench.endpoint);
        let datagram = Datagram { verified, ..datagram.into() };
        endpoint.handle_datagram(now, meta, datagram);
        assert_eq!(endpoint.connection_count(), states);
        assert_eq!(endpoint.stats().malformed, 1 - states as u64);
    }
}
