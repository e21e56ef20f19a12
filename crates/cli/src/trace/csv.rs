//! Lists that are written while an analysis runs, one file for each kind.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use base::Duration;
use trace::observer::{DataAcknowledged, Observer, PacketDelay, PacketLost, PacketSent, StreamId};
use trace::report::{Delays, Report, StreamReport};

/// Packets that are held back until they are acknowledged; beyond them the oldest is written without its latency.
const MOST_HELD: usize = 1 << 16;

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
    ranges: u64,
    frame_bytes: u64,
    payload_bytes: u64,
    new_bytes: u64,
    lost_packets: u64,
    lost_ranges: u64,
    lost_bytes: u64,
    lost_old_bytes: u64,
}

/// A packet that was sent, and is to be acknowledged.
struct Held {
    line: String,
    /// Whose, and when it was sent.
    key: (StreamId, Duration),
    /// New bytes of it that are not acknowledged.
    missing: u32,
    latency: Option<Duration>,
}

/// Packets in the order in which they were sent, until their latency is known.
#[derive(Default)]
struct Waiting {
    held: VecDeque<Held>,
    /// The number of the first of them.
    first: u64,
    /// Those that wait for an acknowledgement, by stream and when they were sent.
    by_time: BTreeSet<(StreamId, Duration, u64)>,
}

impl Waiting {
    fn push(&mut self, packet: &PacketSent, line: String) {
        let number = self.first + self.held.len() as u64;
        if packet.new > 0 {
            self.by_time.insert((packet.stream, packet.at, number));
        }
        let key = (packet.stream, packet.at);
        self.held.push_back(Held { line, key, missing: packet.new, latency: None });
    }

    /// Bytes of a packet are acknowledged: of the first, if several were sent at that time.
    fn acknowledge(&mut self, data: &DataAcknowledged) {
        let mut bytes = data.bytes;
        while bytes > 0 {
            let same = (data.stream, data.sent, 0)..=(data.stream, data.sent, u64::MAX);
            let Some(key) = self.by_time.range(same).next().copied() else { return };
            let place = usize::try_from(key.2 - self.first).unwrap_or(usize::MAX);
            let Some(held) = self.held.get_mut(place) else { return };
            let here = bytes.min(held.missing);
            (held.missing, bytes) = (held.missing - here, bytes - here);
            held.latency = Some(data.latency);
            if held.missing == 0 {
                self.by_time.remove(&key);
            } else {
                return;
            }
        }
    }

