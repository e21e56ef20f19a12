//! What of the association cannot be seen from outside; the rest is under `tests/`.

use base::Purpose;

use super::*;
use crate::{Ppid, SendError, StreamId};

fn association() -> Association {
    let identity = Identity {
        local_port: 1,
        peer_port: 2,
        local_tag: VerificationTag(3),
        peer_tag: VerificationTag(4),
        local_initial_tsn: Tsn(5),
        remote: ([10, 0, 0, 1], 9899).into(),
        local: None,
        locals: Arc::default(),
    };
    let mut association = Association::new(Arc::default(), identity, State::Established);
    association.open(Tsn(6), 100_000, 4, 4).unwrap();
    association
}

fn send(association: &mut Association, size: usize) -> Result<(), SendError> {
    let (payload, options) = (Bytes::from(vec![1; size]), crate::SendOptions::default());
    association.send(Instant::ZERO, StreamId(0), Ppid(0), payload, options)
}

#[test]
fn an_association_that_is_over_wants_no_time_and_takes_no_message() {
    let mut association = association();
    let mut random = RandomStream::new(1, Purpose("association", 0));
    association.start_heartbeats(Instant::ZERO, &mut random);
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
        association.push_control(Control::HeartbeatAck { path: 0, info: Bytes::new() });
    }
    assert_eq!(association.control.len(), 32);
    // What ends the association goes all the same.
    association.abort(Bytes::from(vec![1; 100_000]));
    let mut buffer = Vec::new();
    assert!(association.poll_transmit(Instant::ZERO, &mut buffer).is_some());
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
    association.tx.discard();
    association.queue.clear();
    association.announce_progress();
    assert_eq!(association.poll_event(), Some(Event::Writable));
}

#[test]
fn messages_for_streams_that_the_peer_does_not_grant_end_the_association_with_a_word() {
    let mut association = association();
    let payload = Bytes::from_static(b"x");
    let options = crate::SendOptions::default();
    association.send(Instant::ZERO, StreamId(3), Ppid(0), payload, options).unwrap();
    assert_eq!(association.open(Tsn(6), 100_000, 3, 4), Err(Closed));
    let failure = Failure::TooFewStreams { granted: 3 };
    assert_eq!(association.poll_event(), Some(Event::Failed(failure)));
}

#[test]
fn many_errors_at_once_are_one_event() {
    let mut association = association();
    (0..1000).for_each(|code| association.announce(Event::PeerError { code }));
    assert_eq!(association.poll_event(), Some(Event::PeerError { code: 0 }));
    assert_eq!(association.poll_event(), None);
}

#[test]
fn an_address_that_is_taken_away_leaves_its_data_to_another_and_its_row_to_the_next() {
    let mut association = association();
    let ip = |last: u8| core::net::IpAddr::from([10, 0, 0, last]);
    let mut random = RandomStream::new(1, Purpose("association", 0));
    assert!(association.add_remote(Instant::ZERO, ip(2)));
    assert!(!association.remove_remote(Instant::ZERO, ip(1)), "the only confirmed one");
    association.confirm_path(Instant::ZERO, 1);
    send(&mut association, 100).unwrap();
    let mut buffer = Vec::new();
    association.handle_heartbeat_timers(Instant::ZERO, &mut random);
    let mut to = Vec::new();
    while let Some(transmit) = association.poll_transmit(Instant::ZERO, &mut buffer) {
        to.push(transmit.remote.ip());
    }
    assert_eq!(to, [ip(2), ip(1)], "a heartbeat, and the data");
    assert!(association.remove_remote(Instant::ZERO, ip(1)));
    assert_eq!(association.remote().ip(), ip(2));
    let again = association.poll_transmit(Instant::ZERO, &mut buffer).unwrap();
    assert_eq!(again.remote.ip(), ip(2));
    let flight =
        |association: &Association, path: u8| association.tx.recovery.ledger().flight(path).bytes;
    assert_eq!((flight(&association, 0), flight(&association, 1)), (0, 100));
    // The row serves the next address; nothing but heartbeats goes there.
    assert!(association.add_remote(Instant::ZERO, ip(3)));
    assert_eq!((association.paths.len(), association.paths[0].remote.ip()), (2, ip(3)));
    assert!(!association.paths[0].confirmed);
}
