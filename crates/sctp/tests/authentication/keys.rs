//! What is sent authenticated, and the keys that applications share.

use sctp::wire::ChunkType;
use sctp::{Event, Failure, KeyError, KeyId};

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
    // A server that knows it and a client that does not.
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
    // A key that the receiver forgot opens nothing.
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
