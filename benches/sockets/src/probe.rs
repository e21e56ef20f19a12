//! Measurements of a server process about itself: messages, their latencies, processor time and
//! memory.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::resource::{UsageWho, getrusage};
use results::{Histogram, Precision};
use rustix::time::{ClockId, clock_gettime};

use crate::threads::Threads;
use crate::{MESSAGE, Result};

/// Nanoseconds of the machine's monotonic clock, which its processes share.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A message that is sent now, with its number among those of its connection.
pub fn message(number: u64) -> [u8; MESSAGE] {
    let mut message = [7; MESSAGE];
    message[..8].copy_from_slice(&now().to_be_bytes());
    message[8..16].copy_from_slice(&number.to_be_bytes());
    message
}

/// The number of a message, or of its answer; none where bytes are missing.
pub fn number_of(message: &[u8]) -> Option<u64> {
    message.get(8..16)?.try_into().ok().map(u64::from_be_bytes)
}

/// Latencies of the messages that arrived since the last mark.
#[derive(Clone)]
pub struct Probe(Arc<Mutex<(Histogram, Threads)>>);

impl Probe {
    pub fn new() -> Probe {
        Probe(Arc::new(Mutex::new((no_latencies(), Threads::default()))))
    }

    /// Records the latency of a message, which begins with its time of sending.
    pub fn on_received(&self, message: &[u8]) {
        let Some(sent) = message.first_chunk() else { return };
        let latency = now().saturating_sub(u64::from_be_bytes(*sent));
        self.lock().0.record(latency);
    }

    /// The numbers since the last mark, as the benchmark reads them: messages, processor time so
    /// far (ns), resident bytes now, latencies (ns), and processor time of the busiest thread
    /// (ns).
    pub fn mark(&self) -> Result<String> {
        let mut own = self.lock();
        let (latencies, threads) = &mut *own;
        let latencies = std::mem::replace(latencies, no_latencies());
        let [p50, p99, p999] =
            [0.5, 0.99, 0.999].map(|share| latencies.quantile(share).unwrap_or(0));
        let messages = latencies.count();
        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        let [user, system] = [usage.user_time(), usage.system_time()]
            .map(|time| time.tv_sec() * 1_000_000_000 + time.tv_usec() * 1_000);
        let resident = resident_bytes(Path::new("/proc/self"))?;
        let busiest = threads.busiest()?;
        Ok(format!("{messages} {user} {system} {resident} {p50} {p99} {p999} {busiest}"))
    }

    fn lock(&self) -> MutexGuard<'_, (Histogram, Threads)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An empty histogram of nanoseconds, up to a minute.
fn no_latencies() -> Histogram {
    Histogram::up_to(60_000_000_000, Precision::PerMille)
}

/// Resident bytes of a process, by its folder below /proc.
pub fn resident_bytes(process: &Path) -> Result<u64> {
    let statm = std::fs::read_to_string(process.join("statm"))?;
    let pages: u64 = statm.split_whitespace().nth(1).ok_or("no pages in statm")?.parse()?;
    Ok(pages * rustix::param::page_size() as u64)
}
