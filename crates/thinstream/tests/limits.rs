//! Limits of an endpoint as seen by its applications and their peers.

mod support;

use support::*;
use thinstream::{
    AssociationError, AssociationOptions, ConnectError, Endpoint, EndpointOptions, Failure,
    MemoryLimits, SendOptions, TrySendError,
};

/// Out of Resource (RFC 9260, section 3.3.10.4).
const OUT_OF_RESOURCE: u16 = 4;

fn server_with(change: impl FnOnce(&mut EndpointOptions)) -> Endpoint {
    let mut options = server_options();
    change(&mut options);
    let address = LOOPBACK.parse().expect("an address");
    Endpoint::bind(address, options).expect("a socket")
}

#[tokio::test]
async fn one_host_gets_as_many_associations_as_it_may_and_a_word_for_the_next() {
    let server = server_with(|options| options.max_per_peer = Some(2));
    let (first, _accepted) = pair(&server).await;
    let (_second, _other) = pair(&server).await;
    let options = AssociationOptions::default();
    let third = within(connect(server.local_addr(), options)).await;
    let Err(error) = third else { panic!("it is one too many") };
    assert!(matches!(error, ConnectError::Refused { code: OUT_OF_RESOURCE, .. }), "{error}");
    assert!(error.to_string().contains("Out of Resource"), "{error}");
    // A client without an answer for a quarter of a second asks again, and is refused again.
    assert!(server.stats().refused_per_peer >= 1);
    assert_eq!(server.association_count(), 2);
    // An association that ends frees its place.
    drop((first, _accepted));
    pair(&server).await;
}

#[tokio::test]
async fn one_that_was_never_used_makes_room_and_both_sides_hear_why() {
    let server = server_with(|options| options.max_associations = 1);
    let (unused, accepted) = pair(&server).await;
    let (used, echoes) = pair(&server).await;
    let refused = within(unused.ended()).await;
    let code = match &refused {
        AssociationError::Failed(Failure::AbortedByPeer { code, .. }) => *code,
        other => panic!("{other}"),
    };
    assert_eq!(code, OUT_OF_RESOURCE);
    let ended = within(accepted.ended()).await;
    assert_eq!(ended, AssociationError::Failed(Failure::OutOfResource));
    assert_eq!(within(accepted.receive()).await, Err(ended));
    // An association in use stays.
    tokio::spawn(echo(echoes));
    used.send(ZERO, "in use").await.unwrap();
    assert!(within(used.receive()).await.unwrap().is_some());
    let options = AssociationOptions::default();
    let third = within(connect(server.local_addr(), options)).await;
    assert!(matches!(third, Err(ConnectError::Refused { code: OUT_OF_RESOURCE, .. })));
    used.send(ZERO, "still in use").await.unwrap();
    assert!(within(used.receive()).await.unwrap().is_some());
    let stats = server.stats();
    assert_eq!(stats.unused_evicted, 1);
    assert!(stats.refused_full >= 1, "{stats:?}");
}

#[tokio::test]
async fn associations_that_were_not_accepted_and_that_made_room_are_not_accepted_later() {
    let server = server_with(|options| options.max_associations = 1);
    let mut clients = Vec::new();
    for _ in 0..5 {
        let options = AssociationOptions::default();
        let client = within(connect(server.local_addr(), options)).await;
        clients.push(client.unwrap());
    }
    let accepted = within(server.accept()).await.unwrap();
    clients[4].send(ZERO, "the last").await.unwrap();
    assert_eq!(within(accepted.receive()).await.unwrap().unwrap().payload.len(), 8);
    assert_eq!(server.stats().unused_evicted, 4);
}

#[tokio::test]
async fn what_is_to_be_sent_waits_for_memory_and_a_thin_stream_does_not() {
    let memory = MemoryLimits::of(1 << 20);
    let server = server_with(|options| options.memory = memory);
    let (client, accepted) = pair(&server).await;
    // The client reads nothing: its window closes, and the server's memory fills.
    let options = SendOptions::default();
    let message = pattern(1, 100_000);
    let mut sent = 0;
    let refused = loop {
        match accepted.try_send(ZERO, message.clone(), options) {
            Ok(()) => sent += message.len(),
            Err(error) => break error,
        }
        assert!(sent < 4 << 20, "without end");
        tokio::task::yield_now().await;
    };
    assert_eq!(refused, TrySendError::Full);
    let (thin, thin_accepted) = pair(&server).await;
    tokio::spawn(echo(thin_accepted));
    thin.send(ZERO, "thin").await.unwrap();
    assert_eq!(within(thin.receive()).await.unwrap().unwrap().payload.len(), 4);
    // Once it is read, all of it and more arrives.
    let sender = tokio::spawn(async move { (accepted.send(ZERO, message).await, accepted) });
    let mut read = 0;
    while read < sent + 100_000 {
        read += within(client.receive()).await.unwrap().unwrap().payload.len();
    }
    within(sender).await.unwrap().0.unwrap();
}

#[tokio::test]
async fn limits_with_which_nothing_works_are_refused_with_what_would() {
    type Change = fn(&mut EndpointOptions);
    let cases: [(Change, &str); 3] = [
        (|options| options.max_associations = 0, "max_associations is 0: it should be at least 1"),
        (|options| options.max_per_peer = Some(0), "max_per_peer is 0: it should be at least 1"),
        (|options| options.memory = MemoryLimits::of(1000), "should be at least 1048576"),
    ];
    for (change, wanted) in cases {
        let mut options = server_options();
        change(&mut options);
        let error = Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}
