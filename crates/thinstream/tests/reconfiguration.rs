//! Stream reset, added streams, added and deleted addresses, over sockets of this machine.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod support;

use std::net::SocketAddr;

use support::*;
use thinstream::{
    AddressChange, AddressError, Association, AssociationOptions, Endpoint, EndpointOptions,
    Extensions, ReconfigResult, ReconfigurationEvent, ReconfigurationPolicy,
    ReconfigurationRequest, ReconfigureError, ResetDirection, StreamId,
};

const ANYTHING: ReconfigurationPolicy =
    ReconfigurationPolicy { reset_streams: true, reset_association: true, add_streams: true };

/// Both ends of an association whose server grants this to its peer.
async fn pair_that_allows(reconfiguration: ReconfigurationPolicy) -> (Association, Association) {
    let accepted = AssociationOptions { reconfiguration, ..quick_options() };
    let options = EndpointOptions { accepted, ..server_options() };
    let server = Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap();
    pair_with(&server, quick_options()).await
}

async fn event(of: &Association) -> ReconfigurationEvent {
    within(of.reconfiguration_event()).await.unwrap()
}

async fn number_received(of: &Association) -> u16 {
    within(of.receive()).await.unwrap().unwrap().ssn().0
}

#[tokio::test]
async fn a_reset_has_its_place_among_the_messages_and_both_sides_are_told() {
    let (client, server) = pair_that_allows(ReconfigurationPolicy::default()).await;
    let stream = StreamId(5);
    for _ in 0..3 {
        client.send(stream, "before").await.unwrap();
        client.send(stream, "before").await.unwrap();
        client.reset_streams(ResetDirection::Outgoing, &[stream]).unwrap();
    }
    client.send(stream, "after").await.unwrap();
    for number in [0, 1, 0, 1, 0, 1, 0] {
        assert_eq!(number_received(&server).await, number);
    }
    let told =
        |direction| ReconfigurationEvent::StreamsReset { direction, streams: [stream].into() };
    for _ in 0..3 {
        assert_eq!(event(&client).await, told(ResetDirection::Outgoing));
        assert_eq!(event(&server).await, told(ResetDirection::Incoming));
    }
    assert_eq!(client.try_reconfiguration_event(), None);
}

#[tokio::test]
async fn the_peers_streams_and_all_streams_can_be_reset() {
    let (client, server) = pair_that_allows(ReconfigurationPolicy::default()).await;
    server.send(ZERO, "number 0").await.unwrap();
    assert_eq!(number_received(&client).await, 0);
    client.reset_streams(ResetDirection::Incoming, &[ZERO]).unwrap();
    let incoming = ResetDirection::Incoming;
    let told = ReconfigurationEvent::StreamsReset { direction: incoming, streams: [ZERO].into() };
    assert_eq!(event(&client).await, told);
    server.send(ZERO, "number 0 again").await.unwrap();
    assert_eq!(number_received(&client).await, 0);
    client.send(ZERO, "number 0").await.unwrap();
    client.reset_streams(ResetDirection::Outgoing, &[]).unwrap();
    client.send(ZERO, "number 0 again").await.unwrap();
    assert_eq!((number_received(&server).await, number_received(&server).await), (0, 0));
}

#[tokio::test]
async fn an_association_begins_again_and_grows_where_the_peer_lets_it() {
    let (client, server) = pair_that_allows(ANYTHING).await;
    client.send(ZERO, "number 0").await.unwrap();
    client.reset_association().unwrap();
    client.send(ZERO, "number 0 again").await.unwrap();
    assert_eq!((number_received(&server).await, number_received(&server).await), (0, 0));
    let begun_again = event(&client).await;
    assert!(matches!(begun_again, ReconfigurationEvent::AssociationReset { .. }));
    assert!(matches!(event(&server).await, ReconfigurationEvent::AssociationReset { .. }));

    let streams = client.outbound_streams();
    assert!(client.send(StreamId(streams), "too far").await.is_err());
    client.add_streams(4, 0).unwrap();
    let added = ReconfigurationEvent::StreamsAdded { outgoing: 4, incoming: 0 };
    assert_eq!(event(&client).await, added);
    assert_eq!(client.outbound_streams(), streams + 4);
    client.send(StreamId(streams), "not too far").await.unwrap();
    let message = within(server.receive()).await.unwrap().unwrap();
    assert_eq!(message.stream, StreamId(streams));
    assert_eq!(client.add_streams(0, 0), Err(ReconfigureError::BadCount));
}

