//! Connections of the edge, and totals over all of them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Host, Instant};
use io::Clock;
use tcp::ConnectionInfo;

use super::budget::{self, Budget};
use super::counters::{End, ServiceCounters};
use super::options::{EdgeOptions, Service};
use super::shard::{Accepted, Shard, Strays};
use super::status::{ConnectionStatus, EdgeReport, EdgeStatus, ServiceReport, StackReport};

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
    /// Whether it is over, and its figures are among those of the past; changes under the
    /// registry's lock.
    ended: AtomicBool,
}

impl Entry {
    /// Counts the bytes that went to the service, and to the stack on their way to the client.
    pub(super) fn count(&self, (up, down): (u64, u64)) {
        self.bytes_up.store(up, Ordering::Relaxed);
        self.bytes_down.store(down, Ordering::Relaxed);
    }
}

/// Open connections, totals of services, and counters of the stacks.
pub(super) struct Registry {
    services: Vec<Service>,
    shards: Vec<Arc<Shard>>,
    clock: Clock,
    strays: Arc<Strays>,
    budget: Arc<Budget>,
    /// Connections of all services together for which the system has open files.
    most: usize,
    present: Mutex<Present>,
}

/// Open connections, and totals of the ended ones. Behind one lock: a connection goes from one to
/// the other at once, and figures that only grow are never seen to shrink.
struct Present {
    entries: BTreeMap<(usize, tcp::ConnectionId), Arc<Entry>>,
    /// Number of open connections by service.
    counts: Vec<usize>,
    /// Open connections by service and client.
    clients: BTreeMap<(usize, Host), usize>,
    /// Totals of ended connections by service.
    past: Vec<ServiceCounters>,
}

impl Registry {
    pub(super) fn new(
        options: &EdgeOptions,
        budget: Arc<Budget>,
        strays: Arc<Strays>,
        most: usize,
        shards: Vec<Arc<Shard>>,
        clock: Clock,
    ) -> Registry {
        let services = options.services.clone();
        let present = Present {
            entries: BTreeMap::new(),
            counts: vec![0; services.len()],
            clients: BTreeMap::new(),
            past: vec![ServiceCounters::default(); services.len()],
        };
        Registry { services, shards, clock, strays, budget, most, present: Mutex::new(present) }
    }

    pub(super) fn service(&self, index: usize) -> &Service {
        &self.services[index]
    }

    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    pub(super) fn shard(&self, index: usize) -> &Shard {
        &self.shards[index]
    }

    pub(super) fn shards(&self) -> &[Arc<Shard>] {
        &self.shards
    }

    /// A connection begins; or it must not, for this reason.
    pub(super) fn enter(&self, accepted: &Accepted) -> Result<Arc<Entry>, End> {
        let service = &self.services[accepted.service];
        let mut present = self.present();
        let key = (accepted.service, Host::from(accepted.client.ip()));
        let of_client = present.clients.get(&key).copied().unwrap_or(0);
        if of_client >= service.max_per_client {
            return Err(End::TooManyOfClient);
        }
        if present.counts[accepted.service] >= service.max_connections {
            return Err(End::TooMany);
        }
        if present.entries.len() >= self.most {
            return Err(End::NoResources);
        }
        if !self.budget.has_room_for_one() {
            return Err(End::NoMemory);
        }
        self.budget.enter();
        let entry = Arc::new(Entry {
            shard: accepted.shard,
            id: accepted.id,
            service: accepted.service,
            client: accepted.client,
            since: self.clock.now(),
            bytes_up: AtomicU64::new(0),
            bytes_down: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        });
        present.counts[accepted.service] += 1;
        present.clients.insert(key, of_client + 1);
        present.entries.insert((accepted.shard, accepted.id), entry.clone());
        Ok(entry)
    }

    /// Ends a connection, or one that never began: adds its counters to those of its service, and
    /// releases it in the stack.
    pub(super) fn leave(&self, accepted: &Accepted, end: End) {
        let shard = self.shard(accepted.shard);
        let mut present = self.present();
        let entry = present.entries.remove(&(accepted.shard, accepted.id));
        if entry.is_some() {
            self.budget.leave();
        }
        let info = shard.machine.call(|endpoint, now| {
            let info = endpoint.connection(accepted.id).map(|found| found.info(now));
            endpoint.release(now, accepted.id);
            info
        });
        let mut tally = ServiceCounters::default();
        tally.count_end(end);
        if let Some(entry) = entry {
            entry.ended.store(true, Ordering::Relaxed);
            tally.add_connection(&figures(&entry), info.as_ref());
            present.counts[accepted.service] -= 1;
            present.forget_client((accepted.service, Host::from(accepted.client.ip())));
        }
        present.past[accepted.service].add(&tally);
        drop(present);
        shard.forget(accepted.id);
    }

