//! Exercises of a client: channels of four kinds to a server that sends back what it gets, opens a
//! channel of its own, and closes a channel that says so.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

const PATIENCE: Duration = Duration::from_secs(60);
const SIZES: [usize; 5] = [1, 100, 1200, 16000, 65535];

/// A kind of channel, by its properties in DCEP (RFC 8832).
pub struct Kind {
    pub label: &'static str,
    pub ordered: bool,
    pub max_retransmits: Option<u16>,
    /// Life time of a message in milliseconds, if it is limited.
    pub max_life_time: Option<u16>,
}

/// The channels, by whose places the client and the exercises name them.
pub const KINDS: [Kind; 4] = [
    Kind { label: "ordered", ordered: true, max_retransmits: None, max_life_time: None },
    Kind { label: "unordered", ordered: false, max_retransmits: None, max_life_time: None },
    Kind { label: "once", ordered: true, max_retransmits: Some(0), max_life_time: None },
    Kind { label: "brief", ordered: false, max_retransmits: None, max_life_time: Some(200) },
];

/// A message that the client is to send.
pub struct Message {
    pub channel: usize,
    pub binary: bool,
    pub data: Vec<u8>,
}

/// Event of a client, whatever its library.
#[derive(Debug)]
pub enum Told {
    Opened(usize),
    Message(usize, Vec<u8>),
    Closed(usize),
    /// A channel of the server, by its label.
    FromServer(String),
}

/// The answer of the server at a TCP address to an offer.
pub async fn answered(server: SocketAddr, offer: &str) -> Result<String> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(offer.as_bytes()).await?;
    stream.shutdown().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// The offer of the server at a TCP address, and the stream on which it waits for the answer
/// ([`leave`]).
pub async fn offered(server: SocketAddr) -> Result<(String, TcpStream)> {
    let mut stream = TcpStream::connect(server).await?;
    let mut offer = String::new();
    stream.read_to_string(&mut offer).await?;
    Ok((offer, stream))
}

/// Leaves the answer at the server's socket, and closes it.
pub async fn leave(mut stream: TcpStream, answer: &str) -> Result<()> {
    stream.write_all(answer.as_bytes()).await?;
    Ok(stream.shutdown().await?)
}

/// Does the exercises, and prints the result as JSON behind RESULT.
pub async fn exercise(send: UnboundedSender<Message>, told: UnboundedReceiver<Told>) -> Result<()> {
    let mut client = Client { send, told, opened: BTreeSet::new(), from_server: None };
    while client.opened.len() < KINDS.len() {
        let opened = format!("channels that opened: {:?}", client.opened);
        let next = client.next(PATIENCE).await.context(opened)?;
        ensure!(matches!(next, Told::Opened(_) | Told::FromServer(_)), "{next:?}");
    }
    let mut sizes = vec![];
    for size in SIZES {
        let data: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        client.send(0, true, data.clone())?;
        let back = client.answer(0, PATIENCE).await.with_context(|| format!("{size} bytes"))?;
        sizes.push(format!("\"{size}\": {}", back == data));
    }
    let mut volleys = vec![];
    for (channel, kind) in KINDS.iter().enumerate() {
        let reliable = kind.max_retransmits.is_none() && kind.max_life_time.is_none();
        let patience = if reliable { PATIENCE } else { Duration::from_secs(5) };
        volleys.push(format!("\"{}\": {}", kind.label, client.volley(channel, patience).await?));
    }
    client.send(1, false, b"close".to_vec())?;
    while !matches!(client.next(PATIENCE).await.context("no close")?, Told::Closed(1)) {}
    let from_server = client.from_server.context("no channel of the server")?;
    let (sizes, volleys) = (sizes.join(", "), volleys.join(", "));
    println!(
        "RESULT {{\"sizes\": {{{sizes}}}, \"volleys\": {{{volleys}}}, \"from_server\": \"{from_server}\", \"closed\": true}}"
    );
    Ok(())
}

struct Client {
    send: UnboundedSender<Message>,
    told: UnboundedReceiver<Told>,
    opened: BTreeSet<usize>,
    from_server: Option<String>,
}

impl Client {
    fn send(&self, channel: usize, binary: bool, data: Vec<u8>) -> Result<()> {
        self.send.send(Message { channel, binary, data }).ok().context("the client has ended")
    }

    async fn next(&mut self, limit: Duration) -> Result<Told> {
        let told = tokio::time::timeout(limit, self.told.recv()).await?;
        let told = told.context("the client has ended")?;
        match &told {
            Told::Opened(channel) => _ = self.opened.insert(*channel),
            Told::FromServer(label) => self.from_server = Some(label.clone()),
            _ => {}
        }
        Ok(told)
    }

    async fn answer(&mut self, channel: usize, limit: Duration) -> Result<Vec<u8>> {
        loop {
            match self.next(limit).await? {
                Told::Message(on, data) if on == channel => return Ok(data),
                Told::Closed(on) if on == channel => bail!("channel {channel} was closed"),
                _ => {}
            }
        }
    }

    /// Number of messages, of 30, that come back.
    async fn volley(&mut self, channel: usize, patience: Duration) -> Result<usize> {
        for number in 0..30 {
            self.send(channel, true, vec![number; 100])?;
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        let mut seen = BTreeSet::new();
        while seen.len() < 30
            && let Ok(data) = self.answer(channel, patience).await
        {
            seen.insert(data.first().copied());
        }
        Ok(seen.len())
    }
}
