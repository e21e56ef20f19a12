//! Allocations and wake-ups of a message of the library's interface: both ends on one thread, over
//! loopback.
//!
//! `cargo run --release -p thinstream --example message_cost` prints the table of
//! `docs/performance.md`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thinstream::{
    Association, AssociationOptions, Bytes, Encapsulation, Endpoint, EndpointOptions, PeerAddress,
    StreamId,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Messages that are counted, after as many that are not.
const MESSAGES: u64 = 5_000;
/// Messages that are sent before the first of them is read.
const BURST: u64 = 100;

fn main() -> Result<()> {
    println!("| | allocations | bytes allocated | wake-ups |\n|---|---:|---:|---:|");
    for (name, encapsulation) in
        [("encrypted", Encapsulation::Secure), ("plain", Encapsulation::PlainUdp)]
    {
        let [one, burst] = measure(encapsulation)?;
        println!("| {name}, one message at a time, and its echo | {one} |");
        println!("| {name}, bursts of {BURST} messages one way | {burst} |");
    }
    Ok(())
}

/// Cost of a message, both ends together, one at a time and in bursts: cells of the table.
pub fn measure(encapsulation: Encapsulation) -> Result<[String; 2]> {
    // The thread parks when no task is ready: each return from there is a wake-up.
    let wakes = Arc::new(AtomicU64::new(0));
    let woken = Arc::clone(&wakes);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_unpark(move || _ = woken.fetch_add(1, Ordering::Relaxed))
        .build()?;
    let (client, server, _endpoint) = runtime.block_on(pair(encapsulation))?;
    let payload = Bytes::from_static(&[7; 100]);
    let mut measured = [String::new(), String::new()];
    for (cell, burst) in measured.iter_mut().zip([false, true]) {
        let run = async || match burst {
            false => echoes(&client, &server, &payload).await,
            true => bursts(&client, &server, &payload).await,
        };
        runtime.block_on(run())?;
        let before = wakes.load(Ordering::Relaxed);
        let mut result = Ok(());
        let counted = allocation_counter::measure(|| result = runtime.block_on(run()));
        result?;
        let each = |count: u64| count as f64 / MESSAGES as f64;
        let woken = each(wakes.load(Ordering::Relaxed) - before);
        let (count, bytes) = (each(counted.count_total), each(counted.bytes_total));
        *cell = format!("{count:.2} | {bytes:.0} | {woken:.2}");
    }
    Ok(measured)
}

async fn pair(encapsulation: Encapsulation) -> Result<(Association, Association, Endpoint)> {
    let address = "127.0.0.1:0".parse()?;
    let server =
        Endpoint::bind(address, EndpointOptions { encapsulation, ..EndpointOptions::server() })?;
    let endpoint =
        Endpoint::bind(address, EndpointOptions { encapsulation, ..EndpointOptions::client() })?;
    let peer = PeerAddress::from(server.local_addr());
    let peer = match server.fingerprint() {
        Some(key) => peer.trusting(key),
        None => peer,
    };
    let client = endpoint.connect(peer, AssociationOptions::default()).await?;
    Ok((client, server.accept().await?, server))
}

async fn echoes(client: &Association, server: &Association, payload: &Bytes) -> Result<()> {
    for _ in 0..MESSAGES {
        client.send(StreamId(0), payload.clone()).await?;
        let message = server.receive().await?.ok_or("it has gone")?;
        server.send(StreamId(0), message.payload.into_bytes()).await?;
        client.receive().await?.ok_or("it has gone")?;
    }
    Ok(())
}

async fn bursts(client: &Association, server: &Association, payload: &Bytes) -> Result<()> {
    for _ in 0..MESSAGES / BURST {
        for _ in 0..BURST {
            client.send(StreamId(0), payload.clone()).await?;
        }
        for _ in 0..BURST {
            server.receive().await?.ok_or("it has gone")?;
        }
    }
    Ok(())
}
