//! Endpoints over real sockets of this machine.

mod support;

use std::sync::{Arc, Mutex};

use base::{DatagramMeta, Instant, Transmit};
use bytes::Bytes;
use support::*;
use thinstream::{
    Association, AssociationError, AssociationOptions, AssociationStats, ConnectError,
    Encapsulation, Endpoint, EndpointError, EndpointOptions, Failure, PacketTap, PeerAddress, Ppid,
    RecoveryEvent, SendError, SendOptions, StreamId, TrySendError,
};

#[tokio::test]
async fn messages_of_all_sizes_come_back_intact_and_in_order() {
    let address = spawn_echo(server());
    let client = connect(address, AssociationOptions::default()).await.unwrap();
    let sizes = [1, 2, 3, 4, 100, 1_400, 1_452, 1_453, 10_000, 100_000, 200_000];
    for (number, size) in sizes.into_iter().enumerate() {
        client.send(StreamId(3), pattern(number, size)).await.unwrap();
    }
    for (number, size) in sizes.into_iter().enumerate() {
        let message = within(client.receive()).await.unwrap().unwrap();
        assert_eq!((message.stream, message.payload.len()), (StreamId(3), size));
        assert!(message.payload.into_bytes() == pattern(number, size), "{size} bytes changed");
    }
    within(client.shutdown()).await.unwrap();
}

#[tokio::test]
async fn options_of_a_message_reach_the_other_end() {
    let server = server();
    let (client, accepted) = pair(&server).await;
    let options = SendOptions { ppid: Ppid(51), immediate: true, ..SendOptions::unordered() };
    client.send_with(StreamId(7), "text", options).await.unwrap();
    let message = within(accepted.receive()).await.unwrap().unwrap();
    assert_eq!((message.ppid, message.unordered, message.stream), (Ppid(51), true, StreamId(7)));
}

#[tokio::test]
async fn a_full_send_buffer_holds_the_sender_back_until_the_peer_reads() {
    let server = server();
    let options = AssociationOptions { send_buffer: 20_000, ..AssociationOptions::default() };
    let (client, accepted) = pair_with(&server, options).await;
    let sender = tokio::spawn({
        let client = client.clone();
        async move {
            for number in 0..400 {
                client.send(ZERO, pattern(number, 10_000)).await.unwrap();
            }
        }
    });
    // 1 MiB of receive buffer and the send buffer hold less than these 4 MB.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert!(!sender.is_finished());
    let full = client.try_send(ZERO, pattern(0, 10_000), SendOptions::default());
    assert_eq!(full, Err(TrySendError::Full));
    for number in 0..400 {
        let message = within(accepted.receive()).await.unwrap().unwrap();
        assert!(message.payload.into_bytes() == pattern(number, 10_000), "message {number}");
    }
    within(sender).await.unwrap();
}

#[tokio::test]
async fn a_shutdown_delivers_all_and_both_ends_see_it() {
    let server = server();
    let (client, accepted) = pair(&server).await;
    for number in 0..200 {
        client.send(ZERO, pattern(number, 1_000)).await.unwrap();
    }
    within(client.shutdown()).await.unwrap();
    // All messages have arrived, though none was read before.
    for number in 0..200 {
        let message = accepted.receive().await.unwrap().unwrap();
        assert!(message.payload.into_bytes() == pattern(number, 1_000));
    }
    assert_eq!(within(accepted.receive()).await, Ok(None));
    assert_eq!(within(accepted.ended()).await, AssociationError::Closed);
    let refused = client.send(ZERO, "late").await;
    assert_eq!(refused, Err(SendError::Ended(AssociationError::Closed)));
    assert_eq!(within(client.shutdown()).await, Ok(()), "a second shutdown has nothing to do");
}

#[tokio::test]
async fn messages_that_cannot_be_sent_are_refused_with_the_reason() {
    let server = server();
    let (client, _accepted) = pair(&server).await;
    assert_eq!(client.outbound_streams(), 16);
    let nowhere = client.send(StreamId(16), "x").await.unwrap_err();
    assert_eq!(nowhere.to_string(), "stream 16 is not among the 16 outbound streams");
    assert_eq!(client.send(ZERO, Bytes::new()).await, Err(SendError::Empty));
    let long = client.send(ZERO, vec![0; 300_000]).await;
    assert_eq!(long, Err(SendError::TooLarge { length: 300_000, maximum: 262_144 }));
}

