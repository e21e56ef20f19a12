//! A stack behind one queue of the device, and the tasks that wait for its connections.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Instant, RandomStream};
use io::{Clock, Shared, TunCarrier};
use tcp::{
    ConnectionId, Endpoint, EndpointOptions, Event, ListenOptions, ListenerId, MemoryLimits,
};
use tokio::sync::{Notify, mpsc};

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

/// One userspace stack with its queue of the device.
pub(super) struct Shard {
    pub(super) machine: Arc<Shared<Endpoint>>,
    pub(super) carrier: Arc<TunCarrier>,
    index: usize,
    /// Each listener's service.
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
        memory: MemoryLimits,
        clock: Clock,
        carrier: Arc<TunCarrier>,
        accepted: mpsc::UnboundedSender<Accepted>,
    ) -> Result<Shard, EdgeError> {
        // Connections beyond the limit are accepted and reset: the stack would drop their SYNs without an answer.
        let most =
            super::wanted(options).saturating_add(1024 + EndpointOptions::default().syn_backlog);
        let endpoint =
            EndpointOptions { max_connections: most, memory, ..EndpointOptions::default() };
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| EdgeError::Random(error.to_string()))?;
        let mut endpoint = Endpoint::new(endpoint, RandomStream::from_secret(seed));
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
        let machine = Shared::new(endpoint, clock);
        let signals = Mutex::default();
        Ok(Shard { machine, carrier, index, listeners, signals, accepted })
    }

    /// The driver's hook, which handles the stack's events.
    pub(super) fn hook(self: Arc<Self>) -> impl FnMut(&mut Endpoint, Instant) + Send {
        move |endpoint, _now| {
            while let Some((id, event)) = endpoint.poll_event() {
                match event {
                    Event::Incoming { listener } => self.accept(endpoint, listener),
                    _ => {
                        if let Some(signal) = self.signals().get(&id) {
                            signal.notify_one();
                        }
                    }
                }
            }
        }
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
