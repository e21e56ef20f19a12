//! Keep-alive, user timeout, limits of retransmission, ICMP: exact times.

use base::{Duration, Icmp, IcmpError, Machine};
use tcp::wire::Flags;
use tcp::{ConnectionOptions, EndpointOptions, Event, Failure, KeepAlive, SoftError, State};

use crate::support::{Bench, LOCAL, address};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_silent_peer_is_asked_and_then_given_up() {
    let keep_alive = KeepAlive { idle: SECOND * 100, interval: SECOND * 10, probes: 3 };
    let options = ConnectionOptions { keep_alive: Some(keep_alive), ..Bench::plain() };
    let mut bench = Bench::accepted(options);
    let start = bench.now;
    bench.wait(100_000);
    bench.expect_at(start, &[(100_000, ". 0:0(0) ack 1")]);
    bench.inject(". 1:1(0) ack 1");
    let start = bench.now;
    bench.wait(1_000_000);
    let probe = ". 0:0(0) ack 1";
    let expected =
        [(100_000, probe), (110_000, probe), (120_000, probe), (130_000, "R. 1:1(0) ack 1")];
    bench.expect_at(start, &expected);
    assert_eq!(bench.take_events(), [Event::Failed(Failure::KeepAlive)]);
}

#[test]
fn a_silent_peer_is_probed_below_what_is_outstanding_and_given_up_after_dead_after() {
    let options = ConnectionOptions { dead_after: Some(SECOND * 30), ..Bench::plain() };
    let mut bench = Bench::accepted(options);
    let start = bench.now;
    bench.send(10);
    bench.wait(100_000);
    let sent = std::mem::take(&mut bench.sent);
    // Without the retransmissions, and without the final reset.
    let probes = sent.iter().filter(|(_, segment, _)| segment.flags == Flags::ACK);
    let first = sent[0].1.seq;
    let seen: Vec<_> =
        probes.map(|(at, probe, _)| (at.since(start), first.0.wrapping_sub(probe.seq.0))).collect();
    let expected: Vec<_> = (10..30).map(|seconds| (SECOND * seconds, 1)).collect();
    assert_eq!(seen, expected);
    let (at, reset, _) = sent.last().unwrap();
    assert_eq!((at.since(start), reset.flags), (SECOND * 30, Flags::RST | Flags::ACK));
    let told = [Event::SoftError(SoftError::Retransmissions), Event::Failed(Failure::KeepAlive)];
    assert_eq!(bench.take_events(), told);
}

#[test]
fn a_keep_alive_probe_is_answered() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.inject(". 0:0(0) ack 1");
    bench.expect(&[". 1:1(0) ack 1"]);
    bench.inject(". 0:1(1) ack 1");
    bench.expect(&[". 1:1(0) ack 1"]);
}

#[test]
fn without_keep_alive_nothing_is_sent_in_silence() {
    let mut bench = Bench::accepted(Bench::plain());
    assert_eq!(bench.endpoint.poll_timeout(), None);
    bench.wait(100_000_000);
    bench.expect(&[]);
}

#[test]
fn data_that_stays_unacknowledged_for_the_user_timeout_ends_the_connection() {
    let options = ConnectionOptions { user_timeout: Some(SECOND * 5), ..Bench::plain() };
    let mut bench = Bench::accepted(options);
    bench.wait(60_000);
    let start = bench.now;
    bench.send(10);
    bench.wait(4999);
    assert_eq!(bench.state(), Some(State::Established));
    bench.wait(1);
    assert_eq!(bench.sent.last().unwrap().0, start + SECOND * 5);
    assert_eq!(bench.take_events(), [Event::Failed(Failure::UserTimeout)]);
}

#[test]
fn the_user_timeout_is_told_and_heeded_where_nothing_was_chosen() {
    let told = ConnectionOptions {
        user_timeout: Some(SECOND * 300),
        user_timeout_option: true,
        ..Bench::plain()
    };
    let bench = Bench::opening(told);
    let option = bench.sent[0].1.options.user_timeout.unwrap();
    assert_eq!(option.duration(), SECOND * 300);

    let heeded = ConnectionOptions { user_timeout_option: true, ..Bench::plain() };
    let mut bench = Bench::listening(heeded);
    let mut syn = tcp::wire::Segment::new(4000, 80);
    syn.flags = tcp::wire::Flags::SYN;
    syn.seq = tcp::wire::SeqNumber(u32::MAX - 99);
    syn.options.user_timeout = Some(tcp::wire::UserTimeout::from_duration(SECOND * 120));
    bench.inject_segment(&syn, base::Ecn::NotEct);
    bench.inject(". 1:1(0) ack 1");
    bench.send(10);
    bench.wait(119_999);
    assert_eq!(bench.state(), Some(State::Established));
    bench.wait(1);
    assert_eq!(bench.state(), Some(State::Closed));
}

