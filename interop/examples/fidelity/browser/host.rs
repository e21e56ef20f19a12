//! The host between the page and the servers: offers and answers, and an emulated link for each
//! connection.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base::{Duration, Probability, Purpose, RandomStream};
use interop::{BROWSER_HOST, Request, RunningServer};
use io::{Clock, Emulator, EmulatorConfig, RelayPacket};
use netsim::{Link, LinkConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::ours::{Ours, Pairs};
use crate::Outcome;

const PAGE: &str = include_str!("page.html");

/// Traffic of each connection, and its network.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Label of the channel, which says what is sent.
    pub(crate) label: String,
    pub(crate) flows: u32,
    /// Number of messages of each flow.
    pub(crate) count: u32,
    pub(crate) duration: Duration,
    pub(crate) loss: Probability,
    /// One-way delay of the link.
    pub(crate) delay: Duration,
    /// Whether the page sends and the servers count.
    pub(crate) up: bool,
}

/// Records of DTLS that carried packets of SCTP; bytes with headers of IP and UDP.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

#[derive(Debug, Default)]
struct Counter {
    packets: AtomicU64,
    bytes: AtomicU64,
}

enum Server {
    Ours(Ours),
    Other(RunningServer),
}

/// A server with its links, and what came of its connections.
pub(crate) struct Side {
    pub(crate) title: String,
    server: Server,
    links: Mutex<Vec<Emulator>>,
    pairs: Mutex<Vec<Pairs>>,
    /// Reasons for which connections did not open, or ended early.
    lost: Mutex<Vec<String>>,
    /// Towards the server, and from it.
    counters: [Arc<Counter>; 2],
}

impl Side {
    pub(crate) fn ours(title: impl Into<String>, ours: Ours) -> Side {
        Side::new(title.into(), Server::Ours(ours))
    }

    pub(crate) fn other(title: String, other: RunningServer) -> Side {
        Side::new(title, Server::Other(other))
    }

    fn new(title: String, server: Server) -> Side {
        let (links, pairs, lost, counters) = Default::default();
        Side { title, server, links, pairs, lost, counters }
    }

    /// Traffic towards the server, and from it.
    pub(crate) fn traffic(&self) -> [Traffic; 2] {
        self.counters.each_ref().map(|counter| Traffic {
            packets: counter.packets.load(Ordering::Relaxed),
            bytes: counter.bytes.load(Ordering::Relaxed),
        })
    }

    /// Times at which messages were sent and at which they arrived, of each connection.
    pub(crate) fn take_pairs(&self) -> Vec<Pairs> {
        let mut pairs = std::mem::take(&mut *lock(&self.pairs));
        if let Server::Ours(ours) = &self.server {
            pairs.extend(ours.take_arrived());
        }
        pairs
    }

    /// Reasons for which connections did not open, or ended early.
    pub(crate) fn take_lost(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.lost))
    }

    /// The answer to an offer, over a link of its own, whose losses are those of the same flow of
    /// all servers.
    async fn answer(&self, offer: &str, flow: u64, wanted: &Wanted) -> Outcome<String> {
        let start = |forward| {
            let config = EmulatorConfig::new("0.0.0.0:0".parse()?, forward);
            let config = EmulatorConfig { source: SocketAddr::new(forward.ip(), 0), ..config };
            let [up, down] = [0, 1].map(|way| self.link(wanted, flow, way));
            Outcome::Ok(Emulator::start(config, up?, down?, Clock::start())?)
        };
        let reached = |link: &Emulator| {
            Outcome::Ok(SocketAddr::new(BROWSER_HOST.parse()?, link.local_addr().port()))
        };
        let (link, answer) = match &self.server {
            Server::Ours(ours) => {
                let link = start(ours.local_addr())?;
                let answer = ours.answer(offer, reached(&link)?)?;
                (link, answer)
            }
            Server::Other(other) => {
                // A server that knew the browser's addresses would go around the link.
                let lines = offer.lines().filter(|line| !line.starts_with("a=candidate:"));
                let offer: String = lines.map(|line| format!("{line}\r\n")).collect();
                let answer = other.answer(&offer).await?;
                let link = start(candidate(&answer)?)?;
                let answer = readdressed(&answer, reached(&link)?);
                (link, answer)
            }
        };
        lock(&self.links).push(link);
        Ok(answer)
    }

    fn link(&self, wanted: &Wanted, flow: u64, way: usize) -> Outcome<Link<RelayPacket>> {
        let (counter, loss) = (Arc::clone(&self.counters[way]), wanted.loss);
        let mut random = RandomStream::new(flow, Purpose("loss", way as u64));
        let config = LinkConfig::lossy(wanted.delay, Probability::from_ratio(0, 1));
        let link = Link::new(config, flow, way as u64)?;
        Ok(link.with_oracle(Box::new(move |_, packet: &RelayPacket| {
            // Application data of DTLS 1.2, or what DTLS 1.3 encrypts (RFC 9147, section 4).
            if packet.datagram.first().is_some_and(|first| matches!(first, 23 | 32..64)) {
                counter.packets.fetch_add(1, Ordering::Relaxed);
                counter.bytes.fetch_add(packet.datagram.len() as u64 + 28, Ordering::Relaxed);
            }
            random.happens(loss)
        })))
    }
}