#[tokio::test]
async fn who_does_not_listen_refuses_and_who_is_not_there_does_not_answer() {
    let options = EndpointOptions { sctp_port: Some(9899), ..client_options() };
    let deaf = Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap();
    let refused = within(connect(deaf.local_addr(), quick_options())).await;
    let refused = refused.unwrap_err();
    match PLAIN {
        true => assert!(matches!(refused, ConnectError::Refused { .. }), "{refused:?}"),
        // An endpoint that accepts no sessions does not answer strangers.
        false => assert!(matches!(refused, ConnectError::NoAnswer { .. }), "{refused:?}"),
    }
    assert_eq!(deaf.accept().await.unwrap_err(), EndpointError::NotListening);

    let hole = std::net::UdpSocket::bind(LOOPBACK).unwrap();
    let options = AssociationOptions { max_init_retransmits: 2, ..quick_options() };
    let silent = within(connect(hole.local_addr().unwrap(), options)).await;
    let text = silent.unwrap_err().to_string();
    assert_eq!(text, format!("{} does not answer", hole.local_addr().unwrap()));
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let server = server();
    let again = Endpoint::bind(server.local_addr(), server_options());
    let text = again.unwrap_err().to_string();
    assert_eq!(
        text,
        format!("cannot open UDP {}: the port is already in use", server.local_addr())
    );
}

#[tokio::test]
async fn one_endpoint_has_one_association_to_a_peer() {
    let server = server();
    let endpoint = client_endpoint(server.local_addr()).unwrap();
    let first =
        endpoint.connect(to(server.local_addr()), AssociationOptions::default()).await.unwrap();
    let second = endpoint.connect(to(server.local_addr()), AssociationOptions::default()).await;
    assert!(matches!(second, Err(ConnectError::Exists(_))), "{second:?}");
    let nowhere = PeerAddress::new(server.local_addr(), 0);
    let zero = endpoint.open(to(nowhere), AssociationOptions::default());
    assert!(matches!(zero, Err(ConnectError::ZeroPort)));
    drop(first);
    assert_eq!(within(server.accept()).await.unwrap().remote().ip(), server.local_addr().ip());
}

#[tokio::test]
async fn an_abort_tells_its_reason_and_a_dropped_handle_aborts() {
    let server = server();
    let (client, accepted) = pair(&server).await;
    client.send(ZERO, "before").await.unwrap();
    let other = client.clone();
    assert_eq!(within(accepted.receive()).await.unwrap().unwrap().payload.len(), 6);
    client.abort("enough");
    let reason = AssociationError::Failed(Failure::AbortedByPeer {
        code: 12,
        reason: Bytes::from_static(b"enough"),
    });
    assert_eq!(within(accepted.receive()).await, Err(reason.clone()));
    assert_eq!(accepted.send(ZERO, "x").await, Err(SendError::Ended(reason)));
    assert_eq!(within(other.ended()).await, AssociationError::Failed(Failure::Aborted));
    drop((accepted, client, other));

    let (client, accepted) = pair(&server).await;
    drop(client.clone());
    client.send(ZERO, "still there").await.unwrap();
    assert!(within(accepted.receive()).await.unwrap().is_some());
    drop(client);
    let ended = within(accepted.receive()).await;
    assert!(matches!(
        ended,
        Err(AssociationError::Failed(Failure::AbortedByPeer { code: 12, .. }))
    ));
    drop(accepted);
    assert_eq!(server.association_count(), 0);
}

#[tokio::test]
async fn a_closed_endpoint_ends_its_associations_and_frees_its_port() {
    let server = server();
    let address = server.local_addr();
    let (client, accepted) = pair(&server).await;
    let waiting = tokio::spawn({
        let server = server.clone();
        async move { server.accept().await.map(drop) }
    });
    tokio::task::yield_now().await;
    within(server.clone().close()).await;
    assert_eq!(within(waiting).await.unwrap(), Err(EndpointError::Closed));
    assert_eq!(accepted.receive().await, Err(AssociationError::EndpointClosed));
    let gone = within(client.ended()).await;
    assert!(matches!(gone, AssociationError::Failed(Failure::AbortedByPeer { .. })), "{gone:?}");
    drop((server, accepted));
    Endpoint::bind(address, server_options()).expect("the port is free again");
}

#[tokio::test]
async fn without_the_endpoint_nobody_is_accepted_but_associations_go_on() {
    let server = server();
    let address = server.local_addr();
    let (client, accepted) = pair(&server).await;
    drop(server);
    client.send(ZERO, "x").await.unwrap();
    assert!(within(accepted.receive()).await.unwrap().is_some());
    let late = connect(address, quick_options()).await;
    if let Ok(late) = late {
        // The handshake needs no state, so that the refusal may come right after it.
        assert!(matches!(within(late.ended()).await, AssociationError::Failed(_)));
    }
}

