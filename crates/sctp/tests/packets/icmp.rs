//! ICMP (RFC 9260, section 10): messages that are believed, and messages that anyone could have
//! forged.

use base::{Duration, Icmp, IcmpError, Machine};
use sctp::wire::{Chunk, Packet, VerificationTag};
use sctp::{AssociationOptions, EndpointOptions, Event, Failure};

use crate::support::wire::{Bench, PEER_PORT, PEER_TAG, packet};
use crate::support::{CLIENT, PORT, address};

/// The quoted part of a packet of the endpoint: ports and tag only.
fn quote(source: u16, destination: u16, tag: VerificationTag) -> Vec<u8> {
    packet(source, destination, tag, |_| ())[..8].to_vec()
}

fn give(bench: &mut Bench, error: IcmpError, quoted: &[u8]) {
    let icmp = Icmp { local: None, remote: bench.remote, error, quoted };
    bench.endpoint.handle_icmp(bench.now, icmp);
}

fn established() -> Bench {
    let accepted = AssociationOptions { path_mtu_discovery: true, ..AssociationOptions::default() };
    let listening = EndpointOptions { listen: true, accepted, ..EndpointOptions::default() };
    let mut bench = Bench::new(listening);
    let cookie = bench.init(PEER_TAG);
    bench.give_right(|packet| {
        packet.append(sctp::wire::chunk::CookieEcho { cookie: &cookie }).unwrap();
    });
    // Every probe is answered, so that 1500 bytes are found to pass.
    for _ in 0..3 {
        let sent = bench.pass(Duration::from_millis(50));
        for bytes in sent {
            let parsed = Packet::parse(bytes.into()).unwrap();
            let Some(Ok(Chunk::Heartbeat(probe))) = parsed.chunks().next() else { continue };
            let info = probe.info.to_vec();
            bench.give_right(|packet| {
                packet.append(sctp::wire::chunk::HeartbeatAck { info: &info }).unwrap();
            });
        }
    }
    bench
}

fn max_packet(bench: &Bench) -> usize {
    bench.endpoint.association(bench.id()).unwrap().stats().paths[0].max_packet
}

const TOO_BIG: IcmpError = IcmpError::PacketTooBig { mtu: 1300 };

#[test]
fn packet_too_big_counts_only_with_ports_and_tag_and_of_a_path() {
    let mut bench = established();
    let before = max_packet(&bench);
    for wrong in [
        quote(PORT, PEER_PORT, VerificationTag(PEER_TAG.0 ^ 1)),
        quote(PORT, PEER_PORT, VerificationTag(0)),
        quote(PORT, PEER_PORT, bench.tag),
        quote(PORT, PEER_PORT + 1, PEER_TAG),
        quote(PORT + 1, PEER_PORT, PEER_TAG),
        quote(PORT, PEER_PORT, PEER_TAG)[..7].to_vec(),
        vec![],
    ] {
        give(&mut bench, TOO_BIG, &wrong);
    }
    let right = quote(PORT, PEER_PORT, PEER_TAG);
    bench.remote = address("10.0.0.9:9899");
    give(&mut bench, TOO_BIG, &right);
    bench.remote = address(CLIENT);
    assert_eq!((max_packet(&bench), bench.endpoint.stats().icmp), (before, 0));
    assert_eq!(bench.endpoint.stats().icmp_ignored, 8);
    give(&mut bench, TOO_BIG, &right);
    assert!(max_packet(&bench) < before);
    assert_eq!(bench.endpoint.stats().icmp, 1);
}

#[test]
fn a_message_that_names_less_than_any_link_carries_changes_nothing() {
    let mut bench = established();
    let before = max_packet(&bench);
    for mtu in [0, 68, 575] {
        give(&mut bench, IcmpError::PacketTooBig { mtu }, &quote(PORT, PEER_PORT, PEER_TAG));
    }
    assert_eq!(max_packet(&bench), before);
}

