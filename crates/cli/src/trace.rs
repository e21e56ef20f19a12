//! `thinstream trace`: arguments and printing.

mod convert;
mod csv;
mod replay;
mod tables;
#[cfg(test)]
mod tests;
mod values;

use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ::lab::Recording;
use ::lab::workload::MOST_MESSAGES;
use base::Duration;
use flate2::read::MultiGzDecoder;
use trace::capture::{Capture, OpenError};
use trace::details::Details;
use trace::messages::Messages;
use trace::report::{Across, Report, StreamReport};
use trace::{End, Interfaces, Observer, Options, analyse, clock_difference, compare};

use self::csv::Lists;
use self::values::{Numbers, StreamName, Translation, percentile};
use crate::failure::Failure;
use crate::failures::Failures;
use crate::number::{some_time, within};
use crate::output;

/// Analyse packet captures: what was sent, lost and sent again, how late it came, which streams are
/// thin.
///
/// Reads pcap and pcapng of any size. What it carried can be sent again, in virtual time under
/// other policies or with "thinstream send". A capture should be taken at the sender of what is
/// analysed; with another one of the same traffic at its receiver, one-way delays and true losses
/// are known, too.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    view: View,
}

#[derive(clap::Subcommand)]
enum View {
    /// A line for each stream: sizes, intervals, retransmissions by order and cause, thin or not.
    ///
    /// Example: thinstream trace summary server.pcapng --port 5154
    Summary(Shown),
    /// Acknowledgement latency by retransmissions; with --receiver one-way delays, up to the
    /// transport layer and up to the application, and what was lost.
    ///
    /// Example: thinstream trace latency server.pcapng --receiver client.pcapng
    Latency(Shown),
    Convert(convert::Arguments),
    Replay(replay::Arguments),
}

/// The reports of a capture to print, and their form.
#[derive(clap::Args, Debug)]
struct Shown {
    #[command(flatten)]
    selection: Selection,
    /// Print everything as one JSON object (docs/json.md).
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Write lists of all packets, delays and intervals to this folder, as CSV (docs/traces.md).
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    csv: Option<PathBuf>,
    /// Replace the lists in the folder of --csv; without it such a folder is refused.
    #[arg(long, requires = "csv", help_heading = "Output")]
    anew: bool,
    /// Length of the intervals in the lists of throughput and loss.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = some_time, help_heading = "Output")]
    interval: Duration,
    /// Also show these percentiles of sizes, times and latencies, from 0 to 100.
    #[arg(long, value_name = "P,..", value_delimiter = ',', value_parser = percentile, help_heading = "Output")]
    percentiles: Vec<f64>,
    /// Show the packets with these numbers of each stream one by one: 1-20,57.
    #[arg(long, value_name = "N[-N],..", value_delimiter = ',', help_heading = "Output")]
    packets: Vec<Numbers<u64>>,
    /// Show the spread over streams: least, mean and greatest of each one's least, mean and
    /// greatest.
    #[arg(long, short, help_heading = "Output")]
    aggregated: bool,
    /// Show the spread over streams, and no single stream.
    #[arg(long, short = 'A', help_heading = "Output")]
    aggregated_only: bool,
    /// Show all columns of the tables, however wide the terminal is.
    #[arg(long, help_heading = "Output")]
    wide: bool,
    /// Show further details: flags, chunks, streams of associations, paths.
    #[arg(long, short, help_heading = "Output")]
    verbose: bool,
}

