//! An edge's report on its memory, beside that of the system.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::unistd::Pid;

use crate::attack::resident::resident;

/// Time between looks at the system's figure.
const LOOK: Duration = Duration::from_millis(50);
/// Looks between questions to the edge.
const PER_QUESTION: usize = 20;
/// Looks within which the edge's figure must have been the system's: it takes its own once a
/// second.
const RECENT: usize = 40;

/// Distance of the edge's figure from the system's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemoryReport {
    /// Number of times that the edge was asked.
    pub(super) told: usize,
    /// The largest distance from the nearest figure that the system showed in the last seconds, as
    /// a share of it.
    pub(super) farthest: f64,
}

impl MemoryReport {
    /// Looks at a process, and at what it serves at `metrics`, until it is over.
    pub(super) fn run(process: Pid, metrics: &str, over: &AtomicBool) -> Result<MemoryReport> {
        let mut watch = MemoryReport::default();
        let mut recent = VecDeque::new();
        for index in 1.. {
            if over.load(Ordering::Relaxed) {
                break;
            }
            recent.push_back(resident(process)?);
            // The edge has reported nothing in its first second.
            if index % PER_QUESTION == 0 && recent.len() >= RECENT {
                let told = ask(metrics)?;
                recent.push_back(resident(process)?);
                recent.drain(..recent.len() - RECENT);
                let share = |there: &u64| told.abs_diff(*there) as f64 / *there as f64;
                let off = recent.iter().map(share).fold(f64::INFINITY, f64::min);
                watch.told += 1;
                watch.farthest = watch.farthest.max(off);
            }
            std::thread::sleep(LOOK);
        }
        Ok(watch)
    }
}

/// Bytes of memory that the edge says it has.
fn ask(metrics: &str) -> Result<u64> {
    let mut stream = TcpStream::connect(metrics).context("cannot ask for metrics")?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: edge\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("no metrics")?;
    let name = "thinstream_edge_resident_bytes ";
    let line = answer.lines().find_map(|line| line.strip_prefix(name));
    line.with_context(|| format!("no {name}in {answer}"))?.parse().context("not a number")
}
