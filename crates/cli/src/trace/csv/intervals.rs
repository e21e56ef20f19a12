//! Bytes sent and lost in each interval. The share of the whole stream is known only at the end:
//! until then counts are kept in a file beside the list, since a capture may have more intervals
//! than fit in memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use base::Duration;
use trace::observer::{PacketLost, PacketSent, StreamId};

use super::{List, wrong};

/// Age at which an interval is complete: its losses are known by then.
const SETTLED: Duration = Duration::from_secs(60);

const COUNTS: &str = "intervals.csv.part";

/// Counts of one stream in an interval of time.
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

/// Counts of a whole stream.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    ranges: u64,
    bytes: u64,
}

impl Interval {
    fn counts(&self) -> [u64; 9] {
        [
            self.packets,
            self.ranges,
            self.frame_bytes,
            self.payload_bytes,
            self.new_bytes,
            self.lost_packets,
            self.lost_ranges,
            self.lost_bytes,
            self.lost_old_bytes,
        ]
    }

    /// The inverse: an interval of these counts.
    fn of(counts: [u64; 9]) -> Interval {
        let [packets, ranges, frame_bytes, payload_bytes, new_bytes, lost @ ..] = counts;
        let [lost_packets, lost_ranges, lost_bytes, lost_old_bytes] = lost;
        Interval {
            packets,
            ranges,
            frame_bytes,
            payload_bytes,
            new_bytes,
            lost_packets,
            lost_ranges,
            lost_bytes,
            lost_old_bytes,
        }
    }

    fn old_bytes(&self) -> u64 {
        self.payload_bytes.saturating_sub(self.new_bytes)
    }

    fn lost_new_bytes(&self) -> u64 {
        self.lost_bytes.saturating_sub(self.lost_old_bytes)
    }
}

/// The columns of a line.
#[derive(Clone, Copy, Debug)]
struct Row {
    interval: Interval,
    whole: Whole,
    seconds: f64,
}

impl Row {
    fn per_second(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / self.seconds
    }
}

fn share(lost: u64, sent: u64) -> f64 {
    lost as f64 / sent.max(1) as f64
}

