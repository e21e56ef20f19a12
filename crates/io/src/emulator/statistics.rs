//! Statistics of a relay: links, lateness of its datagrams, and its clients.

use base::Duration;
use netsim::LinkStatistics;
use results::{Histogram, Precision};

/// Upper bound of recorded lateness, which bounds the memory; later datagrams count as this late in
/// quantiles.
const LATEST: Duration = Duration::from_secs(60);

/// Statistics of a relay so far.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmulatorStatistics {
    /// Packets from the clients to the server.
    pub up: DirectionStatistics,
    /// Packets from the server to the clients.
    pub down: DirectionStatistics,
    /// Clients that have a socket now.
    pub clients: usize,
    /// Clients that got a socket since the start.
    pub clients_accepted: u64,
    /// Clients whose socket was closed after a time without datagrams.
    pub clients_expired: u64,
    /// Datagrams dropped because there was no room or no socket for their client.
    pub clients_refused: u64,
    /// Datagrams dropped because they came to a client's socket from a host other than the server.
    pub strangers: u64,
}

/// Counters of the datagrams that all clients send, or of those that the server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectionStatistics {
    /// The link's statistics. Bytes are those of IP packets.
    pub link: LinkStatistics,
    /// Datagrams dropped at the memory limit.
    pub overflows: u64,
    /// Datagrams that the system refused to send.
    pub send_errors: u64,
    /// Lateness of datagrams: the error of the emulated delay.
    pub lateness: Lateness,
}

/// Time between a datagram's due time and its hand-over to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Lateness {
    /// Median, within the precision of the histogram.
    pub p50: Duration,
    /// 99th percentile, within the precision of the histogram.
    pub p99: Duration,
    /// Longest lateness since the relay began.
    pub max: Duration,
}

/// Lateness and refused sending of one direction since the relay began.
pub(super) struct Recorder {
    /// Lateness in nanoseconds, up to [`LATEST`].
    lateness: Histogram,
    pub(super) overflows: u64,
    pub(super) send_errors: u64,
}

impl Default for Recorder {
    fn default() -> Recorder {
        let lateness = Histogram::up_to(LATEST.as_nanos(), Precision::Percent);
        Recorder { lateness, overflows: 0, send_errors: 0 }
    }
}

impl Recorder {
    pub(super) fn on_delivered(&mut self, late: Duration) {
        self.lateness.record(late.as_nanos());
    }

    pub(super) fn snapshot(&self, link: LinkStatistics) -> DirectionStatistics {
        let quantile =
            |share| Duration::from_nanos(self.lateness.quantile(share).unwrap_or_default());
        let lateness = Lateness {
            p50: quantile(0.5),
            p99: quantile(0.99),
            max: Duration::from_nanos(self.lateness.greatest()),
        };
        DirectionStatistics {
            link,
            overflows: self.overflows,
            send_errors: self.send_errors,
            lateness,
        }
    }
}