/// The capture to read, and the streams of it to show.
#[derive(clap::Args, Debug)]
struct Selection {
    /// The capture (pcap or pcapng, also packed with gzip), taken at the senders; - for standard
    /// input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Capture of the same traffic, taken at the receivers.
    #[arg(long, value_name = "FILE")]
    receiver: Option<PathBuf>,
    /// Only connections with this address; may be repeated.
    #[arg(long, value_name = "ADDR", help_heading = "Which streams")]
    host: Vec<IpAddr>,
    /// Only connections with this TCP or SCTP port; may be repeated.
    #[arg(long, value_name = "PORT", help_heading = "Which streams")]
    port: Vec<u16>,
    /// Only streams that come from this address; several times for several.
    #[arg(long, value_name = "ADDR", help_heading = "Which streams")]
    source_host: Vec<IpAddr>,
    /// Only streams that come from this port, or one of a range such as 5000-5010.
    #[arg(long, value_name = "PORT[-PORT]", help_heading = "Which streams")]
    source_port: Vec<Numbers<u16>>,
    /// Only streams that go to this address.
    #[arg(long, value_name = "ADDR", help_heading = "Which streams")]
    destination_host: Vec<IpAddr>,
    /// Only streams that go to this port, or one of a range.
    #[arg(long, value_name = "PORT[-PORT]", help_heading = "Which streams")]
    destination_port: Vec<Numbers<u16>>,
    /// Only packets from this time after the capture's first.
    #[arg(long, value_name = "DURATION", default_value = "0s", help_heading = "Which streams")]
    start: Duration,
    /// Only packets until this time after the capture's first.
    #[arg(long, value_name = "DURATION", help_heading = "Which streams")]
    end: Option<Duration>,
    /// Only this stream: a connection's number, with a or b for one direction; may be repeated.
    #[arg(long, visible_alias = "flow", value_name = "ID", help_heading = "Which streams")]
    stream: Vec<StreamName>,
    /// Only thin streams.
    #[arg(long, help_heading = "Which streams")]
    thin: bool,
    /// Order of the streams; all orders but id and start begin with the greatest.
    #[arg(long, value_enum, default_value = "id", help_heading = "Which streams")]
    sort: Sort,
    /// Show this many streams at most.
    #[arg(long, value_name = "N", value_parser = within(1..=usize::MAX), help_heading = "Which streams")]
    top: Option<usize>,
    /// UDP port that carries SCTP, beside 9899; may be repeated.
    #[arg(long, value_name = "PORT", help_heading = "How to read")]
    udp_port: Vec<u16>,
    /// Packets of this interface only, by name or index; "all" treats all interfaces as one.
    /// Without it, a packet that crosses two of them counts for each.
    #[arg(long, value_name = "NAME", help_heading = "How to read")]
    interface: Option<String>,
    /// The interface of the receiver's capture.
    #[arg(long, value_name = "NAME", help_heading = "How to read", requires = "receiver")]
    receiver_interface: Option<String>,
    /// Address that a translator changed: as in the sender's capture, and as in the receiver's. If
    /// it changed the port of a connection, too, both with their ports; may be repeated.
    #[arg(
        long,
        value_name = "ADDR[:PORT]=ADDR[:PORT]",
        help_heading = "How to read",
        requires = "receiver"
    )]
    nat: Vec<Translation>,
    /// Most open connections at a time; each takes about 10 kB, and up to 150 kB for a busy
    /// direction.
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = within(1usize..=10_000_000), help_heading = "How to read")]
    connections: usize,
}

/// Order in which streams are shown.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// Order of the first packets.
    Id,
    /// Order of the first packets with user data.
    Start,
    /// Number of packets with user data, the most first.
    Packets,
    /// Number of bytes of user data, the most first.
    Bytes,
    /// Number of retransmissions, the most first.
    Retransmissions,
    /// Greatest acknowledgement latency, the greatest first.
    Latency,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.view {
        View::Summary(shown) => {
            shown.run(|report| tables::summary(report, shown.verbose, shown.width()))
        }
        View::Latency(shown) => shown.run(tables::latency),
        View::Convert(arguments) => arguments.run(),
        View::Replay(arguments) => arguments.run(),
    }
}

/// Packets that are shown one by one, of all streams together: more than a reader needs.
const MOST_PACKETS: usize = 100_000;

impl Shown {
    fn width(&self) -> tables::Width {
        if self.wide { tables::Width::Wide } else { tables::Width::Narrow }
    }

    /// Analyses, with the lists and the single packets that are asked for.
    fn analyse(&self, options: Options, failures: &mut Failures) -> Result<Report, Failure> {
        if let Some(folder) = self.csv.as_ref().filter(|_| !self.anew) {
            csv::check_new(folder).map_err(Failure::usage)?;
        }
        let lists = self.csv.as_ref().map(|folder| Lists::create(folder, self.interval));
        let lists = lists.transpose().map_err(Failure::File)?;
        let numbers = || self.packets.iter().map(|range| range.0.clone()).collect();
        let details = (!self.packets.is_empty()).then(|| Details::new(numbers(), MOST_PACKETS));
        let (mut report, (lists, details)) =
            self.selection.analyse_with(options, (lists, details))?;
        if let Some(lists) = lists {
            failures.keep(lists.finish(&report).map_err(Failure::File));
        }
        if let Some(details) = details {
            details.attach(&mut report);
        }
        Ok(report)
    }

