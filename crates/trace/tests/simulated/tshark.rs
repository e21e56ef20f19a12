//! Comparison with an independent reader: tshark, where it is installed.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use base::Probability;
use trace::capture::Capture;
use trace::{Options, analyse};

use crate::world::{clients, run};

/// tshark's figures of the client's packets with data: number, bytes, retransmissions; and
/// duplicate acknowledgements of the server.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    packets: u64,
    bytes: u64,
    retransmissions: u64,
    duplicate_acks: u64,
    /// Time between packets with data, in microseconds.
    intervals: Vec<u64>,
}

fn count(path: &Path) -> Option<Counted> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-T", "fields", "-E", "separator=;"]);
    for field in [
        "tcp.dstport",
        "tcp.len",
        "tcp.analysis.retransmission",
        "tcp.analysis.fast_retransmission",
        "tcp.analysis.spurious_retransmission",
        "tcp.analysis.out_of_order",
        "tcp.analysis.duplicate_ack",
        "frame.time_epoch",
    ] {
        tshark.args(["-e", field]);
    }
    let output = match tshark.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let _ = writeln!(std::io::stderr(), "SKIPPED: tshark is not installed");
            return None;
        }
        output => output.unwrap(),
    };
    let mut counted = Counted::default();
    let mut last: Option<f64> = None;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let [port, length, again @ .., duplicate, time] = fields.as_slice() else {
            panic!("{line}")
        };
        counted.duplicate_acks += u64::from(!duplicate.is_empty());
        if *port == "80" && *length != "0" {
            let time: f64 = time.parse().unwrap();
            counted.packets += 1;
            counted.bytes += length.parse::<u64>().unwrap();
            counted.retransmissions += u64::from(again.iter().any(|mark| !mark.is_empty()));
            counted.intervals.extend(last.map(|last| ((time - last) * 1e6).round() as u64));
            last = Some(time);
        }
    }
    Some(counted)
}

#[test]
fn tshark_counts_the_same_packets_retransmissions_and_duplicate_acknowledgements() {
    let (truth, _) = run("linux", Probability::from_ratio(3, 100));
    let [sender, _] = truth.taps.map(|tap| tap.writer.into_inner());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tcp.pcapng");
    std::fs::write(&path, &sender).unwrap();
    let Some(mut counted) = count(&path) else { return };
    let (report, ()) = analyse(&mut Capture::open(&sender[..]).unwrap(), Options::default(), ());
    let totals = &clients(&report).totals;
    assert_eq!((totals.packets.data, totals.bytes.payload), (counted.packets, counted.bytes));
    assert_eq!(totals.retransmissions.total, counted.retransmissions);
    assert_eq!(totals.repeated_acks.total(), counted.duplicate_acks);
    counted.intervals.sort_unstable();
    let micros = |ms: f64| (ms * 1000.0).round() as u64;
    let found = &totals.interarrival_ms;
    assert_eq!(found.count, counted.intervals.len() as u64);
    assert_eq!(micros(found.min), counted.intervals[0]);
    assert_eq!(micros(found.max), *counted.intervals.last().unwrap());
    let median = counted.intervals[counted.intervals.len().div_ceil(2) - 1];
    assert!(micros(found.p50).abs_diff(median) <= median / 100, "{} {median}", found.p50);
}
