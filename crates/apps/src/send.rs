//! `thinstream send`: a measuring client.

mod failure;
mod feed;
mod meter;
mod reach;
mod reconnecting;
mod report;
mod source;
#[cfg(test)]
mod tests;

pub use self::report::SendReport;
pub use failure::SendFailure;
pub use reconnecting::LossReport;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use base::{Duration, Instant};
use io::Clock;
use lab::{Arrivals, Limit, Recording, Sizes, WorkloadPlan};
use thinstream::policy::SCTP_DEFAULT;
use thinstream::{
    Association, AssociationError, AssociationOptions, Carrier, DEFAULT_PORT, Identity,
    MemoryLimits, RecoveryPolicy, Reliability, SendError, StreamId,
};

use crate::files::{EventFile, PacketFile, unwritten};
use crate::keys::ServerKey;
use crate::notice::Notice;
use crate::{paths, stamp, trouble};
use feed::Feed;
use meter::Meter;
use reach::Reached;
use reconnecting::Losses;
use source::Source;

/// What a client sends, to whom, and how.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// The server.
    pub to: SocketAddr,
    /// An address of the other family that the server's name has, too: tried where `to` does not answer soon.
    pub other: Option<SocketAddr>,
    /// Further addresses of the server, as far as they are known; it tells them by itself.
    pub further: Vec<SocketAddr>,
    /// Addresses to send from, those of all paths of a multihomed client; none leaves it to the system.
    pub local: Vec<SocketAddr>,
    /// What carries packets.
    pub carrier: Carrier,
    /// The key by which the server knows this client; none makes one that ends with it.
    pub identity: Option<Identity>,
    /// How this client knows the server. None for packets in plain alone, which prove no key.
    pub server: Option<ServerKey>,
    /// The server's SCTP port.
    pub sctp_port: u16,
    /// What is sent.
    pub messages: Messages,
    /// Streams over which messages are spread in turn.
    pub streams: u16,
    /// Whether messages of a stream are delivered in order.
    pub ordered: bool,
    /// Name of the policy, for reports.
    pub policy_name: String,
    /// Recovery of this side.
    pub policy: Arc<RecoveryPolicy>,
    /// What else is chosen for associations: switchover, heartbeats, extensions. Policy and streams are those
    /// named above.
    pub association: AssociationOptions,
    /// How long a message is worth sending; older ones are given up and counted. None: for ever.
    pub lifetime: Option<Duration>,
    /// Whether the server's clock is as good as this machine's, so that one-way latency means something.
    pub same_clock: bool,
    /// Bytes that the association may hold.
    pub memory: usize,
    /// How long the server may take to answer the handshake.
    pub connect_timeout: Duration,
    /// Silence of the server after which it counts as dead; none: as RFC 9260 counts.
    pub dead_after: Option<Duration>,
    /// Whether to set up another association where one fails, and to go on; each time for as long as
    /// `connect_timeout`.
    pub reconnect: bool,
    /// How long, after the last message, its answers may take, and then the shutdown.
    pub patience: Duration,
    /// Where to write all packets, as pcapng.
    pub pcap: Option<PathBuf>,
    /// Where to write recovery's events, as JSON lines.
    pub events: Option<PathBuf>,
    /// Tell of every timeout, loss and retransmission.
    pub verbose: bool,
}

/// What a client sends.
#[derive(Clone, Debug)]
pub enum Messages {
    /// Measuring messages.
    Workload {
        /// How many, how large, when.
        plan: WorkloadPlan,
        /// Chooses phase and intervals.
        seed: u64,
    },
    /// Measuring messages with the times and sizes of a recording.
    Recorded {
        /// Sizes and times of the messages, by stream.
        recording: Arc<Recording>,
        /// Which of its streams; without it, the first.
        stream: Option<String>,
        /// How many at most, or how long.
        limit: Limit,
    },
    /// Messages of the user's own.
    Given {
        /// Where they are read.
        input: Input,
        /// Where one ends and the next begins.
        framing: Framing,
        /// When each is due; none: as soon as it is read.
        arrivals: Option<Arrivals>,
        /// How many at most.
        limit: Limit,
        /// Chooses phase and intervals.
        seed: u64,
    },
}

/// Where messages are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The bytes of the file at this path.
    File(PathBuf),
    /// The bytes that the process reads.
    StandardInput,
}

