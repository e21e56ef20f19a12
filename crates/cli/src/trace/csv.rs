//! Lists that are written while an analysis runs, one file for each kind.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use base::Duration;
use trace::observer::{DataAcknowledged, Observer, PacketDelay, PacketLost, PacketSent, StreamId};
use trace::report::{Delays, Report, StreamReport};

/// An interval is written when it is so long over: by then it is known what of it was lost.
const SETTLED: Duration = Duration::from_secs(60);

/// A file of comma-separated values. The first failure is kept.
struct List {
    path: PathBuf,
    file: BufWriter<File>,
    failure: Option<io::Error>,
}

impl List {
    fn create(folder: &Path, name: &str, head: &str) -> Result<List, String> {
        let path = folder.join(name);
        let file = File::create(&path).map_err(|error| wrong(&path, &error))?;
        let mut list = List { path, file: BufWriter::new(file), failure: None };
        list.line(&head);
        Ok(list)
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

/// What happened in an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    packets: u64,
    frame_bytes: u64,
    payload_bytes: u64,
    new_bytes: u64,
    lost_packets: u64,
    lost_bytes: u64,
    lost_old_bytes: u64,
}

/// All lists.
pub(super) struct Lists {
    folder: PathBuf,
    packets: List,
    latency: List,
    delays: List,
    intervals: List,
    length: Duration,
    /// By their number and stream.
    open: BTreeMap<(u64, StreamId), Interval>,
}

impl Lists {
    /// Begins the lists in a folder, which is made if there is none.
    pub(super) fn create(folder: &Path, length: Duration) -> Result<Lists, String> {
        std::fs::create_dir_all(folder).map_err(|error| wrong(folder, &error))?;
        let list = |name, head| List::create(folder, name, head);
        Ok(Lists {
            folder: folder.to_owned(),
            packets: list(
                "packets.csv",
                "stream,time_s,interval_ms,payload_bytes,new_bytes,frame_bytes,kind,in_flight",
            )?,
            latency: list("latency.csv", "stream,sent_s,latency_ms,retransmissions")?,
            delays: list("delays.csv", "stream,sent_s,delay_variation_ms")?,
            intervals: list(
                "intervals.csv",
                "start_s,stream,packets,frame_bytes,payload_bytes,new_bytes,throughput_bps,goodput_bps,\
                 lost_packets,lost_bytes,lost_new_bytes,lost_old_bytes,lost_share",
            )?,
            length,
            open: BTreeMap::new(),
        })
    }

    fn interval(&mut self, at: Duration, stream: StreamId) -> &mut Interval {
        let number = at.as_nanos() / self.length.as_nanos();
        self.open.entry((number, stream)).or_default()
    }

    /// Writes the intervals that began before `before`.
    fn settle(&mut self, before: Duration) {
        while let Some(entry) = self.open.first_entry() {
            let (number, stream) = *entry.key();
            let start = self.length * number;
            if start >= before {
                break;
            }
            let it = entry.remove();
            let seconds = self.length.as_secs_f64();
            let per_second = |bytes: u64| bytes as f64 * 8.0 / seconds;
            let share = it.lost_bytes as f64 / it.payload_bytes.max(1) as f64;
            self.intervals.line(&format_args!(
                "{},{stream},{},{},{},{},{},{},{},{},{},{},{share}",
                start.as_secs_f64(),
                it.packets,
                it.frame_bytes,
                it.payload_bytes,
                it.new_bytes,
                per_second(it.frame_bytes),
                per_second(it.new_bytes),
                it.lost_packets,
                it.lost_bytes,
                it.lost_bytes.saturating_sub(it.lost_old_bytes),
                it.lost_old_bytes,
            ));
        }
    }

