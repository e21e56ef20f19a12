//! The server of the tests: the page over HTTP, and our listener behind a lossy link.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use base::{Duration, Probability};
use io::{Clock, Emulator, EmulatorConfig};
use netsim::{Link, LinkConfig};
use thinstream::webrtc::{
    ChannelEvent, ChannelOptions, ChannelReliability, Connection, Listener, ListenerOptions,
    MessageKind, PeerEvent, ServerOptions, StreamId,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

const PAGE: &str = include_str!("page.html");

/// What the page and our side say.
#[derive(Debug)]
pub(crate) enum Said {
    /// Result of the page's exercises, JSON.
    Page(String),
    /// An event of a connection.
    Server(PeerEvent),
}

/// A running host.
pub(crate) struct Host {
    listener: Listener,
    tcp: TcpListener,
    link: Emulator,
    reached: std::net::IpAddr,
    said: mpsc::UnboundedSender<Said>,
}

impl Host {
    /// A host whose link loses `loss_percent` of the packets each way, with 10 ms of delay. To be made in its namespace.
    pub(crate) async fn new(
        options: ServerOptions,
        loss_percent: u64,
        reached: &str,
    ) -> Result<(Host, mpsc::UnboundedReceiver<Said>)> {
        let options = ListenerOptions { server: Some(options), ..ListenerOptions::default() };
        let reached = reached.parse()?;
        // Firefox takes no answer to its checks that tells it a loopback address, as one through the link would.
        let listener = Listener::bind(SocketAddr::new(reached, 0), options)?;
        let loss = Probability::from_ratio(loss_percent, 100);
        let config = LinkConfig::lossy(Duration::from_millis(10), loss);
        let [up, down] = [0, 1].map(|index| Link::new(config.clone(), 1, index));
        let config = EmulatorConfig::new("0.0.0.0:0".parse()?, listener.local_addr());
        let link = Emulator::start(config, up?, down?, Clock::start())?;
        let tcp = TcpListener::bind("127.0.0.1:0").await?;
        let (said, hear) = mpsc::unbounded_channel();
        Ok((Host { listener, tcp, link, reached, said }, hear))
    }

    /// Where the page is.
    pub(crate) fn address(&self) -> Result<SocketAddr> {
        Ok(self.tcp.local_addr()?)
    }

    /// Serves until an error, which a test never sees.
    pub(crate) async fn run(self) -> Result<()> {
        let host = Arc::new(self);
        let accepting = Arc::clone(&host);
        tokio::spawn(async move {
            while let Ok(connection) = accepting.listener.accept().await {
                tokio::spawn(serve(connection, accepting.said.clone()));
            }
        });
        loop {
            let (stream, _) = host.tcp.accept().await?;
            let host = Arc::clone(&host);
            tokio::spawn(async move { host.converse(stream).await });
        }
    }

    /// One request of the browser, over a connection of its own.
    async fn converse(&self, mut stream: TcpStream) -> Result<()> {
        let (head, body) = read_request(&mut stream).await?;
        let (status, content, body) = if head.starts_with("POST /offer ") {
            let at = SocketAddr::new(self.reached, self.link.local_addr().port());
            match self.listener.answer(&body, None, &[at]) {
                Ok((_, answer)) => ("201 Created", "application/sdp", answer),
                Err(error) => ("400 Bad Request", "text/plain", error.to_string()),
            }
        } else if head.starts_with("POST /result ") {
            self.said.send(Said::Page(body))?;
            ("204 No Content", "text/plain", String::new())
        } else if head.starts_with("GET /?") || head.starts_with("GET / ") {
            ("200 OK", "text/html", PAGE.to_owned())
        } else {
            ("404 Not Found", "text/plain", String::new())
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all((head + &body).as_bytes()).await?;
        Ok(())
    }
}

async fn read_request(stream: &mut TcpStream) -> Result<(String, String)> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let read = stream.read(&mut part).await?;
        if read == 0 {
            bail!("the request ends early");
        }
        bytes.extend_from_slice(&part[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().filter_map(|line| line.split_once(':'));
        let length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length = length.map(|(_, value)| value.trim().parse::<usize>()).next();
        let length = length.unwrap_or(Ok(0)).context("the length of the body")?;
        if bytes.len() >= end + 4 + length {
            let body = String::from_utf8(bytes[end + 4..end + 4 + length].to_vec())?;
            return Ok((head, body));
        }
    }
}

/// Our side of the exercises: a channel that both know, one that it opens, and an echo on all; the text `close` closes.
async fn serve(connection: Connection, said: mpsc::UnboundedSender<Said>) {
    let agreed = ChannelOptions { label: "negotiated".into(), ..ChannelOptions::default() };
    let _ = connection.open_negotiated(StreamId(100), agreed);
    let own = ChannelOptions {
        label: "from the server".into(),
        protocol: "news".into(),
        ordered: false,
        reliability: ChannelReliability::Retransmissions(3),
        ..ChannelOptions::default()
    };
    let _ = connection.open(own);
    while let Some(event) = connection.event().await {
        if let PeerEvent::Channel(ChannelEvent::Message { id, kind, payload }) = &event {
            if *kind == MessageKind::Text && payload.as_ref() == b"close" {
                let _ = connection.close_channel(*id);
            } else {
                let _ = connection.send(*id, *kind, payload.clone());
            }
        }
        let _ = said.send(Said::Server(event));
    }
}
