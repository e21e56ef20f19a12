//! `thinstream send`: arguments and printing.

use std::path::PathBuf;
use std::sync::Arc;

use ::lab::{Arrivals, ArrivalsText, Limit, ReplayText, Sizes, WorkloadPlan};
use apps::ServerKey;
use apps::send::{Framing, Input, Messages, SendFailure, SendOptions, send};
use base::{ByteCount, Duration};
use recovery::policy::{Protocol, SCTP_DEFAULT};
use thinstream::{AssociationOptions, Fingerprint};

use crate::address::{HostPort, LocalAddress, check_distinct, check_family};
use crate::failure::Failure;
use crate::failures::Failures;
use crate::number::{some_memory, some_time, whole, within};
use crate::paths::Paths;
use crate::policy::{NamedPolicy, Overrides, PolicyParser, Sctp, with_presets};
use crate::recording::Recording;
use crate::security::Security;
use crate::{live, output};

/// Send messages to a server and measure how long they take.
///
/// Latency counts from when each message was due, so that a sender that is held up hides nothing.
/// Round trip: until the answer of "thinstream serve" came back. One way: until the server's
/// application had it, by the clock of both; shown when both are on one machine. Traffic is
/// encrypted (DTLS 1.3).
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address of the server.
    #[arg(value_name = "ADDR")]
    to: HostPort,
    /// The server's SCTP port.
    #[arg(long, value_name = "PORT", default_value_t = thinstream::DEFAULT_PORT, value_parser = within(1..=u16::MAX), help_heading = "Connection")]
    sctp_port: u16,
    /// Address of this machine to send from; repeat for the paths of a multihomed association.
    #[arg(long, value_name = "ADDR", help_heading = "Connection")]
    local: Vec<LocalAddress>,
    /// Further address of the server, in case the first does not answer; may be repeated.
    #[arg(long, value_name = "ADDR", help_heading = "Connection")]
    also: Vec<HostPort>,
    /// Size of a message, "pareto 1000B 9200B 64MB" (least, mean, most), or the name of an
    /// application. 100B, or what goes with the application of --interval.
    #[arg(long, value_name = "SIZE", conflicts_with = "from", help_heading = "Messages")]
    size: Option<Sizes>,
    /// Time between messages; ~250ms draws it from an exponential distribution, "bursts 4 305ms
    /// 30s" sends 4 messages, one each 305ms, every 30s, bzflag sends as that game, greedy as
    /// fast as possible, "live 300kbit" media as they are made, "stored 300kbit" those made
    /// before, "images 8 7kB" images side by side ("thinstream lab workloads" lists
    /// applications), "replay FILE" or "replay FILE STREAM" what was recorded, in a capture or
    /// a table of "thinstream trace convert", sizes included. 250ms, or with --from as soon as a
    /// message is read.
    #[arg(long, value_name = "DURATION", help_heading = "Messages")]
    interval: Option<ArrivalsText>,
    /// Number of messages.
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = whole, help_heading = "Messages")]
    count: Option<u64>,
    /// Period during which messages are sent; 10s, or with --from until the input ends.
    #[arg(long, value_name = "DURATION", help_heading = "Messages")]
    duration: Option<Duration>,
    /// Send the messages in this file, one a line; - is standard input.
    #[arg(long, value_name = "FILE", help_heading = "Messages")]
    from: Option<PathBuf>,
    /// Messages in the file follow their length: 4 bytes, network byte order.
    #[arg(long, requires = "from", help_heading = "Messages")]
    length_prefixed: bool,
    /// Number of streams over which messages are spread in turn.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = within(1..=u16::MAX), help_heading = "Messages")]
    streams: u16,
    /// Number of associations, each from a port of its own and with these messages: a load for a
    /// server. They begin to send once all are set up, and the report is about all of them.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = within(1..=u16::MAX), help_heading = "Connection")]
    associations: u16,
    /// Deliver messages of a stream in order: the default.
    #[arg(long, conflicts_with = "unordered", help_heading = "Messages")]
    ordered: bool,
    /// Deliver each message as soon as it arrives.
    #[arg(long, help_heading = "Messages")]
    unordered: bool,
    /// Lifetime of a message: older ones are abandoned and counted.
    #[arg(long, value_name = "DURATION", value_parser = some_time, help_heading = "Messages")]
    lifetime: Option<Duration>,
    /// Longest wait of a message before it is first sent: messages that wait longer are abandoned
    /// and counted.
    #[arg(long, value_name = "DURATION", value_parser = some_time, help_heading = "Messages")]
    max_queueing_delay: Option<Duration>,
    #[arg(long, value_name = "NAME", default_value = SCTP_DEFAULT, value_parser = PolicyParser(Protocol::Sctp), hide_possible_values = true, help = with_presets("Recovery policy", Protocol::Sctp))]
    policy: NamedPolicy,
    /// The server on another machine has a clock as good as this one's: believe one-way latency.
    #[arg(long)]
    same_clock: bool,
    /// Memory limit of the association in bytes: messages that wait or are not acknowledged, and
    /// answers. At the limit, messages wait in their source.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = some_memory, help_heading = "Limits")]
    memory: ByteCount,
    /// Longest wait for the server's first answer.
    #[arg(long, value_name = "DURATION", default_value = "10s", help_heading = "Connection")]
    connect_timeout: Duration,
    /// Set up another association when one fails, for as long as --connect-timeout each time, and
    /// continue; the report has the gap, and the lost messages.
    #[arg(long, help_heading = "Connection")]
    reconnect: bool,
    /// Longest wait for answers after the last message.
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    patience: Duration,
    /// Seed of the times of messages.
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = whole)]
    seed: u64,
    #[command(flatten)]
    security: Security,
    /// Fingerprint of the server's key, as the server prints it. Without it, a server is trusted
    /// at the first connection, and its key is kept for the next time, as ssh does.
    #[arg(long, value_name = "FINGERPRINT", conflicts_with_all = ["plain", "known_peers", "ca"], help_heading = "Security")]
    peer: Option<Fingerprint>,
    /// Trust a server whose certificate for the name or address in ADDR is signed by an authority
    /// whose certificate is in this file (PEM).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plain", "known_peers"], help_heading = "Security")]
    ca: Option<PathBuf>,
    /// File with the keys of known servers; by default known_peers beside the key of "thinstream
    /// serve".
    #[arg(long, value_name = "FILE", conflicts_with = "plain", help_heading = "Security")]
    known_peers: Option<PathBuf>,
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    recording: Recording,
    #[command(flatten)]
    overrides: Overrides<Sctp>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let options = arguments.options()?;
    apps::check_descriptors().map_err(Failure::network)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::network(format!("cannot start: {error}")))?;
    let report = {
        let mut notice = live::notices();
        let sent = runtime.block_on(send(&options, &mut notice));
        sent.map_err(|error| failure(&error))?
    };
    let port = (!arguments.security.raw_ip).then(|| options.to.port().to_string());
    arguments.recording.print_how_to_read(port.as_deref(), &report.unwritten);
    let printed = match arguments.recording.json {
        true => output::print(&serde_json::to_string_pretty(&report).unwrap_or_default()),
        false => output::print(&report.to_string()),
    };
    let mut failures = Failures::default();
    failures.keep(match (&report.failure, report.damaged) {
        (Some(failure), _) if report.failed_by_input => Err(Failure::usage(failure)),
        (Some(failure), _) => Err(Failure::network(format!("{}: {failure}", report.to))),
        (None, 0) => Ok(()),
        (None, damaged) => Err(Failure::check(format!("{damaged} messages came back damaged"))),
    });
    failures.keep(printed);
    failures.keep_files(&report.unwritten);
    failures.finish()
}

