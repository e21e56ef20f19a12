//! Section 3.9: the interface between application and TCP, and between TCP and IP.

use base::{DatagramMeta, Duration, Ecn, Icmp, IcmpError, IpService, Machine};
use tcp::wire::{Flags, Pseudo, Segment};
use tcp::{
    ConnectionOptions, EcnMode, Event, Failure, KeepAlive, ListenError, ListenOptions, SendError,
    SendFlags, SoftError, State, SynCookies,
};

use crate::support::{Bench, LOCAL, address};

// ---- a connection that is lent -----------------------------------------------------------------

#[test]
fn what_is_done_with_a_connection_is_noted_when_it_is_given_back() {
    let mut bench = Bench::accepted(Bench::plain());
    let (now, id) = (bench.now, bench.id.unwrap());
    let before = bench.endpoint.buffered_bytes();
    let mut own = bench.endpoint.connection_mut(id).unwrap();
    assert_eq!(own.send(now, vec![7; 10].into(), SendFlags::default()), Ok(10));
    assert_eq!(own.send(now, vec![7; 20].into(), SendFlags::default()), Ok(20));
    own.shutdown_write(now);
    drop(own);
    assert!(bench.endpoint.buffered_bytes() > before);
    bench.act(|_, _, _| {});
    bench.expect(&["FP. 1:31(30) ack 1"]);
}

#[test]
fn a_connection_that_is_lent_and_not_used_has_nothing_to_send_and_tells_nothing() {
    let mut bench = Bench::accepted(Bench::plain());
    let before = bench.endpoint.buffered_bytes();
    drop(bench.endpoint.connection_mut(bench.id.unwrap()));
    bench.act(|_, _, _| {});
    bench.expect(&[]);
    assert_eq!((bench.take_events(), bench.endpoint.buffered_bytes()), (vec![], before));
}

#[test]
fn a_connection_that_is_over_and_released_is_not_lent() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.own(|own, now| own.abort(now));
    assert!(bench.endpoint.connection_mut(bench.id.unwrap()).is_some(), "its failure can be read");
    bench.act(|endpoint, now, id| endpoint.release(now, id));
    assert!(bench.endpoint.connection_mut(bench.id.unwrap()).is_none());
}

// ---- OPEN --------------------------------------------------------------------------------------

#[test]
fn a_second_listener_at_one_place_is_refused_and_leaves_the_first_and_its_connections_alone() {
    let mut bench = Bench::accepted(Bench::plain());
    let options = ListenOptions { accepted: Bench::plain(), ..ListenOptions::default() };
    let refused = bench.endpoint.listen(address("0.0.0.0:80"), options);
    assert_eq!(refused, Err(ListenError::AddressInUse));
    bench.inject("P. 1:11(10) ack 1");
    assert_eq!(bench.receive(), tcp::Received::Data(crate::support::notation::pattern(1, 10)));
    bench.remote.set_port(4001);
    bench.inject("S 0:0(0)");
    bench.inject(". 1:1(0) ack 1");
    assert_eq!((bench.state(), bench.endpoint.connection_count()), (Some(State::Established), 2));
}

#[test]
fn a_port_is_listened_at_while_a_connection_from_it_opens_and_both_work() {
    for simultaneous in [false, true] {
        let mut bench = Bench::opening(Bench::plain());
        if simultaneous {
            bench.inject("S 0:0(0) <mss 1460>");
            assert_eq!(bench.state(), Some(State::SynReceived));
        }
        let opened = bench.id.unwrap();
        bench.listen(Bench::plain());
        // Another peer reaches the listener, and the open connection continues.
        let iss = bench.iss;
        bench.remote.set_port(4001);
        bench.inject("S 0:0(0)");
        bench.inject(". 1:1(0) ack 1");
        assert_eq!(bench.state(), Some(State::Established));
        bench.remote.set_port(4000);
        bench.iss = iss;
        bench.inject("S. 0:0(0) ack 1 <mss 1460>");
        let state = bench.endpoint.connection(opened).unwrap().state();
        assert_eq!(state, State::Established);
        assert_ne!(bench.id, Some(opened));
    }
}

#[test]
fn a_listener_at_one_address_hears_nothing_that_goes_to_another() {
    for (listened, answer) in [("10.0.0.1:80", "S."), ("10.0.0.9:80", "R."), ("0.0.0.0:80", "S.")] {
        let mut bench = Bench::new(tcp::EndpointOptions::default());
        let options = ListenOptions { accepted: Bench::plain(), ..ListenOptions::default() };
        bench.endpoint.listen(address(listened), options).unwrap();
        bench.inject("S 0:0(0)");
        assert!(bench.taken()[0].starts_with(answer), "{listened}");
    }
}

