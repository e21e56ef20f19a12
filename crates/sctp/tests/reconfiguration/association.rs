//! Association reset, and the end of an association during a reconfiguration.

use base::Machine;
use sctp::{ResetDirection, SendOptions};

use super::*;

fn reset_association(pair: &mut Pair) {
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().reset_association(now).unwrap();
    });
}

fn both_send(pair: &mut Pair, stream: u16) {
    pair.send_on(stream, vec![7; 100], SendOptions::default()).unwrap();
    let id = server_id(pair);
    pair.sim.with_host(pair.server, |peer, now| {
        let (stream, payload) = (StreamId(stream), vec![7; 100].into());
        peer.endpoint
            .association_mut(id)
            .unwrap()
            .send(now, stream, sctp::Ppid(0), payload, SendOptions::default())
            .unwrap();
    });
}

fn association_resets(peer: &Peer) -> usize {
    let told = |event: &Event| {
        matches!(event, Event::Reconfiguration(ReconfigurationEvent::AssociationReset { .. }))
    };
    peer.events.iter().filter(|(_, _, event)| told(event)).count()
}

#[test]
fn all_begins_again_on_both_sides_whatever_is_lost() {
    for (of_client, of_server) in (0..36).map(|n| (n % 6, n / 6)) {
        let list = |number: u64| if number == 0 { vec![] } else { vec![number] };
        let mut pair = pair(&list(of_client), &list(of_server));
        for round in 0..3 {
            both_send(&mut pair, 1);
            reset_association(&mut pair);
            both_send(&mut pair, 1);
            both_send(&mut pair, 2);
            millis(&mut pair, 20_000);
            let lost = (of_client, of_server);
            let expected = [(1, 0), (1, 0), (2, 0)].repeat(round + 1);
            let ends = [pair.client(), pair.server()];
            assert!(ends.map(association_resets).iter().all(|n| *n == round + 1), "{lost:?}");
            assert_eq!(received(pair.server()), expected_of(&expected, round), "{lost:?}");
            assert_eq!(received(pair.client()).len(), expected.len(), "{lost:?}");
            assert_eq!(pair.stats().error_count, 0);
        }
        assert_eq!(pair.client().endpoint.poll_timeout(), None);
        assert_eq!(pair.server().endpoint.poll_timeout(), None);
    }
}

/// Messages that the server received after `round` + 1 rounds: each round's first message continues
/// the numbers of stream 1 from the round before.
fn expected_of(first: &[(u16, u16)], round: usize) -> Vec<(u16, u16)> {
    let mut expected = first.to_vec();
    for later in 1..=round {
        expected[3 * later] = (1, 1);
    }
    expected
}

#[test]
fn a_shutdown_does_not_wait_for_an_answer_but_for_every_message() {
    for lost in [&[][..], &[1], &[2], &[3]] {
        let mut pair = pair(lost, &[]);
        let id = pair.association;
        pair.send_on(1, vec![7; 100], SendOptions::default()).unwrap();
        reset(&mut pair, ResetDirection::Outgoing, &[1]);
        reset(&mut pair, ResetDirection::Outgoing, &[2]);
        pair.send_on(1, vec![7; 100], SendOptions::default()).unwrap();
        pair.sim.with_host(pair.client, |peer, now| {
            peer.endpoint.association_mut(id).unwrap().shutdown(now)
        });
        pair.at(60_000_000);
        assert!(pair.client().has_event(&Event::Closed), "{lost:?} {:?}", pair.client().events);
        assert_eq!(pair.server().messages.len(), 2);
        assert_eq!(pair.client().endpoint.poll_timeout(), None);
        assert_eq!(pair.server().endpoint.poll_timeout(), None);
    }
}

#[test]
fn a_shutdown_sends_what_waits_for_a_reset_of_the_association() {
    for lost in [&[][..], &[1], &[2], &[1, 2, 3]] {
        let mut pair = pair(lost, lost);
        let id = pair.association;
        reset_association(&mut pair);
        pair.send_on(1, vec![7; 100], SendOptions::default()).unwrap();
        pair.sim.with_host(pair.client, |peer, now| {
            peer.endpoint.association_mut(id).unwrap().shutdown(now)
        });
        pair.at(100_000_000);
        assert!(pair.client().has_event(&Event::Closed), "{lost:?} {:?}", pair.client().events);
        assert_eq!(pair.server().messages.len(), 1, "{lost:?}");
    }
}
