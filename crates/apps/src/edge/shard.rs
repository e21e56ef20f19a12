//! A stack behind one queue of the device, and the tasks that wait for its connections.
//!
//! The system leads the packets of a connection to the queue to which it led the SYN, by a hash of
//! addresses and ports, or to the one that last sent for the connection. Where the hash of one
//! connection's packets differs nevertheless, as with IPv6 flow labels, a segment without a
//! connection goes from shard to shard, and the last one refuses it. A hash of our own would
//! name the right shard at once, but lead most packets of idle connections to the wrong queue
//! first: the kernel's table of who sent last forgets a connection after three seconds, and holds
//! no more than 4096.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Instant, RandomStream};
use io::{Clock, Hook, Mailboxes, Shared, TunCarrier};
use tcp::{ConnectionId, Endpoint, EndpointOptions, Event, ListenOptions, ListenerId, Stray};
use tokio::sync::{Notify, mpsc};

use super::budget::Budget;
use super::{EdgeError, EdgeOptions};

/// A connection that a client opened.
pub(super) struct Accepted {
    pub(super) shard: usize,
    pub(super) id: ConnectionId,
    pub(super) service: usize,
    pub(super) signal: Arc<Notify>,
    pub(super) local: SocketAddr,
    pub(super) client: SocketAddr,
}

/// A segment on its way to the shard of its connection.
#[derive(Debug)]
pub(super) struct Parcel {
    stray: Stray,
    /// Shards that are still to be asked, the one that gets the parcel included.
    left: usize,
}

/// Segments that arrived at another shard than that of their connection.
pub(super) type Strays = Mailboxes<Parcel>;

/// State that all shards of an edge share.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) budget: Arc<Budget>,
    pub(super) strays: Arc<Strays>,
    pub(super) clock: Clock,
    /// Seed of the stacks' secrets, so that a SYN cookie is good at every shard.
    seed: [u8; 32],
}

impl Common {
    pub(super) fn new(options: &EdgeOptions) -> Result<Common, EdgeError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| EdgeError::Random(error.to_string()))?;
        Ok(Common {
            budget: Arc::new(Budget::new(options.memory, options.shards)),
            strays: Arc::new(Mailboxes::new(options.shards)),
            clock: Clock::start(),
            seed,
        })
    }

    /// The options of a shard's stack. Limits that the shards do not count together are divided.
    fn endpoint_options(&self, options: &EdgeOptions) -> EndpointOptions {
        let usual = EndpointOptions::default();
        let part = |all: usize| all.div_ceil(options.shards);
        let syn_backlog = part(usual.syn_backlog);
        EndpointOptions {
            // Connections beyond the limit are accepted and reset: the stack would drop their SYNs
            // without an answer.
            max_connections: super::wanted(options).saturating_add(1024 + syn_backlog),
            memory: self.budget.limits(0, 0),
            syn_backlog,
            max_time_wait: part(usual.max_time_wait),
            resets_per_second: usual.resets_per_second.div_ceil(options.shards as u32),
            hands_over: options.shards > 1,
            ..usual
        }
    }
}

/// One userspace stack with its queue of the device.
pub(super) struct Shard {
    pub(super) machine: Arc<Shared<Endpoint>>,
    pub(super) carrier: Arc<TunCarrier>,
    index: usize,
    common: Common,
    /// Service of each listener, by its index in the options.
    listeners: BTreeMap<ListenerId, usize>,
    /// Tasks to wake by connection.
    signals: Mutex<BTreeMap<ConnectionId, Arc<Notify>>>,
    accepted: mpsc::UnboundedSender<Accepted>,
}