type Column = (&'static str, fn(&Row) -> f64);

/// Columns behind the time and the stream. Shares are of the like that was sent in the interval,
/// the last two of all that the stream sent.
const COLUMNS: [Column; 19] = [
    ("packets", |it| it.interval.packets as f64),
    ("frame_bytes", |it| it.interval.frame_bytes as f64),
    ("payload_bytes", |it| it.interval.payload_bytes as f64),
    ("new_bytes", |it| it.interval.new_bytes as f64),
    ("throughput_bps", |it| it.per_second(it.interval.frame_bytes)),
    ("goodput_bps", |it| it.per_second(it.interval.new_bytes)),
    ("lost_packets", |it| it.interval.lost_packets as f64),
    ("lost_bytes", |it| it.interval.lost_bytes as f64),
    ("lost_new_bytes", |it| it.interval.lost_new_bytes() as f64),
    ("lost_old_bytes", |it| it.interval.lost_old_bytes as f64),
    ("lost_share", |it| share(it.interval.lost_bytes, it.interval.payload_bytes)),
    ("ranges", |it| it.interval.ranges as f64),
    ("old_bytes", |it| it.interval.old_bytes() as f64),
    ("lost_ranges", |it| it.interval.lost_ranges as f64),
    ("lost_ranges_share", |it| share(it.interval.lost_ranges, it.interval.ranges)),
    ("lost_new_share", |it| share(it.interval.lost_new_bytes(), it.interval.new_bytes)),
    ("lost_old_share", |it| share(it.interval.lost_old_bytes, it.interval.old_bytes())),
    ("lost_share_of_stream", |it| share(it.interval.lost_bytes, it.whole.bytes)),
    ("lost_ranges_share_of_stream", |it| share(it.interval.lost_ranges, it.whole.ranges)),
];

/// Writer of the list of intervals, which are complete only once the last packet's fate is known.
pub(super) struct Intervals {
    folder: PathBuf,
    counts: List,
    length: Duration,
    /// Incomplete intervals by number and stream.
    open: BTreeMap<(u64, StreamId), Interval>,
    streams: BTreeMap<String, Whole>,
}

impl Intervals {
    pub(super) fn create(folder: &Path, length: Duration) -> Result<Intervals, String> {
        Ok(Intervals {
            folder: folder.to_owned(),
            counts: List::without_head(folder, COUNTS)?,
            length,
            open: BTreeMap::new(),
            streams: BTreeMap::new(),
        })
    }

    fn interval(&mut self, at: Duration, stream: StreamId) -> &mut Interval {
        let number = at.as_nanos() / self.length.as_nanos();
        self.open.entry((number, stream)).or_default()
    }

    pub(super) fn on_packet(&mut self, packet: &PacketSent) {
        let it = self.interval(packet.at, packet.stream);
        it.packets += 1;
        it.ranges += u64::from(packet.ranges);
        it.frame_bytes += u64::from(packet.frame_length);
        it.payload_bytes += u64::from(packet.payload);
        it.new_bytes += u64::from(packet.new);
        self.settle(packet.at.saturating_sub(SETTLED));
    }

    pub(super) fn on_lost(&mut self, packet: &PacketLost) {
        let PacketLost { stream, sent, bytes, lost, old, ranges } = *packet;
        let it = self.interval(sent, stream);
        it.lost_packets += u64::from(lost == bytes);
        it.lost_ranges += u64::from(if lost == bytes { ranges } else { 0 });
        it.lost_bytes += u64::from(lost);
        it.lost_old_bytes += u64::from(old.min(lost));
    }

    /// Puts the counts of intervals that began before `before` aside.
    fn settle(&mut self, before: Duration) {
        while let Some(entry) = self.open.first_entry() {
            let (number, stream) = *entry.key();
            if self.length * number >= before {
                break;
            }
            let it = entry.remove();
            let whole = self.streams.entry(stream.to_string()).or_default();
            whole.ranges += it.ranges;
            whole.bytes += it.payload_bytes;
            let counts = it.counts().map(|count| count.to_string()).join(",");
            self.counts.line(&format_args!("{number},{stream},{counts}"));
        }
    }

    /// Writes the list from the counts and the sums of whole streams.
    pub(super) fn finish(mut self) -> Result<(), String> {
        self.settle(Duration::MAX);
        self.counts.finish()?;
        let path = self.folder.join(COUNTS);
        let failed = |error: std::io::Error| wrong(&path, &error);
        let names = COLUMNS.map(|(name, _)| name).join(",");
        let mut list =
            List::create(&self.folder, super::INTERVALS, &format!("start_s,stream,{names}"))?;
        for line in BufReader::new(File::open(&path).map_err(failed)?).lines() {
            let line = line.map_err(failed)?;
            let Some((number, stream, interval)) = parse(&line) else { continue };
            let whole = self.streams.get(stream).copied().unwrap_or_default();
            let row = Row { interval, whole, seconds: self.length.as_secs_f64() };
            let values = COLUMNS.map(|(_, value)| value(&row).to_string()).join(",");
            list.line(&format_args!("{},{stream},{values}", (self.length * number).as_secs_f64()));
        }
        std::fs::remove_file(&path).map_err(failed)?;
        list.finish()
    }
}

/// A line of counts: of which interval and stream they are.
fn parse(line: &str) -> Option<(u64, &str, Interval)> {
    let mut cells = line.split(',');
    let (number, stream) = (cells.next()?.parse().ok()?, cells.next()?);
    let mut counts = [0; 9];
    for count in &mut counts {
        *count = cells.next()?.parse().ok()?;
    }
    Some((number, stream, Interval::of(counts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_interval_and_of_the_stream() {
        let lost = Interval {
            ranges: 4,
            payload_bytes: 400,
            lost_ranges: 1,
            lost_bytes: 100,
            ..Interval::default()
        };
        let line = format!("7,3a,{}", lost.counts().map(|count| count.to_string()).join(","));
        let (number, stream, interval) = parse(&line).unwrap();
        assert_eq!((number, stream), (7, "3a"));
        let row = Row { interval, whole: Whole { ranges: 8, bytes: 1000 }, seconds: 1.0 };
        let value = |wanted: &str| {
            let column = COLUMNS.iter().find(|(name, _)| *name == wanted);
            column.map(|(_, value)| value(&row)).unwrap()
        };
        assert_eq!((value("lost_share"), value("lost_share_of_stream")), (0.25, 0.1));
        assert_eq!(
            (value("lost_ranges_share"), value("lost_ranges_share_of_stream")),
            (0.25, 0.125)
        );
        assert_eq!((value("lost_new_bytes"), value("payload_bytes")), (100.0, 400.0));
        assert!(parse("7,3a,1,2").is_none());
    }
}
