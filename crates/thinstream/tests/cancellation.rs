//! Futures dropped at any time, and what then holds.

mod support;

use std::time::Duration;

use support::*;
use thinstream::{AssociationOptions, StreamId};

/// Polls `future` once and drops it if it is not ready.
async fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    tokio::select! {
        biased;
        result = future => Some(result),
        () = std::future::ready(()) => None,
    }
}

#[tokio::test]
async fn receives_that_are_dropped_lose_no_message() {
    let server = server();
    let (client, accepted) = pair(&server).await;
    tokio::spawn(async move {
        for number in 0..500 {
            client.send(ZERO, pattern(number, 50)).await.unwrap();
            if number % 7 == 0 {
                tokio::time::sleep(Duration::from_micros(300)).await;
            }
        }
        client.shutdown().await.unwrap();
    });
    let mut received = 0;
    let (mut dropped, mut patience) = (0, 0);
    loop {
        let short = Duration::from_micros(patience * 13 % 90);
        patience += 1;
        match tokio::time::timeout(short, accepted.receive()).await {
            Err(_) => dropped += 1,
            Ok(message) => match message.unwrap() {
                None => break,
                Some(message) => {
                    assert!(message.payload.into_bytes() == pattern(received, 50));
                    received += 1;
                }
            },
        }
    }
    assert_eq!(received, 500);
    assert!(dropped > 0, "no future was dropped");
}

#[tokio::test]
async fn a_send_that_is_dropped_while_it_waits_sends_nothing() {
    let server = server();
    let options = AssociationOptions { send_buffer: 4_000, ..AssociationOptions::default() };
    let (client, accepted) = pair_with(&server, options).await;
    let (mut sent, mut dropped) = (Vec::new(), 0);
    for number in 0..200u32 {
        match poll_once(client.send(ZERO, pattern(number as usize, 1_500))).await {
            Some(result) => {
                result.unwrap();
                sent.push(number);
            }
            None => dropped += 1,
        }
        if number.is_multiple_of(20) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    assert!(dropped > 0 && sent.len() > 2, "{dropped} of 200 dropped");
    let shutdown = tokio::spawn(async move { client.shutdown().await });
    for number in sent {
        let message = within(accepted.receive()).await.unwrap().unwrap();
        assert!(message.payload.into_bytes() == pattern(number as usize, 1_500), "{number}");
    }
    assert_eq!(within(accepted.receive()).await, Ok(None));
    within(shutdown).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_accept_that_is_dropped_leaves_the_association_to_the_next() {
    let server = server();
    assert!(poll_once(server.accept()).await.is_none());
    let connect = connect(server.local_addr(), AssociationOptions::default());
    let client = within(connect).await.unwrap();
    client.send(ZERO, "x").await.unwrap();
    let accepted = within(server.accept()).await.unwrap();
    assert!(within(accepted.receive()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_connect_that_is_dropped_gives_up() {
    let hole = std::net::UdpSocket::bind(LOOPBACK).unwrap();
    let remote = hole.local_addr().unwrap();
    let endpoint = client_endpoint(remote).unwrap();
    let connect = endpoint.connect(to(remote), AssociationOptions::default());
    assert!(tokio::time::timeout(Duration::from_millis(20), connect).await.is_err());
    assert_eq!(endpoint.association_count(), 0);
    // The name is free for another attempt.
    drop(endpoint.open(to(remote), AssociationOptions::default()).unwrap());
}

#[tokio::test]
async fn a_shutdown_that_is_dropped_goes_on() {
    let server = server();
    let (client, accepted) = pair(&server).await;
    for number in 0..50 {
        client.send(StreamId(1), pattern(number, 1_000)).await.unwrap();
    }
    assert!(poll_once(client.shutdown()).await.is_none());
    for _ in 0..50 {
        assert!(within(accepted.receive()).await.unwrap().is_some());
    }
    assert_eq!(within(accepted.receive()).await, Ok(None));
    within(client.shutdown()).await.unwrap();
}

#[tokio::test]
async fn a_stream_that_is_not_read_any_more_keeps_what_it_had() {
    let server = server();
    let (client, accepted) = pair(&server).await;
    let stream = accepted.stream(StreamId(1));
    assert!(poll_once(stream.receive()).await.is_none());
    client.send(StreamId(1), "one").await.unwrap();
    client.send(StreamId(2), "two").await.unwrap();
    let two = within(accepted.receive()).await.unwrap().unwrap();
    assert_eq!(two.payload.into_bytes(), "two");
    let one = within(stream.receive()).await.unwrap().unwrap();
    assert_eq!(one.payload.into_bytes(), "one");
}
