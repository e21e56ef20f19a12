//! Our server of data channels for peers: a page over HTTP, offers and answers of programs over
//! TCP, and our listener behind a lossy link.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use base::{Duration, Probability};
use io::{Clock, Emulator, EmulatorConfig};
use netsim::{Link, LinkConfig};
use thinstream::webrtc::{
    ChannelEvent, ChannelOptions, ChannelReliability, Connection, Listener, ListenerOptions,
    MessageKind, PeerEvent, PeerId, ServerOptions, StreamId,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::http::Request;

const PAGE: &str = include_str!("page.html");

/// Reports of the page and of our side.
#[derive(Debug)]
pub enum HostReport {
    /// Result of the page's exercises, JSON.
    Page(String),
    /// An event of a connection.
    Server(PeerEvent),
}

/// A running host of pages, offers and a server of ours.
pub struct Host {
    listener: Listener,
    tcp: TcpListener,
    /// Address to which programs bring their offers: the offer to its end, and back the answer.
    offers: TcpListener,
    /// Address at which programs fetch our offers, and leave their answers.
    answers: TcpListener,
    /// The offer that a page has fetched.
    offered: Mutex<Option<PeerId>>,
    link: Emulator,
    reached: std::net::IpAddr,
    reports: mpsc::UnboundedSender<HostReport>,
}

impl Host {
    /// A host whose link loses `loss_percent` of the packets each way, with 10 ms of delay; peers
    /// reach it at `reached`. To be made in its namespace.
    ///
    /// # Errors
    /// Where a socket is not available.
    pub async fn new(
        options: ServerOptions,
        loss_percent: u64,
        reached: &str,
    ) -> Result<(Host, mpsc::UnboundedReceiver<HostReport>)> {
        let options = ListenerOptions { server: Some(options), ..ListenerOptions::default() };
        let reached = reached.parse()?;
        // Firefox takes no answer to its checks that tells it a loopback address, as one through
        // the link would.
        let listener = Listener::bind(SocketAddr::new(reached, 0), options)?;
        let loss = Probability::from_ratio(loss_percent, 100);
        let config = LinkConfig::lossy(Duration::from_millis(10), loss);
        let [up, down] = [0, 1].map(|index| Link::new(config.clone(), 1, index));
        let config = EmulatorConfig::new("0.0.0.0:0".parse()?, listener.local_addr());
        let link = Emulator::start(config, up?, down?, Clock::start())?;
        let tcp = TcpListener::bind("127.0.0.1:0").await?;
        let offers = TcpListener::bind("127.0.0.1:0").await?;
        let answers = TcpListener::bind("127.0.0.1:0").await?;
        let (reports, hear) = mpsc::unbounded_channel();
        let offered = Mutex::default();
        Ok((Host { listener, tcp, offers, answers, offered, link, reached, reports }, hear))
    }

    /// Address to which programs bring their offers.
    ///
    /// # Errors
    /// Where the system does not tell.
    pub fn offers(&self) -> Result<SocketAddr> {
        Ok(self.offers.local_addr()?)
    }

    /// Address at which programs fetch our offers.
    ///
    /// # Errors
    /// Where the system does not tell.
    pub fn answers(&self) -> Result<SocketAddr> {
        Ok(self.answers.local_addr()?)
    }

    /// Address of the page.
    ///
    /// # Errors
    /// Where the system does not tell.
    pub fn address(&self) -> Result<SocketAddr> {
        Ok(self.tcp.local_addr()?)
    }

    /// Serves until an error, which a test never sees.
    ///
    /// # Errors
    /// Where a socket fails.
    pub async fn run(self) -> Result<()> {
        let host = Arc::new(self);
        let accepting = Arc::clone(&host);
        tokio::spawn(async move {
            while let Ok(connection) = accepting.listener.accept().await {
                tokio::spawn(serve(connection, accepting.reports.clone()));
            }
        });
        loop {
            let talk = Arc::clone(&host);
            tokio::select! {
                accepted = host.tcp.accept() => {
                    let (stream, _) = accepted?;
                    tokio::spawn(async move { talk.converse(stream).await });
                }
                accepted = host.offers.accept() => {
                    let (stream, _) = accepted?;
                    tokio::spawn(async move { talk.exchange(stream).await });
                }
                accepted = host.answers.accept() => {
                    let (stream, _) = accepted?;
                    tokio::spawn(async move { talk.ask(stream).await });
                }
            }
        }
    }

    /// Our end of the link, as a peer reaches it.
    fn at(&self) -> SocketAddr {
        SocketAddr::new(self.reached, self.link.local_addr().port())
    }

    fn answer(&self, offer: &str) -> Result<String> {
        Ok(self.listener.answer(offer, None, &[self.at()])?.1)
    }

    /// One offer of a program.
    async fn exchange(&self, mut stream: TcpStream) -> Result<()> {
        let mut offer = String::new();
        stream.read_to_string(&mut offer).await?;
        let answer = self.answer(&offer)?;
        stream.write_all(answer.as_bytes()).await?;
        Ok(())
    }

    /// One offer of ours, and the answer of a program.
    async fn ask(&self, mut stream: TcpStream) -> Result<()> {
        let (id, offer) = self.listener.offer(None, &[self.at()])?;
        stream.write_all(offer.as_bytes()).await?;
        stream.shutdown().await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(self.listener.take_answer(id, &answer)?)
    }

    /// Takes the answer of the page that has fetched an offer.
    fn take_answer(&self, answer: &str) -> Result<()> {
        let offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(self.listener.take_answer(offered.context("no offer was fetched")?, answer)?)
    }

    /// One request of the browser, over a connection of its own.
    async fn converse(&self, stream: TcpStream) -> Result<()> {
        let request = Request::read(stream).await?;
        match request.what.as_str() {
            "POST /offer" => match self.answer(request.text()?) {
                Ok(answer) => request.answer("201 Created", "application/sdp", &answer).await,
                Err(error) => {
                    request.answer("400 Bad Request", "text/plain", &error.to_string()).await
                }
            },
            "GET /offer" => {
                let (id, offer) = self.listener.offer(None, &[self.at()])?;
                *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
                request.answer("200 OK", "application/sdp", &offer).await
            }
            "POST /answer" => match self.take_answer(request.text()?) {
                Ok(()) => request.answer("204 No Content", "text/plain", "").await,
                Err(error) => {
                    request.answer("400 Bad Request", "text/plain", &error.to_string()).await
                }
            },
            "POST /result" => {
                self.reports.send(HostReport::Page(request.text()?.to_owned()))?;
                request.answer("204 No Content", "text/plain", "").await
            }
            what if what == "GET /" || what.starts_with("GET /?") => {
                request.answer("200 OK", "text/html", PAGE).await
            }
            _ => request.answer("404 Not Found", "text/plain", "").await,
        }
    }
}

/// Our side of the exercises: a channel that both know, one that it opens, and an echo on all; the
/// text `close` closes.
async fn serve(connection: Connection, reports: mpsc::UnboundedSender<HostReport>) {
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
        let _ = reports.send(HostReport::Server(event));
    }
}
