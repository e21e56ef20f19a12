//! `thinstream trace replay`: arguments and printing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

use ::lab::plan::Plan;
use ::lab::policy_text::TransportName;
use ::lab::replay::{Conditions, Interval, NetworkText, Outcome, PolicyText, Replay, outcomes};
use ::report::four_digits;
use base::Probability;
use clap::builder::PossibleValue;
use recovery::policy::{self, SCTP_DEFAULT, TCP_DEFAULT};
use results::text_table::Table;
use runner::archive::Existing;
use runner::plan_file::read_text;
use trace::Protocol;
use trace::report::{Report, Totals};

use super::tables::Width;
use super::{Selection, convert};
use crate::failure::Failure;
use crate::failures::Failures;
use crate::file::{OutFile, check_distinct};
use crate::lab::{Page, run_made, show};
use crate::number::within;
use crate::output;
use crate::suggested::Suggested;

/// Policies that SCTP's traffic is replayed under unless others are asked for: Linux's, and ours
/// without and with copies.
const SCTP_USUAL: [&str; 3] = ["lksctp", "thin", SCTP_DEFAULT];

/// Default policies for TCP's traffic: Linux's, and ours without and with copies.
const TCP_USUAL: [&str; 3] = ["linux", "thin", TCP_DEFAULT];

fn policy_help() -> String {
    format!(
        "Policies, by their presets; sctp:thin or tcp:thin where both have one of the name, if not the transport of the \
         capture. Without it, {} for SCTP and {} for TCP",
        SCTP_USUAL.join(","),
        TCP_USUAL.join(",")
    )
}

/// Presets of both protocols, a name that both have once.
fn presets() -> Vec<PossibleValue> {
    let (sctp, tcp) = (policy::Protocol::Sctp.presets(), policy::Protocol::Tcp.presets());
    let is_new = |name| !sctp.iter().any(|(known, _)| *known == name);
    let tcp = tcp.iter().filter(|(name, _)| is_new(*name));
    sctp.iter().chain(tcp).map(|(name, about)| PossibleValue::new(*name).help(*about)).collect()
}

