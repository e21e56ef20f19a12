//! `thinstream demo`: arguments and printing.

#[cfg(test)]
mod pictures;
mod table;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ::lab::Arrivals;
use ::lab::plan::NetworkName;
use apps::demo::{
    Contender, DemoError, DemoOptions, Length, Outcome, PolicyReport, Report, run_real_time,
    run_virtual,
};
use base::{ByteCount, Duration, Probability};
use recovery::policy::{Protocol, SCTP_DEFAULT};

use crate::failure::Failure;
use crate::failures::Failures;
use crate::file::{OutFile, check_distinct};
use crate::live::{Progress, Screen};
use crate::number::{whole, within};
use crate::output::{self, quoted};
use crate::policy::{NamedPolicy, Overrides, PolicyParser, Sctp, with_presets};
use crate::recording::Recording;

/// Policies that are compared unless others are asked for: the standard, what Linux does, and the
/// default.
const USUAL: [&str; 3] = ["rfc", "lksctp", SCTP_DEFAULT];

/// Show what recovery policies make of the same thin stream and the same losses, side by side.
///
/// Each policy has its own associations over its own copies of the link; which first transmissions
/// are lost is drawn from the seed, the flow and the message, so that all policies lose the same
/// ones. Latency is one-way, from when a message was due to its delivery to the application, the
/// link's own delay included. Ends with a table, and a report as a web page. Live, in a browser:
/// thinstream serve --webrtc.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run in virtual time: no sockets, minutes of traffic in a second, the same numbers every
    /// time.
    #[arg(long = "virtual")]
    is_virtual: bool,
    /// Period during which messages are sent; 20s, in virtual time 200s.
    #[arg(long, value_name = "DURATION", conflicts_with = "messages", help_heading = "Traffic")]
    duration: Option<Duration>,
    /// Number of messages of each policy, instead of a duration; rounded up to the same number in
    /// each flow.
    #[arg(long, value_name = "N", value_parser = within(1..=u64::MAX), help_heading = "Traffic")]
    messages: Option<u64>,
    /// Round-trip time of the network, at most 30s.
    #[arg(long, value_name = "DURATION", default_value = "100ms", help_heading = "Network")]
    rtt: Duration,
    /// Share of packets that are lost, each way.
    #[arg(long, value_name = "PROBABILITY", default_value = "5%", help_heading = "Network")]
    loss: Probability,
    /// Network of the library (with --virtual; "lab networks" lists them) instead of --rtt and
    /// --loss.
    #[arg(
        long, value_name = "NAME", value_parser = crate::network::names(), requires = "is_virtual",
        conflicts_with_all = ["rtt", "loss"], help_heading = "Network"
    )]
    network: Option<NetworkName>,
    /// Time between two messages of a flow; ~250ms draws it from an exponential distribution.
    #[arg(long, value_name = "DURATION", default_value = "250ms", help_heading = "Traffic")]
    interval: Arrivals,
    /// Size of a message.
    #[arg(long, value_name = "SIZE", default_value = "100B", help_heading = "Traffic")]
    size: ByteCount,
    /// Associations of each policy.
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = within(1..=65_535u32), help_heading = "Traffic")]
    flows: u32,
    /// Seed of the choice of lost packets, and of the times at which flows begin.
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = whole)]
    seed: u64,
    #[arg(
        long, value_name = "NAMES", value_delimiter = ',', value_parser = PolicyParser(Protocol::Sctp), hide_possible_values = true, default_values = USUAL, hide_default_value = true,
        help = format!("{} [default: {}]", with_presets("Policies to compare", Protocol::Sctp), USUAL.join(","))
    )]
    policies: Vec<NamedPolicy>,
    /// File of the report; thinstream-demo.html unless --json is given.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// File for the picture of the latencies, as in the project's README.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,
    /// File for an animated picture of one loss under each policy, as in the project's README.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    animation: Option<PathBuf>,
    #[command(flatten)]
    recording: Recording,
    #[command(flatten)]
    overrides: Overrides<Sctp>,
}

/// The report is in this file, if it is there already in one with a number.
const DEFAULT_NAME: &str = "thinstream-demo";
const DURATION: Duration = Duration::from_secs(20);
const VIRTUAL_DURATION: Duration = Duration::from_secs(200);

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let options = arguments.options(&typed)?;
    let files = arguments.files()?;
    let outcome = match arguments.is_virtual {
        true => in_virtual_time(&options),
        false => in_real_time(&options)?,
    };
    let outcome = outcome.map_err(|error| match error {
        DemoError::File(_) => Failure::File(error.to_string()),
        DemoError::Bind(_) | DemoError::Connect(_) => Failure::network(error),
        _ => Failure::usage(error),
    })?;
    arguments.print(&outcome, &files)
}

/// Files written beside the table, if any.
struct Files {
    html: Option<OutFile>,
    svg: Option<OutFile>,
    animation: Option<OutFile>,
}

