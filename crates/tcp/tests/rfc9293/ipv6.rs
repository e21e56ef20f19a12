//! Differences of IPv6: sizes, ICMPv6, cookies, the hosts that a limit of resets counts.

use base::{Ecn, Icmp, IcmpError};
use tcp::wire::{Flags, Options, Segment, SeqNumber};
use tcp::{
    ConnectionInfo, ConnectionOptions, EndpointOptions, Event, Failure, SoftError, State,
    SynCookies,
};

use crate::support::{Bench, address};

const LOCAL: &str = "[2001:db8::1]:80";
const REMOTE: &str = "[2001:db8:7::2]:4000";

fn bench(options: EndpointOptions) -> Bench {
    Bench::new(options).between(LOCAL, REMOTE)
}

fn listening(accepted: ConnectionOptions) -> Bench {
    let mut bench = bench(EndpointOptions::default());
    bench.listen(accepted);
    bench
}

fn opening(options: ConnectionOptions) -> Bench {
    let mut bench = bench(EndpointOptions::default());
    bench.open(options);
    bench
}

fn accepted() -> Bench {
    let mut bench = listening(ConnectionOptions { no_delay: true, ..Bench::plain() });
    bench.inject("S 0:0(0) <mss 1440>");
    bench.inject(". 1:1(0) ack 1");
    bench.sent.clear();
    bench
}

fn info(bench: &Bench) -> ConnectionInfo {
    bench.endpoint.connection(bench.id.unwrap()).unwrap().info(bench.now)
}

/// ICMPv6 about the segment `seq_step` after this side's SYN.
fn icmp(bench: &mut Bench, error: IcmpError, seq_step: u32) {
    let mut quoted = vec![0, 80, 0x0f, 0xa0];
    quoted.extend(bench.iss.advance(seq_step).0.to_be_bytes());
    let (local, remote) = (Some(bench.local.ip()), bench.remote);
    bench.icmp(Icmp { local, remote, error, quoted: &quoted });
}

#[test]
fn segments_are_twenty_bytes_smaller_than_those_of_ipv4() {
    let mut bench = opening(Bench::plain());
    bench.expect(&["S 0:0(0) <mss 1440>"]);
    bench.inject("S. 0:0(0) ack 1 <mss 9000>");
    bench.sent.clear();
    bench.send(2000);
    bench.expect(&[". 1:1441(1440) ack 1", "P. 1441:2001(560) ack 1"]);
}

#[test]
fn a_peer_that_names_no_mss_takes_what_the_smallest_path_carries() {
    let mut bench = listening(Bench::plain());
    bench.inject("S 0:0(0)");
    bench.inject(". 1:1(0) ack 1");
    assert_eq!(info(&bench).send_mss, 1220);
}

#[test]
fn a_packet_too_big_counts_from_1280_bytes_on() {
    for (mtu, used) in
        [(0, 1500), (68, 1500), (1279, 1500), (1280, 1280), (1400, 1400), (1501, 1500)]
    {
        let mut bench = accepted();
        bench.send(1400);
        bench.sent.clear();
        icmp(&mut bench, IcmpError::PacketTooBig { mtu }, 1);
        let info = info(&bench);
        assert_eq!((info.path_mtu, info.send_mss), (used, u32::from(used) - 60), "{mtu}");
        assert_eq!(bench.sent.is_empty(), used == 1500, "{mtu}");
    }
}

#[test]
fn a_packet_too_big_about_what_is_not_in_flight_is_ignored() {
    let mut bench = accepted();
    bench.send(1400);
    for seq_step in [0, 1401, 1 << 31] {
        icmp(&mut bench, IcmpError::PacketTooBig { mtu: 1280 }, seq_step);
    }
    assert_eq!(info(&bench).path_mtu, 1500);
    assert_eq!(bench.endpoint.stats().icmp_ignored, 3);
}

#[test]
fn a_large_segment_that_vanishes_without_a_word_goes_again_in_packets_of_1280_bytes() {
    let mut bench = accepted();
    bench.send(1400);
    bench.sent.clear();
    bench.wait(8000);
    let sizes: Vec<usize> = bench.sent.iter().map(|(_, sent, _)| sent.payload.len()).collect();
    assert_eq!(sizes, [1400, 1400, 1220, 180]);
}

#[test]
fn hard_errors_end_an_attempt_to_open_and_nothing_else() {
    let mut bench = opening(Bench::plain());
    icmp(&mut bench, IcmpError::Unreachable, 0);
    assert_eq!(bench.state(), Some(State::SynSent));
    icmp(&mut bench, IcmpError::NoListener, 0);
    let told = Event::SoftError(SoftError::Unreachable);
    assert_eq!(bench.take_events(), [told, Event::Failed(Failure::NoListener)]);

    let mut bench = accepted();
    bench.send(10);
    icmp(&mut bench, IcmpError::NoListener, 1);
    assert_eq!(bench.state(), Some(State::Established));
}

#[test]
fn a_cookie_opens_a_connection_and_is_worth_nothing_from_another_address() {
    let options = EndpointOptions { syn_cookies: SynCookies::Always, ..EndpointOptions::default() };
    let mut bench = bench(options);
    bench.listen(Bench::plain());
    bench.inject("S 0:0(0) <mss 1440>");
    bench.expect(&["S. 0:0(0) ack 1 <mss 1440>"]);
    assert_eq!(bench.endpoint.connection_count(), 0);
    // A neighbour in the same network sends the right number, as if it had overheard it.
    let honest = core::mem::replace(&mut bench.remote, address("[2001:db8:7::3]:4000"));
    bench.inject(". 1:1(0) ack 1");
    bench.expect(&["R 1:1(0)"]);
    bench.remote = honest;
    bench.inject(". 1:1(0) ack 1");
    bench.expect(&[]);
    assert_eq!((bench.state(), info(&bench).send_mss), (Some(State::Established), 1440));
}

#[test]
fn only_a_reset_with_the_expected_number_counts() {
    let mut bench = accepted();
    bench.inject("R 100:100(0)");
    bench.expect(&[". 1:1(0) ack 1"]);
    assert_eq!(bench.state(), Some(State::Established));
    bench.inject("R 1:1(0)");
    assert_eq!(bench.state(), Some(State::Closed));
}

/// Answers to segments without a connection from the `index`-th address of a network.
fn resets(bench: &mut Bench, network: u16, count: u64) -> usize {
    for index in 0..count {
        bench.remote = address(&format!("[2001:db8:{network:x}::{index:x}]:4000"));
        let mut segment = Segment::new(4000, 81);
        (segment.flags, segment.seq, segment.options) =
            (Flags::SYN, SeqNumber(7), Options::default());
        bench.inject_segment(&segment, Ecn::NotEct);
    }
    core::mem::take(&mut bench.sent).len()
}

#[test]
fn the_addresses_of_one_network_share_the_limit_of_resets_and_leave_others_theirs() {
    let limit = EndpointOptions::default().resets_per_second as usize;
    let mut bench = bench(EndpointOptions::default());
    assert_eq!(resets(&mut bench, 1, 2 * limit as u64), limit);
    assert_eq!(resets(&mut bench, 2, 10), 10);
    bench.wait(1000);
    assert_eq!(resets(&mut bench, 1, 10), 10);
}
