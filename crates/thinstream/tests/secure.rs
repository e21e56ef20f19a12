//! Properties of encryption: admitted peers, confidentiality, attackers on the path.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::*;
use thinstream::{
    Association, AssociationError, AssociationOptions, Authority, ConnectError, Encapsulation,
    Endpoint, EndpointOptions, Identity, PeerAddress, PeerList, Refusal, Trust, new_identity,
};
use tokio::net::UdpSocket;

/// A relay in front of a server for one client: keeps what it carries, and has another address
/// towards the server when told to.
struct Relay {
    at: SocketAddr,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
    moves: tokio::sync::mpsc::Sender<&'static str>,
}

impl Relay {
    async fn to(server: SocketAddr) -> Relay {
        let inside = UdpSocket::bind(LOOPBACK).await.unwrap();
        let at = inside.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (moves, mut orders) = tokio::sync::mpsc::channel::<&'static str>(1);
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            let mut outside = UdpSocket::bind(LOOPBACK).await.unwrap();
            let mut client = None;
            let (mut up, mut down) = (vec![0; 65_536], vec![0; 65_536]);
            loop {
                tokio::select! {
                    Ok((length, from)) = inside.recv_from(&mut up) => {
                        client = Some(from);
                        kept.lock().unwrap().push(up[..length].to_vec());
                        outside.send_to(&up[..length], server).await.unwrap();
                    }
                    Ok(length) = outside.recv(&mut down) => {
                        kept.lock().unwrap().push(down[..length].to_vec());
                        inside.send_to(&down[..length], client.unwrap()).await.unwrap();
                    }
                    order = orders.recv() => match order {
                        Some(address) => outside = UdpSocket::bind(address).await.unwrap(),
                        None => return,
                    },
                }
            }
        });
        Relay { at, seen, moves }
    }
}

fn endpoint(identity: &Identity) -> Endpoint {
    let identity = Some(identity.clone());
    let options = EndpointOptions { identity, ..client_options() };
    Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap()
}

/// A server that accepts these clients.
fn server_for(clients: Trust) -> Endpoint {
    let options = EndpointOptions { clients, ..server_options() };
    Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap()
}

async fn echoed(association: &Association, text: &'static str) {
    association.send(ZERO, text).await.unwrap();
    let back = within(association.receive()).await.unwrap().unwrap();
    assert_eq!(back.payload.into_bytes(), text);
}

#[tokio::test]
async fn nothing_that_is_sent_can_be_read_on_the_way() {
    let server = server();
    let relay = Relay::to(server.local_addr()).await;
    spawn_echo(server);
    let client = within(connect(relay.at, quick_options())).await.unwrap();
    echoed(&client, "a secret that all would like to know").await;
    within(client.shutdown()).await.unwrap();
    let seen = relay.seen.lock().unwrap();
    assert!(seen.len() > 8, "{}", seen.len());
    for datagram in &*seen {
        assert!(!datagram.windows(8).any(|part| part == b"a secret"));
        // Records of DTLS, the ciphertext of 1.3 or the plaintext of a handshake (RFC 9147, section
        // 4.1).
        assert!(matches!(datagram[0], 20..=26 | 32..=63), "{}", datagram[0]);
    }
    let ciphertext = seen.iter().filter(|datagram| datagram[0] >= 32).count();
    assert!(ciphertext > 6, "{ciphertext}");
}

#[tokio::test]
async fn each_side_knows_the_key_of_the_other() {
    let server = server();
    let own = new_identity();
    let endpoint = endpoint(&own);
    let connecting = endpoint.connect(to(server.local_addr()), quick_options());
    let (client, accepted) = within(async { tokio::join!(connecting, server.accept()) }).await;
    let key = |association: Association| association.peer().unwrap().fingerprint;
    assert_eq!(key(client.unwrap()), KEY.fingerprint());
    assert_eq!(key(accepted.unwrap()), own.fingerprint());
    assert_eq!(server.fingerprint(), Some(KEY.fingerprint()));
}