/// Where one message ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One message a line, without the end of the line; empty lines are left out.
    Lines,
    /// Each message follows its length, 4 bytes in network byte order; messages of length 0 are left out.
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
            carrier: Carrier::Secure,
            identity: None,
            server: None,
            sctp_port: DEFAULT_PORT,
            messages: Messages::Workload { plan, seed: 1 },
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
    /// Whether measuring messages are as short as an association wants them.
    fn check_size(&self) -> Result<(), SendFailure> {
        let maximum = AssociationOptions::default().max_message_size;
        match &self.messages {
            Messages::Workload { plan, .. } if plan.size.largest() > maximum as u64 => {
                let size = usize::try_from(plan.size.largest()).unwrap_or(usize::MAX);
                Err(SendFailure::TooLarge { size, maximum })
            }
            _ => Ok(()),
        }
    }
}

/// Sends everything, or until the process is asked to end (Ctrl-C, on Unix SIGTERM too), waits for the
/// answers, closes the association and reports what happened. An association that fails on the way does
/// not fail the call: the report says so.
///
/// # Errors
/// See [`SendFailure`].
pub async fn send(
    options: &SendOptions,
    notice: &mut (dyn FnMut(Notice) + Send),
) -> Result<SendReport, SendFailure> {
    send_until(options, notice, crate::signals::interrupted()).await
}

/// As [`send`], but ends early with `stop` instead of signals.
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
    let trust = options.server.as_ref().map(ServerKey::trust).transpose()?;
    let source = Source::open(&options.messages, clock)?;
    let events = EventFile::create(options.events.as_deref())?;
    let packets = PacketFile::create(options.pcap.as_deref(), "send", options.carrier, clock)?;
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
    let recording = options.verbose || events.is_open();
    association.record_recovery_events(recording);

    let mut run = Run {
        options,
        clock,
        association,
        meter: Meter::new(options.same_clock || stamp::is_this_machine(options.to)),
        said: RefCell::new((notice, events)),
        interrupted: Cell::new(false),
        losses: Losses::default(),
        lost: 0,
    };
    let peer = run.association.peer().map(|peer| peer.fingerprint.to_string());
    let started = clock.now();
    let mut source = source;
    let ended = run.transfer_all(&mut source, stop).await;
    let duration = clock.now().since(started);
    run.take_events();
    let stats = run.association.stats();
    let mut report =
        SendReport::new(options, duration, &run.meter, stats.as_ref(), ended.as_ref().err());
    report.interrupted = run.interrupted.get();
    report.losses = run.losses.report;
    let (_, mut events) = run.said.into_inner();
    drop(run.association);
    endpoint.close().await;
    report.peer = peer;
    report.unwritten = unwritten([packets.finish(), events.finish(), learned]);
    Ok(report)
}

/// Why a transfer ended early.
#[derive(Debug)]
enum Ended {
    /// The association failed.
    Association(AssociationError),
    /// What was read is no message.
    Input(String),
    /// The size of measuring messages is too small.
    Probe(lab::ProbeError),
    /// Answers were still missing when patience ended.
    Impatient,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::Association(error) => write!(f, "{error}"),
            Ended::Input(text) => f.write_str(text),
            Ended::Probe(error) => write!(f, "{error}"),
            Ended::Impatient => f.write_str("the shutdown took too long"),
        }
    }
}

type Said<'a> = (&'a mut (dyn FnMut(Notice) + Send), EventFile);

/// A transfer under way.
struct Run<'a> {
    options: &'a SendOptions,
    clock: Clock,
    association: Association,
    meter: Meter,
    said: RefCell<Said<'a>>,
    /// The process was asked to end before all was sent.
    interrupted: Cell<bool>,
    losses: Losses,
    /// Messages whose answers do not come, since their association failed.
    lost: u64,
}

