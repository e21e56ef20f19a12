//! `thinstream send`: a measuring client.

mod ended;
mod failure;
mod feed;
mod many;
mod meter;
mod reach;
mod reconnecting;
mod report;
mod run;
mod source;
#[cfg(test)]
mod tests;

pub use self::report::SendReport;
pub use failure::SendFailure;
pub use reconnecting::LossReport;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use base::Duration;
use io::Clock;
use lab::{Arrivals, Limit, Recording, Sizes, WorkloadPlan};
use thinstream::policy::SCTP_DEFAULT;
use thinstream::{
    AssociationOptions, DEFAULT_PORT, Encapsulation, Identity, MemoryLimits, RecoveryPolicy,
};

use crate::files::{EventFile, PacketFile, unwritten};
use crate::keys::ServerKey;
use crate::notice::Notice;
use crate::{paths, stamp};
use feed::Feed;
use meter::Meter;
use reach::Reached;
use run::Run;
use source::Source;

/// Options of a client: messages, peer, transport.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// Address of the server, tried first.
    pub to: SocketAddr,
    /// An address of the other family that the server's name has, too: tried where `to` does not
    /// answer soon.
    pub other: Option<SocketAddr>,
    /// Further addresses of the server, as far as they are known; it tells them by itself.
    pub further: Vec<SocketAddr>,
    /// Addresses to send from, those of all paths of a multihomed client; none leaves it to the
    /// system.
    pub local: Vec<SocketAddr>,
    /// Encapsulation of packets: in UDP, or directly in IP.
    pub encapsulation: Encapsulation,
    /// Key by which the server knows this client; without one, a new key serves until the client
    /// ends.
    pub identity: Option<Identity>,
    /// Evidence by which this client recognizes the server; none for unencrypted packets alone,
    /// which prove no key.
    pub server: Option<ServerKey>,
    /// SCTP port of the server.
    pub sctp_port: u16,
    /// Messages by each association: when they are due, their sizes, and how many.
    pub messages: Messages,
    /// Associations, each from a socket of its own and with messages of its own; at least 1.
    pub associations: u16,
    /// Streams over which messages are spread in turn.
    pub streams: u16,
    /// Whether messages of a stream are delivered in order.
    pub ordered: bool,
    /// Name of the policy, for reports.
    pub policy_name: String,
    /// Policy by which this side recovers.
    pub policy: Arc<RecoveryPolicy>,
    /// Further options of associations: switchover, heartbeats, extensions. Policy and streams are
    /// those of the fields above.
    pub association: AssociationOptions,
    /// Lifetime of a message; older ones are abandoned and counted. `None`: unlimited.
    pub lifetime: Option<Duration>,
    /// Whether the server's clock is as good as this machine's, so that one-way latency means
    /// something.
    pub same_clock: bool,
    /// Bytes that the association may hold.
    pub memory: usize,
    /// Time limit for the server to answer the handshake.
    pub connect_timeout: Duration,
    /// Silence of the server after which it counts as dead; none: as RFC 9260 counts.
    pub dead_after: Option<Duration>,
    /// Whether to set up another association where one fails, and to go on; each time for as long
    /// as `connect_timeout`.
    pub reconnect: bool,
    /// Time limit for the answers after the last message, and then for the shutdown.
    pub patience: Duration,
    /// File for all packets, as pcapng.
    pub pcap: Option<PathBuf>,
    /// File for recovery's events, as JSON lines.
    pub events: Option<PathBuf>,
    /// Report every timeout, loss and retransmission.
    pub verbose: bool,
}

/// Source of a client's messages.
#[derive(Clone, Debug)]
pub enum Messages {
    /// Measuring messages, which carry their time and number.
    Workload {
        /// Number, sizes and times of the messages.
        plan: WorkloadPlan,
        /// Seed by which phase and intervals are chosen.
        seed: u64,
    },
    /// Measuring messages with the times and sizes of a recording.
    Recorded {
        /// Sizes and times of the messages, by stream.
        recording: Arc<Recording>,
        /// Name of one of its streams; `None`: the first.
        stream: Option<String>,
        /// Limits on the number of messages and on the duration.
        limit: Limit,
    },
    /// Messages of the user's own.
    Given {
        /// File or standard input that the messages are read from.
        input: Input,
        /// Rule that separates one message from the next.
        framing: Framing,
        /// Times at which messages are due; none: as soon as each is read.
        arrivals: Option<Arrivals>,
        /// Most messages to send, or the time for it.
        limit: Limit,
        /// Seed by which phase and intervals are chosen.
        seed: u64,
    },
}

/// Source from which messages are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The bytes of the file at this path.
    File(PathBuf),
    /// The bytes that the process reads.
    StandardInput,
}

/// Rule that separates one message from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One message a line, without the end of the line; empty lines are left out.
    Lines,
    /// Each message follows its length, 4 bytes in network byte order; messages of length 0 are
    /// left out.
    LengthPrefixed,
}

