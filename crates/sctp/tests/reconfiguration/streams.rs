//! Reset and addition of streams, without loss.

use base::Machine;
use sctp::{
    Event, ReconfigResult, ReconfigurationEvent, ReconfigurationRequest, ReconfigureError,
    ResetDirection, SendOptions,
};

use super::*;

fn send(pair: &mut Pair, stream: u16) {
    pair.send_on(stream, vec![7; 100], SendOptions::default()).unwrap();
}

fn server_sends(pair: &mut Pair, stream: u16) {
    let id = server_id(pair);
    pair.sim.with_host(pair.server, |peer, now| {
        let (stream, payload) = (StreamId(stream), vec![7; 100].into());
        let options = SendOptions::default();
        peer.endpoint
            .association_mut(id)
            .unwrap()
            .send(now, stream, sctp::Ppid(0), payload, options)
            .unwrap();
    });
}

#[test]
fn an_idle_stream_is_reset_within_a_round_trip() {
    let mut pair = pair(&[], &[]);
    for stream in [1, 1, 2] {
        send(&mut pair, stream);
    }
    pair.at(1_000_000);
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    pair.at(2_000_000);
    for stream in [1, 1, 2] {
        send(&mut pair, stream);
    }
    pair.at(3_000_000);
    assert_eq!(received(pair.server()), [(1, 0), (1, 1), (2, 0), (1, 0), (1, 1), (2, 1)]);
    let incoming = streams_reset(ResetDirection::Incoming, &[1]);
    let outgoing = streams_reset(ResetDirection::Outgoing, &[1]);
    assert_eq!(resets(pair.server()), [(1_050_000, incoming)]);
    assert_eq!(resets(pair.client()), [(1_100_000, outgoing)]);
    assert_eq!(reconfigs(&pair, pair.client), [1_000_000]);
    assert_eq!(reconfigs(&pair, pair.server), [1_050_000]);
}

#[test]
fn what_was_sent_before_is_acknowledged_before_and_what_comes_later_waits() {
    let mut pair = pair(&[], &[]);
    send(&mut pair, 1);
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    send(&mut pair, 1);
    send(&mut pair, 2);
    pair.at(1_000_000);
    // The SACK comes after 100 ms, and the answer to the request after 200 ms.
    assert_eq!(reconfigs(&pair, pair.client), [100_000]);
    let times: Vec<f64> = pair.data_sent().iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0.0, 0.0, 200_000.0]);
    assert_eq!(received(pair.server()), [(1, 0), (2, 0), (1, 0)]);
}

#[test]
fn a_message_of_many_packets_ends_before_its_stream_is_reset() {
    let mut pair = pair(&[], &[]);
    pair.send_on(1, vec![7; 100_000], SendOptions::default()).unwrap();
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    send(&mut pair, 1);
    pair.at(10_000_000);
    assert_eq!(received(pair.server()), [(1, 0), (1, 0)]);
    assert_eq!(pair.server().messages[0].1.payload.len(), 100_000);
    assert!(pair.stats().queued_bytes == 0 && pair.stats().outstanding_bytes == 0);
}

#[test]
fn a_busy_stream_does_not_hold_up_the_reset_of_another() {
    let mut pair = pair(&[], &[]);
    pair.send_on(1, vec![7; 200_000], SendOptions::default()).unwrap();
    pair.at(10_000);
    // One request each, the second once the first was answered and its stream is drained.
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    reset(&mut pair, ResetDirection::Outgoing, &[2]);
    pair.at(10_000_000);
    let told: Vec<Event> = resets(pair.client()).into_iter().map(|(_, event)| event).collect();
    let outgoing = |stream| streams_reset(ResetDirection::Outgoing, &[stream]);
    assert_eq!(told, [outgoing(2), outgoing(1)]);
}