    fn run(&self, table: impl Fn(&Report) -> String) -> Result<(), Failure> {
        let selection = &self.selection;
        let options = Options { percentiles: self.percentiles.clone(), ..selection.options() };
        let mut failures = Failures::default();
        let mut report = self.analyse(options, &mut failures)?;
        selection.complain(&report);
        selection.choose(&mut report)?;
        report.across = Across::of(&report.streams);
        let text = match self.json {
            true => serde_json::to_string_pretty(&report).unwrap_or_default(),
            false => self.text(&report, table),
        };
        failures.keep(output::print(&text));
        failures.finish()
    }

    /// Report as text, by the tables and sums that were asked for.
    fn text(&self, report: &Report, table: impl Fn(&Report) -> String) -> String {
        let mut text = match self.aggregated_only {
            true => tables::head(report),
            false => table(report),
        };
        if !self.aggregated_only {
            tables::packets(report, &mut text);
        }
        if !self.percentiles.is_empty() {
            tables::percentiles(report, self.aggregated_only, &mut text);
        }
        if self.aggregated || self.aggregated_only {
            tables::across(&report.across, &mut text);
        }
        text
    }
}

impl Selection {
    fn options(&self) -> Options {
        let mut options = Options {
            hosts: self.host.iter().map(IpAddr::to_canonical).collect(),
            ports: self.port.clone(),
            source: end(&self.source_host, &self.source_port),
            destination: end(&self.destination_host, &self.destination_port),
            start: self.start,
            end: self.end,
            interfaces: interfaces(self.interface.as_deref()),
            receiver_interfaces: interfaces(self.receiver_interface.as_deref()),
            translated: self.nat.iter().map(|translation| translation.0).collect(),
            most_connections: self.connections,
            ..Options::default()
        };
        options.udp_ports.extend(&self.udp_port);
        options
    }

    fn analyse<O: Observer>(&self, observer: O) -> Result<(Report, O), Failure> {
        self.analyse_with(self.options(), observer)
    }

    fn analyse_with<O: Observer>(
        &self,
        options: Options,
        observer: O,
    ) -> Result<(Report, O), Failure> {
        let Some(receiver) = &self.receiver else {
            return Ok(analyse(&mut open(&self.file)?, options, observer));
        };
        if is_standard_input(&self.file) || is_standard_input(receiver) {
            return Err(Failure::usage(
                "with --receiver both captures are read twice: expected two files, not standard input",
            ));
        }
        let same = |path: &Path| std::fs::canonicalize(path).ok();
        if same(&self.file).is_some_and(|file| same(receiver) == Some(file)) {
            return Err(Failure::usage(format!(
                "--receiver {}: that is the sender's capture itself; expected the one taken at the receiver",
                receiver.display()
            )));
        }
        let clocks = clock_difference(&mut open(&self.file)?, &mut open(receiver)?, &options);
        let (mut sender, mut receiver) = (open(&self.file)?, open(receiver)?);
        Ok(compare(&mut sender, &mut receiver, clocks, options, observer))
    }

    /// Messages of the chosen streams, with their report.
    fn record(&self) -> Result<(Recording, Report), Failure> {
        let (mut report, messages) = self.analyse(Messages::new(None, MOST_MESSAGES))?;
        self.complain(&report);
        self.choose(&mut report)?;
        if report.streams.is_empty() {
            let what = "no stream with user data that is asked for";
            return Err(Failure::usage(format!("{}: {what}", self.file.display())));
        }
        for stream in report.streams.iter().filter(|stream| stream.at_sender == Some(false)) {
            output::note(&format!(
                "thinstream: {}: {} was captured at its receiver: times are those of arrivals",
                self.file.display(),
                stream.id
            ));
        }
        let names: Vec<&str> = report.streams.iter().map(|stream| stream.id.as_str()).collect();
        let recording = ::lab::workload::recording(messages, &names);
        let failed = |error| Failure::usage(format!("{}: {error}", self.file.display()));
        Ok((recording.map_err(failed)?, report))
    }

