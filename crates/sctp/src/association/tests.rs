//! Tests of an association's state that is not visible from outside; all other tests are under
//! `tests/`.

use core::net::IpAddr;

use base::{Purpose, RandomStream};
use recovery::PathId;

use super::output::Outlet;
use super::*;
use crate::setup::Tags;
use crate::tx::send_options::{SendError, SendOptions};
use crate::wire::Ppid;

fn association() -> Association {
    let identity = Identity {
        local_port: 1,
        peer_port: 2,
        tags: Tags { local: VerificationTag(3), peer: VerificationTag(4) },
        local_initial_tsn: Tsn(5),
        peer_initial_tsn: Tsn(6),
    };
    let remote = ([10, 0, 0, 1], 9899).into();
    let ends = Ends { remote, local: None, locals: Arc::default() };
    let mut association = Association::new(Arc::default(), identity, ends, Phase::Established);
    association.open(Tsn(6), 100_000, 4, 4).unwrap();
    association
}

fn send(association: &mut Association, size: usize) -> Result<(), SendError> {
    let (payload, options) = (Bytes::from(vec![1; size]), SendOptions::default());
    association.send(Instant::ZERO, StreamId(0), Ppid(0), payload, options)
}

#[test]
fn an_association_that_is_over_wants_no_time_and_takes_no_message() {
    let mut association = association();
    let mut random = RandomStream::new(1, Purpose("association", 0));
    association.monitor_paths(Instant::ZERO, &mut random);
    assert!(association.next_timeout().is_some());
    association.abort(Bytes::new());
    assert_eq!(association.next_timeout(), None);
    assert_eq!(send(&mut association, 1), Err(SendError::Closed));
    association.abort(Bytes::new());
    assert_eq!(association.poll_event(), Some(Event::Failed(Failure::Aborted)));
    assert_eq!(association.poll_event(), None, "told once");
}

#[test]
fn answers_that_a_packet_provokes_are_bounded() {
    let mut association = association();
    for _ in 0..1_000 {
        let (path, info) = (PathId::FIRST, Bytes::new());
        association.control.push_answer(1_000, Control::HeartbeatAck { path, info });
    }
    assert_eq!(association.control.len(), 32);
    // A chunk that ends the association is sent despite the limit.
    association.abort(Bytes::from(vec![1; 100_000]));
    let mut buffer = Vec::new();
    let mut outlet = Outlet { buffer: &mut buffer, tail: None };
    assert!(association.poll_transmit(Instant::ZERO, &mut outlet).is_some());
    assert!(buffer.len() < 400, "{} bytes", buffer.len());
}

#[test]
fn a_full_send_buffer_refuses_and_tells_when_there_is_room() {
    let mut association = association();
    Arc::make_mut(&mut association.options).send_buffer = 1_000;
    assert_eq!(send(&mut association, 900), Ok(()));
    assert_eq!(send(&mut association, 200), Err(SendError::BufferFull));
    association.announce_progress();
    assert_eq!(association.poll_event(), None, "900 bytes are held");
    association.tx.stop();
    association.announce_progress();
    assert_eq!(association.poll_event(), Some(Event::Writable));
}

#[test]
fn messages_for_streams_that_the_peer_does_not_grant_end_the_association_with_a_word() {
    let mut association = association();
    let payload = Bytes::from_static(b"x");
    let options = SendOptions::default();
    association.send(Instant::ZERO, StreamId(3), Ppid(0), payload, options).unwrap();
    assert_eq!(association.open(Tsn(6), 100_000, 3, 4), Err(Closed));
    let failure = Failure::TooFewStreams { granted: 3 };
    assert_eq!(association.poll_event(), Some(Event::Failed(failure)));
}

#[test]
fn many_errors_at_once_are_one_event() {
    let mut association = association();
    let error = |code| Event::PeerError { code, chunk: Bytes::new() };
    (0..1000).for_each(|code| association.announce(error(code)));
    assert_eq!(association.poll_event(), Some(error(0)));
    assert_eq!(association.poll_event(), None);
}

fn add_remote(association: &mut Association, address: IpAddr) -> bool {
    association.decide(|paths, context| paths.add_remote(Instant::ZERO, context, address))
}

fn remove_remote(association: &mut Association, address: IpAddr) -> bool {
    association.decide(|paths, context| paths.remove_remote(Instant::ZERO, context, address))
}

#[test]
fn an_address_that_is_taken_away_leaves_its_data_to_another_and_its_row_to_the_next() {
    let mut association = association();
    let ip = |last: u8| IpAddr::from([10, 0, 0, last]);
    let mut random = RandomStream::new(1, Purpose("association", 0));
    assert!(add_remote(&mut association, ip(2)));
    assert!(!remove_remote(&mut association, ip(1)), "the only confirmed one");
    association.confirm_path(Instant::ZERO, PathId::at(1));
    send(&mut association, 100).unwrap();
    let mut outlet = Outlet { buffer: &mut Vec::new(), tail: None };
    association.handle_heartbeat_timers(Instant::ZERO, &mut random);
    let mut to = Vec::new();
    while let Some(transmit) = association.poll_transmit(Instant::ZERO, &mut outlet) {
        to.push(transmit.remote.ip());
    }
    assert_eq!(to, [ip(2), ip(1)], "a heartbeat, and the data");
    assert!(remove_remote(&mut association, ip(1)));
    assert_eq!(association.remote().ip(), ip(2));
    let again = association.poll_transmit(Instant::ZERO, &mut outlet).unwrap();
    assert_eq!(again.remote.ip(), ip(2));
    let flight = |path| association.tx.recovery().ledger().flight(path).bytes;
    assert_eq!((flight(PathId::FIRST), flight(PathId::at(1))), (0, 100));
    // The next address takes the row; only heartbeats are sent to it.
    assert!(add_remote(&mut association, ip(3)));
    let first = &association.paths[PathId::FIRST];
    assert_eq!((association.paths.ids().count(), first.remote().ip()), (2, ip(3)));
    assert!(!first.is_confirmed());
}
