//! Listeners: LISTEN of RFC 9293.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::ConnectionId;
use crate::options::{ConnectionOptions, ListenOptions};

/// Names a listener of an endpoint. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(u32);

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

/// A listener.
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
    by_id: BTreeMap<ListenerId, Listener>,
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
        self.by_id.insert(id, listener);
        self.by_address.insert(local, id);
        Ok(id)
    }

    pub(super) fn close(&mut self, id: ListenerId) -> Option<Listener> {
        let listener = self.by_id.remove(&id)?;
        self.by_address.remove(&listener.local);
        Some(listener)
    }

    pub(super) fn get(&self, id: ListenerId) -> Option<&Listener> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: ListenerId) -> Option<&mut Listener> {
        self.by_id.get_mut(&id)
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