#[test]
fn all_segments_of_a_connection_leave_from_the_address_with_which_it_began() {
    let mut bench =
        Bench::new(tcp::EndpointOptions::default()).between("10.0.0.7:80", "10.0.0.2:4000");
    bench.listen(Bench::plain());
    // The bench accepts a segment only if its checksum covers the right addresses.
    bench.inject("S 0:0(0) <mss 1460>");
    bench.inject(". 1:1(0) ack 1");
    assert_eq!(bench.state(), Some(State::Established));
    bench.send(10);
    bench.wait(10_000);
    bench.own(|own, now| own.abort(now));
    assert!(bench.taken().last().unwrap().starts_with("R."));
    let connection = bench.endpoint.connection(bench.id.unwrap()).unwrap();
    assert_eq!(connection.local(), address("10.0.0.7:80"));
}

#[test]
fn segments_to_or_from_groups_and_broadcast_addresses_are_dropped_without_a_word() {
    for (to, from) in [
        ("224.0.0.1", "10.0.0.2"),
        ("255.255.255.255", "10.0.0.2"),
        ("10.0.0.1", "224.0.0.1"),
        ("10.0.0.1", "255.255.255.255"),
        ("10.0.0.1", "0.0.0.0"),
        ("10.0.0.1", "240.0.0.1"),
        ("ff02::1", "2001:db8::2"),
        ("2001:db8::1", "ff02::1"),
        ("2001:db8::1", "::"),
    ] {
        for flags in [Flags::SYN, Flags::ACK, Flags::FIN | Flags::ACK] {
            let mut bench = Bench::listening(Bench::plain());
            bench.local = address(if to.contains(':') { "[::1]:80" } else { LOCAL });
            if bench.local.is_ipv6() {
                bench.listen(Bench::plain());
            }
            let (to, from) = (to.parse().unwrap(), from.parse().unwrap());
            let mut segment = Segment::new(4000, 80);
            segment.flags = flags;
            let mut datagram = Vec::new();
            segment.emit(Pseudo::new(from, to), &mut datagram);
            let meta = DatagramMeta {
                local: (to, 0).into(),
                remote: (from, 0).into(),
                ecn: Ecn::NotEct,
                origin: None,
            };
            let now = bench.now;
            bench.endpoint.handle_datagram(now, meta, datagram.into());
            let mut buffer = Vec::new();
            assert_eq!(bench.endpoint.poll_transmit(now, &mut buffer), None, "{from} to {to}");
            assert_eq!(bench.endpoint.connection_count(), 0, "{from} to {to}");
        }
    }
}

// ---- SEND and RECEIVE --------------------------------------------------------------------------

#[test]
fn nothing_can_be_sent_after_finishing_and_finishing_twice_sends_one_fin() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.own(|own, now| own.shutdown_write(now));
    bench.own(|own, now| own.shutdown_write(now));
    bench.expect(&["F. 1:1(0) ack 1"]);
    let sent = bench.own(|own, now| own.send(now, vec![1].into(), SendFlags::default()));
    assert_eq!(sent, Err(SendError::Finished));
    bench.expect(&[]);
    bench.inject(". 1:1(0) ack 2");
    bench.own(|own, now| own.shutdown_write(now));
    bench.expect(&[]);
}

#[test]
fn urgent_data_longer_than_the_pointer_reaches_is_announced_all_along() {
    let mut bench = Bench::accepted(Bench::plain());
    let length = 70_000;
    bench.act(|endpoint, now, id| {
        let flags = SendFlags { urgent: true, ..SendFlags::default() };
        assert_eq!(
            endpoint.connection_mut(id).unwrap().send(now, vec![7; length].into(), flags),
            Ok(length)
        );
    });
    let mut acked = 1;
    let mut pointers = Vec::new();
    while acked < length + 1 {
        for (_, segment, _) in core::mem::take(&mut bench.sent) {
            assert!(segment.flags.urg());
            let start = segment.seq.distance_from(bench.iss) as usize;
            acked = acked.max(start + segment.payload.len());
            pointers.push((start, usize::from(segment.urgent)));
        }
        bench.inject(&format!(". 1:1(0) ack {acked}"));
    }
    // The sequence number after the urgent data, or as far towards it as 16 bits reach.
    for (start, pointer) in &pointers {
        assert_eq!(*pointer, (length + 1 - start).min(65_535));
    }
    assert!(pointers.iter().any(|(_, pointer)| *pointer < 65_535));
}

