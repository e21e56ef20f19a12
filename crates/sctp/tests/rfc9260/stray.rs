//! Sections 8.4 and 8.5: packets with a wrong tag or source, or in a wrong state.

use base::{DatagramMeta, Ecn, Machine};
use sctp::wire::chunk::{CookieEcho, Heartbeat, OperationError, ShutdownAck};
use sctp::wire::{Cause, VerificationTag};

use crate::support::wire::{Any, Bench, PEER_PORT, PEER_TAG, data, names, packet, tag_of};
use crate::support::{PORT, SERVER, address};

const STRANGE: VerificationTag = VerificationTag(0x0bad_0bad);

#[test]
fn a_wrong_tag_from_another_udp_port_of_the_peer_is_dropped_in_silence() {
    let mut bench = Bench::established();
    let (own, home) = (bench.tag, bench.remote);
    for port in [0, 1, 4444, 65_535] {
        bench.remote.set_port(port);
        for chunk_type in [0u8, 3, 4, 6, 7, 9, 14, 0x3f] {
            let answer = bench.give(STRANGE, |p| p.append(Any(chunk_type, 0, &[0; 20])).unwrap());
            assert!(answer.is_empty(), "chunk type {chunk_type} from port {port}");
        }
    }
    assert_eq!(bench.endpoint.stats().out_of_the_blue, 0);
    assert_eq!(bench.endpoint.association(bench.id()).unwrap().remote(), home);
    // A packet with the right tag is accepted from there, and answered there.
    bench.remote.set_port(4444);
    let answer = bench.give(own, |p| p.append(data(0, 0, 0, b"moved")).unwrap());
    assert_eq!((names(&answer[0]), tag_of(&answer[0])), (vec!["SACK".to_owned()], PEER_TAG));
    // Another SCTP port is another endpoint: its packet is out of the blue.
    let other = packet(PEER_PORT + 1, PORT, STRANGE, |p| p.append(data(0, 0, 0, b"x")).unwrap());
    assert_eq!(names(&bench.give_bytes(other)[0]), ["ABORT"]);
}

#[test]
fn a_shutdown_ack_out_of_the_blue_is_answered_wherever_it_stands_in_its_packet() {
    let mut bench = Bench::listening();
    let causes = || [Cause::CookieReceivedWhileShuttingDown];
    for front in [true, false] {
        let answer = bench.give(STRANGE, |p| {
            if front {
                p.append(ShutdownAck).unwrap();
            }
            p.append(OperationError { causes: causes() }).unwrap();
            if !front {
                p.append(ShutdownAck).unwrap();
            }
        });
        assert_eq!(names(&answer[0]), ["SHUTDOWN COMPLETE"]);
        assert_eq!((tag_of(&answer[0]), answer[0][13]), (STRANGE, 1), "reflected, and says so");
    }
}

#[test]
fn what_comes_from_or_went_to_many_hosts_gets_no_answer() {
    let mut bench = Bench::listening();
    let give = |bench: &mut Bench, local: &str, remote: &str| {
        let bytes = packet(PEER_PORT, PORT, STRANGE, |p| p.append(data(0, 0, 0, b"x")).unwrap());
        let meta = DatagramMeta {
            local: address(local),
            remote: address(remote),
            ecn: Ecn::NotEct,
            origin: None,
        };
        bench.endpoint.handle_datagram(bench.now, meta, bytes.into());
        bench.drain().len()
    };
    for remote in ["255.255.255.255:9", "0.0.0.0:9", "240.0.0.1:9", "239.1.1.1:9", "[ff02::1]:9"] {
        assert_eq!(give(&mut bench, SERVER, remote), 0, "from {remote}");
    }
    for local in ["255.255.255.255:9", "224.0.0.251:9", "[ff02::1]:9"] {
        assert_eq!(give(&mut bench, local, "10.0.0.9:9"), 0, "to {local}");
    }
    assert_eq!(give(&mut bench, SERVER, "10.0.0.9:9"), 1);
}

#[test]
fn a_stale_cookie_error_outside_of_cookie_echoed_is_dropped_in_silence() {
    let mut bench = Bench::established();
    let before = bench.events.len();
    let answer = bench.give_right(|p| {
        let causes = [Cause::StaleCookie(base::Duration::from_millis(1))];
        p.append(OperationError { causes }).unwrap();
    });
    assert!(answer.is_empty());
    assert_eq!((bench.state(), bench.events.len()), ("ESTABLISHED", before));
}

#[test]
fn a_cookie_echo_or_ack_where_none_is_awaited_begins_and_ends_nothing() {
    let mut bench = Bench::established();
    // COOKIE ACK (11) in ESTABLISHED, INIT ACK (2) with good values, and with a tag or a number of
    // streams of 0.
    assert!(bench.give_right(|p| p.append(Any(11, 0, &[])).unwrap()).is_empty());
    for (tag, outbound, inbound) in
        [(PEER_TAG.0, 1, 1), (0, 1, 1), (PEER_TAG.0, 0, 1), (PEER_TAG.0, 1, 0)]
    {
        let mut value = tag.to_be_bytes().to_vec();
        value.extend([0, 1, 0, 0, 0, outbound, 0, inbound, 0, 0, 0, 1, 0, 7, 0, 8, 1, 2, 3, 4]);
        assert!(bench.give_right(|p| p.append(Any(2, 0, &value)).unwrap()).is_empty());
    }
    assert_eq!(bench.state(), "ESTABLISHED");
    let forged = bench.give_right(|p| p.append(CookieEcho { cookie: b"none of ours" }).unwrap());
    assert!(forged.is_empty());
    let answer = bench.give_right(|p| p.append(Heartbeat { info: b"here" }).unwrap());
    assert_eq!(names(&answer[0]), ["HEARTBEAT ACK"]);
}
