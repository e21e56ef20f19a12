//! Several paths over sockets of this machine, and abandoned messages.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod support;

use std::net::SocketAddr;

use support::*;
use thinstream::{
    AbandonNotice, AbandonReason, Association, AssociationOptions, ConnectError, Endpoint,
    Extensions, PathChange, PathHint, PathOptions, PathState, SendOptions,
};

const TWO: [&str; 2] = ["127.0.0.1:0", "127.0.0.2:0"];

fn addresses(text: [&str; 2]) -> [SocketAddr; 2] {
    text.map(|address| address.parse().unwrap())
}

/// A server and a client with two addresses each, both paths confirmed; the server's addresses.
async fn two_paths() -> (Endpoint, Association, Association, Vec<SocketAddr>) {
    let server = Endpoint::bind_all(&addresses(TWO), server_options()).unwrap();
    let client = Endpoint::bind_all(&addresses(TWO), client_options()).unwrap();
    let there = server.local_addrs();
    let connect = client.connect(to(there.clone()), quick_options());
    let (association, accepted) = within(async { tokio::join!(connect, server.accept()) }).await;
    let association = association.unwrap();
    within(async {
        while association.stats().unwrap().paths.iter().filter(|path| path.confirmed).count() < 2 {
            association.path_event().await.unwrap();
        }
    })
    .await;
    (server, association, accepted.unwrap(), there)
}

#[tokio::test]
async fn a_hint_moves_the_data_and_the_application_is_told_in_order() {
    let (_server, client, accepted, mut there) = two_paths().await;
    // Over DTLS the first session that is set up decides which path carries data.
    let stats = client.stats().unwrap();
    if stats.paths[usize::from(stats.data_path)].remote != there[0] {
        there.swap(0, 1);
    }
    while client.try_path_event().is_some() {}
    assert!(client.path_hint(there[0], PathHint::Down));
    client.send(ZERO, "elsewhere").await.unwrap();
    assert_eq!(within(accepted.receive()).await.unwrap().unwrap().payload.len(), 9);
    let suspected = within(client.path_event()).await.unwrap();
    let expected = PathChange::State(PathState::PotentiallyFailed);
    assert_eq!((suspected.remote, suspected.change), (there[0], expected));
    let moved = within(client.path_event()).await.unwrap();
    assert_eq!((moved.remote, moved.change), (there[1], PathChange::CarriesData));
    assert!(moved.at >= suspected.at);
    assert!(client.path_hint(there[0], PathHint::Up));
    while within(client.path_event()).await.unwrap().remote != there[0] {}
}

#[tokio::test]
async fn primary_options_and_heartbeats_are_those_of_the_path_that_is_named() {
    let (_server, client, _accepted, there) = two_paths().await;
    let nobody: SocketAddr = "127.0.0.9:9".parse().unwrap();
    assert!(client.set_primary(there[1]) && !client.set_primary(nobody));
    assert_eq!(client.stats().unwrap().primary_path, 1);
    let own = PathOptions { path_mtu: Some(600), ..PathOptions::default() };
    assert!(client.set_path_options(there[1], &own) && !client.set_path_options(nobody, &own));
    let paths = client.stats().unwrap().paths;
    assert!(paths[1].max_packet < 600 && paths[0].max_packet > 1_000);
    let before = paths[0].counters.heartbeats_acked;
    assert!(client.request_heartbeat(there[0]) && !client.request_heartbeat(nobody));
    within(async {
        while client.stats().unwrap().paths[0].counters.heartbeats_acked == before {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    })
    .await;
    assert!(!client.path_hint(nobody, PathHint::Down));
}

#[tokio::test]
async fn who_waits_for_path_events_learns_of_the_end() {
    let (_server, client, accepted, _) = two_paths().await;
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { while client.path_event().await.is_some() {} }
    });
    accepted.abort("enough");
    within(waiting).await.unwrap();
    assert_eq!(within(client.abandoned()).await, None);
}

#[tokio::test]
async fn a_message_that_grew_too_old_is_told_with_its_context() {
    let options =
        AssociationOptions { extensions: Extensions::PARTIAL_RELIABILITY, ..quick_options() };
    // No host answers there, so nothing can be sent.
    let hole = std::net::UdpSocket::bind(LOOPBACK).unwrap();
    let client = client_endpoint(hole.local_addr().unwrap()).unwrap();
    let association = client.open(to(hole.local_addr().unwrap()), options).unwrap();
    let soon = base::Duration::from_millis(20);
    let stale = SendOptions { context: 7, ..SendOptions::expiring(soon) };
    association.send_with(ZERO, "stale", stale).await.unwrap();
    let Some(AbandonNotice::Message(told)) = within(association.abandoned()).await else {
        panic!("not told");
    };
    assert_eq!((told.context, told.reason, told.sent), (7, AbandonReason::Lifetime, false));
    assert_eq!(association.stats().unwrap().abandoned.unsent, 1);
}

#[tokio::test]
async fn a_peer_without_an_address_is_refused() {
    let client = client_endpoint(LOOPBACK.parse().unwrap()).unwrap();
    let nowhere: Vec<SocketAddr> = Vec::new();
    let refused = client.open(to(nowhere.clone()), AssociationOptions::default());
    assert!(matches!(refused, Err(ConnectError::NoAddress)));
    let refused = connect(nowhere, AssociationOptions::default()).await;
    assert!(matches!(refused, Err(ConnectError::NoAddress)));
}