/// Send a capture's traffic once more, in virtual time, under other policies and over other
/// networks, and show the results beside those of the capture.
///
/// Without --network, over one with the least round trip of the capture and the loss that its
/// acknowledgements report (with --receiver, the true one, and delays that vary). Streams are sent
/// as they were recorded: a sender does not wait for an answer that comes later than in the
/// recording.
///
/// Example: thinstream trace replay server.pcapng --stream 1a --policy linux,thin,latency --network
/// "rtt=130ms loss=2%"
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', value_parser = Suggested { parser: PolicyText::from_str, words: presets }, hide_possible_values = true, help_heading = "Replay", help = policy_help())]
    policy: Vec<PolicyText>,
    /// Network, with the keys of a link in a plan (docs/laboratory.md): "rtt=100ms loss=2%"; may
    /// be repeated. "measured" is that of the capture.
    #[arg(long, value_name = "KEY=VALUE..", help_heading = "Replay")]
    network: Vec<String>,
    /// Share of data packets lost on the "measured" network, instead of the capture's own loss.
    #[arg(long, value_name = "PROBABILITY", help_heading = "Replay")]
    loss: Option<Probability>,
    /// Longest delay of the receivers' acknowledgements, or off; by default that of each policy
    /// (200ms for most).
    #[arg(long, value_name = "DURATION|off", help_heading = "Replay")]
    delayed_ack: Option<String>,
    /// Number of runs of each, with losses of their own.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = within(1..=1_000_000_u64), help_heading = "Replay")]
    seeds: u64,
    /// Number of threads; by default the number of processors.
    #[arg(long, value_name = "N", value_parser = within(1..=4096_u64), help_heading = "Replay")]
    jobs: Option<u64>,
    /// Write the plan for "thinstream lab run", to change it or to run it on other machines.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plan: Option<PathBuf>,
    /// Write a page with figures and all numbers; each figure is also written beside it as SVG.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Folder for all numbers as tables (CSV, Parquet).
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Remove the results in --out first, and replace files of --plan and --report; without it
    /// what is there already is refused.
    #[arg(long, help_heading = "Output")]
    anew: bool,
    /// Show all columns of the tables, and intervals, however wide the terminal is.
    #[arg(long, help_heading = "Output")]
    wide: bool,
    /// Print the results as one JSON object.
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Arguments {
    pub(super) fn run(&self) -> Result<(), Failure> {
        check_distinct(&[
            ("the capture", Some(&self.selection.file)),
            ("--plan", self.plan.as_deref()),
            ("--report", self.report.as_deref()),
        ])?;
        let plan_file = self.plan.as_deref();
        let plan_file = plan_file.map(|path| OutFile::try_open(path, "plan", self.anew));
        let plan_file = plan_file.transpose()?;
        let page = self.report.as_deref();
        let page = page.map(|path| Page::try_open(path, self.anew)).transpose()?;
        let (recording, report) = self.selection.record()?;
        let measured = self.measured(&report)?;
        let usual = match report.streams.first().map(|stream| stream.protocol) {
            Some(Protocol::Sctp) => TransportName::Sctp,
            _ => TransportName::Tcp,
        };
        let networks = self.networks(&report, &measured)?;
        let of = self.of(&report);
        let replay = Replay {
            of: &of,
            recording: &recording,
            measured: Some(&measured),
            policies: &self.policies(usual),
            networks: &networks,
            delayed_ack: self.delayed_ack.as_deref(),
            seeds: self.seeds,
        };
        let plan = replay.plan().map_err(Failure::usage)?;
        let mut failures = Failures::default();
        if let Some(file) = &plan_file {
            failures.keep(file.write_silently(&plan.text));
        }
        let out = self.out.as_deref().map(|path| (path, Existing::of(false, self.anew)));
        let (finished, of_run) = run_made(&plan, self.jobs, out, page.as_ref())?;
        failures.extend(of_run);
        let head = format!("{of}: {}\n", convert::told(&recording));
        failures.keep(match self.json {
            true => show::results(&plan, &finished, show::Form::Json),
            false => {
                let width = if self.wide { Width::Wide } else { Width::Narrow };
                let outcomes = outcomes(&plan, &finished);
                output::print(&(head + &tables(&plan, &outcomes, &measured, width)))
            }
        });
        failures.finish()
    }

    /// Name of the capture file, with the stream if only one is replayed.
    fn of(&self, report: &Report) -> String {
        let name = self.selection.file.file_name().unwrap_or(self.selection.file.as_os_str());
        let name = name.to_string_lossy();
        match report.streams.as_slice() {
            [one] => format!("{name} {}", one.id),
            _ => name.into_owned(),
        }
    }

    /// The sums of the chosen streams: where that is not all of them, the capture is read again.
    fn measured(&self, report: &Report) -> Result<Totals, Failure> {
        let chosen: BTreeSet<String> =
            report.streams.iter().map(|stream| stream.id.clone()).collect();
        let of_chosen: u64 = report.streams.iter().map(|stream| stream.totals.packets.data).sum();
        if report.all.packets.data == of_chosen {
            return Ok(report.all.clone());
        }
        if super::is_standard_input(&self.selection.file) {
            return Err(Failure::usage(
                "to choose among streams the capture is read twice: expected a file, not standard input",
            ));
        }
        let options = trace::Options { streams: Some(chosen), ..self.selection.options() };
        Ok(self.selection.analyse_with(options, ())?.0.all)
    }

    fn networks(&self, report: &Report, measured: &Totals) -> Result<Vec<NetworkText>, Failure> {
        let of_capture = || match Conditions::of(&report.streams, measured) {
            Some(conditions) => Ok(NetworkText::measured(&self.adjusted(conditions))),
            None => Err(Failure::usage(format!(
                "{}: it was not taken where these streams are sent, or has no answers to them, and shows no network; \
                 give one such as --network \"rtt=100ms loss=2%\"",
                self.selection.file.display()
            ))),
        };
        let read = |text: &String| match text.as_str() {
            "measured" => of_capture(),
            text => NetworkText::parse(text, &read_text)
                .map_err(|error| Failure::usage(format!("--network: {error}"))),
        };
        match self.network.is_empty() {
            true => Ok(vec![of_capture()?]),
            false => self.network.iter().map(read).collect(),
        }
    }

    /// Conditions of the capture, replaced where options give others.
    fn adjusted(&self, told: Conditions) -> Conditions {
        if let Some(loss) = self.loss {
            return Conditions { loss: loss.as_f64(), loss_is_lower_bound: false, ..told };
        }
        if told.loss_is_lower_bound {
            output::note(&format!(
                "thinstream: {}: redundant copies repaired losses of which a receiver that reports no duplicates does not tell: \
                 over at least {:.2} % loss; --loss gives what it was, --receiver finds it",
                self.selection.file.display(),
                100.0 * told.loss
            ));
        }
        told
    }

    /// The policies in the arguments, each once, or the default ones.
    fn policies(&self, usual: TransportName) -> Vec<PolicyText> {
        let default = match usual {
            TransportName::Sctp => SCTP_USUAL,
            TransportName::Tcp => TCP_USUAL,
        };
        let default = default.iter().filter_map(|name| name.parse().ok());
        let wanted: Vec<PolicyText> =
            if self.policy.is_empty() { default.collect() } else { self.policy.clone() };
        let mut policies = Vec::new();
        for one in wanted.iter().map(|one| one.settled(usual)) {
            if !policies.contains(&one) {
                policies.push(one);
            }
        }
        policies
    }
}

/// Heading of the table of the applications' measures.
const DELIVERED: &str = "
Until the application has a message (ms, one way, from when it was due), and the price: the bytes
of the sender for each message, with all headers, and its copies that arrived needlessly";

