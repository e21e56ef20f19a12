//! Sections 6 and 9: chunks that each state of a shutdown accepts, sends and refuses.

use base::Duration;
use bytes::Bytes;
use sctp::wire::chunk::{Abort, CookieEcho, Heartbeat, Shutdown, ShutdownAck, ShutdownComplete};
use sctp::wire::{Cause, PacketBuilder, Tsn, VerificationTag};
use sctp::{Event, Failure, Ppid, SendError, SendOptions, StreamId};

use crate::support::wire::{Any, Bench, PEER_TAG, data, init, names, tag_of};

fn send(bench: &mut Bench) -> Result<(), SendError> {
    let (id, now) = (bench.id(), bench.now);
    let (payload, options) = (Bytes::from_static(b"more"), SendOptions::default());
    bench.endpoint.association_mut(id).unwrap().send(now, StreamId(0), Ppid(0), payload, options)
}

fn all_names(packets: &[Vec<u8>]) -> Vec<String> {
    packets.iter().flat_map(|packet| names(packet)).collect()
}

fn before(tsn: Tsn) -> Tsn {
    Tsn(tsn.0.wrapping_sub(1))
}

/// Shuts down from the peer's side.
fn close_by_peer(bench: &mut Bench) -> Vec<Vec<u8>> {
    let cumulative_tsn_ack = before(bench.tsn);
    bench.give_right(|p| p.append(Shutdown { cumulative_tsn_ack }).unwrap())
}

/// A bench in SHUTDOWN-SENT.
fn closing() -> Bench {
    let mut bench = Bench::established();
    let id = bench.id();
    bench.endpoint.association_mut(id).unwrap().shutdown(bench.now);
    assert_eq!(all_names(&bench.drain()), ["SHUTDOWN"]);
    bench
}

/// A bench in SHUTDOWN-RECEIVED, with a message outstanding.
fn closed_on() -> Bench {
    let mut bench = Bench::established();
    send(&mut bench).unwrap();
    assert_eq!(all_names(&bench.drain()), ["DATA"]);
    assert!(close_by_peer(&mut bench).is_empty());
    assert_eq!(bench.state(), "SHUTDOWN-RECEIVED");
    bench
}

/// A bench in SHUTDOWN-ACK-SENT.
fn agreed() -> Bench {
    let mut bench = Bench::established();
    assert_eq!(all_names(&close_by_peer(&mut bench)), ["SHUTDOWN ACK"]);
    bench
}

#[test]
fn no_state_of_a_shutdown_takes_new_messages() {
    let mut pending = Bench::established();
    send(&mut pending).unwrap();
    let id = pending.id();
    pending.endpoint.association_mut(id).unwrap().shutdown(pending.now);
    assert_eq!(pending.state(), "SHUTDOWN-PENDING");
    for mut bench in [pending, closing(), closed_on(), agreed()] {
        let state = bench.state();
        assert_eq!(send(&mut bench), Err(SendError::Closed), "{state}");
    }
}

#[test]
fn what_is_outstanding_is_sent_again_after_the_peers_shutdown_and_only_then_acknowledged() {
    let mut bench = closed_on();
    let id = bench.id();
    bench.endpoint.association_mut(id).unwrap().shutdown(bench.now);
    assert!(bench.drain().is_empty(), "a shutdown of the own side changes nothing any more");
    assert!(close_by_peer(&mut bench).is_empty());
    assert_eq!(bench.state(), "SHUTDOWN-RECEIVED");
    assert_eq!(all_names(&bench.pass(Duration::from_secs(1))), ["DATA"]);
    // The peer's next SHUTDOWN acknowledges it, and is still processed.
    let cumulative_tsn_ack = bench.tsn;
    let answer = bench.give_right(|p| p.append(Shutdown { cumulative_tsn_ack }).unwrap());
    assert_eq!(
        (all_names(&answer), bench.state()),
        (vec!["SHUTDOWN ACK".to_owned()], "SHUTDOWN-ACK-SENT")
    );
}

#[test]
fn data_after_the_peers_shutdown_is_dropped() {
    for mut bench in [closed_on(), agreed()] {
        let state = bench.state();
        let answer = bench.give_right(|p| p.append(data(0, 0, 0, b"late")).unwrap());
        assert!(!all_names(&answer).contains(&"SACK".to_owned()), "{state}");
        let (now, id) = (bench.now, bench.id());
        assert!(
            bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now)).is_none(),
            "{state}"
        );
    }
}