// ---- asynchronous reports ----------------------------------------------------------------------

fn icmp(bench: &mut Bench, error: IcmpError, seq_step: u32) {
    let seq = bench.iss.advance(seq_step).0.to_be_bytes();
    let mut quoted = vec![0, 80];
    quoted.extend(bench.remote.port().to_be_bytes());
    quoted.extend(seq);
    let (local, remote) = (Some(address(LOCAL).ip()), bench.remote);
    bench.icmp(Icmp { local, remote, error, quoted: &quoted });
}

#[test]
fn icmp_about_a_connection_that_works_is_told_and_ends_nothing() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.send(10);
    icmp(&mut bench, IcmpError::Unreachable, 1);
    assert_eq!(bench.take_events(), [Event::SoftError(SoftError::Unreachable)]);
    icmp(&mut bench, IcmpError::NoListener, 1);
    assert_eq!(bench.take_events(), [Event::SoftError(SoftError::NoListener)]);
    // A message that quotes no outstanding data does not concern this connection.
    icmp(&mut bench, IcmpError::Unreachable, 500);
    assert_eq!(bench.take_events(), []);
    bench.inject(". 1:1(0) ack 11");
    assert_eq!(bench.state(), Some(State::Established));
}

#[test]
fn an_icmp_error_is_told_to_the_connection_that_it_quotes_and_to_no_other() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.send(10);
    let first = (bench.id, bench.remote, bench.iss);
    bench.remote.set_port(4001);
    bench.inject("S 0:0(0)");
    bench.inject(". 1:1(0) ack 1");
    bench.send(10);
    let second = (bench.id, bench.remote, bench.iss);
    assert!(first.0 != second.0 && first.2 != second.2);
    for (id, remote, iss) in [first, second, first] {
        (bench.id, bench.remote, bench.iss) = (id, remote, iss);
        bench.events.clear();
        icmp(&mut bench, IcmpError::Unreachable, 1);
        let told = (id.unwrap(), Event::SoftError(SoftError::Unreachable));
        assert_eq!(bench.events, [told], "from {remote}");
    }
    let mut stranger = bench.remote;
    stranger.set_port(4002);
    (bench.remote, bench.events) = (stranger, Vec::new());
    icmp(&mut bench, IcmpError::Unreachable, 1);
    assert_eq!((bench.endpoint.stats().icmp_ignored, bench.events), (1, vec![]));
}

#[test]
fn the_third_retransmission_in_a_row_is_told_once_and_again_after_progress() {
    let mut bench = Bench::accepted(Bench::plain());
    bench.send(10);
    let told = [Event::SoftError(SoftError::Retransmissions)];
    // After 1, 3 and 7 s.
    bench.wait(6999);
    assert_eq!(bench.take_events(), []);
    bench.wait(1);
    assert_eq!(bench.take_events(), told);
    bench.wait(60_000);
    assert_eq!(bench.take_events(), []);
    bench.inject(". 1:1(0) ack 11");
    bench.send(10);
    bench.wait(600_000);
    assert_eq!(bench.take_events(), told);
}

#[test]
fn a_syn_that_stays_unanswered_is_told_of_before_it_is_given_up() {
    let mut bench = Bench::opening(Bench::plain());
    bench.wait(6999);
    assert_eq!(bench.take_events(), []);
    bench.wait(1);
    assert_eq!(bench.take_events(), [Event::SoftError(SoftError::Retransmissions)]);
    bench.wait(1_000_000);
    assert_eq!(bench.take_events(), [Event::Failed(Failure::NoAnswer)]);
    // A SYN ACK belongs to no application yet.
    let mut bench = Bench::listening(Bench::plain());
    bench.inject("S 0:0(0)");
    bench.wait(1_000_000);
    assert_eq!(bench.take_events(), []);
}

#[test]
fn who_wants_to_hear_of_no_soft_error_hears_of_none() {
    let mut bench = Bench::accepted(ConnectionOptions { soft_errors: false, ..Bench::plain() });
    bench.send(10);
    icmp(&mut bench, IcmpError::Unreachable, 1);
    bench.wait(60_000);
    assert_eq!(bench.take_events(), []);
    bench.act(|endpoint, now, id| {
        endpoint.connection_mut(id).unwrap().set_options(now, |options| options.soft_errors = true);
    });
    icmp(&mut bench, IcmpError::Unreachable, 1);
    assert_eq!(bench.take_events(), [Event::SoftError(SoftError::Unreachable)]);
}

