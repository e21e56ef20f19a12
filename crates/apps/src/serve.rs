//! `thinstream serve`: a server that answers measuring clients, or swallows what they send, and
//! counts.

mod client;
mod report;
#[cfg(test)]
mod tests;

pub use self::report::{Limits, ServeReport};

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use base::Duration;
use io::{BindError, Clock};
use thinstream::policy::SCTP_DEFAULT;
use thinstream::{
    Association, AssociationOptions, DEFAULT_PORT, Encapsulation, Endpoint, EndpointError,
    EndpointOptions, Fingerprint, Identity, MemoryLimits, RecoveryPolicy, RefusedClient, Trust,
};
use tokio::task::JoinSet;

use crate::files::{EventFile, FileError, PacketFile, SharedEventFile, lock, unwritten};
use crate::notice::Notice;
use client::{Client, Totals};

/// Options of a server: addresses, keys, clients and transport.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Addresses to listen at, one or the several of a multihomed server; port 0 selects a free
    /// port.
    pub listen: Vec<SocketAddr>,
    /// Encapsulation of packets: in UDP, or directly in IP.
    pub encapsulation: Encapsulation,
    /// Key by which clients know the server; without one, a new key serves until the server ends.
    pub identity: Option<Identity>,
    /// Clients that it serves, as far as they prove keys.
    pub clients: Trust,
    /// SCTP port at which it listens.
    pub sctp_port: u16,
    /// Whether messages are sent back.
    pub echo: bool,
    /// Streams that clients may use, and on which it answers.
    pub streams: u16,
    /// Name of the policy, for reports.
    pub policy_name: String,
    /// Policy by which its associations recover.
    pub policy: Arc<RecoveryPolicy>,
    /// Further options of associations: switchover, heartbeats, extensions. Policy and streams are
    /// those of the fields above.
    pub association: AssociationOptions,
    /// Silence of a client after which it counts as dead; none: as RFC 9260 counts.
    pub dead_after: Option<Duration>,
    /// Whether clients on other machines have a clock as good as the same, so that one-way latency
    /// means something.
    pub same_clock: bool,
    /// Clients that may be there at once; none: as many as the endpoint has places for by default,
    /// or one for each 16 KiB of `memory` if that is less.
    pub max_associations: Option<usize>,
    /// Clients of one address, with IPv6 of one network of 64 bits, that may be there at once;
    /// none: an eighth of all, at least 64.
    pub max_per_peer: Option<usize>,
    /// Bytes that all associations together may hold.
    pub memory: usize,
    /// Parts of the server, each with a socket and a task of its own.
    pub shards: NonZeroUsize,
    /// Duration of the run; `None`: until asked to end.
    pub duration: Option<Duration>,
    /// File for all packets, as pcapng.
    pub pcap: Option<PathBuf>,
    /// File for recovery's events, as JSON lines.
    pub events: Option<PathBuf>,
    /// Report every timeout, loss and retransmission.
    pub verbose: bool,
}

impl ServeOptions {
    /// An echo server without end, with the default policy.
    pub fn new(listen: SocketAddr) -> ServeOptions {
        ServeOptions {
            listen: vec![listen],
            encapsulation: Encapsulation::Secure,
            identity: None,
            clients: Trust::Any,
            sctp_port: DEFAULT_PORT,
            echo: true,
            streams: 2048,
            policy_name: SCTP_DEFAULT.to_owned(),
            policy: Arc::new(RecoveryPolicy::sctp_default()),
            association: AssociationOptions::default(),
            dead_after: Some(thinstream::DEAD_AFTER.into()),
            same_clock: false,
            max_associations: None,
            max_per_peer: None,
            memory: MemoryLimits::default().limit,
            shards: NonZeroUsize::MIN,
            duration: None,
            pcap: None,
            events: None,
            verbose: false,
        }
    }
}

/// Reason for which a server could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not available.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The endpoint's socket failed.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// Serves until `options.duration` is over or the process is asked to end (Ctrl-C, on Unix SIGTERM
/// too), and reports what happened. Associations that are still there are then aborted.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve(
    options: &ServeOptions,
    notice: &mut (dyn FnMut(Notice) + Send),
) -> Result<ServeReport, ServeError> {
    serve_until(options, notice, |_| (), crate::signals::interrupted()).await
}

