//! Peers that do not exist, die, restart, or start late, over real sockets of this machine.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::time::Duration;

use support::*;
use thinstream::{
    Association, AssociationError, AssociationOptions, ConnectError, Endpoint, Failure, LeftBehind,
};
use tokio::runtime::Runtime;

/// An echo server that can be killed, without an ABORT.
struct Mortal {
    runtime: Runtime,
    address: SocketAddr,
}

impl Mortal {
    fn at(address: SocketAddr) -> Mortal {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (tell, told) = mpsc::channel();
        runtime.spawn(async move {
            let server = Endpoint::bind(address, server_options()).unwrap();
            tell.send(spawn_echo(server)).unwrap();
            std::future::pending::<()>().await;
        });
        Mortal { address: told.recv().unwrap(), runtime }
    }

    fn kill(self) -> SocketAddr {
        self.runtime.shutdown_timeout(Duration::from_secs(5));
        self.address
    }
}

async fn echoed(association: &Association, text: &'static str) {
    association.send(ZERO, text).await.unwrap();
    let back = within(association.receive()).await.unwrap().unwrap();
    assert_eq!(back.payload.into_bytes(), text);
}

/// A port without a listener.
fn nobody() -> SocketAddr {
    reserved::reserved_address()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_killed_and_restarted_says_so_and_reconnecting_is_one_call() {
    let server = tokio::task::spawn_blocking(|| Mortal::at(LOOPBACK.parse().unwrap()));
    let server = server.await.unwrap();
    let options = AssociationOptions::default();
    let client = within(connect(server.address, options)).await.unwrap();
    echoed(&client, "before").await;
    let address = tokio::task::spawn_blocking(|| server.kill()).await.unwrap();
    let again = tokio::task::spawn_blocking(move || Mortal::at(address)).await.unwrap();
    // The first packet that the new server receives is out of the blue.
    client.send(ZERO, "who is there?").await.unwrap();
    let forgotten = AssociationError::Failed(Failure::Forgotten);
    assert_eq!(within(client.receive()).await.unwrap_err(), forgotten);
    let left = client.stats().unwrap().left_behind;
    assert_eq!(left, LeftBehind { unsent: 0, unacknowledged: 1 });
    let anew = within(client.reconnect()).await.unwrap();
    echoed(&anew, "after").await;
    assert_eq!(within(client.receive()).await.unwrap_err(), forgotten, "the old one stays over");
    drop(client);
    echoed(&anew, "still").await;
    within(anew.shutdown()).await.unwrap();
    tokio::task::spawn_blocking(|| again.kill()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_noticed_while_nothing_is_sent() {
    let server = tokio::task::spawn_blocking(|| Mortal::at(LOOPBACK.parse().unwrap()));
    let server = server.await.unwrap();
    let span = Duration::from_secs(2);
    let options =
        AssociationOptions { dead_after: Some(span.into()), ..AssociationOptions::default() };
    let client = within(connect(server.address, options)).await.unwrap();
    echoed(&client, "before").await;
    let address = tokio::task::spawn_blocking(|| server.kill()).await.unwrap();
    let silent = UdpSocket::bind(address).unwrap();
    let ended = within(client.receive()).await.unwrap_err();
    assert!(matches!(ended, AssociationError::Failed(Failure::Silent { .. })), "{ended}");
    drop(silent);
}

#[tokio::test]
async fn thirty_seconds_of_silence_are_the_default_and_an_association_may_have_its_own() {
    assert_eq!(client_options().dead_after, Some(Duration::from_secs(30)));
    assert_eq!(server_options().dead_after, Some(thinstream::DEAD_AFTER));
}

#[tokio::test]
async fn a_closed_port_refuses_before_any_timeout() {
    let to = nobody();
    let error = within(connect(to, AssociationOptions::default())).await.unwrap_err();
    if cfg!(target_os = "linux") {
        assert!(matches!(error, ConnectError::NoListener { remote } if remote == to), "{error}");
        assert!(error.to_string().contains(&to.to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_comes_up_a_second_later_is_found() {
    let to = nobody();
    let connecting = tokio::spawn(connect(to, AssociationOptions::default()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let server = Endpoint::bind(to, server_options()).unwrap();
    let client = within(connecting).await.unwrap().unwrap();
    let accepted = within(server.accept()).await.unwrap();
    client.send(ZERO, "there you are").await.unwrap();
    assert!(within(accepted.receive()).await.unwrap().is_some());
}

#[tokio::test]
async fn what_a_closed_port_says_does_not_disturb_other_associations_of_the_endpoint() {
    let server = server();
    let address = spawn_echo(server);
    let endpoint = client_endpoint(address).unwrap();
    let client =
        within(endpoint.connect(to(address), AssociationOptions::default())).await.unwrap();
    let doomed = endpoint.open(to(nobody()), AssociationOptions::default()).unwrap();
    for _ in 0..50 {
        echoed(&client, "on and on").await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(endpoint.carrier_statistics().send_errors, 0);
    drop(doomed);
}

#[tokio::test]
async fn who_accepted_an_association_cannot_set_it_up_again() {
    let server = server();
    let (_client, accepted) = pair(&server).await;
    let error = accepted.reconnect().await.unwrap_err();
    assert!(matches!(error, ConnectError::NotOpenedHere), "{error}");
}