#[test]
fn resets_that_wait_go_together_and_one_asked_twice_goes_once() {
    let mut pair = pair(&[], &[]);
    reset(&mut pair, ResetDirection::Outgoing, &[9]);
    for stream in [3, 1, 2, 1] {
        reset(&mut pair, ResetDirection::Outgoing, &[stream]);
    }
    pair.at(1_000_000);
    let outgoing = |streams| streams_reset(ResetDirection::Outgoing, streams);
    assert_eq!(resets(pair.client()), [(100_000, outgoing(&[9])), (200_000, outgoing(&[1, 2, 3]))]);
}

#[test]
fn each_reset_has_its_place_among_the_messages() {
    let mut pair = pair(&[], &[]);
    for stream in [1, 2] {
        send(&mut pair, stream);
        reset(&mut pair, ResetDirection::Outgoing, &[stream]);
        send(&mut pair, stream);
    }
    // After messages that wait themselves; of two equal requests one is sent.
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    send(&mut pair, 1);
    send(&mut pair, 2);
    reset(&mut pair, ResetDirection::Outgoing, &[]);
    for stream in [3, 1, 2] {
        send(&mut pair, stream);
    }
    pair.at(5_000_000);
    let of = |wanted: u16| {
        let all = received(pair.server()).into_iter();
        all.filter(|(stream, _)| *stream == wanted).map(|(_, ssn)| ssn).collect::<Vec<_>>()
    };
    assert_eq!((of(1), of(2), of(3)), (vec![0, 0, 0, 0], vec![0, 0, 1, 0], vec![0]));
    let told: Vec<Event> = resets(pair.server()).into_iter().map(|(_, event)| event).collect();
    let incoming = |streams: &[u16]| streams_reset(ResetDirection::Incoming, streams);
    assert_eq!(told, [incoming(&[1]), incoming(&[2]), incoming(&[1]), incoming(&[])]);
    assert!(pair.client().endpoint.association(pair.association).unwrap().is_settled());
}

#[test]
fn resets_behind_messages_are_given_up_with_the_association_and_the_messages_are_not() {
    let mut pair = pair(&[], &[]);
    for _ in 0..3 {
        send(&mut pair, 1);
        reset(&mut pair, ResetDirection::Outgoing, &[1]);
    }
    send(&mut pair, 1);
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().shutdown(now)
    });
    pair.at(5_000_000);
    assert_eq!(received(pair.server()).len(), 4);
    assert!(pair.client().has_event(&Event::Closed) && pair.server().has_event(&Event::Closed));
}

#[test]
fn none_listed_means_all() {
    let mut pair = pair(&[], &[]);
    for stream in [0, 1, 5] {
        send(&mut pair, stream);
    }
    reset(&mut pair, ResetDirection::Outgoing, &[]);
    for stream in [0, 1, 5] {
        send(&mut pair, stream);
    }
    pair.at(1_000_000);
    assert_eq!(received(pair.server()), [(0, 0), (1, 0), (5, 0), (0, 0), (1, 0), (5, 0)]);
    assert!(pair.server().has_event(&streams_reset(ResetDirection::Incoming, &[])));
}

#[test]
fn the_peers_streams_are_reset_by_its_own_request() {
    let mut pair = pair(&[], &[]);
    server_sends(&mut pair, 1);
    pair.at(1_000_000);
    reset(&mut pair, ResetDirection::Incoming, &[1]);
    pair.at(2_000_000);
    server_sends(&mut pair, 1);
    pair.at(3_000_000);
    assert_eq!(received(pair.client()), [(1, 0), (1, 0)]);
    let incoming = streams_reset(ResetDirection::Incoming, &[1]);
    let outgoing = streams_reset(ResetDirection::Outgoing, &[1]);
    assert_eq!(resets(pair.client()), [(1_100_000, incoming)]);
    assert_eq!(resets(pair.server()), [(1_150_000, outgoing)]);
    // Request, request in answer, answer to the latter.
    assert_eq!(reconfigs(&pair, pair.client), [1_000_000, 1_100_000]);
    assert_eq!(reconfigs(&pair, pair.server), [1_050_000]);
}