/// Failure for which nothing was sent, with its exit code.
fn failure(error: &SendFailure) -> Failure {
    match error {
        SendFailure::Interrupted { .. } => Failure::Interrupted(error.to_string()),
        error if error.is_usage() => Failure::usage(error),
        error => Failure::network(error),
    }
}

impl Arguments {
    /// Way in which the server is known: by the name that the user calls it, unless its key is
    /// given.
    fn server(&self) -> Result<Option<ServerKey>, Failure> {
        if self.security.plain {
            return Ok(None);
        }
        if let Some(fingerprint) = self.peer {
            return Ok(Some(ServerKey::Known(fingerprint)));
        }
        if let Some(file) = &self.ca {
            let name = self.to.host().to_owned();
            return Ok(Some(ServerKey::Authority { file: file.clone(), name }));
        }
        let file = match &self.known_peers {
            Some(file) => file.clone(),
            None => apps::usual_known_peers().map_err(Failure::usage)?,
        };
        Ok(Some(ServerKey::FirstUse { file, name: self.to.to_string() }))
    }

    fn options(&self) -> Result<SendOptions, Failure> {
        let mut policy = self.policy.policy.clone();
        self.overrides.apply(&mut policy)?;
        self.recording.check(self.from.as_deref().map(|path| ("--from", path)))?;
        let messages = self.messages()?;
        [&self.to].into_iter().chain(&self.also).try_for_each(HostPort::check_reachable)?;
        let further: Vec<_> = self.also.iter().map(HostPort::resolve).collect::<Result<_, _>>()?;
        // What else is named decides the family.
        let named = self.local.first().map(|local| local.0).or(further.first().copied());
        let (to, other) = self.to.resolve_both(named.map(|address| address.is_ipv4()))?;
        check_distinct(&self.local)?;
        check_family(to, &self.local, &further)?;
        let association = AssociationOptions {
            max_queueing_delay: self.max_queueing_delay,
            ..self.paths.options()
        };
        Ok(SendOptions {
            local: self.local.iter().map(|local| local.0).collect(),
            encapsulation: self.security.encapsulation()?,
            identity: self.security.named_key()?,
            server: self.server()?,
            sctp_port: self.sctp_port,
            messages,
            associations: self.associations,
            streams: self.streams,
            ordered: !self.unordered,
            policy_name: self.policy.name.clone(),
            policy: Arc::new(policy),
            association,
            lifetime: self.lifetime,
            other,
            further,
            same_clock: self.same_clock,
            memory: usize::try_from(self.memory.0).unwrap_or(usize::MAX),
            connect_timeout: self.connect_timeout,
            dead_after: self.paths.dead_after(),
            reconnect: self.reconnect,
            patience: self.patience,
            pcap: self.recording.pcap.clone(),
            events: self.recording.events.clone(),
            verbose: self.recording.verbose,
            ..SendOptions::new(to)
        })
    }

