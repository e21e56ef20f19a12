//! Listeners: LISTEN of RFC 9293.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use base::Instant;

use super::connect::canonical;
use super::{ConnectionId, Endpoint};
use crate::connection::Connection;
use crate::event::ListenerId;
use crate::options::{ConnectionOptions, ListenOptions};

/// Why nothing can be listened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenError {
    /// There is a listener on this address and port already.
    AddressInUse,
    /// Port 0 is no port.
    ZeroPort,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ListenError::AddressInUse => "there is a listener on this address and port already",
            ListenError::ZeroPort => "TCP port 0 is no port",
        })
    }
}

impl core::error::Error for ListenError {}

/// A local address that accepts connections, with its options and queue.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) local: SocketAddr,
    /// Whether it takes new connections.
    pub(super) listening: bool,
    pub(super) backlog: usize,
    pub(super) accepted: Arc<ConnectionOptions>,
    /// Established connections that wait to be accepted.
    pub(super) queue: VecDeque<ConnectionId>,
}

/// All listeners of an endpoint.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    /// Boxed, since a node of the map has room for many and there is mostly one.
    by_id: BTreeMap<ListenerId, Box<Listener>>,
    by_address: BTreeMap<SocketAddr, ListenerId>,
    next: u32,
}

impl Listeners {
    pub(super) fn open(
        &mut self,
        local: SocketAddr,
        options: ListenOptions,
    ) -> Result<ListenerId, ListenError> {
        if local.port() == 0 {
            return Err(ListenError::ZeroPort);
        }
        if self.by_address.contains_key(&local) {
            return Err(ListenError::AddressInUse);
        }
        let id = ListenerId(self.next);
        self.next += 1;
        let listener = Listener {
            local,
            listening: true,
            backlog: options.backlog,
            accepted: Arc::new(options.accepted),
            queue: VecDeque::new(),
        };
        self.by_id.insert(id, Box::new(listener));
        self.by_address.insert(local, id);
        Ok(id)
    }

    pub(super) fn close(&mut self, id: ListenerId) -> Option<Box<Listener>> {
        let listener = self.by_id.remove(&id)?;
        self.by_address.remove(&listener.local);
        Some(listener)
    }

    pub(super) fn get(&self, id: ListenerId) -> Option<&Listener> {
        self.by_id.get(&id).map(|listener| &**listener)
    }

    pub(super) fn get_mut(&mut self, id: ListenerId) -> Option<&mut Listener> {
        self.by_id.get_mut(&id).map(|listener| &mut **listener)
    }

    /// The listener for a segment to `local`: that of the very address comes before that of any address.
    pub(super) fn find(&self, local: SocketAddr) -> Option<ListenerId> {
        let any = match local.ip() {
            IpAddr::V4(_) => IpAddr::from([0u8; 4]),
            IpAddr::V6(_) => IpAddr::from([0u16; 8]),
        };
        let exact = self.by_address.get(&local);
        let found = exact.or_else(|| self.by_address.get(&SocketAddr::new(any, local.port())));
        found.copied().filter(|id| self.get(*id).is_some_and(|listener| listener.listening))
    }
}

impl Endpoint {
    /// Takes connections to `local` from now on; an unspecified address stands for any of its family.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn listen(
        &mut self,
        local: SocketAddr,
        options: ListenOptions,
    ) -> Result<ListenerId, ListenError> {
        self.listeners.open(canonical(local), options)
    }

    /// Whether a listener takes new connections from now on; SYNs are refused while it does not. Those
    /// that exist, half open ones included, go on.
    pub fn set_listening(&mut self, id: ListenerId, listening: bool) {
        if let Some(listener) = self.listeners.get_mut(id) {
            listener.listening = listening;
        }
    }

    /// Replaces the options of connections that a listener takes from now on.
    pub fn set_accepted_options(&mut self, id: ListenerId, options: ConnectionOptions) {
        if let Some(listener) = self.listeners.get_mut(id) {
            listener.accepted = Arc::new(options);
        }
    }

    /// Ends a listener. Its connections that were not accepted are reset (RFC 9293, section 3.10.4); the
    /// others go on.
    pub fn close_listener(&mut self, now: Instant, id: ListenerId) {
        let Some(listener) = self.listeners.close(id) else { return };
        for id in listener.queue {
            self.with(now, id, Connection::abort);
            self.release(now, id);
        }
    }

    /// Takes the next established connection of a listener's queue. From then on it is the application's
    /// to [release](Endpoint::release).
    pub fn accept(&mut self, id: ListenerId) -> Option<ConnectionId> {
        self.listeners.get_mut(id)?.queue.pop_front()
    }
}