    /// Connections that are served, or that the stacks have not brought to their end.
    pub(super) fn connections(&self) -> usize {
        let in_stacks = self
            .shards
            .iter()
            .map(|shard| shard.machine.inspect(|endpoint| endpoint.connection_count()));
        let served = self.present().entries.len();
        served.max(in_stacks.sum())
    }

    /// State of all services and connections.
    pub(super) async fn status(&self) -> EdgeStatus {
        self.survey(true).await
    }

    /// Totals since the start, without the connections one by one.
    pub(super) async fn report(&self) -> EdgeReport {
        let EdgeStatus { elapsed_s, services, stack, .. } = self.survey(false).await;
        EdgeReport { elapsed_s, services, stack }
    }

    /// State of all services, and of each connection if `one_by_one`. A survey of thousands of
    /// connections takes milliseconds; it pauses after each few, so that packets do not wait
    /// for its end.
    async fn survey(&self, one_by_one: bool) -> EdgeStatus {
        let mut seen = Vec::new();
        let mut from = Bound::Unbounded;
        loop {
            let some = self.some_from(from);
            let Some(last) = some.last() else { break };
            from = Bound::Excluded((last.shard, last.id));
            let now = self.clock.now();
            seen.extend(some.into_iter().map(|entry| self.see(entry, now, one_by_one)));
            tokio::task::yield_now().await;
        }
        let present = self.present();
        let (mut tallies, counts) = (present.past.clone(), present.counts.clone());
        // Those that ended meanwhile are among the past ones.
        seen.retain(|one| !one.entry.ended.load(Ordering::Relaxed));
        drop(present);
        let mut connections = Vec::new();
        for Seen { entry, tally, status } in seen {
            tallies[entry.service].add(&tally);
            connections.extend(status);
        }
        let services = self
            .services
            .iter()
            .zip(tallies)
            .zip(counts)
            .map(|((service, tally), here)| ServiceReport::new(service, here, tally));
        EdgeStatus {
            elapsed_s: self.clock.now().since(Instant::ZERO).as_secs_f64(),
            services: services.collect(),
            stack: self.stack(),
            connections,
        }
    }

    /// The next connections in their order, no more than are looked at without a pause.
    fn some_from(&self, from: Bound<(usize, tcp::ConnectionId)>) -> Vec<Arc<Entry>> {
        const AT_ONCE: usize = 32;
        let present = self.present();
        let some = present.entries.range((from, Bound::Unbounded));
        some.take(AT_ONCE).map(|(_, entry)| entry.clone()).collect()
    }

    fn see(&self, entry: Arc<Entry>, now: Instant, one_by_one: bool) -> Seen {
        let info = self.info(&entry, now);
        let mut tally = ServiceCounters::default();
        tally.add_connection(&figures(&entry), info.as_ref());
        let status = one_by_one.then(|| {
            let service = self.services[entry.service].name.clone();
            let age = now.since(entry.since);
            ConnectionStatus::new(service, entry.client, age, figures(&entry), info.as_ref())
        });
        Seen { entry, tally, status }
    }

    fn info(&self, entry: &Entry, now: Instant) -> Option<ConnectionInfo> {
        let machine = &self.shard(entry.shard).machine;
        machine.inspect(|endpoint| Some(endpoint.connection(entry.id)?.info(now)))
    }

    fn stack(&self) -> StackReport {
        let handed = self.strays.statistics();
        let mut report = StackReport {
            held_in_flows: self.budget.in_flows() as u64,
            resident_bytes: budget::resident().unwrap_or(0),
            memory_limit: self.budget.memory() as u64,
            handed_over: handed.handed_over,
            handed_over_dropped: handed.dropped,
            ..StackReport::default()
        };
        for shard in &self.shards {
            let tun = shard.carrier.tun_statistics();
            shard.machine.inspect(|endpoint| report.add(endpoint, &tun));
        }
        report
    }

    fn present(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Present {
    /// A client has one connection less.
    fn forget_client(&mut self, key: (usize, Host)) {
        if let Some(count) = self.clients.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.clients.remove(&key);
            }
        }
    }
}

/// A connection as a survey found it.
struct Seen {
    entry: Arc<Entry>,
    tally: ServiceCounters,
    status: Option<ConnectionStatus>,
}

/// Bytes to the service and from it.
fn figures(entry: &Entry) -> (u64, u64) {
    (entry.bytes_up.load(Ordering::Relaxed), entry.bytes_down.load(Ordering::Relaxed))
}