fn in_virtual_time(options: &DemoOptions) -> Result<Outcome, DemoError> {
    let progress = Mutex::new(Progress::new());
    run_virtual(options, &|done, all| {
        if let Ok(mut progress) = progress.lock() {
            progress.show(&format!("{done} of {all} policies"));
        }
    })
}

fn in_real_time(options: &DemoOptions) -> Result<Result<Outcome, DemoError>, Failure> {
    apps::check_descriptors().map_err(Failure::network)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::network(format!("cannot start: {error}")))?;
    let mut screen = Screen::new();
    let interrupted = apps::interrupted();
    Ok(runtime.block_on(run_real_time(options, &mut |view| screen.show(view), interrupted)))
}

impl Arguments {
    fn options(&self, typed: &[String]) -> Result<DemoOptions, Failure> {
        if self.is_virtual && self.recording.verbose {
            let why =
                "--verbose tells what happens in real time; with --virtual, --events FILE has it";
            return Err(Failure::usage(why));
        }
        let length = match (self.messages, self.duration) {
            (Some(messages), _) => Length::Messages(messages),
            (None, duration) => {
                let default = if self.is_virtual { VIRTUAL_DURATION } else { DURATION };
                Length::Duration(duration.unwrap_or(default))
            }
        };
        Ok(DemoOptions {
            length,
            rtt: self.rtt,
            loss: self.loss,
            network: self.network,
            arrivals: self.interval,
            size: usize::try_from(self.size.0).unwrap_or(usize::MAX),
            flows: self.flows,
            seed: self.seed,
            policies: self.contenders()?,
            pcap: self.recording.pcap.clone(),
            events: self.recording.events.clone(),
            verbose: self.recording.verbose,
            reproduce: self.reproduce(typed, length),
        })
    }

    /// The presets with the overrides; acknowledgements are delayed only where that was asked for.
    fn contenders(&self) -> Result<Vec<Contender>, Failure> {
        let mut contenders: Vec<Contender> = Vec::new();
        for NamedPolicy { name, description, policy } in &self.policies {
            if contenders.iter().any(|other| other.name == *name) {
                return Err(Failure::usage(format!("--policies names \"{name}\" twice")));
            }
            let mut policy = policy.clone();
            policy.acknowledgement.delay = None;
            self.overrides.apply(&mut policy)?;
            let (name, description) = (name.clone(), (*description).to_owned());
            contenders.push(Contender { name, description, policy: Arc::new(policy) });
        }
        Ok(contenders)
    }

    /// The command line as it was typed, with the defaults that it relied on.
    fn reproduce(&self, typed: &[String], length: Length) -> String {
        let mut words = vec!["thinstream".to_owned()];
        words.extend(typed.iter().map(|word| quoted(word)));
        let (flag, value) = match length {
            Length::Duration(span) => ("--duration", span.to_string()),
            Length::Messages(count) => ("--messages", count.to_string()),
        };
        let names: Vec<_> = self.policies.iter().map(|policy| &*policy.name).collect();
        let network = match self.network {
            Some(_) => Vec::new(),
            None => vec![("--rtt", self.rtt.to_string()), ("--loss", self.loss.to_string())],
        };
        let defaults = [
            ("--interval", quoted(&self.interval.to_string())),
            ("--size", self.size.to_string()),
            ("--flows", self.flows.to_string()),
            (flag, value),
            ("--policies", names.join(",")),
            ("--seed", self.seed.to_string()),
        ];
        for (flag, value) in network.into_iter().chain(defaults) {
            let is_typed = |word: &String| {
                word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            };
            if !typed.iter().any(is_typed) {
                words.push(format!("{flag} {value}"));
            }
        }
        words.join(" ")
    }

    /// The files that were asked for, tried.
    fn files(&self) -> Result<Files, Failure> {
        let Recording { pcap, events, json, anew, .. } = &self.recording;
        check_distinct(&[
            ("--html", self.html.as_deref()),
            ("--svg", self.svg.as_deref()),
            ("--animation", self.animation.as_deref()),
            ("--pcap", pcap.as_deref()),
            ("--events", events.as_deref()),
        ])?;
        self.recording.refuse_existing()?;
        let html = match &self.html {
            Some(path) => Some(OutFile::try_open(path, "report", *anew)?),
            None if *json => None,
            None => Some(OutFile::untried(free_name(&|path| path.exists()), "report")),
        };
        let picture = |path: &PathBuf| OutFile::try_open(path, "picture", *anew);
        let [svg, animation] = [&self.svg, &self.animation].map(|path| path.as_ref().map(picture));
        Ok(Files { html, svg: svg.transpose()?, animation: animation.transpose()? })
    }

    /// Writes the files and prints the table; failures are reported after it.
    fn print(&self, outcome: &Outcome, files: &Files) -> Result<(), Failure> {
        let Outcome { report, unwritten } = outcome;
        let mut failures = Failures::default();
        failures.keep(undelivered(report));
        if let Some(file) = &files.html {
            failures.keep(file.write(&report.to_page()));
        }
        if let Some(file) = &files.svg {
            let nothing = "nothing was delivered: there is no picture to draw";
            failures.keep(draw(file, report.to_svg(), nothing));
        }
        if let Some(file) = &files.animation {
            let nothing = "nothing was lost: there is nothing to animate";
            failures.keep(draw(file, report.to_moving_svg(), nothing));
        }
        // In real time, each flow has ports of its own; in virtual time there is no UDP.
        self.recording.print_how_to_read((!self.is_virtual).then_some("1-65535"), unwritten);
        let text =
            if self.recording.json { report.to_json() } else { table::text(&report.policies) };
        failures.keep(output::print(&text));
        failures.keep_files(unwritten);
        failures.finish()
    }
}