#[test]
fn unreachable_alone_never_fails_a_path_or_an_association() {
    let mut bench = established();
    for error in [IcmpError::Unreachable, IcmpError::NoListener] {
        for _ in 0..100 {
            give(&mut bench, error, &quote(PORT, PEER_PORT, PEER_TAG));
        }
    }
    assert_eq!(bench.state(), "ESTABLISHED");
    let stats = bench.endpoint.association(bench.id()).unwrap().stats();
    assert!(stats.paths[0].active && stats.error_count == 0, "{stats:?}");
    assert_eq!(stats.paths[0].error_count, 5, "but it counts: the next timeout does");
}

#[test]
fn no_listener_explains_why_an_init_got_no_answer_if_it_quotes_that_init() {
    let failure = |quote: &dyn Fn(&[u8]) -> Vec<u8>, error| {
        let mut bench = Bench::new(EndpointOptions::default());
        let options = AssociationOptions::default();
        bench.endpoint.connect(bench.now, bench.remote, PEER_PORT, options).unwrap();
        let init = bench.drain().remove(0);
        give(&mut bench, error, &quote(&init));
        assert_eq!(bench.pass(Duration::from_millis(900)).len(), 2, "after 250 and 750 ms");
        assert!(bench.events.is_empty(), "the peer may be about to start");
        assert_eq!(bench.pass(Duration::from_secs(1000)).len(), 6, "INIT goes out as ever");
        match bench.events.pop() {
            Some((_, Event::Failed(failure))) => failure,
            other => panic!("{other:?}"),
        }
    };
    let whole = |init: &[u8]| init[..20].to_vec();
    assert_eq!(failure(&whole, IcmpError::NoListener), Failure::NoListener);
    assert_eq!(failure(&whole, IcmpError::Unreachable), Failure::NoAnswer);
    // Without the initiate tag anyone could have forged it.
    let short = |init: &[u8]| init[..8].to_vec();
    assert_eq!(failure(&short, IcmpError::NoListener), Failure::NoAnswer);
    let forged = |init: &[u8]| {
        let mut forged = init[..20].to_vec();
        forged[16] ^= 1;
        forged
    };
    assert_eq!(failure(&forged, IcmpError::NoListener), Failure::NoAnswer);
}

#[test]
fn no_message_makes_a_path_fail_that_was_to_fail_at_the_first_error() {
    let mut bench = established();
    let (id, now, remote) = (bench.id(), bench.now, bench.remote);
    let own = sctp::PathOptions { path_max_retrans: Some(0), ..sctp::PathOptions::default() };
    assert!(bench.endpoint.association_mut(id).unwrap().set_path_options(now, remote, &own));
    give(&mut bench, IcmpError::NoListener, &quote(PORT, PEER_PORT, PEER_TAG));
    assert!(
        bench.endpoint.association_mut(id).unwrap().set_path_options(now, remote, &own),
        "it is judged anew"
    );
    let stats = bench.endpoint.association(id).unwrap().stats();
    assert_eq!((stats.paths[0].state, stats.paths[0].error_count), (sctp::PathState::Active, 0));
}

/// An endpoint that opens an association to these addresses.
fn opening(to: &[&str], rto_initial: Duration) -> Bench {
    let mut bench = Bench::new(EndpointOptions::default());
    let mut policy = crate::support::plain();
    policy.rto.initial = rto_initial;
    policy.backoff.linear_setup = 8;
    let options = crate::support::options(policy);
    let to: Vec<_> = to.iter().map(|text| address(text)).collect();
    bench.remote = to[0];
    bench.endpoint.connect(bench.now, &to[..], PEER_PORT, options).unwrap();
    bench
}

/// Answers each INIT sent within `span` as `answer` says, 10 ms later; returns the number of INITs.
fn refuse(bench: &mut Bench, span: Duration, answer: impl Fn(usize) -> Option<IcmpError>) -> usize {
    let (mut inits, end) = (0, bench.now + span);
    while bench.now < end {
        let mut buffer = Vec::new();
        while let Some(sent) = bench.endpoint.poll_transmit(bench.now, &mut buffer) {
            if let Some(error) = answer(inits) {
                let icmp = Icmp { local: None, remote: sent.remote, error, quoted: &buffer[..20] };
                bench.endpoint.handle_icmp(bench.now, icmp);
            }
            (inits, buffer) = (inits + 1, Vec::new());
        }
        bench.now += Duration::from_millis(10);
        bench.endpoint.handle_timeout(bench.now);
    }
    while let Some(event) = bench.endpoint.poll_event() {
        bench.events.push(event);
    }
    inits
}