#[test]
fn a_shutdown_that_meets_another_is_answered_at_once() {
    let mut bench = closing();
    assert_eq!(all_names(&close_by_peer(&mut bench)), ["SHUTDOWN ACK"]);
    assert_eq!(bench.state(), "SHUTDOWN-ACK-SENT");
    // The peer's SHUTDOWN ACK, where both sent one, ends the association.
    let answer = bench.give_right(|p| p.append(ShutdownAck).unwrap());
    assert_eq!(all_names(&answer), ["SHUTDOWN COMPLETE"]);
    assert_eq!(bench.state(), "CLOSED");
}

#[test]
fn shutdown_complete_leaves_alone_with_the_peers_tag_and_no_t_bit() {
    let mut bench = closing();
    let answer = bench.give_right(|p| p.append(ShutdownAck).unwrap());
    assert_eq!((answer.len(), names(&answer[0])), (1, vec!["SHUTDOWN COMPLETE".to_owned()]));
    assert_eq!((tag_of(&answer[0]), answer[0][13] & 1), (PEER_TAG, 0));
    assert_eq!(bench.events.last().unwrap().1, Event::Closed);
    assert_eq!(base::Machine::poll_timeout(&bench.endpoint), None, "no timer is left");
}

#[test]
fn a_peer_that_is_closed_and_says_so_by_abort_ends_in_order_what_waits_for_shutdown_complete() {
    // Its SHUTDOWN COMPLETE was lost, and a packet that came late was out of the blue (section 8.4,
    // rule 8).
    let causes: [Cause<'_>; 0] = [];
    let forgotten = |p: &mut PacketBuilder<'_>| {
        p.append(Abort { t_bit: true, causes }).unwrap();
    };
    let mut bench = agreed();
    bench.give(PEER_TAG, forgotten);
    assert_eq!(bench.events.last().unwrap().1, Event::Closed);
    // While data may be missing there, it is a failure.
    for mut bench in [closing(), Bench::established()] {
        bench.give(PEER_TAG, forgotten);
        assert_eq!(bench.events.last().unwrap().1, Event::Failed(Failure::Forgotten));
    }
}

#[test]
fn any_packet_of_the_peer_restarts_the_timer_of_shutdown_and_its_count() {
    let mut bench = closing();
    // T2 expires at 1 s and 3 s; at 3.5 s the peer is heard: SHUTDOWN goes again a timeout later,
    // not at 7 s.
    assert_eq!(bench.pass(Duration::from_millis(3_500)).len(), 2);
    let id = bench.id();
    let errors = |bench: &Bench| bench.endpoint.association(id).unwrap().stats().error_count;
    assert_eq!(errors(&bench), 2);
    bench.give_right(|p| p.append(Heartbeat { info: b"still here" }).unwrap());
    assert_eq!(errors(&bench), 0);
    assert!(bench.pass(Duration::from_millis(999)).is_empty());
    assert_eq!(all_names(&bench.pass(Duration::from_millis(1))), ["SHUTDOWN"]);
    // A packet with another tag restarts no timer.
    bench.give(VerificationTag(7), |p| p.append(Heartbeat { info: b"x" }).unwrap());
    assert_eq!(errors(&bench), 1);
}

#[test]
fn an_init_to_an_association_that_waits_for_shutdown_complete_gets_shutdown_ack_again() {
    let mut bench = agreed();
    let met = init(VerificationTag(0x99));
    let answer = bench.give(VerificationTag(0), |p| p.append(met).unwrap());
    assert_eq!(
        (all_names(&answer), tag_of(&answer[0])),
        (vec!["SHUTDOWN ACK".to_owned()], PEER_TAG)
    );
    assert_eq!(bench.state(), "SHUTDOWN-ACK-SENT");
}

#[test]
fn an_init_is_answered_with_a_cookie_before_shutdown_ack_was_sent() {
    let mut pending = Bench::established();
    send(&mut pending).unwrap();
    let id = pending.id();
    pending.endpoint.association_mut(id).unwrap().shutdown(pending.now);
    assert_eq!(all_names(&pending.drain()), ["DATA"]);
    for mut bench in [pending, closing(), closed_on()] {
        let (state, own) = (bench.state(), bench.tag);
        let cookie = bench.init(VerificationTag(0x99));
        assert!(!cookie.is_empty() && bench.tag != own, "{state}");
        assert_eq!((bench.state(), bench.endpoint.association_count()), (state, 1));
    }
}