    /// Writes what is known at the end only.
    pub(super) fn finish(mut self, report: &Report) -> Result<(), String> {
        self.settle(Duration::MAX);
        let mut streams = List::create(&self.folder, "streams.csv", STREAM_HEAD)?;
        let mut cdf = List::create(&self.folder, "delay_cdf.csv", "stream,layer,delay_ms,share")?;
        for stream in &report.streams {
            streams.line(&StreamLine(stream));
            let Some(receiver) = &stream.receiver else { continue };
            for (layer, delays) in [
                ("packet", &receiver.delay_variation_ms),
                ("transport", &receiver.transport_delay_ms),
                ("application", &receiver.application_delay_ms),
            ] {
                shape(&mut cdf, &stream.id, layer, delays);
            }
        }
        let lists = [self.packets, self.latency, self.delays, self.intervals, streams, cdf];
        lists.into_iter().try_for_each(List::finish)
    }
}

fn shape(list: &mut List, stream: &str, layer: &str, delays: &Delays) {
    for (delay, share) in &delays.cdf {
        list.line(&format_args!("{stream},{layer},{delay},{share}"));
    }
}

const STREAM_HEAD: &str = "stream,protocol,source,destination,start_s,duration_s,thin,packets,data_packets,\
    pure_acks,retransmission_packets,bundles,frame_bytes,payload_bytes,unique_bytes,retransmitted_bytes,\
    redundant_bytes,payload_mean,interarrival_mean_ms,packets_per_second,bits_per_second,retransmissions,\
    spurious,repeated_acks,loss_estimate,round_trip_mean_ms,ack_latency_mean_ms,ack_latency_p99_ms,\
    ack_latency_max_ms,lost_packets,lost_bytes,loss";

/// A stream as a line of the list of streams.
struct StreamLine<'a>(&'a StreamReport);

impl Display for StreamLine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stream = self.0;
        let totals = &stream.totals;
        let (packets, bytes) = (&totals.packets, &totals.bytes);
        write!(
            f,
            "{},{},{},{},{},{},{}",
            stream.id,
            stream.protocol.name(),
            stream.source,
            stream.destination,
            stream.start_s,
            stream.duration_s,
            stream.thin.is_thin
        )?;
        for count in [
            packets.total,
            packets.data,
            packets.pure_acks,
            packets.retransmissions,
            packets.bundles,
            bytes.frames,
            bytes.payload,
            bytes.unique,
            bytes.retransmitted,
            bytes.redundant,
        ] {
            write!(f, ",{count}")?;
        }
        let latency = &totals.ack_latency_ms.all;
        write!(
            f,
            ",{},{},{},{},{},{},{},{},{},{},{},{}",
            totals.payload_bytes.mean,
            totals.interarrival_ms.mean,
            totals.packets_per_second,
            totals.bits_per_second,
            totals.retransmissions.total,
            totals.retransmissions.spurious,
            totals.repeated_acks.total(),
            totals.loss_estimate,
            totals.round_trip_ms.mean,
            latency.mean,
            latency.p99,
            latency.max
        )?;
        match &stream.receiver {
            Some(it) => write!(f, ",{},{},{}", it.packets.lost, it.bytes.lost, it.loss),
            None => f.write_str(",,,"),
        }
    }
}

impl Observer for Lists {
    fn on_packet(&mut self, packet: &PacketSent) {
        let PacketSent { stream, at, frame_length, payload, new, kind, in_flight, .. } = *packet;
        let interval = packet.interval.map_or(String::new(), |it| it.as_millis_f64().to_string());
        self.packets.line(&format_args!(
            "{stream},{},{interval},{payload},{new},{frame_length},{},{in_flight}",
            at.as_secs_f64(),
            kind.name()
        ));
        let it = self.interval(at, stream);
        it.packets += 1;
        it.frame_bytes += u64::from(frame_length);
        it.payload_bytes += u64::from(payload);
        it.new_bytes += u64::from(new);
        self.settle(at.saturating_sub(SETTLED));
    }

    fn on_acknowledged(&mut self, data: &DataAcknowledged) {
        let DataAcknowledged { stream, sent, latency, retransmissions } = *data;
        let (sent, latency) = (sent.as_secs_f64(), latency.as_millis_f64());
        self.latency.line(&format_args!("{stream},{sent},{latency},{retransmissions}"));
    }

    fn on_lost(&mut self, packet: &PacketLost) {
        let PacketLost { stream, sent, bytes, lost, old } = *packet;
        let it = self.interval(sent, stream);
        it.lost_packets += u64::from(lost == bytes);
        it.lost_bytes += u64::from(lost);
        it.lost_old_bytes += u64::from(old.min(lost));
    }

    fn on_delay(&mut self, delay: &PacketDelay) {
        let PacketDelay { stream, sent, delay } = *delay;
        let (sent, delay) = (sent.as_secs_f64(), delay.as_millis_f64());
        self.delays.line(&format_args!("{stream},{sent},{delay}"));
    }
}