// ---- what IP is asked for ----------------------------------------------------------------------

#[test]
fn every_segment_has_the_codepoint_and_the_hop_limit_that_the_application_chose() {
    let chosen = ConnectionOptions { dscp: 46, hop_limit: 255, ..Bench::plain() };
    let asked = IpService { dscp: 46, hop_limit: 255 };
    let mut bench = Bench::opening(chosen.clone());
    assert_eq!(bench.service, asked, "SYN");
    bench.inject("S. 0:0(0) ack 1 <mss 1460>");
    assert_eq!(bench.service, asked, "ACK");
    bench.send(10);
    bench.wait(5000);
    assert_eq!((bench.sent.len() > 3, bench.service), (true, asked), "data, also again");
    // The value can change during a connection's life.
    bench.act(|endpoint, now, id| {
        endpoint
            .connection_mut(id)
            .unwrap()
            .set_options(now, |options| (options.dscp, options.hop_limit) = (8, 1));
    });
    bench.send(10);
    bench.wait(60_000);
    assert_eq!(bench.service, IpService { dscp: 8, hop_limit: 1 });
    bench.own(|own, now| own.abort(now));
    assert_eq!(bench.service, IpService { dscp: 8, hop_limit: 1 }, "RST");

    for syn_cookies in [SynCookies::Off, SynCookies::Always] {
        let options = tcp::EndpointOptions { syn_cookies, ..tcp::EndpointOptions::default() };
        let mut bench = Bench::new(options);
        bench.listen(chosen.clone());
        bench.inject("S 0:0(0)");
        assert_eq!((bench.sent.len(), bench.service), (1, asked), "SYN ACK, {syn_cookies:?}");
    }
    // Two bits are for ECN, and a hop limit of 0 would expire before transmission.
    let out_of_range = ConnectionOptions { dscp: 255, hop_limit: 0, ..Bench::plain() };
    assert_eq!(Bench::opening(out_of_range).service, IpService { dscp: 63, hop_limit: 1 });
    assert_eq!(Bench::opening(Bench::plain()).service, IpService { dscp: 0, hop_limit: 64 });
}

// ---- keep-alive --------------------------------------------------------------------------------

#[test]
fn keep_alive_is_off_unless_asked_for_and_then_waits_two_hours() {
    let week = 7 * 24 * 3_600_000;
    assert_eq!(ConnectionOptions::default().keep_alive, None);
    let mut unasked = Bench::accepted(Bench::plain());
    unasked.wait(week);
    unasked.expect(&[]);
    let keep_alive = Some(KeepAlive::default());
    let mut bench = Bench::accepted(ConnectionOptions { keep_alive, ..Bench::plain() });
    bench.wait(7_199_999);
    bench.expect(&[]);
    bench.wait(1);
    bench.expect(&[". 0:0(0) ack 1"]);
    assert_eq!(bench.state(), Some(State::Established));
}

#[test]
fn keep_alive_probes_wait_for_what_is_outstanding_and_for_silence_and_end_with_an_answer() {
    let second = Duration::from_secs(1);
    let keep_alive = KeepAlive { idle: second * 100, interval: second * 10, probes: 3 };
    let mut bench =
        Bench::accepted(ConnectionOptions { keep_alive: Some(keep_alive), ..Bench::plain() });
    bench.wait(90_000);
    bench.inject("P. 1:11(10) ack 1");
    bench.wait(99_000);
    bench.expect(&[". 1:1(0) ack 11"]);
    // Data is outstanding: it is retransmitted instead of probes, for longer than the idle time.
    bench.send(10);
    bench.wait(150_000);
    assert!(bench.taken().iter().all(|text| text == "P. 1:11(10) ack 11"));
    bench.inject(". 11:11(0) ack 11");
    let start = bench.now;
    // Two probes are lost, the third is answered: the connection stays, and is idle again.
    bench.wait(120_000);
    let probe = ". 10:10(0) ack 11";
    bench.expect_at(start, &[(100_000, probe), (110_000, probe), (120_000, probe)]);
    bench.inject(". 11:11(0) ack 11");
    bench.wait(99_999);
    bench.expect(&[]);
    bench.wait(1);
    bench.expect(&[probe]);
    assert_eq!(bench.state(), Some(State::Established));
}

#[test]
fn defaults_grant_ecn_and_use_timestamps_sack_and_scaling() {
    let defaults = ConnectionOptions::default();
    assert_eq!(defaults.ecn, EcnMode::Passive);
    assert!(defaults.timestamps && defaults.sack && defaults.window_scaling);
}