/// A table of the capture's measures and one of the applications', for each network. The narrow
/// ones lack retransmissions by their order, and intervals.
fn tables(plan: &Plan, outcomes: &[Outcome], measured: &Totals, width: Width) -> String {
    let mut text = String::new();
    for of_network in outcomes.chunk_by(|one, other| one.network == other.network) {
        let network = of_network.first().map(|one| one.network.as_str()).unwrap_or_default();
        let runs = if plan.seeds == 1 {
            "one run".to_owned()
        } else {
            format!("means of {} runs", plan.seeds)
        };
        text += &format!("\nover {network}, {runs}\n");
        text += "\nAs a capture at the sender shows it: packets with data, retransmissions, until acknowledged (ms)\n";
        text += &captured(of_network, measured, width).to_string();
        let intervals = if width == Width::Wide { ", with 95 % intervals" } else { "" };
        text += DELIVERED;
        text += &format!("{intervals}\n");
        text += &delivered(of_network, width).to_string();
    }
    if width == Width::Narrow {
        text += "\n(--wide shows retransmissions by their order, and 95 % intervals)\n";
    }
    text
}

/// Columns of retransmissions by their order, which narrow tables lack: headings and numbers.
const ORDERS: [(&str, &str); 4] = [
    ("1st", "trace.retransmissions[order=1]"),
    ("2nd", "trace.retransmissions[order=2]"),
    ("3rd", "trace.retransmissions[order=3]"),
    ("more", "trace.retransmissions[order=4+]"),
];

fn captured(outcomes: &[Outcome], measured: &Totals, width: Width) -> Table {
    let orders = if width == Width::Wide { &ORDERS[..] } else { &[] };
    let mut heading = vec!["", "packets", "again"];
    heading.extend(orders.iter().map(|(heading, _)| *heading));
    heading.extend(["spurious", "loss %", "| mean", "50%", "90%", "99%", "99.9%", "max"]);
    let mut table = Table::headed(&heading);
    let again = &measured.retransmissions;
    let (order, latency) = (&again.by_order, &measured.ack_latency_ms.all);
    let mut cells = vec!["the capture".to_owned()];
    cells.extend([measured.packets.data, again.total].map(|count| count.to_string()));
    let counts = [order.first, order.second, order.third, order.more];
    cells.extend(orders.iter().zip(counts).map(|(_, count)| count.to_string()));
    cells.push(again.spurious.to_string());
    let bound = if measured.loss_estimate_is_lower_bound { ">=" } else { "" };
    cells.push(format!("{bound}{}", four_digits(100.0 * measured.loss_estimate)));
    let times = [latency.mean, latency.p50, latency.p90, latency.p99, latency.p999, latency.max];
    cells.extend(times.map(|time| if latency.count > 0 { four_digits(time) } else { "-".into() }));
    table.row(cells);
    for outcome in outcomes {
        let mean =
            |name: &str| outcome.number(name).map_or("-".into(), |one| four_digits(one.mean));
        let mut cells = vec![outcome.policy.clone()];
        cells.extend(["trace.packets", "trace.retransmissions"].map(mean));
        cells.extend(orders.iter().map(|(_, name)| mean(name)));
        cells.extend(
            [
                "trace.spurious",
                "trace.loss_estimate",
                "trace.acknowledged.mean",
                "trace.acknowledged.quantile[quantile=0.5]",
                "trace.acknowledged.quantile[quantile=0.9]",
                "trace.acknowledged.quantile[quantile=0.99]",
                "trace.acknowledged.quantile[quantile=0.999]",
                "trace.acknowledged.max",
            ]
            .map(mean),
        );
        table.row(cells);
    }
    table
}

fn delivered(outcomes: &[Outcome], width: Width) -> Table {
    let mut table = Table::headed(&[
        "",
        "mean",
        "50%",
        "90%",
        "99%",
        "99.9%",
        "max",
        "> 100 ms %",
        "> 500 ms %",
        "| bytes",
        "copies",
    ]);
    let text = |one: Interval| match width {
        Width::Wide => with_interval(one),
        Width::Narrow => four_digits(one.mean),
    };
    for outcome in outcomes {
        let mut cells = vec![outcome.policy.clone()];
        let number = |name: &str| outcome.number(name).map_or("-".into(), text);
        cells.extend(
            [
                "latency.mean",
                "latency.quantile[quantile=0.5]",
                "latency.quantile[quantile=0.9]",
                "latency.quantile[quantile=0.99]",
                "latency.quantile[quantile=0.999]",
                "latency.max",
                "latency.beyond[limit=fps]",
                "latency.beyond[limit=rpg]",
                "cost.bytes",
                "cost.needless",
            ]
            .map(number),
        );
        table.row(cells);
    }
    table
}

/// Mean of an interval with its half width, such as `312 ± 14`.
fn with_interval(one: Interval) -> String {
    let mean = four_digits(one.mean);
    match one.either_side.filter(|side| *side > 0.0) {
        Some(side) => {
            format!("{mean} ± {side:.*}", if side < 1.0 { 2 } else { usize::from(side < 10.0) })
        }
        None => mean,
    }
}