#[test]
fn a_peer_that_is_still_sending_says_so_and_is_asked_again_without_an_error() {
    let mut pair = pair(&[], &[]);
    let id = server_id(&pair);
    pair.sim.with_host(pair.server, |peer, now| {
        let payload = vec![7; 250_000].into();
        let options = SendOptions::default();
        peer.endpoint
            .association_mut(id)
            .unwrap()
            .send(now, StreamId(1), sctp::Ppid(0), payload, options)
            .unwrap();
    });
    reset(&mut pair, ResetDirection::Incoming, &[1]);
    pair.at(20_000_000);
    assert_eq!(pair.stats().error_count, 0);
    assert_eq!(resets(pair.client()).len(), 1);
    assert_eq!(resets(pair.server()).len(), 1);
    assert_eq!(pair.client().messages.len(), 1);
    server_sends(&mut pair, 1);
    pair.at(21_000_000);
    assert_eq!(received(pair.client()), [(1, 0), (1, 0)]);
}

#[test]
fn both_directions_take_two_round_trips() {
    let mut pair = pair(&[], &[]);
    send(&mut pair, 1);
    server_sends(&mut pair, 1);
    pair.at(1_000_000);
    reset(&mut pair, ResetDirection::Both, &[1]);
    pair.at(2_000_000);
    let both = [ResetDirection::Outgoing, ResetDirection::Incoming];
    for direction in both {
        let event = streams_reset(direction, &[1]);
        assert!(pair.client().has_event(&event) && pair.server().has_event(&event));
    }
    send(&mut pair, 1);
    server_sends(&mut pair, 1);
    pair.at(3_000_000);
    assert_eq!(received(pair.client()), [(1, 0), (1, 0)]);
    assert_eq!(received(pair.server()), [(1, 0), (1, 0)]);
    assert_eq!(reconfigs(&pair, pair.client), [1_000_000, 1_100_000]);
}

#[test]
fn both_sides_may_reset_both_directions_at_once() {
    let mut pair = pair(&[], &[]);
    let id = server_id(&pair);
    reset(&mut pair, ResetDirection::Both, &[1]);
    pair.sim.with_host(pair.server, |peer, now| {
        let both = ResetDirection::Both;
        peer.endpoint
            .association_mut(id)
            .unwrap()
            .reset_streams(now, both, &[StreamId(1)])
            .unwrap();
    });
    pair.at(60_000_000);
    for peer in [pair.client(), pair.server()] {
        let told: Vec<_> = resets(peer);
        assert_eq!(told.len(), 2, "{told:?}");
    }
    assert_eq!(pair.stats().error_count, 0);
    assert_eq!(pair.client().endpoint.poll_timeout(), None);
}

#[test]
fn streams_are_added_in_either_direction() {
    let mut pair = pair(&[], &[]);
    let (id, theirs) = (pair.association, server_id(&pair));
    let counts = |pair: &Pair| {
        let own = pair.client().endpoint.association(id).unwrap();
        let other = pair.server().endpoint.association(theirs).unwrap();
        [
            own.outbound_streams(),
            other.inbound_streams(),
            own.inbound_streams(),
            other.outbound_streams(),
        ]
    };
    assert_eq!(counts(&pair), [16; 4]);
    let add = |pair: &mut Pair, outgoing, incoming| {
        pair.sim.with_host(pair.client, |peer, now| {
            peer.endpoint.association_mut(id).unwrap().add_streams(now, outgoing, incoming)
        })
    };
    add(&mut pair, 4, 2).unwrap();
    pair.at(1_000_000);
    assert_eq!(counts(&pair), [20, 20, 18, 18]);
    send(&mut pair, 19);
    server_sends(&mut pair, 17);
    pair.at(2_000_000);
    assert_eq!((received(pair.server()), received(pair.client())), (vec![(19, 0)], vec![(17, 0)]));
    for event in [
        Event::Reconfiguration(ReconfigurationEvent::StreamsAdded { outgoing: 4, incoming: 0 }),
        Event::Reconfiguration(ReconfigurationEvent::StreamsAdded { outgoing: 0, incoming: 2 }),
    ] {
        assert!(pair.client().has_event(&event), "{:?}", pair.client().events);
    }
    assert_eq!(add(&mut pair, 0, 0), Err(ReconfigureError::BadCount));
    assert_eq!(add(&mut pair, u16::MAX - 19, 0), Err(ReconfigureError::BadCount));
    add(&mut pair, u16::MAX - 20, 0).unwrap();
    assert_eq!(add(&mut pair, 1, 0), Err(ReconfigureError::BadCount), "those asked for count");
    pair.at(3_000_000);
    assert_eq!(counts(&pair)[..2], [u16::MAX; 2]);
}

