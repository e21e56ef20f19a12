//! Endpoints of several shards: distribution, hand-over and closing of associations.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::sync::{LazyLock, mpsc};

use base::Probability;
use io::{Emulator, EmulatorConfig};
use netsim::{Link, LinkConfig, LossModel};
use sctp::{Failure, StreamId};
use tokio::runtime::Runtime;

use self::reserved::reserved_address;
use super::*;
use crate::{Encapsulation, MemoryLimits, PeerAddress};

#[path = "../../tests/support/reserved.rs"]
mod reserved;

const ZERO: StreamId = StreamId(0);

/// Out of Resource (RFC 9260, section 3.3.10.4).
const OUT_OF_RESOURCE: u16 = 4;

fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

const BOTH: [Encapsulation; 2] = [Encapsulation::PlainUdp, Encapsulation::Secure];

fn options(encapsulation: Encapsulation, shards: usize) -> EndpointOptions {
    let shards = NonZeroUsize::new(shards).unwrap();
    EndpointOptions { encapsulation, shards, ..EndpointOptions::server() }
}

fn server(encapsulation: Encapsulation, shards: usize) -> Endpoint {
    Endpoint::bind(loopback(), options(encapsulation, shards)).unwrap()
}

fn client(encapsulation: Encapsulation) -> Endpoint {
    let options = EndpointOptions { encapsulation, ..EndpointOptions::client() };
    Endpoint::bind(loopback(), options).unwrap()
}

/// The address of a server, with its key.
fn to(server: &Endpoint) -> PeerAddress {
    let peer = PeerAddress::new(server.local_addr(), server.sctp_port());
    match server.fingerprint() {
        Some(key) => peer.trusting(key),
        None => peer,
    }
}

/// The result of `future`, which has 30 s.
async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("took too long")
}

/// Opens an association to the server with an endpoint that does nothing else.
async fn connect(server: &Endpoint) -> Result<Association, ConnectError> {
    let encapsulation = if server.fingerprint().is_some() {
        Encapsulation::Secure
    } else {
        Encapsulation::PlainUdp
    };
    within(client(encapsulation).connect(to(server), AssociationOptions::default())).await
}

async fn pair(server: &Endpoint) -> (Association, Association) {
    let (client, accepted) = tokio::join!(connect(server), within(server.accept()));
    (client.unwrap(), accepted.unwrap())
}

/// Sends everything back until the association ends.
async fn echo(association: Association) {
    while let Ok(Some(message)) = association.receive().await {
        if association.send(message.stream, message.payload.into_bytes()).await.is_err() {
            return;
        }
    }
}

async fn echoed(association: &Association, text: String) {
    association.send(ZERO, text.clone()).await.unwrap();
    let back = within(association.receive()).await.unwrap().unwrap();
    assert_eq!(back.payload.into_bytes(), text);
}

/// Number of associations in each shard.
fn counts(server: &Endpoint) -> Vec<usize> {
    server.of_shards(sctp::Endpoint::association_count).collect()
}

/// Index of the shard whose driver serves an accepted association.
fn shard_of(server: &Endpoint, accepted: &Association) -> usize {
    let own = |shard: &Arc<io::Shared<crate::node::Node>>| accepted.is_of(shard);
    server.listener.driver.shards().position(own).unwrap()
}

/// Two clients at different shards, and their accepted ends.
async fn at_both_shards(server: &Endpoint) -> [(Association, Association); 2] {
    let mut found = [None, None];
    while found.iter().any(Option::is_none) {
        let pair = pair(server).await;
        let shard = shard_of(server, &pair.1);
        found[shard] = Some(pair);
    }
    found.map(Option::unwrap)
}

