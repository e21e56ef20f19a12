//! Authenticated chunks, and the keys that applications share.

use sctp::wire::ChunkType;
use sctp::{Event, Failure, KeyError, KeyId, Ppid, SendError, SendOptions, StreamId};

use super::*;

const DATA: &[ChunkType] = &[ChunkType::DATA];

#[test]
fn chunks_that_either_side_wants_authenticated_stand_behind_auth_and_no_others() {
    let mut pair = pair(authenticating(&[ChunkType::SACK], None), authenticating(DATA, None));
    assert!(is_established(&pair));
    pair.send_at(100, [0, 1_000_000]);
    pair.send_at(100_000, [2_000_000]);
    pair.at(9_000_000);
    assert_eq!(pair.server().messages.len(), 3);
    assert_eq!(pair.stats().counters.chunks_dropped, 0);
    for sent in &pair.sim.checker().sent {
        let wanted = if sent.from == pair.client { ChunkType::DATA } else { ChunkType::SACK };
        assert_eq!(sent.has(wanted), sent.has(ChunkType::AUTH), "{sent:?}");
    }
}

#[test]
fn without_agreement_nothing_is_added() {
    let plain_options = options(plain());
    let sizes = |client: AssociationOptions, server: AssociationOptions| {
        let mut pair = pair(client, server);
        pair.send_at(100, [0]);
        pair.at(1_000_000);
        assert!(!pair.sim.checker().sent.iter().any(|sent| sent.has(ChunkType::AUTH)));
        assert_eq!(pair.server().messages.len(), 1);
        pair.stats().counters.bytes_sent
    };
    let none = || AssociationOptions { extensions: Extensions::NONE, ..plain_options.clone() };
    let without = sizes(none(), none());
    // A server that has the key and a client that does not.
    assert_eq!(sizes(none(), authenticating(DATA, None)), without);
    // The client's INIT offers it: RANDOM, CHUNKS, HMAC-ALGO and the list with AUTH.
    assert_eq!(sizes(authenticating(DATA, None), none()), without + 36 + 8 + 8 + 8);
}

#[test]
fn a_secret_that_the_peer_does_not_know_keeps_its_data_out() {
    let client = authenticating(DATA, Some("swordfish"));
    for (secret, known) in [("swordfish", true), ("sunfish", false)] {
        let mut pair = pair(client.clone(), authenticating(DATA, Some(secret)));
        assert!(is_established(&pair), "the handshake needs no key");
        pair.send_at(100, [0]);
        pair.at(1_000_000_000);
        assert_eq!(pair.server().messages.len(), usize::from(known));
        let unreachable = Event::Failed(Failure::Unreachable);
        assert_eq!(pair.client().has_event(&unreachable), !known);
    }
}

#[test]
fn keys_are_changed_while_data_flows() {
    let mut pair = pair(authenticating(DATA, None), authenticating(DATA, None));
    let (id, theirs) = (pair.association, pair.server().events[0].1);
    let (first, second) = (KeyId(1), KeyId(2));
    pair.sim.with_host(pair.server, |peer, _| {
        peer.endpoint.association_mut(theirs).unwrap().set_shared_key(first, "one".into()).unwrap();
        peer.endpoint
            .association_mut(theirs)
            .unwrap()
            .set_shared_key(second, "two".into())
            .unwrap();
    });
    for (round, key) in [first, second, KeyId(0), second].into_iter().enumerate() {
        pair.sim.with_host(pair.client, |peer, _| {
            let end = &mut peer.endpoint;
            if round == 0 {
                assert_eq!(
                    end.association_mut(id).unwrap().activate_key(first),
                    Err(KeyError::NoSuchKey(first))
                );
                end.association_mut(id).unwrap().set_shared_key(first, "one".into()).unwrap();
                end.association_mut(id).unwrap().set_shared_key(second, "two".into()).unwrap();
            }
            end.association_mut(id).unwrap().activate_key(key).unwrap();
            assert_eq!(
                end.association_mut(id).unwrap().remove_shared_key(key),
                Err(KeyError::Active(key))
            );
        });
        pair.send(vec![7; 100]).unwrap();
        pair.run_for(base::Duration::from_secs(1));
        assert_eq!(pair.server().messages.len(), round + 1);
    }
    // A key that the receiver deleted authenticates nothing.
    pair.sim.with_host(pair.server, |peer, _| {
        peer.endpoint.association_mut(theirs).unwrap().remove_shared_key(second).unwrap();
    });
    pair.send(vec![7; 100]).unwrap();
    pair.run_for(base::Duration::from_secs(1));
    assert_eq!(pair.server().messages.len(), 4);
    pair.sim.with_host(pair.client, |peer, _| {
        peer.endpoint.association_mut(id).unwrap().activate_key(first).unwrap()
    });
    pair.run_for(base::Duration::from_secs(100));
    assert_eq!(pair.server().messages.len(), 5, "sent again with a key that is known");
}

#[test]
fn packets_with_auth_keep_to_the_size_of_the_path() {
    let mut pair = pair(authenticating(DATA, None), authenticating(DATA, None));
    pair.send_at(50_000, [0]);
    pair.at(5_000_000);
    assert_eq!(pair.server().messages.len(), 1);
    let sizes = pair.sim.checker().sent.iter().map(|sent| sent.size);
    assert_eq!(sizes.max(), Some(1_472));
}

#[test]
fn messages_arrive_with_the_keys_that_they_name_over_a_path_that_loses_packets() {
    let mut options = authenticating(DATA, Some("one"));
    let keys = Arc::make_mut(options.authentication.as_mut().unwrap());
    keys.keys.extend([(KeyId(2), "two".into()), (KeyId(3), "three".into())]);
    let loss = netsim::LossModel::Bernoulli(base::Probability::from_ratio(1, 10));
    let link = netsim::LinkConfig { loss, ..half(RTT) };
    let mut pair = Pair::new(Directions::both(link), options, 5);
    pair.run_for(base::Duration::from_secs(20));
    let id = pair.association;
    let send = |pair: &mut Pair, key| {
        pair.sim.with_host(pair.client, |peer, now| {
            let how = SendOptions { key, ..SendOptions::default() };
            let mut own = peer.endpoint.association_mut(id).unwrap();
            own.send(now, StreamId(0), Ppid(0), vec![7; 300].into(), how)
        })
    };
    let unknown = KeyId(4);
    assert_eq!(send(&mut pair, Some(unknown)), Err(SendError::NoSuchKey(unknown)));
    for index in 0..300 {
        let key = [None, Some(KeyId(2)), Some(KeyId(3)), Some(KeyId(3))][index % 4];
        send(&mut pair, key).unwrap();
        if index % 7 == 0 {
            pair.run_for(base::Duration::from_millis(40));
        }
    }
    let forget = |pair: &mut Pair| {
        pair.sim.with_host(pair.client, |peer, _| {
            peer.endpoint.association_mut(id).unwrap().remove_shared_key(KeyId(3))
        })
    };
    assert_eq!(forget(&mut pair), Err(KeyError::Active(KeyId(3))));
    pair.run_for(base::Duration::from_secs(120));
    assert_eq!(pair.server().messages.len(), 300);
    assert_eq!(forget(&mut pair), Ok(()));
    // Each packet was authentic: others are dropped silently.
    assert!(pair.stats().recovery.retransmissions.total() > 20);
}
