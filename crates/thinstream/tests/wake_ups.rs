//! Number of times that the threads of a server and of a client wake for messages.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use support::*;
use thinstream::{
    Association, AssociationOptions, Encapsulation, Endpoint, EndpointOptions, RecoveryPolicy,
    StreamId,
};

const CLIENTS: usize = 20;
const ROUNDS: u64 = 50;

/// A runtime for this thread, and how often the thread has woken.
fn counting() -> (tokio::runtime::Runtime, Arc<AtomicU64>) {
    let wakes = Arc::new(AtomicU64::new(0));
    let woken = Arc::clone(&wakes);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_unpark(move || _ = woken.fetch_add(1, Ordering::Relaxed))
        .build()
        .unwrap();
    (runtime, wakes)
}

/// A thread with a server that answers each message, and how often it has woken; ends with the
/// sender.
fn server(
    encapsulation: Encapsulation,
) -> (SocketAddr, Arc<AtomicU64>, tokio::sync::oneshot::Sender<()>) {
    let (tell, address) = mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let (tell_wakes, wakes) = mpsc::channel();
    std::thread::spawn(move || {
        let (runtime, wakes) = counting();
        tell_wakes.send(wakes).unwrap();
        runtime.block_on(async {
            // Timers of a second at least, which do not expire here.
            let policy = Arc::new(RecoveryPolicy::sctp_rfc());
            let options = EndpointOptions {
                encapsulation,
                accepted: AssociationOptions { policy, ..AssociationOptions::default() },
                ..server_options()
            };
            let server = Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap();
            tell.send(spawn_echo(server)).unwrap();
            let _ = stopped.await;
        });
    });
    (address.recv().unwrap(), wakes.recv().unwrap(), stop)
}

async fn client(encapsulation: Encapsulation, server: SocketAddr) -> Association {
    let options = EndpointOptions { encapsulation, ..EndpointOptions::client() };
    let endpoint = Endpoint::bind(LOOPBACK.parse().unwrap(), options).unwrap();
    let peer = match encapsulation {
        Encapsulation::Secure => to(server),
        _ => server.into(),
    };
    within(endpoint.connect(peer, AssociationOptions::default())).await.unwrap()
}

/// Sends messages from each client in turn, and waits for each answer.
async fn exchange(clients: &[Association], rounds: u64) {
    for _ in 0..rounds {
        for client in clients {
            client.send(StreamId(0), "x").await.unwrap();
            assert!(within(client.receive()).await.unwrap().is_some());
        }
    }
}

#[tokio::test]
async fn a_message_wakes_the_server_and_the_acknowledgement_of_its_answer_does_not() {
    for encapsulation in [Encapsulation::PlainUdp, Encapsulation::Secure] {
        let (address, wakes, stop) = server(encapsulation);
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            clients.push(client(encapsulation, address).await);
        }
        exchange(&clients, 1).await;
        let before = wakes.load(Ordering::Relaxed);
        exchange(&clients, ROUNDS).await;
        let woken = wakes.load(Ordering::Relaxed) - before;
        let messages = ROUNDS * CLIENTS as u64;
        // Each acknowledgement woke it once more when it arrived at the same socket.
        assert!(woken <= messages * 11 / 10, "{encapsulation:?}: {woken} for {messages} messages");
        drop(stop);
    }
}

#[test]
fn the_answer_to_its_message_wakes_a_client_once() {
    for encapsulation in [Encapsulation::PlainUdp, Encapsulation::Secure] {
        let (address, _, stop) = server(encapsulation);
        let (runtime, wakes) = counting();
        runtime.block_on(async {
            let clients = [client(encapsulation, address).await];
            exchange(&clients, 1).await;
            let before = wakes.load(Ordering::Relaxed);
            exchange(&clients, 1000).await;
            let woken = wakes.load(Ordering::Relaxed) - before;
            // A socket whose writability is waited for wakes it once more for each message that
            // leaves.
            assert!(woken <= 1100, "{encapsulation:?}: {woken} for 1000 messages");
        });
        drop(stop);
    }
}