    fn messages(&self) -> Result<Messages, Failure> {
        let limit = match (self.count, self.duration) {
            (Some(count), _) => Some(Limit::Count(count)),
            (None, duration) => duration.map(Limit::Time),
        };
        let seed = self.seed;
        let arrivals = match &self.interval {
            None => None,
            Some(ArrivalsText::Drawn(arrivals)) => Some(*arrivals),
            Some(ArrivalsText::Replay(replay)) => return self.recorded(replay, limit),
        };
        Ok(match &self.from {
            Some(path) => Messages::Given {
                input: match path.as_os_str() == "-" {
                    true => Input::StandardInput,
                    false => Input::File(path.clone()),
                },
                framing: match self.length_prefixed {
                    true => Framing::LengthPrefixed,
                    false => Framing::Lines,
                },
                arrivals,
                limit: limit.unwrap_or(Limit::Unlimited),
                seed,
            },
            None => {
                let interval = Duration::from_millis(250);
                let arrivals = arrivals.unwrap_or(Arrivals::Constant { interval });
                let size = self.size.or(arrivals.own_sizes()).unwrap_or(Sizes::Constant(100));
                let plan = WorkloadPlan {
                    arrivals,
                    size,
                    limit: limit.unwrap_or(Limit::Time(Duration::from_secs(10))),
                };
                Messages::Workload { plan, seed }
            }
        })
    }

