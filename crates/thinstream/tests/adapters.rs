//! Implementations of foreign traits: `Stream` and `Sink` of messages, `AsyncRead` and `AsyncWrite`
//! of bytes.
#![cfg(all(feature = "futures", feature = "tokio-io"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;
use futures_sink::Sink;
use support::*;
use thinstream::{
    AssociationError, AssociationOptions, Message, MessageSink, Messages, SendOptions, StreamId,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn next(messages: &mut Messages) -> Option<Result<Message, AssociationError>> {
    within(poll_fn(|context| Pin::new(&mut *messages).poll_next(context))).await
}

/// Sends as `futures::SinkExt::feed` does.
async fn feed(sink: &mut MessageSink, message: Bytes) {
    within(poll_fn(|context| Sink::<Bytes>::poll_ready(Pin::new(&mut *sink), context)))
        .await
        .unwrap();
    Pin::new(&mut *sink).start_send(message).unwrap();
}

#[tokio::test]
async fn messages_are_a_stream_that_ends_with_the_association() {
    let server = server();
    let (client, accepted) = pair(&server).await;
    let mut messages = accepted.messages();
    let reader = tokio::spawn(async move {
        let mut texts = Vec::new();
        while let Some(message) = next(&mut messages).await {
            texts.push(message.unwrap().payload.into_bytes());
        }
        assert!(next(&mut messages).await.is_none(), "it stays over");
        texts
    });
    for number in 0..50 {
        client.send(ZERO, pattern(number, 100)).await.unwrap();
    }
    within(client.shutdown()).await.unwrap();
    let texts = within(reader).await.unwrap();
    assert!(texts.iter().enumerate().all(|(number, text)| *text == pattern(number, 100)));
    assert_eq!(texts.len(), 50);
}

#[tokio::test]
async fn the_stream_of_a_failed_association_ends_with_its_error() {
    let server = server();
    let (client, accepted) = pair(&server).await;
    let mut messages = accepted.stream(ZERO).messages();
    client.abort("enough");
    assert!(matches!(next(&mut messages).await, Some(Err(AssociationError::Failed(_)))));
    assert!(next(&mut messages).await.is_none());
}

#[tokio::test]
async fn a_sink_waits_for_room_and_keeps_every_message() {
    let server = server();
    let options = AssociationOptions { send_buffer: 4_000, ..AssociationOptions::default() };
    let (client, accepted) = pair_with(&server, options).await;
    let mut sink = client.stream(StreamId(3)).sink();
    sink.set_options(SendOptions { ppid: thinstream::Ppid(7), ..SendOptions::default() });
    let sender = tokio::spawn(async move {
        for number in 0..2_000 {
            feed(&mut sink, pattern(number, 1_000).into()).await;
        }
        within(poll_fn(|context| Sink::<Bytes>::poll_close(Pin::new(&mut sink), context))).await
    });
    let mut messages = accepted.stream(StreamId(3)).messages();
    for number in 0..2_000 {
        let message = next(&mut messages).await.unwrap().unwrap();
        assert_eq!(message.ppid, thinstream::Ppid(7));
        assert!(message.payload.into_bytes() == pattern(number, 1_000), "message {number}");
    }
    within(sender).await.unwrap().unwrap();
    assert!(client.try_established().unwrap(), "closing a sink leaves the association");
}

#[tokio::test]
async fn a_stream_of_bytes_carries_a_protocol_that_was_made_for_tcp() {
    let server = server();
    let (client, accepted) = pair(&server).await;
    let echo = tokio::spawn(async move {
        let (mut reader, mut writer) = tokio::io::split(accepted.stream(ZERO).bytes());
        let copied = tokio::io::copy(&mut reader, &mut writer).await.unwrap();
        drop((reader, writer));
        copied
    });
    let mut bytes = client.stream(ZERO).bytes();
    let sent = pattern(5, 300_000);
    let mut back = vec![0; sent.len()];
    {
        let (mut reader, mut writer) = tokio::io::split(&mut bytes);
        let write = async {
            writer.write_all(&sent).await.unwrap();
            writer.flush().await.unwrap();
        };
        let read = async { reader.read_exact(&mut back).await.unwrap() };
        within(async { tokio::join!(write, read) }).await;
    }
    assert!(back == sent);
    within(bytes.shutdown()).await.unwrap();
    assert_eq!(within(echo).await.unwrap(), 300_000);
    let refused = bytes.write_all(b"late").await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::BrokenPipe);
}