#[test]
fn a_restart_while_shutdown_complete_is_awaited_begins_nothing_and_says_why() {
    let mut bench = Bench::established();
    let own = bench.tag;
    let cookie = bench.init(VerificationTag(0x99));
    let anew = std::mem::replace(&mut bench.tag, own);
    assert_eq!(all_names(&close_by_peer(&mut bench)), ["SHUTDOWN ACK"]);
    let answer = bench.give(anew, |p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    assert_eq!(all_names(&answer), ["SHUTDOWN ACK", "ERROR"]);
    assert_eq!(answer[0][20..24], [0, 10, 0, 4], "Cookie Received While Shutting Down");
    assert_eq!((bench.state(), bench.endpoint.association_count()), ("SHUTDOWN-ACK-SENT", 1));
}

#[test]
fn shutdown_complete_counts_in_no_other_state() {
    let mut pending = Bench::established();
    send(&mut pending).unwrap();
    let id = pending.id();
    pending.endpoint.association_mut(id).unwrap().shutdown(pending.now);
    let benches = [Bench::established(), pending, closing(), closed_on()];
    let states = ["ESTABLISHED", "SHUTDOWN-PENDING", "SHUTDOWN-SENT", "SHUTDOWN-RECEIVED"];
    for (mut bench, state) in benches.into_iter().zip(states) {
        assert_eq!(bench.state(), state);
        bench.give_right(|p| p.append(ShutdownComplete { t_bit: false }).unwrap());
        assert_eq!(bench.state(), state);
    }
}

#[test]
fn no_heartbeat_leaves_once_shutdown_was_sent_and_those_of_the_peer_are_answered() {
    for mut bench in [closing(), agreed()] {
        let sent = all_names(&bench.pass(Duration::from_secs(200)));
        assert!(!sent.contains(&"HEARTBEAT".to_owned()), "{sent:?}");
        let answer = bench.give_right(|p| p.append(Heartbeat { info: b"there?" }).unwrap());
        assert_eq!(all_names(&answer), ["HEARTBEAT ACK"]);
    }
}

#[test]
fn an_abort_of_the_application_carries_its_reason_and_no_data_and_is_not_answered() {
    let mut bench = Bench::established();
    let id = bench.id();
    bench.endpoint.association_mut(id).unwrap().abort(Bytes::from_static(b"why"));
    let sent = bench.drain();
    assert_eq!((all_names(&sent), tag_of(&sent[0])), (vec!["ABORT".to_owned()], PEER_TAG));
    assert_eq!((sent[0][13] & 1, &sent[0][16..23]), (0, &[0, 12, 0, 7, b'w', b'h', b'y'][..]));
    let mut bench = Bench::established();
    send(&mut bench).unwrap();
    bench.endpoint.association_mut(id).unwrap().abort(Bytes::new());
    assert_eq!(all_names(&bench.drain()), ["ABORT"], "what waited to be sent does not go along");
    // The reason in the peer's ABORT reaches the application; no packet is sent.
    let mut bench = Bench::established();
    let cause = [0, 12, 0, 9, b'l', b'a', b't', b'e', b'r', 0, 0, 0];
    let answer = bench.give_right(|p| p.append(Any(6, 0, &cause)).unwrap());
    assert!(answer.is_empty());
    let reason = Bytes::from_static(b"later");
    let told = Event::Failed(sctp::Failure::AbortedByPeer { code: 12, reason });
    assert_eq!((bench.events.last().unwrap().1.clone(), bench.state()), (told, "CLOSED"));
}

#[test]
fn an_abort_of_bad_form_is_dropped_in_silence() {
    let mut bench = Bench::established();
    let mut bytes = crate::support::wire::packet(
        crate::support::wire::PEER_PORT,
        crate::support::PORT,
        bench.tag,
        |p| p.append(Any(6, 0, &[0, 12, 0, 4])).unwrap(),
    );
    bytes[15] = 200; // longer than its packet
    crate::support::wire::fix_checksum(&mut bytes);
    assert!(bench.give_bytes(bytes).is_empty());
    assert_eq!(bench.state(), "ESTABLISHED");
}

#[test]
fn what_is_bundled_with_an_abort_stands_before_it() {
    let mut bench = Bench::established();
    // An answer, and what the association ends for, in one packet.
    let answer = bench.give_right(|p| {
        p.append(Any(0xff, 0, b"what?")).unwrap();
        p.append(data(0, 0, 0, b"")).unwrap();
    });
    let sent = all_names(&answer);
    assert_eq!((answer.len(), sent.last().map(String::as_str)), (1, Some("ABORT")), "{sent:?}");
    assert_eq!(sent.iter().filter(|name| *name == "ABORT").count(), 1);
}