    /// Reports damage of the captures.
    fn complain(&self, report: &Report) {
        let receiver = self.receiver.as_ref().zip(report.receiver_capture.as_ref());
        for (path, capture) in [(&self.file, &report.capture)].into_iter().chain(receiver) {
            if let Some(damage) = &capture.damage {
                output::note(&format!("thinstream: {}: {damage}", path.display()));
            }
            if capture.tcp + capture.sctp == 0 {
                output::note(&format!(
                    "thinstream: {}: no TCP and no SCTP in {} packets; SCTP over UDP is looked for on port 9899 \
                     unless --udp-port tells another",
                    path.display(),
                    capture.packets
                ));
            }
        }
        if let Some(receiver) = &self.receiver
            && !report.streams.is_empty()
            && report.streams.iter().all(|it| it.receiver.is_none() && it.at_sender != Some(false))
        {
            output::note(&format!(
                "thinstream: {}: no packet of a stream in {}; --nat names addresses that differ",
                receiver.display(),
                self.file.display()
            ));
        }
    }

    /// Leaves only the streams that were asked for.
    fn choose(&self, report: &mut Report) -> Result<(), Failure> {
        for name in &self.stream {
            if !report.streams.iter().any(|stream| name.names(stream)) {
                return Err(Failure::usage(format!(
                    "no stream {} with user data in {}: there are {}",
                    name.0,
                    self.file.display(),
                    known(report)
                )));
            }
        }
        let is_wanted = |stream: &StreamReport| {
            (self.stream.is_empty() || self.stream.iter().any(|name| name.names(stream)))
                && (!self.thin || stream.thin.is_thin)
        };
        report.streams.retain(is_wanted);
        self.sort.sort(&mut report.streams);
        report.streams.truncate(self.top.unwrap_or(usize::MAX));
        Ok(())
    }
}

impl Sort {
    fn sort(self, streams: &mut [StreamReport]) {
        let greatest = |value: u64| std::cmp::Reverse(value);
        match self {
            Sort::Id => {}
            Sort::Start => streams.sort_by(|one, two| one.start_s.total_cmp(&two.start_s)),
            Sort::Packets => streams.sort_by_key(|it| greatest(it.totals.packets.data)),
            Sort::Bytes => streams.sort_by_key(|it| greatest(it.totals.bytes.payload)),
            Sort::Retransmissions => {
                streams.sort_by_key(|it| greatest(it.totals.retransmissions.total));
            }
            Sort::Latency => {
                let latency = |it: &StreamReport| it.totals.ack_latency_ms.all.max;
                streams.sort_by(|one, two| latency(two).total_cmp(&latency(one)));
            }
        }
    }
}

/// The streams of a report in a few words.
fn known(report: &Report) -> String {
    const SHOWN: usize = 10;
    let ids: Vec<&str> =
        report.streams.iter().take(SHOWN).map(|stream| stream.id.as_str()).collect();
    match report.streams.len() {
        0 => "none".to_owned(),
        count if count > SHOWN => format!("{} and {} more", ids.join(", "), count - SHOWN),
        _ => ids.join(", "),
    }
}

fn end(hosts: &[IpAddr], ports: &[Numbers<u16>]) -> End {
    End {
        hosts: hosts.iter().map(IpAddr::to_canonical).collect(),
        ports: ports.iter().map(|ports| ports.0.clone()).collect(),
    }
}

fn interfaces(name: Option<&str>) -> Interfaces {
    match name {
        None => Interfaces::Each,
        Some("all") => Interfaces::All,
        Some(name) => Interfaces::Only(name.to_owned()),
    }
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn open(path: &Path) -> Result<Capture<Box<dyn Read>>, Failure> {
    let wrong = |error: OpenError| Failure::usage(format!("{}: {error}", path.display()));
    let failed = |error| wrong(OpenError::Io(error));
    let source: Box<dyn Read> = match is_standard_input(path) {
        true => Box::new(std::io::stdin()),
        false => Box::new(File::open(path).map_err(failed)?),
    };
    Capture::open(unpacked(source).map_err(failed)?).map_err(wrong)
}

/// The bytes of a capture, unpacked if gzip packed them (RFC 1952, section 2.3.1: its first two
/// bytes say so).
fn unpacked(mut source: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let mut first = Vec::new();
    source.by_ref().take(2).read_to_end(&mut first)?;
    let is_packed = first == [0x1f, 0x8b];
    let whole = io::Cursor::new(first).chain(source);
    Ok(if is_packed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}