    fn recorded(&self, replay: &ReplayText, limit: Option<Limit>) -> Result<Messages, Failure> {
        let refuse = |what: String| Err(Failure::usage(format!("--interval \"{replay}\": {what}")));
        if self.size.is_some() || self.from.is_some() {
            return refuse(
                "a recording has sizes of its own: expected no --size and no --from".to_owned(),
            );
        }
        let ReplayText { file, stream } = replay;
        let wanted = stream.clone().map(|stream| [stream].into());
        let recording = match std::fs::read(file) {
            Err(error) => return refuse(error.to_string()),
            Ok(bytes) => ::lab::workload::recording_of_file(&bytes, wanted.as_ref()),
        };
        match recording {
            Err(error) => refuse(error.to_string()),
            Ok(recording) if stream.is_none() && recording.streams().len() > 1 => {
                let names = recording.streams().iter().map(|stream| stream.name.as_str());
                let names: Vec<&str> = names.collect();
                refuse(format!("it has several streams; name one of {}", names.join(", ")))
            }
            Ok(recording) => Ok(Messages::Recorded {
                recording: Arc::new(recording),
                stream: stream.clone(),
                limit: limit.unwrap_or(Limit::Unlimited),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::parse;

    fn options(typed: &[&str]) -> Result<SendOptions, String> {
        let line = [&["127.0.0.1:9899"], typed].concat();
        let arguments = parse::<Arguments>(&line).map_err(|error| error.to_string())?;
        arguments.options().map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn an_interruption_before_the_server_answered_is_told_from_a_network_failure() {
        let remote = "127.0.0.1:9899".parse().unwrap();
        assert_eq!(failure(&SendFailure::Interrupted { remote }).exit_code(), 130);
        let streams = SendFailure::Streams { asked: 3, granted: 2 };
        assert_ne!(failure(&streams).exit_code(), 130);
    }

    #[test]
    fn a_thin_stream_of_ten_seconds_is_the_default() {
        let Messages::Workload { plan, seed: 1 } = options(&[]).unwrap().messages else {
            panic!("no workload");
        };
        assert_eq!(
            (plan.size, plan.limit),
            (Sizes::Constant(100), Limit::Time(Duration::from_secs(10)))
        );
        assert_eq!(plan.arrivals.to_string(), "250ms");
    }

    #[test]
    fn messages_of_a_file_go_as_they_are_read_unless_an_interval_is_given() {
        let given = |typed: &[&str]| match options(typed).unwrap().messages {
            Messages::Given { input, framing, arrivals, limit, .. } => {
                (input, framing, arrivals, limit)
            }
            _ => panic!("no input"),
        };
        let (input, framing, arrivals, limit) = given(&["--from", "-"]);
        assert_eq!((input, framing), (Input::StandardInput, Framing::Lines));
        assert_eq!((arrivals, limit), (None, Limit::Unlimited));
        let prefixed = ["--from", "x", "--length-prefixed", "--interval", "~5ms", "--count", "3"];
        let (input, framing, arrivals, limit) = given(&prefixed);
        assert_eq!((input, framing), (Input::File("x".into()), Framing::LengthPrefixed));
        assert_eq!(arrivals, Some(Arrivals::Exponential { mean: Duration::from_millis(5) }));
        assert_eq!(limit, Limit::Count(3));
    }

    #[test]
    fn messages_may_have_a_lifetime_and_a_bound_on_their_wait() {
        let bounded = options(&["--lifetime", "200ms", "--max-queueing-delay", "50ms"]).unwrap();
        assert_eq!(bounded.lifetime, Some(Duration::from_millis(200)));
        assert_eq!(bounded.association.max_queueing_delay, Some(Duration::from_millis(50)));
    }

    #[test]
    fn there_is_one_association_unless_more_are_asked_for() {
        assert_eq!(options(&[]).unwrap().associations, 1);
        assert_eq!(options(&["--associations", "10000"]).unwrap().associations, 10_000);
    }

    #[test]
    fn what_was_recorded_is_sent_as_it_was() {
        let path = std::env::temp_dir().join(format!("thinstream-send-{}.csv", std::process::id()));
        let name = path.display().to_string();
        std::fs::write(&path, "time_s,size,stream\n0,40,1a\n1,60,2a\n").unwrap();
        let (one, all) = (format!("replay {name} 2a"), format!("replay {name}"));
        let messages = options(&["--interval", &one, "--count", "7"]).unwrap().messages;
        let refused = options(&["--interval", &all]).unwrap_err();
        let sized = options(&["--interval", &one, "--size", "9B"]).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        let gone = options(&["--interval", &one]).unwrap_err();
        let Messages::Recorded { recording, stream, limit } = messages else { panic!() };
        assert_eq!((recording.count(), stream.as_deref()), (2, Some("2a")));
        assert_eq!(limit, Limit::Count(7));
        assert!(refused.contains("name one of 1a, 2a"), "{refused}");
        assert!(sized.contains("no --size"), "{sized}");
        assert!(gone.contains(&name), "{gone}");
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for typed in [
            &["--ordered", "--unordered"][..],
            &["--count", "1", "--duration", "1s"],
            &["--length-prefixed"],
            &["--streams", "0"],
            &["--associations", "0"],
            &["--associations", "many"],
            &["--from", "x", "--size", "10B"],
            &["--lifetime", "0s"],
            &["--local", "127.0.0.1", "--local", "127.0.0.1:9000"],
            &["--local", "::1"],
            &["--also", "[::1]:9899"],
        ] {
            assert!(options(typed).is_err(), "{typed:?}");
        }
    }
}