#[tokio::test]
async fn a_client_that_comes_with_the_key_of_others_has_none_of_their_paths_probed() {
    let (server, key) = (server(), new_identity());
    let mut all = Vec::new();
    for _ in 0..4 {
        let endpoint = endpoint(&key);
        let connecting = endpoint.connect(to(server.local_addr()), quick_options());
        let (client, accepted) = within(async { tokio::join!(connecting, server.accept()) }).await;
        all.push((client.unwrap(), accepted.unwrap()));
    }
    for (client, accepted) in all {
        for end in [client, accepted] {
            let paths = end.stats().unwrap().paths;
            assert_eq!((paths.len(), paths[0].counters.heartbeats_sent), (1, 0));
        }
    }
}

#[tokio::test]
async fn a_server_with_another_key_is_refused_and_gets_nothing() {
    let server = server();
    let other = new_identity().fingerprint();
    let peer = (server.local_addr(), other);
    let error = within(Association::connect(peer, quick_options())).await.unwrap_err();
    let ConnectError::Untrusted { remote, reason } = &error else { panic!("{error}") };
    assert_eq!(*remote, server.local_addr());
    assert_eq!(*reason, Refusal::NotListed(KEY.fingerprint()));
    assert_eq!(error.to_string().lines().count(), 1);
    assert_eq!((server.stats().datagrams, server.association_count()), (0, 0));
}

#[tokio::test]
async fn without_a_word_on_the_servers_key_no_client_begins_and_none_goes_on_in_plain() {
    let address = server().local_addr();
    let error = Association::connect(address, quick_options()).await.unwrap_err();
    assert!(matches!(error, ConnectError::NoTrust { remote } if remote == address), "{error}");
    let options =
        EndpointOptions { encapsulation: Encapsulation::PlainUdp, ..EndpointOptions::client() };
    let plain = Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap();
    let error = plain.open((address, KEY.fingerprint()), quick_options()).unwrap_err();
    assert!(matches!(error, ConnectError::NotSecure { .. }), "{error}");
    let zero_checksum = Some(sctp::ErrorDetection::Dtls);
    let options = AssociationOptions { zero_checksum, ..quick_options() };
    let error = plain.open(address, options).unwrap_err();
    assert!(matches!(error, ConnectError::ChecksumNeeded), "{error}");
}

#[tokio::test]
async fn an_encrypted_end_and_a_plain_end_never_meet() {
    let plain = |options| EndpointOptions { encapsulation: Encapsulation::PlainUdp, ..options };
    let bind = |options| Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap();
    let few = AssociationOptions { max_init_retransmits: 1, ..quick_options() };
    // In neither direction can an attacker force unencrypted packets.
    let secure = server();
    let client = bind(plain(EndpointOptions::client()));
    let error = within(client.connect(secure.local_addr(), few.clone())).await.unwrap_err();
    assert!(matches!(error, ConnectError::NoAnswer { .. }), "{error}");
    assert_eq!(secure.stats().datagrams, 0, "nothing in plain reaches SCTP");
    let server = bind(plain(EndpointOptions::server()));
    let error = within(connect(server.local_addr(), few)).await.unwrap_err();
    assert!(matches!(error, ConnectError::NoAnswer { .. }), "{error}");
    assert_eq!(server.association_count(), 0);
}

#[tokio::test]
async fn a_client_without_an_accepted_key_gets_one_clear_error_and_the_server_one_notice() {
    let allowed = new_identity();
    let server = server_for(allowed.fingerprint().into());
    let address = server.local_addr();
    let own = endpoint(&allowed);
    let connecting = own.connect(to(address), quick_options());
    let (client, accepted) = within(async { tokio::join!(connecting, server.accept()) }).await;
    tokio::spawn(echo(accepted.unwrap()));
    let client = client.unwrap();
    let stranger = new_identity();
    let options = AssociationOptions { max_init_retransmits: 2, ..quick_options() };
    let error = within(endpoint(&stranger).connect(to(address), options)).await.unwrap_err();
    let ConnectError::NotAccepted { remote, own } = error else { panic!("{error}") };
    assert_eq!((remote, own), (address, Some(stranger.fingerprint())));
    let refused = within(server.refused()).await;
    assert_eq!(refused.fingerprint, stranger.fingerprint());
    assert_eq!(server.association_count(), 1);
    echoed(&client, "not disturbed").await;
}

