//! Requests and their responses, each with a deadline. Any number is under way at once; none waits
//! for another, and what is past its deadline is not sent any more.
//!
//! `cargo run -p thinstream --example request_response` runs a server and a client in one process.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thinstream::{
    Association, AssociationOptions, Bytes, Endpoint, EndpointOptions, SendOptions, StreamId,
};
use tokio::sync::oneshot;

#[tokio::main]
async fn main() -> Result<()> {
    let address = "127.0.0.1:0".parse().map_err(Error::other)?;
    let server = Endpoint::bind(address, EndpointOptions::server())?;
    let key = server.fingerprint().ok_or(ErrorKind::Unsupported)?;
    let peer = (server.local_addr(), key);
    tokio::spawn(serve(server, |request: Bytes| async move { request.to_ascii_uppercase() }));
    let client = Client::connect(peer).await?;
    let answer = client.call(b"how are you", Duration::from_millis(500)).await?;
    println!("{}", String::from_utf8_lossy(&answer));
    Ok(())
}

/// Answers every request; each has a task of its own.
pub async fn serve<A, F>(endpoint: Endpoint, answer: A) -> Result<()>
where
    A: Fn(Bytes) -> F + Clone + Send + 'static,
    F: Future<Output = Vec<u8>> + Send + 'static,
{
    loop {
        let (peer, answer) = (endpoint.accept().await?, answer.clone());
        tokio::spawn(async move {
            while let Ok(Some(message)) = peer.receive().await {
                let request = message.payload.into_bytes();
                let Some(number) = request.get(..8).map(<[u8]>::to_vec) else { continue };
                let (peer, answer) = (peer.clone(), answer(request.slice(8..)));
                tokio::spawn(async move {
                    let response = [number, answer.await].concat();
                    // A client that is gone wants no answer.
                    let _ = peer.send_with(StreamId(0), response, SendOptions::unordered()).await;
                });
            }
        });
    }
}

type Waiting = Arc<Mutex<BTreeMap<u64, oneshot::Sender<Bytes>>>>;

/// Sends requests to one server and matches the answers by their numbers.
pub struct Client {
    server: Association,
    waiting: Waiting,
    next: std::sync::atomic::AtomicU64,
}

impl Client {
    /// Sets up an association to the server.
    pub async fn connect(peer: impl Into<thinstream::PeerAddress>) -> Result<Client> {
        let server = Association::connect(peer, AssociationOptions::default()).await?;
        let (waiting, source) = (Waiting::default(), server.clone());
        let known = Arc::clone(&waiting);
        tokio::spawn(async move {
            while let Ok(Some(message)) = source.receive().await {
                let response = message.payload.into_bytes();
                let Some(number) = response.first_chunk().copied().map(u64::from_be_bytes) else {
                    continue;
                };
                let mut waiting = known.lock().unwrap_or_else(PoisonError::into_inner);
                // Who has stopped waiting has taken the number away.
                waiting.remove(&number).map(|asker| asker.send(response.slice(8..)));
            }
            known.lock().unwrap_or_else(PoisonError::into_inner).clear();
        });
        Ok(Client { server, waiting, next: Default::default() })
    }

    /// The response to a request, if it comes in time.
    pub async fn call(&self, request: &[u8], within: Duration) -> Result<Bytes> {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (asker, response) = oneshot::channel();
        let waiting = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting().insert(number, asker);
        let options = SendOptions { unordered: true, ..SendOptions::expiring(within) };
        let message = [&number.to_be_bytes(), request].concat();
        let asked = async {
            self.server.send_with(StreamId(0), message, options).await?;
            response.await.map_err(|_| Error::from(ErrorKind::ConnectionReset))
        };
        let answered = tokio::time::timeout(within, asked).await;
        waiting().remove(&number);
        answered.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    }
}