#[test]
fn a_peer_that_does_not_want_to_says_so() {
    let links = Directions { forward: half(RTT), backward: half(RTT) };
    let nothing = ReconfigurationPolicy {
        reset_streams: false,
        reset_association: false,
        add_streams: false,
    };
    let server = AssociationOptions { reconfiguration: nothing, ..permissive() };
    let mut pair = Pair::with_server(links, permissive(), server, 1);
    pair.at(0);
    let id = pair.association;
    send(&mut pair, 1);
    reset(&mut pair, ResetDirection::Both, &[1]);
    send(&mut pair, 1);
    pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().add_streams(now, 1, 1).unwrap();
        peer.endpoint.association_mut(id).unwrap().reset_association(now).unwrap();
    });
    pair.at(10_000_000);
    let reset =
        |direction| ReconfigurationRequest::ResetStreams { direction, streams: ids(&[1]).into() };
    let asked = [
        reset(ResetDirection::Outgoing),
        reset(ResetDirection::Incoming),
        ReconfigurationRequest::AddOutgoing(1),
        ReconfigurationRequest::AddIncoming(1),
        ReconfigurationRequest::ResetAssociation,
    ];
    for request in asked {
        let result = ReconfigResult::DENIED;
        let refused = Event::Reconfiguration(ReconfigurationEvent::Refused { request, result });
        assert!(pair.client().has_event(&refused), "{refused:?} {:?}", pair.client().events);
    }
    // The stream continued unchanged.
    assert_eq!(received(pair.server()), [(1, 0), (1, 1)]);
    // The policy does not limit this side's reaction to its own request.
    let theirs = server_id(&pair);
    server_sends(&mut pair, 1);
    pair.sim.with_host(pair.server, |peer, now| {
        let incoming = ResetDirection::Incoming;
        peer.endpoint
            .association_mut(theirs)
            .unwrap()
            .reset_streams(now, incoming, &[StreamId(1)])
            .unwrap();
        peer.endpoint.association_mut(theirs).unwrap().add_streams(now, 0, 3).unwrap();
    });
    pair.at(20_000_000);
    assert!(pair.server().has_event(&streams_reset(ResetDirection::Incoming, &[1])));
    assert!(pair.server().has_event(&Event::Reconfiguration(ReconfigurationEvent::StreamsAdded {
        outgoing: 0,
        incoming: 3
    })));
}

#[test]
fn what_was_not_agreed_on_or_does_not_exist_cannot_be_asked_for() {
    let links = || Directions { forward: half(RTT), backward: half(RTT) };
    let without = AssociationOptions { extensions: sctp::Extensions::NONE, ..permissive() };
    let mut pair = Pair::with_server(links(), permissive(), without, 1);
    let id = pair.association;
    let ask = |pair: &mut Pair, streams: &[u16]| {
        let streams = ids(streams);
        pair.sim.with_host(pair.client, |peer, now| {
            peer.endpoint.association_mut(id).unwrap().reset_streams(
                now,
                ResetDirection::Outgoing,
                &streams,
            )
        })
    };
    assert_eq!(ask(&mut pair, &[1]), Err(ReconfigureError::NotEstablished));
    pair.at(0);
    assert_eq!(ask(&mut pair, &[1]), Err(ReconfigureError::NotNegotiated));
    let mut pair = Pair::new(links(), permissive(), 1);
    pair.at(0);
    let (stream, streams) = (StreamId(16), 16);
    let missing = ReconfigureError::NoSuchStream { stream, streams };
    assert_eq!(ask(&mut pair, &[1, 16]), Err(missing));
    assert_eq!(reconfigs(&pair, pair.client), []);
}