/// Addresses and ports, separated by commas.
pub(crate) fn addresses(all: &[SocketAddr]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Runs [`serve`], but ends with `stop` instead of signals. `on_ready` gets the (first) address at
/// which it listens.
///
/// # Errors
/// As [`serve`].
pub async fn serve_until(
    options: &ServeOptions,
    notice: &mut (dyn FnMut(Notice) + Send),
    on_ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<ServeReport, ServeError> {
    let clock = Clock::start();
    let events: SharedEventFile =
        Arc::new(Mutex::new(EventFile::create(options.events.as_deref())?));
    let packets =
        PacketFile::create(options.pcap.as_deref(), "serve", options.encapsulation, clock)?;
    let endpoint = Endpoint::bind_all(&options.listen, endpoint_options(options, clock, &packets))?;
    let listen = endpoint.local_addr();
    let everywhere = addresses(&endpoint.local_addrs());
    notice(Notice::Line(format!(
        "serving at {everywhere}, SCTP port {}, {}; {}",
        endpoint.sctp_port(),
        if options.echo { "messages are sent back" } else { "messages are counted" },
        security(options, endpoint.fingerprint()),
    )));
    if let Some(fingerprint) = endpoint.fingerprint() {
        notice(Notice::Line(format!("to send: {}", client_command(&endpoint, fingerprint))));
    }
    on_ready(listen);

    let server = Server { options, clock, events: Arc::clone(&events), endpoint };
    let mut totals = Totals::default();
    let failure = server.run(&mut totals, notice, stop).await;
    let ran = clock.now().as_secs_f64();
    let limits = Limits::of(&server.endpoint, options.memory);
    let key = server.endpoint.fingerprint().map(|key| key.to_string());
    server.endpoint.close().await;
    let mut report = ServeReport::new(options, (everywhere, key), ran, &totals, limits);
    report.unwritten = unwritten([packets.finish(), lock(&events).finish()]);
    report.failure = failure.map(|error| error.to_string());
    Ok(report)
}

/// Protection of the traffic, in words.
fn security(options: &ServeOptions, fingerprint: Option<Fingerprint>) -> String {
    let Some(fingerprint) = fingerprint else { return "traffic is not encrypted".to_owned() };
    let clients = match &options.clients {
        Trust::Any => "any client".to_owned(),
        Trust::Listed(keys) if keys.len() == 1 => "clients with 1 authorised key".to_owned(),
        Trust::Listed(keys) => format!("clients with {} authorised keys", keys.len()),
        Trust::FirstUse { .. } => "clients known by name".to_owned(),
        Trust::Authority(_) => "clients with a certificate of the authority".to_owned(),
    };
    format!("encrypted, for {clients}; key {fingerprint}")
}

/// The command by which a client on this machine reaches the server.
fn client_command(endpoint: &Endpoint, fingerprint: Fingerprint) -> String {
    let listen = endpoint.local_addr();
    let at = match listen.ip().is_unspecified() {
        true => format!("localhost:{}", listen.port()),
        false => listen.to_string(),
    };
    let port = match endpoint.sctp_port() {
        DEFAULT_PORT => String::new(),
        other => format!(" --sctp-port {other}"),
    };
    format!("thinstream send {at}{port} --peer {fingerprint}")
}

fn endpoint_options(options: &ServeOptions, clock: Clock, packets: &PacketFile) -> EndpointOptions {
    let accepted = AssociationOptions {
        policy: Arc::clone(&options.policy),
        inbound_streams: options.streams,
        outbound_streams: options.streams,
        ..options.association.clone()
    };
    let usual = EndpointOptions::server();
    let places = usual.max_associations.min(options.memory / MEMORY_PER_PLACE).max(1);
    EndpointOptions {
        encapsulation: options.encapsulation,
        identity: options.identity.clone(),
        clients: options.clients.clone(),
        sctp_port: Some(options.sctp_port),
        accepted,
        dead_after: options.dead_after.map(Into::into),
        max_associations: options.max_associations.unwrap_or(places),
        max_per_peer: options.max_per_peer,
        memory: MemoryLimits::of(options.memory),
        shards: options.shards,
        clock: Some(clock),
        tap: packets.tap(),
        ..usual
    }
}

/// Bytes of memory for which there is a place for a client: what a thin stream takes, several times
/// over.
const MEMORY_PER_PLACE: usize = 16 << 10;

/// Address of a client, and its key if it has proved one.
fn who(association: &Association) -> String {
    let key = association.peer().map(|peer| format!(", key {}", peer.fingerprint));
    format!("{}{}", association.remote(), key.unwrap_or_default())
}

/// Keys that were refused, each of which is reported once.
#[derive(Default)]
struct Refused(BTreeSet<Fingerprint>);

impl Refused {
    /// Keys that are remembered: strangers can make any number.
    const MOST: usize = 10_000;

    fn tell(&mut self, client: RefusedClient) -> Option<String> {
        let RefusedClient { remote, fingerprint, reason } = client;
        let is_new = self.0.len() < Self::MOST && self.0.insert(fingerprint);
        is_new.then(|| format!("refused {remote}: {reason}"))
    }
}

/// A running server, until it is told to stop.
struct Server<'a> {
    options: &'a ServeOptions,
    clock: Clock,
    events: SharedEventFile,
    endpoint: Endpoint,
}

impl Server<'_> {
    /// Accepts and serves until told to stop.
    async fn run(
        &self,
        totals: &mut Totals,
        notice: &mut (dyn FnMut(Notice) + Send),
        stop: impl Future<Output = ()>,
    ) -> Option<ServeError> {
        let live = Arc::new(Mutex::new(Totals::default()));
        let (say, mut said) = tokio::sync::mpsc::unbounded_channel();
        let mut clients = JoinSet::new();
        let mut refused = Refused::default();
        let mut tick = tokio::time::interval(std::time::Duration::from_millis(500));
        let end = self.clock.now() + self.options.duration.unwrap_or(Duration::MAX);
        let end = self.clock.sleep_until(end);
        tokio::pin!(stop, end);
        let failure = loop {
            tokio::select! {
                () = &mut stop => break None,
                () = &mut end => break None,
                accepted = self.endpoint.accept() => match accepted {
                    Ok(association) => {
                        let number = lock(&live).begin();
                        notice(Notice::Line(format!("client {number}: {}", who(&association))));
                        let client = Client::new(self, number, association, &live, &say);
                        clients.spawn(client.serve());
                    }
                    Err(error) => break Some(error.into()),
                },
                client = self.endpoint.refused() => {
                    if let Some(line) = refused.tell(client) {
                        notice(Notice::Line(line));
                    }
                }
                Some(line) = said.recv() => notice(Notice::Line(line)),
                Some(_) = clients.join_next() => {}
                _ = tick.tick() => notice(Notice::Progress(lock(&live).progress(clients.len()))),
            }
        };
        // Clients that are still served say what they have counted.
        let still_there = clients.len();
        clients.shutdown().await;
        *totals = core::mem::take(&mut *lock(&live));
        totals.still_there = still_there as u64;
        failure
    }
}