fn is_refused(bench: &Bench) -> bool {
    bench.events.iter().any(|(_, event)| *event == Event::Failed(Failure::NoListener))
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn over_udp_an_attempt_ends_two_seconds_after_the_first_refusal_if_every_init_is_refused() {
    let always = |_| Some(IcmpError::NoListener);
    let mut bench = opening(&[CLIENT], SECOND);
    assert_eq!(refuse(&mut bench, Duration::from_millis(1_900), always), 2);
    assert!(!is_refused(&bench), "a server that is about to start is found");
    assert_eq!(refuse(&mut bench, SECOND * 100, always), 1);
    assert!(is_refused(&bench));
    // The policy's timeout has no influence.
    let mut bench = opening(&[CLIENT], Duration::from_millis(300));
    assert_eq!(refuse(&mut bench, SECOND * 100, always), 8);
    assert!(is_refused(&bench));
}

#[test]
fn over_udp_one_init_without_a_refusal_begins_the_count_anew() {
    let mut bench = opening(&[CLIENT], SECOND);
    // Silence at every third INIT: a filter, and no closed port.
    let now_and_then = |index| (index % 3 != 2).then_some(IcmpError::NoListener);
    assert_eq!(refuse(&mut bench, Duration::from_millis(8_900), now_and_then), 9);
    assert!(!is_refused(&bench));
    // Other router messages are no refusal.
    let mut bench = opening(&[CLIENT], SECOND);
    assert_eq!(refuse(&mut bench, SECOND * 8, |_| Some(IcmpError::Unreachable)), 8);
    assert!(!is_refused(&bench));
}

#[test]
fn an_attempt_to_several_addresses_ends_when_all_of_them_refuse() {
    let to = ["10.0.0.1:9899", "10.1.0.1:9899"];
    let mut bench = opening(&to, SECOND);
    refuse(&mut bench, SECOND * 4, |_| Some(IcmpError::NoListener));
    assert!(is_refused(&bench));
    // Over IP each address refuses once, and the next is tried at once.
    let mut bench = opening(&["10.0.0.1:0", "10.1.0.1:0"], SECOND);
    let first = |index| (index == 0).then_some(IcmpError::NoListener);
    assert_eq!(refuse(&mut bench, Duration::from_millis(500), first), 2);
    assert!(!is_refused(&bench));
    let mut bench = opening(&["10.0.0.1:0", "10.1.0.1:0"], SECOND);
    let always = |_| Some(IcmpError::NoListener);
    assert_eq!(refuse(&mut bench, Duration::from_millis(500), always), 2);
    assert!(is_refused(&bench));
    // One address refuses and one does not answer: the attempt continues.
    let mut bench = opening(&to, SECOND);
    refuse(&mut bench, SECOND * 6, |index| (index % 2 == 0).then_some(IcmpError::NoListener));
    assert!(!is_refused(&bench));
}

#[test]
fn over_ip_protocol_unreachable_ends_an_association_as_an_abort_would() {
    let mut bench = Bench::listening();
    bench.remote = address("10.0.0.1:0");
    let cookie = bench.init(PEER_TAG);
    bench.give_right(|packet| {
        packet.append(sctp::wire::chunk::CookieEcho { cookie: &cookie }).unwrap();
    });
    let about = |tag| quote(PORT, PEER_PORT, tag);
    give(&mut bench, IcmpError::NoListener, &about(VerificationTag(PEER_TAG.0 ^ 1)));
    give(&mut bench, IcmpError::NoListener, &about(VerificationTag(0)));
    give(&mut bench, IcmpError::Unreachable, &about(PEER_TAG));
    assert_eq!(bench.state(), "ESTABLISHED");
    give(&mut bench, IcmpError::NoListener, &about(PEER_TAG));
    assert_eq!((bench.drain().len(), bench.state()), (0, "CLOSED"));
    assert!(is_refused(&bench));
}