/// Address at which an answer says that its server is.
fn candidate(answer: &str) -> Outcome<SocketAddr> {
    let lines = answer.lines().filter_map(|line| line.strip_prefix("a=candidate:"));
    let mut found = lines.filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let is_udp = words.get(2)?.eq_ignore_ascii_case("udp");
        let ip: Ipv4Addr = words.get(4)?.parse().ok()?;
        let port = words.get(5)?.parse().ok()?;
        is_udp.then_some(SocketAddr::new(ip.into(), port))
    });
    found.next().ok_or_else(|| format!("no candidate in the answer:\n{answer}").into())
}

/// The answer, with `at` for its only candidate.
fn readdressed(answer: &str, at: SocketAddr) -> String {
    let mut lines: Vec<String> = vec![];
    for line in answer.lines() {
        if !line.starts_with("a=candidate:") && !line.starts_with("a=end-of-candidates") {
            lines.push(line.to_owned());
        }
    }
    lines.push(format!("a=candidate:1 1 udp 2130706431 {} {} typ host", at.ip(), at.port()));
    lines.into_iter().map(|line| line + "\r\n").collect()
}

/// Serves the page and what it asks for.
pub(crate) struct Host {
    sides: Arc<Vec<Side>>,
    wanted: Wanted,
    tcp: TcpListener,
    /// Final report of the page: an error, or nothing.
    done: mpsc::UnboundedSender<String>,
}

impl Host {
    pub(crate) async fn new(
        sides: Arc<Vec<Side>>,
        wanted: Wanted,
    ) -> Outcome<(Host, mpsc::UnboundedReceiver<String>)> {
        let tcp = TcpListener::bind("127.0.0.1:0").await?;
        let (done, is_done) = mpsc::unbounded_channel();
        Ok((Host { sides, wanted, tcp, done }, is_done))
    }

    /// Address of the page, with what it is to do as its query.
    pub(crate) fn url(&self) -> Outcome<String> {
        let servers: Vec<String> = (0..self.sides.len()).map(|side| side.to_string()).collect();
        let Wanted { label, flows, up, .. } = &self.wanted;
        let (at, label) = (self.tcp.local_addr()?, label.replace(' ', "%20"));
        let up = if *up { "&up" } else { "" };
        let servers = servers.join(",");
        Ok(format!("http://{at}/?servers={servers}&flows={flows}&label={label}{up}"))
    }

    /// Accepts connections of the browser until it is dropped.
    pub(crate) async fn run(self) -> Outcome<()> {
        let host = Arc::new(self);
        loop {
            let (stream, _) = host.tcp.accept().await?;
            let host = Arc::clone(&host);
            tokio::spawn(async move {
                if let Err(error) = host.converse(stream).await {
                    let _ = host.done.send(error.to_string());
                }
            });
        }
    }

    async fn converse(&self, stream: TcpStream) -> Outcome<()> {
        // Browsers open connections that they may not need.
        let Ok(request) = Request::read(stream).await else { return Ok(()) };
        let what = request.what.clone();
        let (path, query) = what.split_once('?').unwrap_or((&what, ""));
        let field = |name: &str| {
            let mut fields = query.split('&').filter_map(|field| field.split_once('='));
            fields.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse::<usize>().ok())
        };
        let side = field("server").and_then(|server| self.sides.get(server));
        match (path, side, field("flow")) {
            ("POST /offer", Some(side), Some(flow)) => {
                // Another attempt has other losses.
                let seed = (flow as u64 + 1) | (field("attempt").unwrap_or(0) as u64) << 32;
                let answer = side.answer(request.text()?, seed, &self.wanted).await?;
                request.answer("201 Created", "application/sdp", &answer).await?;
            }
            ("POST /flow", Some(side), Some(_)) => {
                let number = |bytes: &[u8]| bytes.try_into().map_or(0.0, f64::from_le_bytes);
                let pairs = request.body.chunks_exact(16);
                let pairs: Pairs =
                    pairs.map(|pair| (number(&pair[..8]), number(&pair[8..]))).collect();
                if !pairs.is_empty() {
                    lock(&side.pairs).push(pairs);
                }
                request.answer("204 No Content", "text/plain", "").await?;
            }
            ("POST /lost", Some(side), Some(_)) => {
                lock(&side.lost).push(request.text()?.to_owned());
                request.answer("204 No Content", "text/plain", "").await?;
            }
            ("POST /done", ..) => self.done.send(request.text()?.to_owned())?,
            ("GET /", ..) => request.answer("200 OK", "text/html", PAGE).await?,
            _ => request.answer("404 Not Found", "text/plain", "").await?,
        }
        Ok(())
    }
}

fn lock<T>(what: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
