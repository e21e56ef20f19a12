//! How connections ended, and what they did until then.

use serde::Serialize;
use tcp::{ConnectionInfo, Failure};

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Both directions in order.
    Finished,
    /// The client's side failed.
    Client(Failure),
    /// The service reset it.
    ServiceReset,
    /// The service could not be reached.
    NoService,
    /// The system has no more open files or local ports.
    NoResources,
    /// The service has as many connections as it may.
    TooMany,
    /// The client has as many connections to the service as it may.
    TooManyOfClient,
}

/// What connections of a service did, those that are there included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Ended in order.
    pub finished: u64,
    /// Reset by the client.
    pub reset_by_client: u64,
    /// Given up because the client did not answer.
    pub client_lost: u64,
    /// Reset by the service.
    pub reset_by_service: u64,
    /// Reset because the service could not be reached.
    pub service_unreachable: u64,
    /// Reset because the system had no more open files or local ports.
    pub no_resources: u64,
    /// Reset because there were too many.
    pub too_many: u64,
    /// Reset because the client had too many.
    pub too_many_of_client: u64,
    /// Bytes from clients to the service.
    pub bytes_up: u64,
    /// Bytes from the service to clients.
    pub bytes_down: u64,
    /// Segments sent to clients.
    pub segments_sent: u64,
    /// Segments received from clients.
    pub segments_received: u64,
    /// Bytes sent again.
    pub bytes_retransmitted: u64,
    /// Bytes sent along with others in case they were lost (redundant data bundling).
    pub bytes_redundant: u64,
    /// Segments with such bytes that repaired a loss, as far as acknowledgements tell.
    pub bundle_hits: u64,
    /// Segments with such bytes that arrived and were not needed.
    pub bundle_misses: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Times that fast recovery was entered.
    pub fast_recoveries: u64,
    /// Retransmissions that were needless.
    pub spurious: u64,
}

impl Tally {
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
            End::TooMany => &mut self.too_many,
            End::TooManyOfClient => &mut self.too_many_of_client,
        } += 1;
    }

    pub(super) fn add_connection(&mut self, bytes: &(u64, u64), info: Option<&ConnectionInfo>) {
        self.bytes_up += bytes.0;
        self.bytes_down += bytes.1;
        if let Some(info) = info {
            self.segments_sent += info.counters.segments_sent;
            self.segments_received += info.counters.segments_received;
            self.bytes_retransmitted += info.counters.bytes_retransmitted;
            self.bytes_redundant += info.recovery.redundant_bytes;
            self.bundle_hits += info.recovery.bundle_hits;
            self.bundle_misses += info.recovery.bundle_misses;
            self.timeouts += info.recovery.timeouts;
            self.fast_recoveries += info.recovery.fast_recoveries;
            self.spurious += info.recovery.spurious;
        }
    }

    pub(super) fn add(&mut self, other: &Tally) {
        self.finished += other.finished;
        self.reset_by_client += other.reset_by_client;
        self.client_lost += other.client_lost;
        self.reset_by_service += other.reset_by_service;
        self.service_unreachable += other.service_unreachable;
        self.no_resources += other.no_resources;
        self.too_many += other.too_many;
        self.too_many_of_client += other.too_many_of_client;
        self.bytes_up += other.bytes_up;
        self.bytes_down += other.bytes_down;
        self.segments_sent += other.segments_sent;
        self.segments_received += other.segments_received;
        self.bytes_retransmitted += other.bytes_retransmitted;
        self.bytes_redundant += other.bytes_redundant;
        self.bundle_hits += other.bundle_hits;
        self.bundle_misses += other.bundle_misses;
        self.timeouts += other.timeouts;
        self.fast_recoveries += other.fast_recoveries;
        self.spurious += other.spurious;
    }

    /// Connections that ended.
    pub fn ended(&self) -> u64 {
        self.finished
            + self.reset_by_client
            + self.client_lost
            + self.reset_by_service
            + self.service_unreachable
            + self.no_resources
            + self.too_many
            + self.too_many_of_client
    }
}