#[tokio::test]
async fn clients_spread_over_the_shards_and_their_packets_find_them_without_being_handed_over() {
    for encapsulation in BOTH {
        let server = server(encapsulation, 2);
        let mut clients = Vec::new();
        // A fair coin shows one side 64 times in a row once in 10^19 tests.
        for _ in 0..64 {
            let (client, accepted) = pair(&server).await;
            tokio::spawn(echo(accepted));
            clients.push(client);
        }
        let counts = counts(&server);
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        assert_eq!((counts.iter().sum::<usize>(), server.association_count()), (64, 64));
        let (before, handed_over) = (server.carrier_statistics(), server.hand_over_statistics());
        assert!(handed_over.handed_over <= 64, "INITs alone: {handed_over:?}");
        for round in 0..3 {
            for (index, client) in clients.iter().enumerate() {
                echoed(client, format!("{index} of round {round}")).await;
            }
        }
        let after = server.carrier_statistics();
        assert!(after.datagrams_received >= before.datagrams_received + 192);
        if io::can_group() {
            assert_eq!(server.hand_over_statistics(), handed_over);
        }
        assert_eq!(server.stats().inits, 64);
        assert_eq!((server.stats().out_of_the_blue, server.stats().wrong_tag), (0, 0));
        assert!(server.buffered_bytes() > 0);
    }
}

