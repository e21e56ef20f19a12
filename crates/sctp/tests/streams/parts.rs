//! Messages sent in parts: explicit end of record.

use base::Duration;
use bytes::Bytes;
use sctp::{MessagePart, Ppid, Reliability, SendError, SendOptions, StreamId};

use crate::peer::{Peer, Sent};

fn part(
    peer: &mut Peer,
    stream: u16,
    size: usize,
    end_of_record: bool,
    reliability: Reliability,
) -> Result<Vec<Vec<Sent>>, SendError> {
    let (id, now) = (peer.bench.id(), peer.bench.now);
    let options = SendOptions { reliability, ..SendOptions::default() };
    let part = MessagePart { payload: Bytes::from(vec![1; size]), end_of_record };
    let endpoint = &mut peer.bench.endpoint;
    endpoint.association_mut(id).unwrap().send_part(
        now,
        StreamId(stream),
        Ppid(1),
        part,
        options,
    )?;
    Ok(peer.drain())
}

fn more(peer: &mut Peer, stream: u16, size: usize) -> Vec<Vec<Sent>> {
    part(peer, stream, size, false, Reliability::Full).unwrap()
}

fn last(peer: &mut Peer, stream: u16, size: usize) -> Vec<Vec<Sent>> {
    part(peer, stream, size, true, Reliability::Full).unwrap()
}

#[test]
fn parts_are_fragments_of_one_message() {
    let mut peer = Peer::partial();
    assert_eq!(more(&mut peer, 1, 100), [[Sent::Data(0, 1, 0, "B", 100)]]);
    assert_eq!(more(&mut peer, 1, 50), [[Sent::Data(1, 1, 0, "", 50)]]);
    assert_eq!(last(&mut peer, 1, 10), [[Sent::Data(2, 1, 0, "E", 10)]]);
    assert_eq!(peer.send(1, 5, Reliability::Full), [[Sent::Data(3, 1, 1, "BE", 5)]]);
}

#[test]
fn a_message_of_one_part_is_a_message() {
    let mut peer = Peer::partial();
    assert_eq!(last(&mut peer, 1, 10), [[Sent::Data(0, 1, 0, "BE", 10)]]);
}

#[test]
fn short_parts_that_wait_together_are_joined() {
    let mut peer = Peer::partial();
    peer.send(0, 4 * 1444, Reliability::Full);
    for _ in 0..29 {
        assert!(more(&mut peer, 1, 100).is_empty());
    }
    assert!(last(&mut peer, 1, 100).is_empty());
    let sent: Vec<Sent> = peer.sack(3, &[]).into_iter().flatten().collect();
    assert_eq!(
        sent,
        [
            Sent::Data(4, 1, 0, "B", 1444),
            Sent::Data(5, 1, 0, "", 1444),
            Sent::Data(6, 1, 0, "E", 112),
        ]
    );
}

#[test]
fn while_it_is_open_nothing_else_begins_in_data_but_may_in_i_data() {
    let mut peer = Peer::partial();
    more(&mut peer, 1, 100);
    assert!(peer.send(2, 10, Reliability::Full).is_empty());
    let sent: Vec<Sent> = last(&mut peer, 1, 10).into_iter().flatten().collect();
    assert_eq!(sent, [Sent::Data(1, 1, 0, "E", 10), Sent::Data(2, 2, 0, "BE", 10)]);

    let mut peer = Peer::interleaving();
    more(&mut peer, 1, 100);
    assert_eq!(peer.send(2, 10, Reliability::Full), [[Sent::IData(1, 2, 0, 0, "BE", 10)]]);
    assert_eq!(last(&mut peer, 1, 10), [[Sent::IData(2, 1, 0, 1, "E", 10)]]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut peer = Peer::partial();
    let refused = part(&mut peer, 1, 0, true, Reliability::Full);
    assert_eq!(refused, Err(SendError::Empty));
    more(&mut peer, 1, 100);
    let whole = peer.try_send(1, 10, SendOptions::default());
    assert_eq!(whole, Err(SendError::MessageOpen));
    let too_large = part(&mut peer, 1, 300 << 10, false, Reliability::Full);
    assert!(matches!(too_large, Err(SendError::TooLarge { .. })));
}

#[test]
fn an_open_message_that_expires_refuses_its_further_parts() {
    let short = Reliability::Lifetime(Duration::from_millis(500));
    let mut peer = Peer::partial();
    part(&mut peer, 1, 100, false, short).unwrap();
    // The peer skips the sent part and the missing end.
    assert_eq!(peer.pass(1000), [(1000.0, vec![Sent::Forward(1, vec![(1, 0)])])]);
    assert_eq!(part(&mut peer, 1, 100, false, short), Err(SendError::Abandoned));
    assert_eq!(part(&mut peer, 1, 100, true, short), Err(SendError::Abandoned));
    assert!(peer.sack(1, &[]).is_empty());
    assert_eq!(peer.send(1, 5, Reliability::Full), [[Sent::Data(2, 1, 1, "BE", 5)]]);
}

#[test]
fn the_application_may_give_an_open_message_up_if_the_peer_can_follow() {
    let mut peer = Peer::plain();
    more(&mut peer, 1, 100);
    let id = peer.bench.id();
    assert!(!peer.bench.endpoint.association_mut(id).unwrap().abandon_open(StreamId(1)));
    assert!(!peer.bench.endpoint.association_mut(id).unwrap().abandon_open(StreamId(2)));

    let mut peer = Peer::partial();
    more(&mut peer, 1, 100);
    let id = peer.bench.id();
    assert!(peer.bench.endpoint.association_mut(id).unwrap().abandon_open(StreamId(1)));
    assert_eq!(peer.drain(), [[Sent::Forward(1, vec![(1, 0)])]]);
    assert_eq!(peer.abandoned().len(), 1);
}

#[test]
fn a_message_that_was_given_up_is_over_if_the_application_gives_it_up_too() {
    let short = Reliability::Lifetime(Duration::from_millis(500));
    let mut peer = Peer::partial();
    part(&mut peer, 1, 100, false, short).unwrap();
    peer.pass(1000);
    let id = peer.bench.id();
    assert!(
        peer.bench.endpoint.association_mut(id).unwrap().abandon_open(StreamId(1)),
        "nothing is left to be ended"
    );
    assert!(
        !peer.bench.endpoint.association_mut(id).unwrap().abandon_open(StreamId(1)),
        "once only"
    );
    peer.sack(1, &[]);
    assert_eq!(peer.send(1, 5, Reliability::Full), [[Sent::Data(2, 1, 1, "BE", 5)]]);
    assert_eq!(peer.abandoned().len(), 1);
}

#[test]
fn a_peer_that_closes_ends_the_messages_that_are_not_complete() {
    // No new data is accepted then, so their ends could never follow.
    let mut peer = Peer::partial();
    more(&mut peer, 1, 100);
    more(&mut peer, 2, 100);
    let close = |peer: &mut Peer, count: u32| {
        let cumulative_tsn_ack = sctp::Tsn(peer.bench.tsn.0.wrapping_add(count).wrapping_sub(1));
        let shutdown = sctp::wire::chunk::Shutdown { cumulative_tsn_ack };
        peer.bench.give_right(|packet| packet.append(shutdown).unwrap())
    };
    close(&mut peer, 1);
    assert_eq!(peer.abandoned().len(), 2);
    close(&mut peer, 2);
    assert_eq!(peer.bench.state(), "SHUTDOWN-ACK-SENT");

    let mut peer = Peer::plain();
    more(&mut peer, 1, 100);
    close(&mut peer, 1);
    assert_eq!(peer.bench.state(), "CLOSED");
}
