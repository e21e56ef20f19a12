//! Ends of connections, and counters of services.

use recovery::RecoveryStats;
use serde::Serialize;
use tcp::{ConnectionInfo, Counters, Failure};

/// End of a connection, by which a service's connections are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Both directions ended with a FIN.
    Finished,
    /// The client's side failed, for a reason of the userspace TCP.
    Client(Failure),
    /// The local service reset its connection.
    ServiceReset,
    /// The service could not be reached.
    NoService,
    /// The system has no more open files or local ports.
    NoResources,
    /// The connections leave no memory for one more.
    NoMemory,
    /// The service has as many connections as it may.
    TooMany,
    /// The client has as many connections to the service as it may.
    TooManyOfClient,
}

/// Adds figures of a tally to those of another. The pattern wants each: one that is forgotten does
/// not compile.
macro_rules! add_each {
    ($sum:expr, $other:expr, $($figure:ident),* $(,)?) => {
        let ServiceCounters { $($figure),* } = $other;
        $($sum.$figure += $figure;)*
    };
}

/// Counters of a service's connections, open ones among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct ServiceCounters {
    /// Connections that ended in order, with a FIN each way.
    pub finished: u64,
    /// Ended by a RST of the client.
    pub reset_by_client: u64,
    /// Given up because the client did not answer.
    pub client_lost: u64,
    /// Ended by a RST of the local service.
    pub reset_by_service: u64,
    /// Reset because the service could not be reached.
    pub service_unreachable: u64,
    /// Reset because the system had no more open files or local ports.
    pub no_resources: u64,
    /// Reset because connections take as much memory as they may ([`super::EdgeOptions::memory`]).
    pub no_memory: u64,
    /// Reset because there were too many.
    pub too_many: u64,
    /// Reset because the client had too many.
    pub too_many_of_client: u64,
    /// Bytes from clients to the service.
    pub bytes_up: u64,
    /// Bytes from the service to clients.
    pub bytes_down: u64,
    /// Segments sent to clients, retransmissions included.
    pub segments_sent: u64,
    /// Segments received from clients, with or without data.
    pub segments_received: u64,
    /// Bytes retransmitted to clients, without redundant copies.
    pub bytes_retransmitted: u64,
    /// Bytes sent along with others in case they were lost (redundant data bundling).
    pub bytes_redundant: u64,
    /// Segments with such bytes that repaired a loss, as far as acknowledgements show.
    pub bundle_hits: u64,
    /// Segments with such bytes that arrived and were not needed.
    pub bundle_misses: u64,
    /// Expiries of retransmission timers, of all connections.
    pub timeouts: u64,
    /// Times that fast recovery was entered.
    pub fast_recoveries: u64,
    /// Retransmissions that turned out to be needless.
    pub spurious: u64,
}

impl ServiceCounters {
    pub(super) fn count_end(&mut self, end: End) {
        *match end {
            End::Finished => &mut self.finished,
            End::Client(Failure::Reset | Failure::Refused | Failure::Aborted) => {
                &mut self.reset_by_client
            }
            End::Client(_) => &mut self.client_lost,
            End::ServiceReset => &mut self.reset_by_service,
            End::NoService => &mut self.service_unreachable,
            End::NoResources => &mut self.no_resources,
            End::NoMemory => &mut self.no_memory,
            End::TooMany => &mut self.too_many,
            End::TooManyOfClient => &mut self.too_many_of_client,
        } += 1;
    }

    pub(super) fn add_connection(&mut self, bytes: &(u64, u64), info: Option<&ConnectionInfo>) {
        self.bytes_up += bytes.0;
        self.bytes_down += bytes.1;
        if let Some(info) = info {
            self.add_counters(&info.counters, &info.recovery);
        }
    }

    fn add_counters(&mut self, counters: &Counters, recovery: &RecoveryStats) {
        self.segments_sent += counters.segments_sent;
        self.segments_received += counters.segments_received;
        self.bytes_retransmitted += counters.bytes_retransmitted;
        self.bytes_redundant += recovery.redundant_bytes;
        self.bundle_hits += recovery.bundle_hits;
        self.bundle_misses += recovery.bundle_misses;
        self.timeouts += recovery.timeouts;
        self.fast_recoveries += recovery.fast_recoveries;
        self.spurious += recovery.spurious;
    }

    pub(super) fn add(&mut self, other: &ServiceCounters) {
        add_each!(
            self,
            other,
            finished,
            reset_by_client,
            client_lost,
            reset_by_service,
            service_unreachable,
            no_resources,
            no_memory,
            too_many,
            too_many_of_client,
            bytes_up,
            bytes_down,
            segments_sent,
            segments_received,
            bytes_retransmitted,
            bytes_redundant,
            bundle_hits,
            bundle_misses,
            timeouts,
            fast_recoveries,
            spurious,
        );
    }

    /// Reasons for which connections ended, with the number of connections for each.
    pub(super) fn ends(&self) -> [(&'static str, u64); 9] {
        [
            ("finished", self.finished),
            ("reset_by_client", self.reset_by_client),
            ("client_lost", self.client_lost),
            ("reset_by_service", self.reset_by_service),
            ("service_unreachable", self.service_unreachable),
            ("no_resources", self.no_resources),
            ("no_memory", self.no_memory),
            ("too_many", self.too_many),
            ("too_many_of_client", self.too_many_of_client),
        ]
    }

    /// Number of connections that ended, for any reason.
    pub fn ended(&self) -> u64 {
        self.ends().iter().map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_but_the_ends_comes_from_connections() {
        let counters = Counters {
            segments_sent: 1,
            segments_received: 2,
            bytes_retransmitted: 3,
            ..Counters::default()
        };
        let recovery = RecoveryStats {
            redundant_bytes: 4,
            bundle_hits: 5,
            bundle_misses: 6,
            timeouts: 7,
            fast_recoveries: 8,
            spurious: 9,
            ..RecoveryStats::default()
        };
        let mut tally = ServiceCounters::default();
        tally.add_connection(&(10, 11), None);
        tally.add_counters(&counters, &recovery);
        let ends = tally.ends().map(|(name, _)| name);
        let figures = serde_json::to_value(&tally).unwrap();
        let figures = figures.as_object().unwrap().iter();
        let mut others: Vec<u64> = figures
            .filter(|(name, _)| !ends.contains(&name.as_str()))
            .map(|(_, count)| count.as_u64().unwrap())
            .collect();
        others.sort();
        assert_eq!(others, (1..=11).collect::<Vec<_>>());
        assert_eq!(tally.ended(), 0);
    }
}