#[tokio::test]
async fn the_end_of_an_encrypted_session_is_sought_at_no_other_shard() {
    if !io::can_group() {
        return;
    }
    let server = server(Encapsulation::Secure, 3);
    let mut pairs = Vec::new();
    for _ in 0..8 {
        pairs.push(pair(&server).await);
    }
    let sessions = || -> usize {
        server
            .listener
            .driver
            .shards()
            .map(|shard| shard.inspect(|node| node.session_count()))
            .sum()
    };
    assert_eq!(sessions(), 8);
    let before = server.hand_over_statistics();
    for (client, accepted) in pairs {
        within(client.shutdown()).await.unwrap();
        drop(accepted);
    }
    let over = async {
        while sessions() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(over).await;
    assert_eq!(server.hand_over_statistics(), before);
}

#[tokio::test]
async fn a_client_whose_port_changes_is_sought_once() {
    if !io::can_group() {
        return;
    }
    let server = server(Encapsulation::Secure, 4);
    let inside = tokio::net::UdpSocket::bind(loopback()).await.unwrap();
    let mut peer = PeerAddress::new(inside.local_addr().unwrap(), server.sctp_port());
    peer = peer.trusting(server.fingerprint().unwrap());
    let (ports, mut next) = tokio::sync::mpsc::channel::<tokio::net::UdpSocket>(1);
    let there = server.local_addr();
    tokio::spawn(async move {
        let (mut outside, mut client) = (next.recv().await.unwrap(), None);
        let (mut up, mut down) = ([0; 2_000], [0; 2_000]);
        loop {
            tokio::select! {
                Ok((length, from)) = inside.recv_from(&mut up) => {
                    client = Some(from);
                    outside.send_to(&up[..length], there).await.unwrap();
                }
                Ok(length) = outside.recv(&mut down) => {
                    inside.send_to(&down[..length], client.unwrap()).await.unwrap();
                }
                Some(port) = next.recv() => outside = port,
                else => return,
            }
        }
    });
    let port = || async { tokio::net::UdpSocket::bind(loopback()).await.unwrap() };
    ports.send(port().await).await.unwrap();
    let endpoint = client(Encapsulation::Secure);
    let connect = endpoint.connect(peer, AssociationOptions::default());
    let (own, accepted) = within(async { tokio::join!(connect, server.accept()) }).await;
    let own = own.unwrap();
    tokio::spawn(echo(accepted.unwrap()));
    let detour = |whom| server.listener.driver.detour(whom);
    loop {
        let before = server.hand_over_statistics();
        let port = port().await;
        let whom = (loopback().ip(), port.local_addr().unwrap().port());
        ports.send(port).await.unwrap();
        echoed(&own, "from the new port".to_owned()).await;
        // The system leads one port in four to the shard of the session.
        if server.hand_over_statistics() == before {
            assert_eq!(detour(whom), None);
            continue;
        }
        echoed(&own, "and again".to_owned()).await;
        assert!(detour(whom).is_some());
        break;
    }
    within(own.shutdown()).await.unwrap();
}

#[tokio::test]
async fn one_receiver_serves_all_shards_where_the_system_does_not_distribute() {
    for encapsulation in BOTH {
        let driver = Driver::bind_grouped(&[loopback()], options(encapsulation, 3), false).unwrap();
        let server = Endpoint::of(driver);
        let mut clients = Vec::new();
        for _ in 0..64 {
            let (client, accepted) = pair(&server).await;
            tokio::spawn(echo(accepted));
            clients.push(client);
        }
        let counts = counts(&server);
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        for (index, client) in clients.iter().enumerate() {
            echoed(client, format!("{index}")).await;
        }
        let statistics = server.hand_over_statistics();
        assert!(statistics.handed_over > 64, "{statistics:?}");
        assert_eq!(statistics.dropped, 0);
        for client in clients {
            within(client.shutdown()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_close_ends_the_associations_of_all_shards_and_the_accepting() {
    for encapsulation in BOTH {
        let server = server(encapsulation, 2);
        let pairs = at_both_shards(&server).await;
        let other = server.clone();
        let accepting = tokio::spawn(async move { other.accept().await.map(|_| ()) });
        tokio::task::yield_now().await;
        within(server.close()).await;
        assert_eq!(within(accepting).await.unwrap(), Err(EndpointError::Closed));
        for (client, accepted) in pairs {
            let gone = within(client.ended()).await;
            assert!(
                matches!(gone, AssociationError::Failed(Failure::AbortedByPeer { .. })),
                "{gone}"
            );
            assert_eq!(within(accepted.ended()).await, AssociationError::EndpointClosed);
        }
    }
}

#[tokio::test]
async fn a_host_has_no_more_associations_than_it_may_over_all_shards() {
    for encapsulation in BOTH {
        let per_peer = EndpointOptions { max_per_peer: Some(5), ..options(encapsulation, 2) };
        let server = Endpoint::bind(loopback(), per_peer).unwrap();
        let mut pairs = Vec::new();
        for _ in 0..5 {
            pairs.push(pair(&server).await);
        }
        for _ in 0..4 {
            let refused = connect(&server).await.unwrap_err();
            assert!(
                matches!(refused, ConnectError::Refused { code: OUT_OF_RESOURCE, .. }),
                "{refused}"
            );
        }
        assert_eq!(server.association_count(), 5);
        assert!(server.stats().refused_per_peer >= 4);
        // One that goes leaves its place, at whichever shard.
        let (client, accepted) = pairs.pop().unwrap();
        within(client.shutdown()).await.unwrap();
        drop((client, accepted));
        pairs.push(pair(&server).await);
        assert_eq!(server.association_count(), 5);
    }
}

#[tokio::test]
async fn there_are_no_more_associations_than_there_may_be_over_all_shards() {
    for encapsulation in BOTH {
        let few = EndpointOptions {
            max_associations: 6,
            max_per_peer: Some(6),
            ..options(encapsulation, 2)
        };
        let server = Endpoint::bind(loopback(), few).unwrap();
        let mut used = Vec::new();
        while used.len() < 6 {
            let (client, accepted) = pair(&server).await;
            tokio::spawn(echo(accepted));
            echoed(&client, "in use".to_owned()).await;
            used.push(client);
        }
        for _ in 0..6 {
            let refused = connect(&server).await.unwrap_err();
            assert!(
                matches!(refused, ConnectError::Refused { code: OUT_OF_RESOURCE, .. }),
                "{refused}"
            );
            assert_eq!(server.association_count(), 6);
        }
        assert!(server.stats().refused_full >= 6, "{:?}", server.stats());
        for client in &used {
            echoed(client, "still in use".to_owned()).await;
        }
        within(used.pop().unwrap().shutdown()).await.unwrap();
        within(async {
            while server.association_count() > 5 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        pair(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_that_blocks_its_thread_holds_up_no_other_shard() {
    for encapsulation in BOTH {
        let server = server(encapsulation, 2);
        let [(blocked, blocking), (client, accepted)] = at_both_shards(&server).await;
        tokio::spawn(echo(accepted));
        let (go_on, wait) = mpsc::channel();
        let (is_blocked, blocks) = tokio::sync::oneshot::channel();
        let handler = tokio::spawn(async move {
            let message = blocking.receive().await.unwrap().unwrap();
            is_blocked.send(()).unwrap();
            // Until the other association has done its work: if this held it up, both would wait
            // for ever.
            wait.recv().unwrap();
            blocking.send(ZERO, message.payload.into_bytes()).await.unwrap();
            blocking
        });
        blocked.send(ZERO, "block").await.unwrap();
        within(blocks).await.unwrap();
        for number in 0..50 {
            echoed(&client, format!("{number}")).await;
        }
        go_on.send(()).unwrap();
        let blocking = within(handler).await.unwrap();
        assert!(within(blocked.receive()).await.unwrap().is_some());
        drop(blocking);
    }
}

/// The key of clients that restart.
static KEY: LazyLock<crate::Identity> = LazyLock::new(crate::new_identity);

/// A client at an address and an SCTP port of its own, that goes without a word.
struct Client {
    runtime: Runtime,
    association: Association,
}

impl Client {
    fn at(
        own: SocketAddr,
        sctp_port: u16,
        encapsulation: Encapsulation,
        server: PeerAddress,
    ) -> Client {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let association = runtime.block_on(async {
            let sctp_port = Some(sctp_port);
            let identity = Some(KEY.clone());
            let client =
                EndpointOptions { encapsulation, sctp_port, identity, ..EndpointOptions::client() };
            let client = Endpoint::bind(own, client).unwrap();
            within(client.connect(server, AssociationOptions::default())).await.unwrap()
        });
        Client { runtime, association }
    }

    fn kill(self) {
        self.runtime.shutdown_timeout(Duration::from_secs(5));
        drop(self.association);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_restarts_is_known_at_whichever_shard_it_is() {
    for encapsulation in BOTH {
        let server = server(encapsulation, 4);
        let address = to(&server);
        let mut shards = std::collections::BTreeSet::new();
        for sctp_port in 6000..6012 {
            let own = reserved_address();
            let address = address.clone();
            let client = move || Client::at(own, sctp_port, encapsulation, address.clone());
            let first = tokio::task::spawn_blocking(client.clone()).await.unwrap();
            let accepted = within(server.accept()).await.unwrap();
            shards.insert(shard_of(&server, &accepted));
            tokio::task::spawn_blocking(move || first.kill()).await.unwrap();
            let second = tokio::task::spawn_blocking(client).await.unwrap();
            assert_eq!(within(accepted.receive()).await.unwrap_err(), AssociationError::Restarted);
            let anew = within(server.accept()).await.unwrap();
            assert_eq!(shard_of(&server, &anew), shard_of(&server, &accepted));
            drop(accepted);
            assert_eq!(server.association_count(), 1);
            within(second.association.shutdown()).await.unwrap();
            tokio::task::spawn_blocking(move || second.kill()).await.unwrap();
            drop(anew);
            within(async {
                while server.association_count() > 0 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        }
        assert!(shards.len() > 1, "{shards:?}");
    }
}

#[tokio::test]
async fn an_endpoint_of_several_shards_opens_associations_too_and_one_to_each_peer() {
    for encapsulation in BOTH {
        let [here, there] = [server(encapsulation, 3), server(encapsulation, 3)];
        let mut shards = std::collections::BTreeSet::new();
        for number in 0..16 {
            let options =
                EndpointOptions { sctp_port: Some(7000 + number), ..options(encapsulation, 1) };
            let peer = Endpoint::bind(loopback(), options).unwrap();
            let at = to(&peer);
            let connect = here.connect(at.clone(), AssociationOptions::default());
            let (own, accepted) = within(async { tokio::join!(connect, peer.accept()) }).await;
            let own = own.unwrap();
            shards.insert(shard_of(&here, &own));
            tokio::spawn(echo(accepted.unwrap()));
            echoed(&own, format!("{number}")).await;
            let again = within(here.connect(at, AssociationOptions::default())).await;
            assert!(matches!(again, Err(ConnectError::Exists(_))));
            std::mem::forget(own);
        }
        assert!(shards.len() > 1, "{shards:?}");
        let connect = here.connect(to(&there), AssociationOptions::default());
        let (own, accepted) = within(async { tokio::join!(connect, there.accept()) }).await;
        tokio::spawn(echo(accepted.unwrap()));
        echoed(&own.unwrap(), "shards at both ends".to_owned()).await;
    }
}

#[tokio::test]
async fn shards_that_cannot_be_had_are_refused_with_what_can() {
    type Change = fn(&mut EndpointOptions);
    let cases: [(Change, &str); 3] = [
        (|own| own.shards = 257.try_into().unwrap(), "shards is 257: it should be at most 256"),
        (
            |own| own.listen = false,
            "shards is 2: it should be 1 where the endpoint does not listen",
        ),
        (
            |own| own.memory = MemoryLimits::of(1 << 20),
            "memory is 1048576 bytes: it should be at least 2097152 with 2 shards",
        ),
    ];
    for (change, wanted) in cases {
        let mut options = options(Encapsulation::PlainUdp, 2);
        change(&mut options);
        let error = Endpoint::bind(loopback(), options).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[tokio::test]
async fn the_paths_of_an_association_meet_at_one_shard() {
    let two = [loopback(), (Ipv4Addr::new(127, 0, 0, 2), 0).into()];
    for encapsulation in BOTH {
        let server = Endpoint::bind_all(&two, options(encapsulation, 4)).unwrap();
        let peer = PeerAddress::from(server.local_addrs());
        let peer = match server.fingerprint() {
            Some(key) => peer.trusting(key),
            None => peer,
        };
        for _ in 0..6 {
            let client = EndpointOptions { encapsulation, ..EndpointOptions::client() };
            let client = Endpoint::bind_all(&two, client).unwrap();
            let connect = client.connect(peer.clone(), AssociationOptions::default());
            let (own, accepted) = within(async { tokio::join!(connect, server.accept()) }).await;
            let (own, accepted) = (own.unwrap(), accepted.unwrap());
            within(async {
                for end in [&own, &accepted] {
                    let confirmed =
                        || end.stats().unwrap().paths.iter().filter(|path| path.confirmed).count();
                    while confirmed() < 2 {
                        end.path_event().await.unwrap();
                    }
                }
            })
            .await;
            tokio::spawn(echo(accepted));
            for path in server.local_addrs() {
                assert!(own.set_primary(path));
                echoed(&own, format!("by {path}")).await;
            }
            within(own.shutdown()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn every_message_of_many_clients_survives_a_network_that_loses_a_twentieth_each_way() {
    let link = |seed, index| {
        let mut config = LinkConfig::with_delay(base::Duration::from_millis(3));
        config.loss = LossModel::Bernoulli(Probability::from_ratio(1, 20));
        Link::new(config, seed, index).unwrap()
    };
    for (encapsulation, seed) in BOTH.into_iter().zip([1, 2]) {
        let server = server(encapsulation, 2);
        let to_server = EmulatorConfig::new(loopback(), server.local_addr());
        let (up, down) = (link(seed, 0), link(seed, 1));
        let emulator = Emulator::start(to_server, up, down, Clock::start()).unwrap();
        let mut peer = PeerAddress::new(emulator.local_addr(), server.sctp_port());
        if let Some(key) = server.fingerprint() {
            peer = peer.trusting(key);
        }
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Ok(association) = accepting.accept().await {
                tokio::spawn(echo(association));
            }
        });
        let clients = (0..16).map(|number| {
            let peer = peer.clone();
            tokio::spawn(async move {
                let client = client(encapsulation);
                let connect = client.connect(peer, AssociationOptions::default());
                let own = within(connect).await.unwrap();
                for round in 0..30 {
                    echoed(&own, format!("{round} of {number}: {}", "x".repeat(round * 100))).await;
                }
                within(own.shutdown()).await.unwrap();
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        let lost = emulator.statistics().up.link.dropped_by_loss.packets;
        assert!(lost > 10, "{lost}");
        assert_eq!(server.hand_over_statistics().dropped, 0);
    }
}
