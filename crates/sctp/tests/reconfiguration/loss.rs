//! Lost requests and answers: the timer, and effects that happen once.

use base::{Machine, RandomStream};
use sctp::{Event, Failure, ReconfigurationEvent, ResetDirection, SendOptions};

use super::*;

#[test]
fn a_lost_request_goes_again_after_the_timeout_which_doubles() {
    // The request is the client's first packet from T0 on.
    let mut pair = pair(&[1, 2, 3], &[]);
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    pair.at(30_000_000);
    assert_eq!(reconfigs(&pair, pair.client), [0, 1_000_000, 3_000_000, 7_000_000]);
    assert_eq!(resets(pair.server()).len(), 1);
    assert_eq!(resets(pair.client())[0].0, 7_100_000);
    assert_eq!(pair.stats().error_count, 0, "the answer proves that the peer is there");
    assert_eq!(pair.client().endpoint.poll_timeout(), None);
}

#[test]
fn a_request_goes_again_after_200_ms_at_the_earliest_however_short_the_timeout_of_data_is() {
    // pion takes some milliseconds for an answer, and resets the stream once more where the request
    // is repeated.
    let policy = std::sync::Arc::new(recovery::RecoveryPolicy::sctp_latency());
    let options = AssociationOptions { policy, ..permissive() };
    let mut pair = pair_over(Duration::from_millis(4), options, &[1, 2], &[]);
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    pair.at(10_000_000);
    assert_eq!(reconfigs(&pair, pair.client), [0, 200_000, 600_000]);
    assert_eq!(resets(pair.client())[0].0, 604_000);
}

#[test]
fn a_lost_answer_is_given_again_and_the_reset_happens_once() {
    let mut pair = pair(&[], &[1, 2]);
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    pair.at(30_000_000);
    assert_eq!(reconfigs(&pair, pair.client), [0, 1_000_000, 3_000_000]);
    assert_eq!(reconfigs(&pair, pair.server), [50_000, 1_050_000, 3_050_000]);
    assert_eq!(resets(pair.server()).len(), 1);
    assert_eq!(resets(pair.client()).len(), 1);
}

#[test]
fn each_packet_of_every_exchange_may_be_lost() {
    for (of_client, of_server) in (0..16).map(|n| (n % 4, n / 4)) {
        let list = |number: u64| if number == 0 { vec![] } else { vec![number] };
        let mut pair = pair(&list(of_client), &list(of_server));
        let id = pair.association;
        reset(&mut pair, ResetDirection::Both, &[1]);
        // While the server's own request is outstanding, it would refuse.
        pair.at(20_000_000);
        pair.sim.with_host(pair.client, |peer, now| {
            peer.endpoint.association_mut(id).unwrap().add_streams(now, 3, 2).unwrap();
        });
        pair.at(60_000_000);
        let own = pair.client().endpoint.association(id).unwrap();
        let counts = [own.outbound_streams(), own.inbound_streams()];
        assert_eq!(counts, [19, 18], "{of_client} {of_server}");
        assert_eq!(resets(pair.client()).len(), 2, "{of_client} {of_server}");
        assert_eq!(resets(pair.server()).len(), 2, "{of_client} {of_server}");
        assert_eq!(pair.client().endpoint.poll_timeout(), None);
        assert_eq!(pair.server().endpoint.poll_timeout(), None);
    }
}

#[test]
fn a_peer_that_never_answers_ends_the_association() {
    let mut pair = pair(&(1..100).collect::<Vec<_>>(), &[]);
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    pair.at(3_600_000_000);
    // Association.Max.Retrans is 10: eleven expiries.
    assert_eq!(reconfigs(&pair, pair.client).len(), 11);
    assert!(pair.client().has_event(&Event::Failed(Failure::Unreachable)));
}

#[test]
fn messages_between_resets_arrive_once_and_in_order_whatever_is_lost() {
    for seed in 1..=20 {
        let lossy = |seed| netsim::LinkConfig {
            loss: LossModel::Bernoulli(base::Probability::from_ratio(1, 10)),
            ..half(base::Duration::from_millis(20 + seed))
        };
        let links = Directions { forward: lossy(seed), backward: lossy(seed) };
        let mut pair = Pair::new(links, permissive(), seed);
        let mut random = RandomStream::new(seed, base::Purpose("resets", 0));
        pair.at(10_000_000);
        let mut sent = Vec::new();
        for number in 0..200u32 {
            let stream = (random.next_u32() % 4) as u16;
            if random.next_u32().is_multiple_of(4) {
                reset(&mut pair, ResetDirection::Outgoing, &[stream]);
            }
            sent.push((stream, number));
            let mut payload = vec![0; 1 + (random.next_u32() % 3_000) as usize + 4];
            payload[..4].copy_from_slice(&number.to_be_bytes());
            pair.send_on(stream, payload, SendOptions::default()).unwrap();
            millis(&mut pair, u64::from(random.next_u32() % 200));
        }
        millis(&mut pair, 600_000);
        for stream in 0..4 {
            let of_stream = |(of, number): &(u16, u32)| (*of == stream).then_some(*number);
            let arrived = pair.server().messages.iter().map(|(_, message)| {
                let bytes = message.payload.clone().into_bytes();
                (message.stream.0, u32::from_be_bytes(bytes[..4].try_into().unwrap()))
            });
            let arrived: Vec<u32> = arrived.filter_map(|message| of_stream(&message)).collect();
            let expected: Vec<u32> = sent.iter().filter_map(of_stream).collect();
            assert_eq!(arrived, expected, "seed {seed} stream {stream}");
        }
        let (ours, theirs) = (resets(pair.client()).len(), resets(pair.server()).len());
        assert!(ours == theirs && ours > 10, "seed {seed}: {ours} and {theirs} resets");
        // Each reset restarts its streams' numbers, once for each report to both sides.
        assert!(pair.server().messages.iter().filter(|(_, m)| m.ssn().0 == 0).count() > 10);
    }
}

#[test]
fn a_request_that_the_peer_seems_to_have_answered_and_never_had_is_made_good() {
    // The client asks for three streams of the server, which adds three of its own accord; the
    // request is lost, and its number with it.
    let mut pair = pair(&[1], &[]);
    let (id, server_id) = (pair.association, server_id(&pair));
    pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().add_streams(now, 0, 3).unwrap()
    });
    pair.sim.with_host(pair.server, |peer, now| {
        peer.endpoint.association_mut(server_id).unwrap().add_streams(now, 3, 0).unwrap()
    });
    millis(&mut pair, 500);
    reset(&mut pair, ResetDirection::Outgoing, &[1]);
    pair.send_on(1, vec![7; 100], sctp::SendOptions::default()).unwrap();
    millis(&mut pair, 20_000);
    assert!(pair.client().has_event(&streams_reset(ResetDirection::Outgoing, &[1])));
    assert_eq!(received(pair.server()), [(1, 0)]);
    // Both requests succeeded.
    let added = |peer: &Peer| {
        let told = peer.events.iter().filter_map(|(_, _, event)| match event {
            Event::Reconfiguration(ReconfigurationEvent::StreamsAdded { incoming, .. }) => {
                Some(*incoming)
            }
            _ => None,
        });
        told.sum::<u16>()
    };
    assert_eq!(added(pair.client()), 6);
    assert_eq!(pair.stats().error_count, 0);
}