#[tokio::test]
async fn messages_sent_before_the_handshake_go_with_its_end() {
    let server = server();
    let endpoint = client_endpoint(server.local_addr()).unwrap();
    let early = endpoint.open(to(server.local_addr()), AssociationOptions::default()).unwrap();
    early.send(ZERO, "early").await.unwrap();
    let accepted = within(server.accept()).await.unwrap();
    let message = within(accepted.receive()).await.unwrap().unwrap();
    assert_eq!(message.payload.into_bytes(), "early");
    within(early.established()).await.unwrap();
}

#[tokio::test]
async fn streams_with_readers_of_their_own_do_not_take_from_each_other() {
    let server = server();
    let (client, accepted) = pair(&server).await;
    let (one, two) = (accepted.stream(StreamId(1)), accepted.stream(StreamId(2)));
    let read = |stream: thinstream::StreamHandle| async move {
        let mut texts = Vec::new();
        while let Some(message) = stream.receive().await.unwrap() {
            assert_eq!(message.stream, stream.id());
            texts.push(message.payload.into_bytes());
        }
        texts
    };
    let (one, two) = (tokio::spawn(read(one)), tokio::spawn(read(two)));
    // Both claim their streams before anything arrives.
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    for number in 0..300u16 {
        let stream = client.stream(StreamId(number % 3));
        stream.send(pattern(number.into(), 700)).await.unwrap();
    }
    let (shutdown, rest) = tokio::join!(client.shutdown(), async {
        let mut rest = Vec::new();
        while let Some(message) = accepted.receive().await.unwrap() {
            rest.push(message.payload.into_bytes());
        }
        rest
    });
    shutdown.unwrap();
    for (stream, texts) in
        [rest, within(one).await.unwrap(), within(two).await.unwrap()].into_iter().enumerate()
    {
        let expected = (0..300).filter(|number| number % 3 == stream);
        assert!(texts.into_iter().eq(expected.map(|number| pattern(number, 700))));
    }
}

#[tokio::test]
async fn statistics_events_and_policy_are_those_of_the_association() {
    let address = spawn_echo(server());
    let thin = AssociationOptions {
        policy: Arc::new(thinstream::RecoveryPolicy::sctp_thin()),
        ..AssociationOptions::default()
    };
    let client = connect(address, thin).await.unwrap();
    client.record_recovery_events(true);
    let ping = async || {
        client.send(ZERO, "ping").await.unwrap();
        within(client.receive()).await.unwrap().unwrap();
    };
    ping().await;
    let rto = |association: &Association| association.stats().unwrap().paths[0].recovery.rto;
    assert!(rto(&client) >= base::Duration::from_millis(200));
    client.set_policy(quick()).unwrap();
    for _ in 0..3 {
        ping().await;
    }
    assert!(rto(&client) < base::Duration::from_millis(200), "{}", rto(&client));
    // The last acknowledgement may still be on its way.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let stats = client.stats().unwrap();
    assert_eq!((stats.counters.messages_sent, stats.counters.messages_received), (4, 4));
    assert_eq!(stats.state, "ESTABLISHED");
    let events = client.recovery_events();
    let count = |test: fn(&RecoveryEvent) -> bool| events.iter().filter(|(_, e)| test(e)).count();
    assert_eq!(count(|event| matches!(event, RecoveryEvent::Sent { new: 1, .. })), 4);
    assert!(count(|event| matches!(event, RecoveryEvent::Acknowledged { .. })) >= 1);
    assert!(events.iter().all(|(at, _)| *at <= client.clock().now()));
    assert!(client.recovery_events().is_empty());
}

#[tokio::test]
async fn a_policy_with_a_field_that_sctp_has_no_use_for_is_refused_and_changes_nothing() {
    let address = spawn_echo(server());
    let client = connect(address, AssociationOptions::default()).await.unwrap();
    let mut wrong = quick();
    wrong.loss.use_sack = false;
    let error = client.set_policy(wrong.clone()).unwrap_err().to_string();
    assert!(error.starts_with("use-sack has no effect on SCTP"), "{error}");
    client.send(ZERO, "ping").await.unwrap();
    within(client.receive()).await.unwrap().unwrap();
    let options = AssociationOptions { policy: wrong.into(), ..AssociationOptions::default() };
    let error = connect(address, options).await.unwrap_err().to_string();
    assert!(error.contains("use-sack has no effect on SCTP"), "{error}");
}

#[derive(Default)]
struct Counts {
    sent: usize,
    received: usize,
}

impl PacketTap for Counts {
    fn on_sent(&mut self, _: Instant, _: &Transmit, _: &[u8]) {
        self.sent += 1;
    }
    fn on_received(&mut self, _: Instant, _: &DatagramMeta, _: &Bytes) {
        self.received += 1;
    }
}

