//! A file beside thin messages, on one association: the file takes what the messages leave, and no
//! message waits behind it.
//!
//! Both ends offer interleaving (RFC 8260), so that a message goes between two parts of the file,
//! and the sender gives streams priorities. `cargo run -p thinstream --example file_and_messages`
//! runs both ends in one process.

use std::time::{Duration, Instant};

use thinstream::{
    Association, AssociationOptions, Bytes, Endpoint, EndpointOptions, Extensions, Scheduler,
    StreamId,
};
use tokio::time::sleep;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Stream with the higher priority, for small messages.
pub const MESSAGES: StreamId = StreamId(0);
/// Stream with the lower priority, for the parts of the file.
pub const FILE: StreamId = StreamId(1);
/// Parts of the file: small, so that the send buffer always has room for a message soon.
const PART: usize = 16 << 10;

#[tokio::main]
async fn main() -> Result<()> {
    let server = Endpoint::bind(
        "127.0.0.1:0".parse()?,
        EndpointOptions { accepted: options(), ..EndpointOptions::server() },
    )?;
    let peer = (server.local_addr(), server.fingerprint().ok_or("it is plain")?);
    tokio::spawn(async move { receive(&server.accept().await?).await });
    let client = connect(peer).await?;
    let sender = client.clone();
    let file = tokio::spawn(async move { send_file(&sender, vec![7; 64 << 20].into()).await });
    let mut slowest = Duration::ZERO;
    while !file.is_finished() {
        slowest = slowest.max(ask(&client).await?);
        sleep(Duration::from_millis(20)).await;
    }
    file.await??;
    println!("64 MiB sent; the slowest answer meanwhile took {slowest:?}");
    Ok(client.shutdown().await?)
}

/// Options of both ends: interleaved messages, sent by the priority of their streams.
pub fn options() -> AssociationOptions {
    let extensions = Extensions::default() | Extensions::INTERLEAVING;
    AssociationOptions {
        extensions,
        scheduler: Scheduler::Priority,
        ..AssociationOptions::default()
    }
}

/// An association on which messages go before the file.
pub async fn connect(peer: impl Into<thinstream::PeerAddress>) -> Result<Association> {
    let association = Association::connect(peer, options()).await?;
    association.set_stream_priority(MESSAGES, 0);
    association.set_stream_priority(FILE, 10);
    Ok(association)
}

/// Sends a file in parts; each waits until the send buffer has room.
pub async fn send_file(peer: &Association, mut file: Bytes) -> Result<()> {
    while !file.is_empty() {
        let part = file.split_to(PART.min(file.len()));
        peer.send(FILE, part).await?;
    }
    Ok(())
}

/// Sends a message, and returns how long its answer took.
pub async fn ask(peer: &Association) -> Result<Duration> {
    let start = Instant::now();
    peer.send(MESSAGES, "are you there?").await?;
    peer.stream(MESSAGES).receive().await?.ok_or("it has gone")?;
    Ok(start.elapsed())
}

/// Answers messages at once, and returns how much of the file came.
pub async fn receive(peer: &Association) -> Result<usize> {
    let mut received = 0;
    while let Some(message) = peer.receive().await? {
        match message.stream {
            FILE => received += message.payload.len(),
            stream => _ = peer.send(stream, message.payload.into_bytes()).await,
        }
    }
    Ok(received)
}