#[tokio::test]
async fn what_the_peer_does_not_allow_is_refused_and_messages_flow_all_the_same() {
    let none = ReconfigurationPolicy { reset_streams: false, ..ReconfigurationPolicy::default() };
    let (client, server) = pair_that_allows(none).await;
    client.reset_streams(ResetDirection::Outgoing, &[ZERO]).unwrap();
    client.send(ZERO, "still number 0").await.unwrap();
    let request = ReconfigurationRequest::ResetStreams {
        direction: ResetDirection::Outgoing,
        streams: [ZERO].into(),
    };
    let refused = ReconfigurationEvent::Refused { request, result: ReconfigResult::DENIED };
    assert_eq!(event(&client).await, refused);
    assert_eq!(number_received(&server).await, 0);
    let beyond = client.reset_streams(ResetDirection::Outgoing, &[StreamId(99)]);
    assert!(matches!(beyond, Err(ReconfigureError::NoSuchStream { .. })));
}

#[tokio::test]
async fn where_it_was_not_agreed_on_or_all_is_over_nothing_can_be_asked_for() {
    let server = server();
    let without = Extensions::default().without(Extensions::STREAM_RECONFIGURATION);
    let options = AssociationOptions { extensions: without, ..quick_options() };
    let (client, accepted) = pair_with(&server, options).await;
    let reset = |of: &Association| of.reset_streams(ResetDirection::Outgoing, &[]);
    assert_eq!(reset(&client), Err(ReconfigureError::NotNegotiated));
    let refused = client.add_address(client.remote()).unwrap_err();
    assert!(matches!(refused, AddressError::NoSocket(_) | AddressError::Refused(_)), "{refused}");
    accepted.abort("enough");
    within(client.ended()).await;
    assert_eq!(reset(&client), Err(ReconfigureError::NotEstablished));
    assert_eq!(within(client.reconfiguration_event()).await, None);
}

#[tokio::test]
async fn an_address_goes_and_comes_back_and_is_made_primary() {
    let two: [SocketAddr; 2] = ["127.0.0.1:0", "127.0.0.2:0"].map(|text| text.parse().unwrap());
    let extensions = Extensions::default() | Extensions::ADDRESS_RECONFIGURATION;
    let options = AssociationOptions { extensions, ..quick_options() };
    let accepted = EndpointOptions { accepted: options.clone(), ..server_options() };
    let server = Endpoint::bind_all(&two, accepted).unwrap();
    let endpoint = Endpoint::bind_all(&two, client_options()).unwrap();
    let here = endpoint.local_addrs();
    let connect = endpoint.connect(to(server.local_addrs()), options);
    let (client, accepted) = within(async { tokio::join!(connect, server.accept()) }).await;
    let (client, accepted) = (client.unwrap(), accepted.unwrap());
    let nowhere = "127.0.0.9:9".parse::<SocketAddr>().unwrap();
    assert_eq!(client.add_address(nowhere), Err(AddressError::NoSocket(nowhere.ip())));
    let last = sctp::AddressError::Known(here[1].ip());
    assert_eq!(client.add_address(here[1]), Err(AddressError::Refused(last)));

    type Ask = fn(&Association, SocketAddr) -> Result<(), AddressError>;
    let ask: [(AddressChange, Ask); 3] = [
        (AddressChange::Deleted, Association::remove_address),
        (AddressChange::Added, Association::add_address),
        (AddressChange::MadePrimary, Association::set_peer_primary),
    ];
    for (change, ask) in ask {
        let local = here[1];
        ask(&client, local).unwrap();
        let address = local.ip();
        assert_eq!(event(&client).await, ReconfigurationEvent::OwnAddress { change, address });
        assert_eq!(event(&accepted).await, ReconfigurationEvent::PeerAddress { change, address });
        client.send(ZERO, "over whatever path").await.unwrap();
        within(accepted.receive()).await.unwrap().unwrap();
    }
    assert_eq!(accepted.remote().ip(), here[1].ip());
    accepted.send(ZERO, "to the primary address").await.unwrap();
    within(client.receive()).await.unwrap().unwrap();
}