/// Writes a picture, or says why there is none.
fn draw(file: &OutFile, picture: Option<String>, nothing: &str) -> Result<(), Failure> {
    picture.map_or_else(|| Err(Failure::check(nothing)), |picture| file.write(&picture))
}

/// Fails where a policy did not deliver all messages.
fn undelivered(report: &Report) -> Result<(), Failure> {
    let is_short = |policy: &&PolicyReport| policy.results.delivered < policy.results.messages;
    match report.policies.iter().find(is_short) {
        None => Ok(()),
        Some(policy) => Err(Failure::check(format!(
            "under {} only {} of {} messages arrived: the association was given up",
            policy.name, policy.results.delivered, policy.results.messages
        ))),
    }
}

/// A name for the report that no file has: an earlier report stays.
fn free_name(is_taken: &dyn Fn(&Path) -> bool) -> PathBuf {
    let numbered = (2..=999).map(|number| format!("{DEFAULT_NAME}-{number}.html"));
    let names = std::iter::once(format!("{DEFAULT_NAME}.html")).chain(numbered);
    let mut paths = names.map(PathBuf::from);
    let free = paths.find(|path| !is_taken(path));
    free.unwrap_or_else(|| format!("{DEFAULT_NAME}.html").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::parse;

    #[test]
    fn a_report_without_a_name_replaces_no_other() {
        assert_eq!(free_name(&|_| false), Path::new("thinstream-demo.html"));
        let first_two = |path: &Path| !path.to_string_lossy().contains("-3");
        assert_eq!(free_name(&first_two), Path::new("thinstream-demo-3.html"));
    }

    pub(super) fn options(typed: &[&str]) -> Result<DemoOptions, String> {
        let arguments = parse::<Arguments>(typed).map_err(|error| error.to_string())?;
        let typed: Vec<String> = typed.iter().map(|word| (*word).to_owned()).collect();
        arguments.options(&typed).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn the_defaults_are_those_of_the_papers_case_with_20_000_messages_for_each_policy() {
        let options = options(&["--virtual"]).unwrap();
        assert_eq!(options.rtt, Duration::from_millis(100));
        assert_eq!(options.workload().limit, lab::Limit::Time(Duration::from_secs(200)));
        let names: Vec<_> = options.policies.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["rfc", "lksctp", SCTP_DEFAULT]);
        assert!(options.policies.iter().all(|one| one.policy.acknowledgement.delay.is_none()));
    }

    #[test]
    fn delayed_acknowledgements_and_other_mechanisms_are_for_all_policies() {
        let options = options(&["--sack-delay", "100ms", "--dup-threshold", "2"]).unwrap();
        for one in &options.policies {
            assert_eq!(one.policy.acknowledgement.delay, Some(Duration::from_millis(100)));
            assert_eq!(one.policy.loss.dup_threshold, 2);
        }
    }

    #[test]
    fn the_command_line_to_reproduce_has_what_was_typed_and_the_defaults() {
        let typed = ["--virtual", "--loss=1%", "--interval", "~250ms", "--messages", "100"];
        let reproduce = options(&typed).unwrap().reproduce;
        assert_eq!(
            reproduce,
            "thinstream --virtual --loss=1% --interval '~250ms' --messages 100 --rtt 100ms \
             --size 100B --flows 25 --policies rfc,lksctp,latency --seed 1"
        );
    }

    #[test]
    fn a_network_of_the_library_takes_the_place_of_round_trip_and_loss_in_virtual_time() {
        let named = options(&["--virtual", "--network", "wifi-far", "--flows", "2"]).unwrap();
        assert_eq!(named.network.unwrap().as_str(), "wifi-far");
        let reproduce = &named.reproduce;
        assert!(
            reproduce.contains("--network wifi-far") && !reproduce.contains("--rtt"),
            "{reproduce}"
        );
        assert!(options(&["--network", "lte"]).unwrap_err().contains("--virtual"));
        assert!(options(&["--virtual", "--network", "3g"]).unwrap_err().contains("5g-drive"));
        let both = options(&["--virtual", "--network", "lte", "--rtt", "1ms"]).unwrap_err();
        assert!(both.contains("--rtt"), "{both}");
    }

    #[test]
    fn unknown_and_repeated_policies_are_refused() {
        let error = options(&["--policies", "thin,lkstcp"]).unwrap_err();
        assert!(error.contains("lkstcp") && error.contains("freebsd-efr"), "{error}");
        assert!(options(&["--policies", "thin,thin"]).unwrap_err().contains("twice"));
    }
}
