//! What a relay counts.

use base::Duration;
use hdrhistogram::Histogram;
use netsim::LinkStatistics;

/// What a relay did so far.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmulatorStatistics {
    /// From the clients to the server.
    pub up: DirectionStatistics,
    /// From the server to the clients.
    pub down: DirectionStatistics,
    /// Clients that have a socket now.
    pub clients: usize,
    /// Clients that got one since the start.
    pub clients_accepted: u64,
    /// Clients whose socket was closed after a time without datagrams.
    pub clients_expired: u64,
    /// Datagrams dropped since their client found no room or no socket.
    pub clients_refused: u64,
    /// Datagrams dropped since they came to a client's socket from others than the server.
    pub strangers: u64,
}

/// What a relay did in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectionStatistics {
    /// What the link did. Bytes are those of IP packets.
    pub link: LinkStatistics,
    /// Datagrams dropped to spare memory.
    pub overflows: u64,
    /// Datagrams that the system refused to send.
    pub send_errors: u64,
    /// How late datagrams left: the error of the emulated delay.
    pub lateness: Lateness,
}

/// How long after their time datagrams had been given to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Lateness {
    /// The median.
    pub p50: Duration,
    /// 99 of 100 were not later.
    pub p99: Duration,
    /// The latest.
    pub max: Duration,
}

/// Counts for one direction.
pub(super) struct Recorder {
    lateness: Histogram<u64>,
    pub(super) overflows: u64,
    pub(super) send_errors: u64,
}

impl Default for Recorder {
    fn default() -> Recorder {
        // 1 ns to 1 min to two digits; anything later counts as the upper end.
        let lateness = Histogram::new_with_bounds(1, 60_000_000_000, 2);
        Recorder {
            lateness: lateness.expect("the bounds are constants"),
            overflows: 0,
            send_errors: 0,
        }
    }
}

impl Recorder {
    pub(super) fn on_delivered(&mut self, late: Duration) {
        self.lateness.saturating_record(late.as_nanos().max(1));
    }

    pub(super) fn snapshot(&self, link: LinkStatistics) -> DirectionStatistics {
        let quantile = |q| Duration::from_nanos(self.lateness.value_at_quantile(q));
        let lateness = Lateness { p50: quantile(0.5), p99: quantile(0.99), max: quantile(1.0) };
        DirectionStatistics {
            link,
            overflows: self.overflows,
            send_errors: self.send_errors,
            lateness,
        }
    }
}
