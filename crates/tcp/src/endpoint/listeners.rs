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

/// Reason for which a listener cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenError {
    /// This address and port has a listener.
    AddressInUse,
    /// Port 0 cannot be listened on.
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
    /// Whether it accepts new connections.
    pub(super) listening: bool,
    pub(super) backlog: usize,
    pub(super) accepted: Arc<ConnectionOptions>,
    /// Established connections that wait to be accepted.
    pub(super) queue: VecDeque<ConnectionId>,
}

/// All listeners of an endpoint.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    /// Boxed, since a node of the map has room for many entries and there is mostly one.
    by_id: BTreeMap<ListenerId, Box<Listener>>,
    /// Ascending. Not a map, for the same reason.
    by_address: Vec<(SocketAddr, ListenerId)>,
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
        let place = match self.place(&local) {
            Ok(_) => return Err(ListenError::AddressInUse),
            Err(place) => place,
        };
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
        if self.by_address.is_empty() {
            self.by_address.reserve_exact(1);
        }
        self.by_address.insert(place, (local, id));
        Ok(id)
    }

    /// Position of an address's listener in the list, or the one that it would have.
    fn place(&self, local: &SocketAddr) -> Result<usize, usize> {
        self.by_address.binary_search_by_key(local, |(address, _)| *address)
    }

    fn at(&self, local: SocketAddr) -> Option<ListenerId> {
        self.place(&local).ok().map(|place| self.by_address[place].1)
    }

    pub(super) fn close(&mut self, id: ListenerId) -> Option<Box<Listener>> {
        let listener = self.by_id.remove(&id)?;
        if let Ok(place) = self.place(&listener.local) {
            self.by_address.remove(place);
        }
        Some(listener)
    }

    pub(super) fn get(&self, id: ListenerId) -> Option<&Listener> {
        self.by_id.get(&id).map(|listener| &**listener)
    }

    pub(super) fn get_mut(&mut self, id: ListenerId) -> Option<&mut Listener> {
        self.by_id.get_mut(&id).map(|listener| &mut **listener)
    }

    /// The listener for a segment to `local`: one for exactly this address before one for any
    /// address.
    pub(super) fn find(&self, local: SocketAddr) -> Option<ListenerId> {
        let any = match local.ip() {
            IpAddr::V4(_) => IpAddr::from([0u8; 4]),
            IpAddr::V6(_) => IpAddr::from([0u16; 8]),
        };
        let found = self.at(local).or_else(|| self.at(SocketAddr::new(any, local.port())));
        found.filter(|id| self.get(*id).is_some_and(|listener| listener.listening))
    }
}

impl Endpoint {
    /// Accepts connections to `local` from now on; an unspecified address stands for any of its
    /// family.
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

    /// Sets whether a listener accepts new connections; SYNs are refused while it does not.
    /// Existing connections, half-open ones included, continue.
    pub fn set_listening(&mut self, id: ListenerId, listening: bool) {
        if let Some(listener) = self.listeners.get_mut(id) {
            listener.listening = listening;
        }
    }

    /// Replaces the options of connections that a listener accepts from now on.
    pub fn set_accepted_options(&mut self, id: ListenerId, options: ConnectionOptions) {
        if let Some(listener) = self.listeners.get_mut(id) {
            listener.accepted = Arc::new(options);
        }
    }

    /// Ends a listener. Its connections that were not accepted are reset (RFC 9293, section
    /// 3.10.4); others continue.
    pub fn close_listener(&mut self, now: Instant, id: ListenerId) {
        let Some(listener) = self.listeners.close(id) else { return };
        for id in listener.queue {
            self.with(now, id, Connection::abort);
            self.release(now, id);
        }
    }

    /// Removes and returns the next established connection of a listener's queue. The application
    /// must [release](Endpoint::release) it eventually.
    pub fn accept(&mut self, id: ListenerId) -> Option<ConnectionId> {
        self.listeners.get_mut(id)?.queue.pop_front()
    }
}