#[tokio::test]
async fn a_key_is_learned_on_first_use_and_holds_from_then_on() {
    let server = server();
    let known = |text: &str| Trust::FirstUse {
        name: "server:9899".to_owned(),
        known: PeerList::parse(text).unwrap(),
    };
    let peer = |trust| PeerAddress::from(server.local_addr()).trusting(trust);
    let first = within(Association::connect(peer(known("")), quick_options())).await.unwrap();
    let line = first.peer().unwrap().line_to_add.expect("it was not known");
    let second = within(Association::connect(peer(known(&line)), quick_options())).await.unwrap();
    assert_eq!(second.peer().unwrap().line_to_add, None);
    let other = format!("server:9899 {}", new_identity().fingerprint());
    let error = within(Association::connect(peer(known(&other)), quick_options())).await.err();
    assert!(
        matches!(error, Some(ConnectError::Untrusted { reason: Refusal::Changed { .. }, .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_association_that_is_set_up_again_expects_the_key_of_its_first_use() {
    let server = server();
    let address = server.local_addr();
    let trust = Trust::FirstUse { name: "server".to_owned(), known: PeerList::default() };
    let peer = PeerAddress::from(address).trusting(trust);
    let client = within(Association::connect(peer, quick_options())).await.unwrap();
    drop(within(server.accept()).await.unwrap());
    within(server.close()).await;
    // Another host takes over the address.
    let options = EndpointOptions { identity: Some(new_identity()), ..EndpointOptions::server() };
    let other = Endpoint::bind(address, options).unwrap();
    let error = within(client.reconnect()).await.unwrap_err();
    let ConnectError::Untrusted { reason, .. } = &error else { panic!("{error}") };
    assert!(matches!(reason, Refusal::Changed { .. }), "{error}");
    assert_eq!(reason.presented(), other.fingerprint());
    assert_eq!(other.association_count(), 0);
}

#[tokio::test]
async fn a_server_without_a_certificate_of_the_authority_is_refused_with_the_reason() {
    let server = server();
    let authority = include_str!("../../secure/src/authority/authority-P-256.pem");
    let authority = Authority::for_server(authority, "game.example").unwrap();
    let peer = PeerAddress::from(server.local_addr()).trusting(authority);
    let error = within(Association::connect(peer, quick_options())).await.unwrap_err();
    assert!(error.to_string().contains("none of the authorities signed it"), "{error}");
    assert_eq!(server.association_count(), 0);
}

/// An association from this address with this key, from a process of its own that is killed once it
/// is set up.
fn crash(own: SocketAddr, peer: PeerAddress, identity: Identity) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let association = runtime.block_on(async {
            let options = EndpointOptions {
                sctp_port: Some(7777),
                identity: Some(identity),
                ..client_options()
            };
            let endpoint = Endpoint::bind(own, options).unwrap();
            let association = endpoint.connect(peer, quick_options()).await.unwrap();
            association.send(ZERO, "before").await.unwrap();
            while !association.is_settled() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            association
        });
        drop(runtime);
        drop(association);
    })
    .join()
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_at_the_address_and_port_of_a_client_takes_nothing_over() {
    let server = server();
    let own = reserved::reserved_address();
    let (first, second) = (new_identity(), new_identity());
    let peer = to(server.local_addr());
    let crashing = tokio::task::spawn_blocking({
        let (peer, first) = (peer.clone(), first.clone());
        move || crash(own, peer, first)
    });
    let before = within(server.accept()).await.unwrap();
    within(crashing).await.unwrap();
    // The same address, UDP port and SCTP port, but another key: another client, served at once.
    let options = EndpointOptions {
        sctp_port: Some(7777),
        identity: Some(second.clone()),
        ..client_options()
    };
    let endpoint = Endpoint::bind(own, options).unwrap();
    let connecting = endpoint.connect(peer, quick_options());
    let (client, after) = within(async { tokio::join!(connecting, server.accept()) }).await;
    let (client, after) = (client.unwrap(), after.unwrap());
    assert_eq!(after.peer().unwrap().fingerprint, second.fingerprint());
    assert_eq!(before.peer().unwrap().fingerprint, first.fingerprint());
    client.send(ZERO, "mine").await.unwrap();
    let text = |message: thinstream::Message| message.payload.into_bytes();
    assert_eq!(text(within(after.receive()).await.unwrap().unwrap()), "mine");
    assert_eq!(text(within(before.receive()).await.unwrap().unwrap()), "before");
    assert!(before.try_receive().unwrap().is_none(), "it has not restarted, and got nothing else");
    // Packets of the server to the first client never reach the second.
    before.send(ZERO, "for the first alone").await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(client.try_receive().unwrap().is_none());
    assert_eq!(server.association_count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_restarts_at_the_same_port_is_served_at_once() {
    let server = server();
    let own = reserved::reserved_address();
    let (identity, peer) = (new_identity(), to(server.local_addr()));
    let crashing = tokio::task::spawn_blocking({
        let (peer, identity) = (peer.clone(), identity.clone());
        move || crash(own, peer, identity)
    });
    let before = within(server.accept()).await.unwrap();
    within(crashing).await.unwrap();
    let options =
        EndpointOptions { sctp_port: Some(7777), identity: Some(identity), ..client_options() };
    let began = std::time::Instant::now();
    let endpoint = Endpoint::bind(own, options).unwrap();
    let client = endpoint.connect(peer, quick_options());
    let (client, after) = within(async { tokio::join!(client, server.accept()) }).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(within(before.ended()).await, AssociationError::Restarted);
    tokio::spawn(echo(after.unwrap()));
    let client = client.unwrap();
    client.send(ZERO, "after").await.unwrap();
    // Its earlier message was acknowledged, so that it is not lost, and comes back first.
    for expected in ["before", "after"] {
        let back = within(client.receive()).await.unwrap().unwrap();
        assert_eq!(back.payload.into_bytes(), expected);
    }
}

#[tokio::test]
async fn a_client_that_moves_to_another_host_address_goes_on_with_a_new_session() {
    let server = server();
    let relay = Relay::to(server.local_addr()).await;
    let client = within(connect(relay.at, quick_options())).await.unwrap();
    let accepted = within(server.accept()).await.unwrap();
    tokio::spawn(echo(accepted.clone()));
    echoed(&client, "at home").await;
    relay.moves.send("127.0.0.3:0").await.unwrap();
    echoed(&client, "on the road").await;
    echoed(&client, "still there").await;
    let paths = accepted.stats().unwrap().paths;
    assert!(paths.iter().any(|path| path.remote.ip().to_string() == "127.0.0.3"), "{paths:?}");
    assert_eq!(client.peer().unwrap().fingerprint, KEY.fingerprint());
}

#[tokio::test]
async fn a_second_path_to_a_host_with_another_key_carries_nothing() {
    let hosts = ["127.0.0.1:0", "127.0.0.2:0"].map(|text| text.parse().unwrap());
    let server = Endpoint::bind(hosts[0], server_options()).unwrap();
    // An impostor at the second address, at the same port.
    let second = SocketAddr::new("127.0.0.2".parse().unwrap(), server.local_addr().port());
    let impostor = EndpointOptions { identity: Some(new_identity()), ..EndpointOptions::server() };
    let impostor = Endpoint::bind(second, impostor).unwrap();
    let client = Endpoint::bind_all(&hosts, client_options()).unwrap();
    let peer = to(vec![server.local_addr(), second]);
    let connecting = client.connect(peer, quick_options());
    let (client, accepted) = within(async { tokio::join!(connecting, server.accept()) }).await;
    tokio::spawn(echo(accepted.unwrap()));
    let client = client.unwrap();
    for _ in 0..10 {
        echoed(&client, "over the path of the right key").await;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    assert_eq!((impostor.stats().datagrams, impostor.association_count()), (0, 0));
    let there = client.stats().unwrap().paths.into_iter().find(|path| path.remote == second);
    assert!(there.is_none_or(|path| path.counters.heartbeats_acked == 0));
}