impl SendOptions {
    /// Ten seconds of 100 bytes each 250 ms to `to`, with the default policy.
    pub fn new(to: SocketAddr) -> SendOptions {
        let plan = WorkloadPlan {
            arrivals: Arrivals::Constant { interval: Duration::from_millis(250) },
            size: Sizes::Constant(100),
            limit: Limit::Time(Duration::from_secs(10)),
        };
        SendOptions {
            to,
            other: None,
            further: Vec::new(),
            local: Vec::new(),
            encapsulation: Encapsulation::Secure,
            identity: None,
            server: None,
            sctp_port: DEFAULT_PORT,
            messages: Messages::Workload { plan, seed: 1 },
            associations: 1,
            streams: 1,
            ordered: true,
            policy_name: SCTP_DEFAULT.to_owned(),
            policy: Arc::new(RecoveryPolicy::sctp_default()),
            association: AssociationOptions::default(),
            lifetime: None,
            same_clock: false,
            memory: MemoryLimits::default().limit,
            connect_timeout: Duration::from_secs(10),
            dead_after: Some(thinstream::DEAD_AFTER.into()),
            reconnect: false,
            patience: Duration::from_secs(30),
            pcap: None,
            events: None,
            verbose: false,
        }
    }
}

impl SendOptions {
    /// Whether measuring messages, and answers to them, are as short as an association wants them.
    fn check_size(&self) -> Result<(), SendFailure> {
        let maximum = stamp::longest_measured();
        match &self.messages {
            Messages::Workload { plan, .. } if plan.size.largest() > maximum as u64 => {
                let size = usize::try_from(plan.size.largest()).unwrap_or(usize::MAX);
                Err(SendFailure::TooLarge { size, maximum })
            }
            _ => Ok(()),
        }
    }
}

/// Sends everything, or until the process is asked to end (Ctrl-C, on Unix SIGTERM too), waits for
/// the answers, closes the association and reports what happened. An association that fails on the
/// way does not fail the call: the report says so.
///
/// # Errors
/// See [`SendFailure`].
pub async fn send(
    options: &SendOptions,
    notice: &mut (dyn FnMut(Notice) + Send),
) -> Result<SendReport, SendFailure> {
    send_until(options, notice, crate::signals::interrupted()).await
}

/// Runs [`send`], but ends early with `stop` instead of signals.
///
/// # Errors
/// As [`send`].
pub async fn send_until(
    options: &SendOptions,
    notice: &mut (dyn FnMut(Notice) + Send),
    stop: impl Future<Output = ()>,
) -> Result<SendReport, SendFailure> {
    let clock = Clock::start();
    // What may be wrong with the input comes before the network.
    options.check_size()?;
    if options.associations > 1 {
        return many::send(options, clock, notice, stop).await;
    }
    let trust = options.server.as_ref().map(ServerKey::trust).transpose()?;
    let mut source = Source::open(&options.messages, clock)?;
    let events = EventFile::create(options.events.as_deref())?;
    let packets =
        PacketFile::create(options.pcap.as_deref(), "send", options.encapsulation, clock)?;
    let other = options.other.map_or_else(String::new, |other| format!(" or {other}"));
    let SendOptions { to, sctp_port, .. } = options;
    notice(Notice::Line(format!("connecting to {to}{other}, SCTP port {sctp_port}")));
    let mut stop = std::pin::pin!(stop);
    let Reached { endpoint, association, at } = tokio::select! {
        reached = reach::reach(options, trust, clock, &packets) => reached?,
        () = &mut stop => return Err(SendFailure::Interrupted { remote: options.to }),
    };
    let options = &SendOptions { to: at, ..options.clone() };
    let security = match association.peer() {
        Some(peer) => format!("encrypted, server's key {}", peer.fingerprint),
        None => "traffic is not encrypted".to_owned(),
    };
    notice(Notice::Line(format!(
        "connected to {at}, SCTP port {sctp_port}, policy {}; {security}",
        options.policy_name
    )));
    let learned = reach::learn(options, &association, notice);
    if paths::lacks_second(&association, &options.association) {
        let text = "there is one path only: nothing is sent on two at once (more --local, or a server with more)";
        notice(Notice::Line(text.to_owned()));
    }
    let peer = association.peer().map(|peer| peer.fingerprint.to_string());
    let meter = Meter::new(options.same_clock || stamp::is_this_machine(options.to));
    let mut run = Run::new(options, clock, association, &meter, Some((notice, events)));
    let started = clock.now();
    let ended = run.transfer_all(&mut source, stop).await;
    let duration = clock.now().since(started);
    run.take_events();
    let mut report = SendReport::new(options, duration, &meter, run.report());
    report.fail(ended.as_ref().err());
    report.interrupted = run.interrupted.get();
    report.losses = run.losses.report;
    let (association, events) = run.finish();
    drop(association);
    endpoint.close().await;
    report.peer = peer;
    let events = events.map_or(Ok(()), |mut events| events.finish());
    report.unwritten = unwritten([packets.finish(), events, learned]);
    Ok(report)
}