#[test]
fn retransmissions_end_after_their_limit() {
    let options = ConnectionOptions { retries: 2, ..Bench::plain() };
    let mut bench = Bench::accepted(options);
    bench.send(10);
    bench.wait(100_000);
    let texts = bench.taken();
    assert_eq!(texts.len(), 4, "{texts:?}");
    assert_eq!(texts[3], "R. 11:11(0) ack 1");
    assert_eq!(bench.take_events(), [Event::Failed(Failure::TimedOut)]);
}

#[test]
fn nobody_keeps_a_connection_alive_that_nobody_holds() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.send(10);
    // The window closes, and every window probe is answered.
    bench.inject(". 1:1(0) ack 11 win 0");
    bench.send(10);
    bench.act(|endpoint, now, id| endpoint.release(now, id));
    let start = bench.now;
    while bench.endpoint.connection_count() > 0 {
        bench.wait(10_000);
        bench.inject(". 1:1(0) ack 11 win 0");
        assert!(bench.now.since(start) < SECOND * 1000);
    }
    assert_eq!(bench.now.since(start), SECOND * 300);
}

fn icmp(bench: &mut Bench, error: IcmpError, seq_step: u32) {
    let seq = bench.iss.advance(seq_step).0.to_be_bytes();
    let mut quoted = vec![0, 80, 0x0f, 0xa0];
    quoted.extend(seq);
    let (local, remote) = (Some(address(LOCAL).ip()), bench.remote);
    bench.icmp(Icmp { local, remote, error, quoted: &quoted });
}

#[test]
fn after_a_lost_syn_ack_the_first_window_is_one_segment() {
    for (lost, first_window) in [(false, 5), (true, 1)] {
        let mut bench = Bench::listening(Bench::plain());
        bench.inject("S 0:0(0) <mss 1000>");
        if lost {
            bench.wait(1000);
        }
        bench.expect(&["S. 0:0(0) ack 1 <mss 1460>"; 2][..1 + usize::from(lost)]);
        bench.inject(". 1:1(0) ack 1");
        bench.send(5000);
        assert_eq!(bench.taken().len(), first_window, "a SYN ACK is lost: {lost}");
    }
}

#[test]
fn icmp_ends_an_attempt_to_open_only_if_it_is_hard_and_quotes_the_syn() {
    let mut bench = Bench::opening(Bench::plain());
    icmp(&mut bench, IcmpError::NoListener, 1);
    icmp(&mut bench, IcmpError::Unreachable, 0);
    assert_eq!(bench.state(), Some(State::SynSent));
    assert_eq!((bench.endpoint.stats().icmp, bench.endpoint.stats().icmp_ignored), (1, 1));
    icmp(&mut bench, IcmpError::NoListener, 0);
    assert_eq!(bench.state(), Some(State::Closed));
    let failure = bench.endpoint.connection(bench.id.unwrap()).unwrap().failure();
    assert_eq!(failure, Some(Failure::NoListener));
}

#[test]
fn icmp_says_why_there_was_no_answer() {
    let mut bench = Bench::opening(Bench::plain());
    icmp(&mut bench, IcmpError::Unreachable, 0);
    bench.wait(1_000_000);
    let soft = [SoftError::Unreachable, SoftError::Retransmissions].map(Event::SoftError);
    assert_eq!(bench.take_events(), [soft[0], soft[1], Event::Failed(Failure::Unreachable)]);
}

#[test]
fn no_icmp_ends_a_connection_that_works() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.send(10);
    icmp(&mut bench, IcmpError::NoListener, 1);
    icmp(&mut bench, IcmpError::Unreachable, 1);
    assert_eq!((bench.endpoint.stats().icmp, bench.state()), (2, Some(State::Established)));
}

