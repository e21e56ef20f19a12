//! Conventions of tokio and the standard library: names, times, addresses as text, calls that never
//! wait.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use support::*;
use thinstream::{
    Association, AssociationOptions, ConnectError, Endpoint, EndpointOptions, PeerAddress,
    SendOptions,
};

/// All items of the crate, beside all of the modules that its users import so: each name below
/// would be ambiguous if both had it.
mod names {
    #![allow(unused_imports, reason = "only what is named below is looked up")]
    use std::collections::*;
    use std::io::*;
    use std::net::*;
    use std::sync::*;
    use std::time::*;

    use bytes::*;
    use thinstream::*;
    use tokio::io::*;
    use tokio::net::*;
    use tokio::sync::{mpsc::*, *};
    use tokio::task::*;

    pub(super) fn half_a_second() -> Duration {
        Duration::from_millis(500)
    }

    pub(super) type Everything = (
        (Duration, Instant, SocketAddr, BytesMut, JoinHandle<()>, Notify, Barrier<()>),
        (Association, Endpoint, EndpointOptions, AssociationOptions, StreamHandle, StreamId),
        (Message, PeerAddress, Fingerprint, Identity, Trust, SendOptions, RecoveryPolicy),
    );

    /// Stands for what both `std::sync` and `tokio::sync` have, so that neither is meant here.
    pub(super) struct Barrier<T>(T);
}

#[test]
fn a_glob_import_of_everything_does_not_collide_with_the_names_of_std_and_tokio() {
    assert_eq!(names::half_a_second(), Duration::from_millis(500));
    assert!(size_of::<names::Everything>() > 0);
    // Times of policies are in a module of their own, and convert both ways.
    let own: thinstream::time::Duration = Duration::from_millis(5).into();
    assert_eq!(Duration::from(own), Duration::from_millis(5));
}

#[tokio::test]
async fn a_host_and_a_port_are_looked_up_and_the_address_that_answers_is_taken() {
    let server = server();
    let port = server.local_addr().port();
    // Of the two addresses of localhost, one has a listener: that of IPv4.
    let peer = to(format!("localhost:{port}"));
    let options = AssociationOptions::default;
    let connect = Association::connect(peer.clone(), options());
    let (client, accepted) = within(async { tokio::join!(connect, server.accept()) }).await;
    let (client, accepted) = (client.unwrap(), accepted.unwrap());
    assert_eq!(client.remote(), server.local_addr());
    client.send(ZERO, "by name").await.unwrap();
    assert!(within(accepted.receive()).await.unwrap().is_some());
    // An endpoint asks the addresses that its socket can reach.
    let endpoint = client_endpoint(server.local_addr()).unwrap();
    let again = within(endpoint.connect(peer.clone(), options())).await.unwrap();
    assert_eq!(again.remote(), server.local_addr());
    // A call that does not wait cannot resolve names.
    let refused = endpoint.open(peer, options()).unwrap_err();
    assert!(matches!(refused, ConnectError::NotLookedUp { .. }), "{refused}");
    let text = server.local_addr().to_string();
    within(Association::connect(to(text.as_str()), options())).await.unwrap();
}

#[tokio::test]
async fn a_name_without_an_address_is_told_with_the_name() {
    // Reserved to have none (RFC 6761, section 6.4).
    let peer = to("nowhere.invalid:7");
    let error =
        within(Association::connect(peer, AssociationOptions::default())).await.unwrap_err();
    assert!(error.to_string().contains("\"nowhere.invalid:7\""), "{error}");
    assert_eq!(std::io::Error::from(error).kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn connecting_may_be_given_less_time_than_the_half_minute_that_it_takes() {
    let silent = UdpSocket::bind(LOOPBACK).unwrap();
    let peer = to(silent.local_addr().unwrap());
    let time = Duration::from_millis(200);
    let options = AssociationOptions::default();
    let connecting = Association::connect_timeout(peer, options, time);
    let error = within(connecting).await.unwrap_err();
    assert!(matches!(error, ConnectError::TimedOut { after, .. } if after == time), "{error}");
    assert!(error.to_string().ends_with("has not answered within 200ms"), "{error}");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[test]
fn a_loop_that_never_waits_connects_accepts_sends_and_receives() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _inside = runtime.enter();
    let server = server();
    let endpoint = client_endpoint(server.local_addr()).unwrap();
    let client = endpoint.open(to(server.local_addr()), AssociationOptions::default()).unwrap();
    let (mut accepted, mut sent, mut frames) = (None, false, 0);
    let start = Instant::now();
    let message = loop {
        frames += 1;
        if !sent && client.try_established().unwrap() {
            client.try_send(ZERO, "frame", SendOptions::default()).unwrap();
            sent = true;
        }
        accepted = accepted.or_else(|| server.try_accept().unwrap());
        let handle = accepted.as_ref().map(|accepted: &Association| accepted.stream(ZERO));
        if let Some(message) = handle.and_then(|stream| stream.try_receive().unwrap()) {
            break message;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{frames} frames");
        std::thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(message.payload.into_bytes(), "frame");
    assert!(Endpoint::try_accept(&server).unwrap().is_none());
}

#[tokio::test]
async fn the_send_buffer_takes_the_largest_message_and_little_more_unless_the_endpoint_says_so() {
    let server = server();
    let send_until_full = async |buffer: Option<usize>| {
        let usual = client_options();
        let send_buffer = buffer.unwrap_or(usual.send_buffer);
        let options = EndpointOptions { send_buffer, ..usual };
        let endpoint = Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap();
        let client = endpoint.open(to(server.local_addr()), AssociationOptions::default()).unwrap();
        // No time passes, so that nothing leaves.
        let send = |_: &usize| client.try_send(ZERO, pattern(1, 1 << 10), SendOptions::default());
        (0..4096).take_while(|number| send(number).is_ok()).count()
    };
    assert_eq!(send_until_full(None).await, 256);
    assert_eq!(send_until_full(Some(1 << 20)).await, 1024);
    assert_eq!(send_until_full(Some(100 << 10)).await, 100);
}

#[test]
fn peers_are_named_by_text_by_addresses_and_with_a_key() {
    let key = KEY.fingerprint();
    let address: std::net::SocketAddr = "192.0.2.1:9899".parse().unwrap();
    let named = PeerAddress::from(("192.0.2.1", key));
    assert_eq!(named, PeerAddress::from((address, key)));
    assert_eq!(named, PeerAddress::from(address).trusting(key));
    assert_eq!(PeerAddress::from(("game.example", key)).to_string(), "game.example:9899");
}
