//! Parts common to the programs: offers and answers over TCP, and requests in the labels of
//! channels. A client connects, writes its offer, closes its half, and reads the answer to the end.

pub mod exercises;
mod order;

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

pub use order::Order;

/// A server with which a program does exercises as its client.
#[derive(Clone, Copy, Debug)]
pub enum Server {
    /// `offer ADDRESS`: the program brings its offer there.
    Answers(SocketAddr),
    /// `answer ADDRESS`: it fetches an offer there, and leaves its answer.
    Offers(SocketAddr),
}

/// The server that the arguments name, if any.
pub fn server() -> Option<Server> {
    let mut words = std::env::args().skip(1);
    let what = words.next()?;
    let at = words.next()?.parse().ok()?;
    match what.as_str() {
        "offer" => Some(Server::Answers(at)),
        "answer" => Some(Server::Offers(at)),
        _ => None,
    }
}

/// Answers offers for ever, once it has said where it listens.
pub async fn serve(answer: impl AsyncFn(String) -> Result<String>) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("MARK ready {}", listener.local_addr()?);
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut offer = String::new();
        stream.read_to_string(&mut offer).await?;
        match answer(offer).await {
            Ok(answer) => stream.write_all(answer.as_bytes()).await?,
            Err(error) => eprintln!("{error:#}"),
        }
    }
}