impl Shard {
    /// A stack that listens for all services.
    pub(super) fn new(
        index: usize,
        options: &EdgeOptions,
        common: Common,
        carrier: Arc<TunCarrier>,
        accepted: mpsc::UnboundedSender<Accepted>,
    ) -> Result<Shard, EdgeError> {
        let random = RandomStream::from_secret(common.seed);
        let mut endpoint = Endpoint::new(common.endpoint_options(options), random);
        let mut listeners = BTreeMap::new();
        for (number, service) in options.services.iter().enumerate() {
            for address in service.listen.at(&options.addresses) {
                let accepted = || ListenOptions {
                    accepted: service.connection_options(options.mtu),
                    ..ListenOptions::default()
                };
                let id = endpoint.listen(address, accepted()).map_err(|source| {
                    let service = service.name.clone();
                    EdgeError::Listen { service, address, source }
                })?;
                listeners.insert(id, number);
                // At this machine's addresses the first service of a port has it.
                let any = SocketAddr::new(super::any_of_family(address.ip()), address.port());
                if let Ok(id) = endpoint.listen(any, accepted()) {
                    listeners.insert(id, number);
                }
            }
        }
        let machine = Shared::woken_by(endpoint, common.clock, common.strays.wake(index));
        let signals = Mutex::default();
        Ok(Shard { machine, carrier, index, common, listeners, signals, accepted })
    }

    /// Takes the connections that wait at a listener; their tasks start later.
    fn accept(&self, endpoint: &mut Endpoint, listener: ListenerId) {
        while let Some(id) = endpoint.accept(listener) {
            let Some(connection) = endpoint.connection(id) else { continue };
            let (local, client) = (connection.local(), connection.remote());
            let signal = Arc::new(Notify::new());
            self.signals().insert(id, signal.clone());
            let service = self.listeners.get(&listener).copied().unwrap_or(0);
            let shard = self.index;
            // It is not taken only when the edge ends, which resets everything.
            let _ = self.accepted.send(Accepted { shard, id, service, signal, local, client });
        }
    }

    /// Passes segments that the stack has no connection for to the next of the shards that may have
    /// one.
    fn hand_over(&self, endpoint: &mut Endpoint, left: usize) {
        while let Some(stray) = endpoint.take_stray() {
            let strays = &self.common.strays;
            strays.post((self.index + 1) % strays.count(), Parcel { stray, left });
        }
    }

    /// This connection is no longer waited for.
    pub(super) fn forget(&self, id: ConnectionId) {
        self.signals().remove(&id);
    }

    /// Refuses new connections from now on.
    pub(super) fn refuse(&self) {
        self.machine.call(|endpoint, _| {
            self.listeners.keys().for_each(|id| endpoint.set_listening(*id, false));
        });
    }

    /// Resets everything, and lets the driver end.
    pub(super) fn end(&self) {
        let left: Vec<ConnectionId> = self.signals().keys().copied().collect();
        self.machine.call(|endpoint, now| {
            for id in left {
                if let Some(mut own) = endpoint.connection_mut(id) {
                    own.abort(now);
                }
                endpoint.release(now, id);
            }
            self.listeners.keys().for_each(|id| endpoint.close_listener(now, *id));
        });
        self.machine.close();
    }

    fn signals(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, Arc<Notify>>> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of a shard in its driver: the stack's events, segments from and for other shards,
/// limits of memory.
pub(super) struct Events(pub(super) Arc<Shard>);

impl Hook<Endpoint> for Events {
    fn after_input(&mut self, endpoint: &mut Endpoint, _now: Instant) {
        let shard = &*self.0;
        while let Some((id, event)) = endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => shard.accept(endpoint, listener),
                _ => {
                    if let Some(signal) = shard.signals().get(&id) {
                        signal.notify_one();
                    }
                }
            }
        }
        shard.hand_over(endpoint, shard.common.strays.count() - 1);
        let budget = &shard.common.budget;
        let limits = budget.limits(shard.index, endpoint.buffered_bytes());
        endpoint.set_memory_limits(limits, budget.reserve());
    }

    fn take_input(&mut self, endpoint: &mut Endpoint, now: Instant) -> bool {
        let shard = &*self.0;
        let Some(Parcel { stray, left }) = shard.common.strays.collect(shard.index) else {
            return false;
        };
        endpoint.handle_stray(now, stray, left <= 1);
        shard.hand_over(endpoint, left - 1);
        true
    }
}