impl Run<'_> {
    /// Transfers, by as many associations as it takes if that is wanted.
    async fn transfer_all(
        &mut self,
        source: &mut Source,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<(), Ended> {
        loop {
            let ended = self.transfer(source, stop.as_mut()).await;
            let Err(Ended::Association(error)) = &ended else { return ended };
            let left = self.losses.on_failure(self.clock.now(), self.association.stats().as_ref());
            let again = self.options.reconnect && !self.interrupted.get();
            if !again || !reconnecting::may_help(error) {
                return ended;
            }
            self.say(format!("{error}; {left}"));
            self.take_events();
            let anew = tokio::select! {
                anew = reconnecting::reconnect(self.options, self.clock, &self.association) => anew,
                () = stop.as_mut() => {
                    self.interrupted.set(true);
                    return ended;
                }
            };
            match anew {
                Ok(anew) => self.go_on_with(anew),
                Err(failure) => {
                    self.say(format!("cannot connect again: {failure}"));
                    return ended;
                }
            }
        }
    }

    fn go_on_with(&mut self, anew: Association) {
        self.lost = self.meter.answers_missing();
        let recording = self.options.verbose || self.said.borrow().1.is_open();
        anew.record_recovery_events(recording);
        self.association = anew;
        let text = self.losses.on_reconnected(self.clock.now());
        self.say(text);
    }

    fn say(&self, text: String) {
        (self.said.borrow_mut().0)(Notice::Line(text));
    }

    /// Sends, receives answers and tells of the progress until all is done and closed.
    async fn transfer(
        &self,
        source: &mut Source,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Ended> {
        let sending = async {
            let sent = tokio::select! {
                sent = self.send_all(source) => sent,
                () = stop => {
                    self.interrupted.set(true);
                    Ok(())
                }
            };
            if !matches!(sent, Err(Ended::Association(_))) {
                // What was sent before a line that is no message counts.
                self.await_answers().await;
                self.shut_down().await?;
            }
            sent
        };
        tokio::select! {
            done = sending => done,
            failed = self.receive_all() => failed,
            never = self.tell_progress() => match never {},
            never = self.tell_paths() => match never {},
        }
    }

    async fn send_all(&self, source: &mut Source) -> Result<(), Ended> {
        let reliability = self.options.lifetime.map_or(Reliability::Full, Reliability::Lifetime);
        while let Some(message) = source.next().await? {
            let stream = StreamId((self.meter.sent() % u64::from(self.options.streams)) as u16);
            let options = thinstream::SendOptions {
                ppid: message.ppid,
                unordered: !self.options.ordered,
                reliability,
                ..thinstream::SendOptions::default()
            };
            self.meter.on_sent(stream, &message);
            match self.association.send_with(stream, message.payload, options).await {
                Ok(()) => {}
                Err(SendError::Ended(error)) => return Err(Ended::Association(error)),
                Err(error) => return Err(Ended::Input(error.to_string())),
            }
        }
        Ok(())
    }

    async fn receive_all(&self) -> Result<(), Ended> {
        loop {
            match self.association.receive().await {
                Ok(Some(message)) => {
                    self.meter.on_answer(stamp::wall(self.clock, self.clock.now()), message);
                }
                // Closed by either side: the sending part sees to the rest.
                Ok(None) => return std::future::pending().await,
                Err(error) => return Err(Ended::Association(error)),
            }
        }
    }

    /// Waits for answers until all are there, patience ends, or the server obviously sends none.
    async fn await_answers(&self) {
        const IDLE: Duration = Duration::from_secs(2);
        let begin = self.clock.now();
        let mut settled_since: Option<Instant> = None;
        while self.meter.answers_missing() > self.given_up() {
            let now = self.clock.now();
            let settled = self.association.is_settled();
            settled_since = settled_since.filter(|_| settled).or(settled.then_some(now));
            let idle = settled_since.is_some_and(|since| now.since(since) > IDLE);
            let silent = idle && self.meter.answers() == 0;
            if silent || now.since(begin) > self.options.patience {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// Messages that grew too old, or were left behind by an association that failed.
    fn given_up(&self) -> u64 {
        let abandoned = self.association.stats().map(|stats| stats.abandoned);
        self.lost + abandoned.map_or(0, |abandoned| abandoned.unsent + abandoned.sent)
    }

    async fn shut_down(&self) -> Result<(), Ended> {
        let closing = self.association.shutdown();
        match tokio::time::timeout(self.options.patience.into(), closing).await {
            Ok(closed) => closed.map_err(Ended::Association),
            Err(_) => Err(Ended::Impatient),
        }
    }

    async fn tell_progress(&self) -> std::convert::Infallible {
        let mut tick = tokio::time::interval(std::time::Duration::from_millis(200));
        loop {
            tick.tick().await;
            self.take_events();
            let again = self.association.stats().map_or(0, |s| s.recovery.retransmissions.total());
            let text = self.meter.progress(again);
            (self.said.borrow_mut().0)(Notice::Progress(text));
        }
    }

    async fn tell_paths(&self) -> std::convert::Infallible {
        while let Some(lines) = paths::next_changes(&self.association).await {
            let notice = &mut *self.said.borrow_mut().0;
            lines.into_iter().for_each(|line| notice(Notice::Line(line)));
        }
        std::future::pending().await
    }

    fn take_events(&self) {
        let first_unit = self.association.first_unit().unwrap_or_default();
        let (notice, file) = &mut *self.said.borrow_mut();
        for event in self.association.recovery_events() {
            file.write(&self.options.policy_name, 0, first_unit, &event);
            if let Some(text) =
                trouble::describe(first_unit, &event).filter(|_| self.options.verbose)
            {
                notice(Notice::Line(text));
            }
        }
    }
}
