//! Two endpoints over loopback sockets.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use thinstream::{
    Association, AssociationOptions, ConnectError, Encapsulation, Endpoint, EndpointOptions,
    Identity, PeerAddress, RecoveryPolicy, StreamId, new_identity,
};

pub mod reserved;

pub const LOOPBACK: &str = "127.0.0.1:0";
pub const ZERO: StreamId = StreamId(0);

/// Whether packets travel unencrypted: in `tests/plain.rs` and `tests/plain_shards.rs`, which run
/// the other tests once more.
pub const PLAIN: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"plain" | b"plain_shards");

/// Shards of servers: several in `tests/plain_shards.rs` and `tests/secure_shards.rs`.
const SHARDS: usize = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"plain_shards" | b"secure_shards" => 3,
    _ => 1,
};

/// The key of all servers of a process.
pub static KEY: LazyLock<Identity> = LazyLock::new(new_identity);

/// Options of a server, encrypted with [`KEY`] or unencrypted.
pub fn server_options() -> EndpointOptions {
    let identity = Some(KEY.clone());
    let shards = SHARDS.try_into().unwrap();
    EndpointOptions {
        encapsulation: encapsulation(),
        identity,
        shards,
        ..EndpointOptions::server()
    }
}

/// Options of an endpoint that accepts nothing, encrypted or not.
pub fn client_options() -> EndpointOptions {
    EndpointOptions { encapsulation: encapsulation(), ..EndpointOptions::client() }
}

fn encapsulation() -> Encapsulation {
    if PLAIN { Encapsulation::PlainUdp } else { Encapsulation::Secure }
}

/// A server with [`KEY`] at an address, or several.
pub fn to(peer: impl Into<PeerAddress>) -> PeerAddress {
    let peer = peer.into();
    if PLAIN { peer } else { peer.trusting(KEY.fingerprint()) }
}

/// An endpoint for associations to `remote`.
pub fn client_endpoint(remote: SocketAddr) -> Result<Endpoint, thinstream::BindError> {
    Endpoint::bind(io::unspecified_for(remote), client_options())
}

/// An association from an endpoint of its own.
pub async fn connect(
    peer: impl Into<PeerAddress>,
    options: AssociationOptions,
) -> Result<Association, ConnectError> {
    let peer = to(peer);
    match peer.addresses.as_slice().first() {
        Some(first) => client_endpoint(*first).unwrap().connect(peer, options).await,
        None => Association::connect(peer, options).await,
    }
}

/// A listening endpoint at a free port.
pub fn server() -> Endpoint {
    Endpoint::bind(LOOPBACK.parse().unwrap(), server_options()).unwrap()
}

/// An association, its two ends.
pub async fn pair(server: &Endpoint) -> (Association, Association) {
    pair_with(server, AssociationOptions::default()).await
}

pub async fn pair_with(
    server: &Endpoint,
    options: AssociationOptions,
) -> (Association, Association) {
    let connect = connect(server.local_addr(), options);
    let (client, accepted) = within(async { tokio::join!(connect, server.accept()) }).await;
    (client.unwrap(), accepted.unwrap())
}

/// Sends everything back until the association ends.
pub async fn echo(association: Association) {
    while let Ok(Some(message)) = association.receive().await {
        if association.send(message.stream, message.payload.into_bytes()).await.is_err() {
            return;
        }
    }
}

/// Accepts and echoes for ever.
pub fn spawn_echo(server: Endpoint) -> SocketAddr {
    let address = server.local_addr();
    tokio::spawn(async move {
        while let Ok(association) = server.accept().await {
            tokio::spawn(echo(association));
        }
    });
    address
}

/// A policy with short timeouts, for fast tests.
pub fn quick() -> RecoveryPolicy {
    let mut policy = RecoveryPolicy::sctp_thin();
    policy.rto.initial = base::Duration::from_millis(100);
    policy.rto.min = base::Duration::from_millis(50);
    policy.rto.min_while_thin = None;
    policy.rto.max = base::Duration::from_millis(200);
    policy.acknowledgement.delay = None;
    policy
}

pub fn quick_options() -> AssociationOptions {
    AssociationOptions { policy: quick().into(), ..AssociationOptions::default() }
}

/// The result of `future`, which has 30 s.
pub async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("took too long")
}

/// `length` bytes that differ from message to message.
pub fn pattern(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 + seed * 17 + index / 251) as u8).collect()
}