    /// The next line that can be written, with the latency behind it. Of what is not acknowledged wholly there is none.
    fn pop(&mut self, must: bool) -> Option<String> {
        if !must && self.held.front()?.missing > 0 && self.held.len() < MOST_HELD {
            return None;
        }
        let held = self.held.pop_front()?;
        if held.missing > 0 {
            self.by_time.remove(&(held.key.0, held.key.1, self.first));
        }
        self.first += 1;
        let latency = held.latency.filter(|_| held.missing == 0);
        let latency = latency.map_or(String::new(), |it| it.as_millis_f64().to_string());
        Some(format!("{},{latency}", held.line))
    }
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
    waiting: Waiting,
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
                "stream,time_s,interval_ms,payload_bytes,new_bytes,frame_bytes,kind,in_flight,\
                 ack_latency_ms",
            )?,
            latency: list("latency.csv", "stream,sent_s,latency_ms,retransmissions")?,
            delays: list("delays.csv", "stream,sent_s,delay_variation_ms")?,
            intervals: list(
                "intervals.csv",
                "start_s,stream,packets,frame_bytes,payload_bytes,new_bytes,throughput_bps,goodput_bps,\
                 lost_packets,lost_bytes,lost_new_bytes,lost_old_bytes,lost_share,ranges,old_bytes,lost_ranges,\
                 lost_ranges_share,lost_new_share,lost_old_share",
            )?,
            length,
            open: BTreeMap::new(),
            waiting: Waiting::default(),
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
            // Of what was sent in the interval.
            let share = |lost: u64, sent: u64| lost as f64 / sent.max(1) as f64;
            let old_bytes = it.payload_bytes.saturating_sub(it.new_bytes);
            let lost_new_bytes = it.lost_bytes.saturating_sub(it.lost_old_bytes);
            self.intervals.line(&format_args!(
                "{},{stream},{},{},{},{},{},{},{},{},{},{},{},{},{old_bytes},{},{},{},{}",
                start.as_secs_f64(),
                it.packets,
                it.frame_bytes,
                it.payload_bytes,
                it.new_bytes,
                per_second(it.frame_bytes),
                per_second(it.new_bytes),
                it.lost_packets,
                it.lost_bytes,
                lost_new_bytes,
                it.lost_old_bytes,
                share(it.lost_bytes, it.payload_bytes),
                it.ranges,
                it.lost_ranges,
                share(it.lost_ranges, it.ranges),
                share(lost_new_bytes, it.new_bytes),
                share(it.lost_old_bytes, old_bytes),
            ));
        }
    }

    /// Writes what is known at the end only.
    pub(super) fn finish(mut self, report: &Report) -> Result<(), String> {
        self.settle(Duration::MAX);
        while let Some(line) = self.waiting.pop(true) {
            self.packets.line(&line);
        }
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
    ack_latency_max_ms,lost_packets,lost_bytes,loss,syn,fin,rst,again_1,again_2,again_3,again_more,\
    repeated_1,repeated_2,repeated_3,repeated_more,packets_arrived,packets_lost,packets_repaired,packets_doubtful,packets_silent";

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
            Some(it) => write!(f, ",{},{},{}", it.packets.lost, it.bytes.lost, it.loss)?,
            None => f.write_str(",,,")?,
        }
        match &stream.tcp {
            Some(tcp) => write!(f, ",{},{},{}", tcp.syn, tcp.fin, tcp.rst)?,
            None => f.write_str(",,,")?,
        }
        let (again, repeated) = (totals.retransmissions.by_order, totals.repeated_acks);
        for order in [again, repeated] {
            write!(f, ",{},{},{},{}", order.first, order.second, order.third, order.more)?;
        }
        let fates = totals.fates;
        write!(f, ",{},{},{}", fates.arrived, fates.lost, fates.repaired)?;
        write!(f, ",{},{}", fates.doubtful, fates.silent)
    }
}

impl Observer for Lists {
    fn on_packet(&mut self, packet: &PacketSent) {
        let PacketSent { stream, at, frame_length, payload, new, kind, in_flight, ranges, .. } =
            *packet;
        let interval = packet.interval.map_or(String::new(), |it| it.as_millis_f64().to_string());
        let line = format!(
            "{stream},{},{interval},{payload},{new},{frame_length},{},{in_flight}",
            at.as_secs_f64(),
            kind.name()
        );
        self.waiting.push(packet, line);
        while let Some(line) = self.waiting.pop(false) {
            self.packets.line(&line);
        }
        let it = self.interval(at, stream);
        it.packets += 1;
        it.ranges += u64::from(ranges);
        it.frame_bytes += u64::from(frame_length);
        it.payload_bytes += u64::from(payload);
        it.new_bytes += u64::from(new);
        self.settle(at.saturating_sub(SETTLED));
    }

    fn on_acknowledged(&mut self, data: &DataAcknowledged) {
        self.waiting.acknowledge(data);
        let DataAcknowledged { stream, sent, latency, retransmissions, .. } = *data;
        let (sent, latency) = (sent.as_secs_f64(), latency.as_millis_f64());
        self.latency.line(&format_args!("{stream},{sent},{latency},{retransmissions}"));
    }

    fn on_lost(&mut self, packet: &PacketLost) {
        let PacketLost { stream, sent, bytes, lost, old, ranges } = *packet;
        let it = self.interval(sent, stream);
        it.lost_packets += u64::from(lost == bytes);
        it.lost_ranges += u64::from(if lost == bytes { ranges } else { 0 });
        it.lost_bytes += u64::from(lost);
        it.lost_old_bytes += u64::from(old.min(lost));
    }

    fn on_delay(&mut self, delay: &PacketDelay) {
        let PacketDelay { stream, sent, delay } = *delay;
        let (sent, delay) = (sent.as_secs_f64(), delay.as_millis_f64());
        self.delays.line(&format_args!("{stream},{sent},{delay}"));
    }
}
