//! Lists that are written while an analysis runs, one file for each kind.

mod intervals;
mod streams;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use base::Duration;
use trace::observer::{DataAcknowledged, Observer, PacketDelay, PacketLost, PacketSent};
use trace::report::{Delays, Report};
use trace::waiting::Waiting;

use self::intervals::Intervals;

/// A file of comma-separated values. The first failure is kept.
struct List {
    path: PathBuf,
    file: BufWriter<File>,
    failure: Option<io::Error>,
}

impl List {
    fn create(folder: &Path, name: &str, head: &str) -> Result<List, String> {
        let mut list = List::without_head(folder, name)?;
        list.line(&head);
        Ok(list)
    }

    fn without_head(folder: &Path, name: &str) -> Result<List, String> {
        let path = folder.join(name);
        let file = File::create(&path).map_err(|error| wrong(&path, &error))?;
        Ok(List { path, file: BufWriter::new(file), failure: None })
    }

    /// No value here has a comma or a quote in it.
    fn line(&mut self, values: &dyn Display) {
        if self.failure.is_none()
            && let Err(error) = writeln!(self.file, "{values}")
        {
            self.failure = Some(error);
        }
    }

    fn finish(mut self) -> Result<(), String> {
        let flushed = self.file.flush();
        match self.failure.or(flushed.err()) {
            Some(error) => Err(wrong(&self.path, &error)),
            None => Ok(()),
        }
    }
}

fn wrong(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// The CSV files of a folder.
pub(super) struct Lists {
    folder: PathBuf,
    packets: List,
    latency: List,
    delays: List,
    intervals: Intervals,
    waiting: Waiting<String>,
}

const PACKETS: &str = "packets.csv";
const LATENCY: &str = "latency.csv";
const DELAYS: &str = "delays.csv";
const INTERVALS: &str = "intervals.csv";
const STREAMS: &str = "streams.csv";
const DELAY_CDF: &str = "delay_cdf.csv";
/// Names of the files of all lists, which must not exist before.
const NAMES: [&str; 6] = [PACKETS, LATENCY, DELAYS, INTERVALS, STREAMS, DELAY_CDF];

/// Refuses a folder that has such lists already.
pub(super) fn check_new(folder: &Path) -> Result<(), String> {
    let there = NAMES.into_iter().find(|name| folder.join(name).exists());
    there.map_or(Ok(()), |name| {
        Err(format!(
            "\"{}\" has {name} already: expected another folder, or --anew to replace its lists",
            folder.display()
        ))
    })
}

impl Lists {
    /// Begins the lists in a folder, which is made if there is none.
    pub(super) fn create(folder: &Path, length: Duration) -> Result<Lists, String> {
        std::fs::create_dir_all(folder).map_err(|error| wrong(folder, &error))?;
        let list = |name, head| List::create(folder, name, head);
        Ok(Lists {
            folder: folder.to_owned(),
            packets: list(
                PACKETS,
                "stream,time_s,interval_ms,payload_bytes,new_bytes,frame_bytes,kind,in_flight,\
                 ack_latency_ms",
            )?,
            latency: list(LATENCY, "stream,sent_s,latency_ms,retransmissions")?,
            delays: list(DELAYS, "stream,sent_s,delay_variation_ms")?,
            intervals: Intervals::create(folder, length)?,
            waiting: Waiting::default(),
        })
    }

    /// Writes the packets that are known by now, or all.
    fn write_packets(&mut self, all: bool) {
        while let Some((line, latency)) = self.waiting.pop(all) {
            let latency = latency.map_or(String::new(), |it| it.as_millis_f64().to_string());
            self.packets.line(&format_args!("{line},{latency}"));
        }
    }

    /// Writes the numbers that are known only at the end.
    pub(super) fn finish(mut self, report: &Report) -> Result<(), String> {
        self.write_packets(true);
        let mut streams = List::create(&self.folder, STREAMS, &streams::head())?;
        report.streams.iter().for_each(|stream| streams.line(&streams::line(stream)));
        let mut cdf = List::create(&self.folder, DELAY_CDF, "stream,layer,delay_ms,share")?;
        for stream in &report.streams {
            let Some(it) = &stream.receiver else { continue };
            shapes(&mut cdf, &stream.id, it.by_layer());
        }
        if let Some(it) = &report.delays {
            shapes(&mut cdf, "all", it.by_layer());
        }
        self.intervals.finish()?;
        [self.packets, self.latency, self.delays, streams, cdf]
            .into_iter()
            .try_for_each(List::finish)
    }
}

fn shapes(list: &mut List, stream: &str, delays: [&Delays; 3]) {
    for (layer, delays) in ["packet", "transport", "application"].into_iter().zip(delays) {
        for (delay, share) in &delays.cdf {
            list.line(&format_args!("{stream},{layer},{delay},{share}"));
        }
    }
}

impl Observer for Lists {
    fn on_packet(&mut self, packet: &PacketSent) {
        let PacketSent { stream, at, frame_length, payload, new, kind, in_flight, .. } = *packet;
        let interval = packet.interval.map_or(String::new(), |it| it.as_millis_f64().to_string());
        let line = format!(
            "{stream},{},{interval},{payload},{new},{frame_length},{},{in_flight}",
            at.as_secs_f64(),
            kind.name()
        );
        self.waiting.push(packet, line);
        self.write_packets(false);
        self.intervals.on_packet(packet);
    }

    fn on_acknowledged(&mut self, data: &DataAcknowledged) {
        self.waiting.acknowledge(data);
        let DataAcknowledged { stream, sent, latency, retransmissions, .. } = *data;
        let (sent, latency) = (sent.as_secs_f64(), latency.as_millis_f64());
        self.latency.line(&format_args!("{stream},{sent},{latency},{retransmissions}"));
    }

    fn on_lost(&mut self, packet: &PacketLost) {
        self.intervals.on_lost(packet);
    }

    fn on_delay(&mut self, delay: &PacketDelay) {
        let PacketDelay { stream, sent, delay } = *delay;
        let (sent, delay) = (sent.as_secs_f64(), delay.as_millis_f64());
        self.delays.line(&format_args!("{stream},{sent},{delay}"));
    }
}