#[test]
fn a_packet_too_big_makes_segments_smaller_at_once_if_it_quotes_what_is_outstanding() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.send(2920);
    bench.sent.clear();
    let too_big = IcmpError::PacketTooBig { mtu: 1000 };
    icmp(&mut bench, too_big, 0);
    icmp(&mut bench, too_big, 2921);
    bench.expect(&[]);
    icmp(&mut bench, too_big, 1461);
    bench.expect(&[
        ". 1:961(960) ack 1",
        ". 961:1921(960) ack 1",
        ". 1921:2881(960) ack 1",
        "P. 2881:2921(40) ack 1",
    ]);
    let info = bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now);
    assert_eq!((info.path_mtu, info.send_mss), (1000, 960));
}

#[test]
fn the_fourth_second_of_a_lost_syn_is_a_first_timeout_of_three() {
    // RFC 6298, section 5.7; and an initial window of one segment (RFC 5681, section 3.1).
    let mut bench = Bench::opening(Bench::plain());
    bench.wait(1000);
    bench.sent.clear();
    bench.inject("S. 0:0(0) ack 1 <mss 1000>");
    bench.expect(&[". 1:1(0) ack 1"]);
    let start = bench.now;
    bench.send(5000);
    bench.wait(3000);
    let first = ". 1:1001(1000) ack 1";
    bench.expect_at(start, &[(0, first), (3000, first)]);
}

#[test]
fn a_connection_of_a_closed_listener_is_reset() {
    let mut bench = Bench::listening(Bench::plain());
    bench.inject("S 0:0(0)");
    bench.sent.clear();
    let (now, listener) = (bench.now, bench.listener.unwrap());
    bench.endpoint.close_listener(now, listener);
    bench.inject(". 1:1(0) ack 1");
    bench.expect(&["R. 1:1(0) ack 1"]);
    assert_eq!((bench.endpoint.connection_count(), bench.take_events()), (0, vec![]));
    bench.inject("S 0:0(0)");
    assert!(bench.taken()[0].starts_with("R. "));
}

#[test]
fn what_waits_to_be_accepted_is_limited() {
    let mut bench = Bench::new(EndpointOptions::default());
    let options = tcp::ListenOptions { backlog: 1, accepted: Bench::plain() };
    let listener = bench.endpoint.listen(address("0.0.0.0:80"), options).unwrap();
    // A listener whose connections no application accepts; the bench would accept them.
    let mut open = |port| {
        bench.remote.set_port(port);
        let syn = tcp::wire::Segment {
            flags: tcp::wire::Flags::SYN,
            ..tcp::wire::Segment::new(port, 80)
        };
        let datagram = |segment: &tcp::wire::Segment, bench: &Bench| {
            let mut bytes = Vec::new();
            let local = address(LOCAL).ip();
            segment.emit(tcp::wire::Pseudo::new(bench.remote.ip(), local), &mut bytes);
            bytes
        };
        let meta = base::DatagramMeta {
            local: address("10.0.0.1:0"),
            remote: address("10.0.0.2:0"),
            ecn: base::Ecn::NotEct,
            origin: None,
        };
        let now = bench.now;
        let bytes = datagram(&syn, &bench);
        bench.endpoint.handle_datagram(now, meta, bytes.into());
        let mut buffer = Vec::new();
        let answer = bench.endpoint.poll_transmit(now, &mut buffer)?;
        let addresses = tcp::wire::Pseudo::new(answer.local?.ip(), answer.remote.ip());
        let answer = tcp::wire::Segment::parse(buffer.into(), addresses).unwrap();
        let ack = tcp::wire::Segment {
            flags: tcp::wire::Flags::ACK,
            seq: syn.seq.next(),
            ack: answer.seq.next(),
            ..tcp::wire::Segment::new(port, 80)
        };
        let bytes = datagram(&ack, &bench);
        bench.endpoint.handle_datagram(now, meta, bytes.into());
        Some(())
    };
    assert_eq!((open(1), open(2)), (Some(()), None));
    assert!(bench.endpoint.accept(listener).is_some());
    assert_eq!(bench.endpoint.accept(listener), None);
    assert_eq!(bench.endpoint.stats().syns_dropped, 1);
}

#[test]
fn a_single_segment_that_is_acknowledged_stops_the_timer() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.send(10);
    assert_eq!(bench.endpoint.poll_timeout(), Some(bench.now + SECOND));
    bench.inject(". 1:1(0) ack 11");
    assert_eq!(bench.endpoint.poll_timeout(), None);
    bench.sent.clear();
    bench.wait(100_000);
    bench.expect(&[]);
}
