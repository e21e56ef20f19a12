//! Who is connected, and what all connections together did.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Instant;
use io::Clock;
use tcp::ConnectionInfo;

use super::options::{EdgeOptions, Service};
use super::shard::{Accepted, Shard};
use super::status::{
    ConnectionStatus, EdgeReport, EdgeStatus, End, ServiceReport, StackReport, Tally,
};

/// A connection that is served.
#[derive(Debug)]
pub(super) struct Entry {
    shard: usize,
    id: tcp::ConnectionId,
    service: usize,
    client: std::net::SocketAddr,
    since: Instant,
    bytes_up: AtomicU64,
    bytes_down: AtomicU64,
}

impl Entry {
    /// Bytes went to the service.
    pub(super) fn count_up(&self, bytes: usize) {
        self.bytes_up.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes went to the stack, on their way to the client.
    pub(super) fn count_down(&self, bytes: usize) {
        self.bytes_down.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// All of it.
pub(super) struct Registry {
    services: Vec<Service>,
    shards: Vec<Arc<Shard>>,
    clock: Clock,
    entries: Mutex<BTreeMap<(usize, tcp::ConnectionId), Arc<Entry>>>,
    /// For each service: connections that are there, and what those did that are over.
    present: Vec<AtomicUsize>,
    past: Mutex<Vec<Tally>>,
}

impl Registry {
    pub(super) fn new(options: &EdgeOptions, shards: Vec<Arc<Shard>>, clock: Clock) -> Registry {
        let services = options.services.clone();
        let present = services.iter().map(|_| AtomicUsize::new(0)).collect();
        let past = Mutex::new(vec![Tally::default(); services.len()]);
        Registry { services, shards, clock, entries: Mutex::default(), present, past }
    }

    pub(super) fn service(&self, index: usize) -> &Service {
        &self.services[index]
    }

    pub(super) fn shard(&self, index: usize) -> &Shard {
        &self.shards[index]
    }

    pub(super) fn shards(&self) -> &[Arc<Shard>] {
        &self.shards
    }

    /// A connection begins; none if its service has as many as it may.
    pub(super) fn enter(&self, accepted: &Accepted) -> Option<Arc<Entry>> {
        let service = &self.services[accepted.service];
        let before = self.present[accepted.service].fetch_add(1, Ordering::Relaxed);
        if before >= service.max_connections {
            return None;
        }
        let entry = Arc::new(Entry {
            shard: accepted.shard,
            id: accepted.id,
            service: accepted.service,
            client: accepted.client,
            since: self.clock.now(),
            bytes_up: AtomicU64::new(0),
            bytes_down: AtomicU64::new(0),
        });
        self.entries().insert((accepted.shard, accepted.id), entry.clone());
        Some(entry)
    }

    /// A connection is over: what it did is added to its service, and the stack may forget it.
    pub(super) fn leave(&self, accepted: &Accepted, end: End) {
        let entry = self.entries().remove(&(accepted.shard, accepted.id));
        self.present[accepted.service].fetch_sub(1, Ordering::Relaxed);
        let shard = self.shard(accepted.shard);
        let info = shard.machine.call(|endpoint, now| {
            let info = endpoint.connection(accepted.id).map(|found| found.info(now));
            endpoint.release(now, accepted.id);
            info
        });
        shard.forget(accepted.id);
        let mut tally = Tally::default();
        tally.count_end(end);
        if let Some(entry) = entry {
            tally.add_connection(&figures(&entry), info.as_ref());
        }
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past[accepted.service].add(&tally);
    }

    /// Connections that are served, or that the stacks have not brought to their end.
    pub(super) fn connections(&self) -> usize {
        let in_stacks = self
            .shards
            .iter()
            .map(|shard| shard.machine.inspect(|endpoint| endpoint.connection_count()));
        self.entries().len().max(in_stacks.sum())
    }

    /// Everything there is to know now.
    pub(super) fn status(&self) -> EdgeStatus {
        let now = self.clock.now();
        let entries: Vec<Arc<Entry>> = self.entries().values().cloned().collect();
        let mut tallies = self.past.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut present = vec![0; self.services.len()];
        let mut connections = Vec::with_capacity(entries.len());
        for entry in entries {
            let info = self.info(&entry, now);
            tallies[entry.service].add_connection(&figures(&entry), info.as_ref());
            present[entry.service] += 1;
            let service = &self.services[entry.service];
            connections.push(ConnectionStatus::new(
                service.name.clone(),
                entry.client,
                now.since(entry.since),
                figures(&entry),
                info.as_ref(),
            ));
        }
        let services = self
            .services
            .iter()
            .zip(tallies)
            .zip(present)
            .map(|((service, tally), here)| ServiceReport::new(service, here, tally));
        EdgeStatus {
            elapsed_s: now.since(Instant::ZERO).as_secs_f64(),
            services: services.collect(),
            stack: self.stack(),
            connections,
        }
    }

    /// What happened in all.
    pub(super) fn report(&self) -> EdgeReport {
        let EdgeStatus { elapsed_s, services, stack, .. } = self.status();
        EdgeReport { elapsed_s, services, stack }
    }

    fn info(&self, entry: &Entry, now: Instant) -> Option<ConnectionInfo> {
        let machine = &self.shard(entry.shard).machine;
        machine.inspect(|endpoint| Some(endpoint.connection(entry.id)?.info(now)))
    }

    fn stack(&self) -> StackReport {
        let mut report = StackReport::default();
        for shard in &self.shards {
            let stats = shard.machine.inspect(|endpoint| endpoint.stats());
            report.add(&stats, &shard.carrier.tun_statistics());
        }
        report
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<(usize, tcp::ConnectionId), Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes to the service and from it.
fn figures(entry: &Entry) -> (u64, u64) {
    (entry.bytes_up.load(Ordering::Relaxed), entry.bytes_down.load(Ordering::Relaxed))
}