#[tokio::test]
async fn a_tap_sees_every_packet() {
    let tap = Arc::new(Mutex::new(Some(Counts::default())));
    let options = EndpointOptions { tap: Some(Box::new(tap.clone())), ..server_options() };
    let server = Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap();
    let (client, accepted) = pair(&server).await;
    client.send(ZERO, "x").await.unwrap();
    within(accepted.receive()).await.unwrap();
    within(client.shutdown()).await.unwrap();
    within(accepted.ended()).await;
    let counts = tap.lock().unwrap().take().unwrap();
    // Those of the encrypted session's handshake have no packets.
    let passed = server.carrier_statistics();
    let handshake = |all: u64, seen: usize| (all - seen as u64) > 0;
    assert_ne!(handshake(passed.datagrams_received, counts.received), PLAIN);
    assert_ne!(handshake(passed.datagrams_sent, counts.sent), PLAIN);
    assert!(counts.sent >= 4 && counts.received >= 4);
}

#[tokio::test]
async fn a_peer_that_lost_its_state_is_accepted_as_a_new_association() {
    let server = server();
    let address = server.local_addr();
    // The same address, UDP port included, and the same SCTP port: the same peer.
    let own = reserved::reserved_address();
    let connect_at_port_7777 = async move || {
        let identity = Some(KEY.clone());
        let options = EndpointOptions { sctp_port: Some(7777), identity, ..client_options() };
        let endpoint = Endpoint::bind(own, options).unwrap();
        let association = endpoint.connect(to(address), quick_options()).await.unwrap();
        association.send(ZERO, "early").await.unwrap();
        let unsettled = |stats: AssociationStats| stats.outstanding_bytes + stats.queued_bytes > 0;
        while association.stats().is_some_and(unsettled) {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        association
    };
    let connect = connect_at_port_7777;
    let crash = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let association = runtime.block_on(connect());
        // Without a runtime no packet can be sent: not even an ABORT.
        drop(runtime);
        drop(association);
    });
    let before = within(server.accept()).await.unwrap();
    within(tokio::task::spawn_blocking(|| crash.join().unwrap())).await.unwrap();
    let (client, after) =
        within(async { tokio::join!(connect_at_port_7777(), server.accept()) }).await;
    assert_eq!(within(before.receive()).await, Err(AssociationError::Restarted));
    assert_eq!(before.stats(), None);
    drop(before);
    let after = after.unwrap();
    client.send(ZERO, "again").await.unwrap();
    // Data that the peer sent before it lost its state was acknowledged, and is delivered.
    for expected in ["early", "early", "again"] {
        let message = within(after.receive()).await.unwrap().unwrap();
        assert_eq!(message.payload.into_bytes(), expected);
    }
    assert_eq!(server.association_count(), 1);
}

#[tokio::test]
async fn the_endpoint_works_over_ipv6_too() {
    let Ok(server) = Endpoint::bind("[::1]:0".parse().unwrap(), server_options()) else {
        return eprintln!("skipped: this machine has no IPv6");
    };
    let (client, accepted) = pair(&server).await;
    client.send(ZERO, "six").await.unwrap();
    let message = within(accepted.receive()).await.unwrap().unwrap();
    assert_eq!(message.payload.into_bytes(), "six");
}

#[tokio::test]
async fn without_udp_two_endpoints_share_an_address_by_their_ports() {
    let raw = |options| EndpointOptions { encapsulation: Encapsulation::PlainRawIp, ..options };
    let address = "127.0.0.1:0".parse().unwrap();
    let server = match Endpoint::bind(address, raw(server_options())) {
        Ok(server) => server,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let endpoint = Endpoint::bind(address, raw(client_options())).unwrap();
    let connecting = endpoint.connect(address, quick_options());
    let (client, accepted) = within(async { tokio::join!(connecting, server.accept()) }).await;
    let client = client.unwrap();
    tokio::spawn(echo(accepted.unwrap()));
    for number in 0..20 {
        client.send(ZERO, pattern(number, 5_000)).await.unwrap();
        let answer = within(client.receive()).await.unwrap().unwrap();
        assert!(answer.payload.into_bytes() == pattern(number, 5_000));
    }
    within(client.shutdown()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_associations_echo_at_the_same_time() {
    let address = spawn_echo(server());
    let clients = (0..100usize).map(|number| {
        tokio::spawn(async move {
            let client = connect(address, AssociationOptions::default()).await?;
            for round in 0..20 {
                let text = pattern(number + round, 300 + number);
                client.send(StreamId(number as u16 % 16), text.clone()).await?;
                let answer = client.receive().await?.expect("closed early");
                assert!(answer.payload.into_bytes() == text);
            }
            client.shutdown().await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        })
    });
    for client in clients.collect::<Vec<_>>() {
        within(client).await.unwrap().unwrap();
    }
}
