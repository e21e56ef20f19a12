//! The endpoint's connections, by id and by addresses.

use core::net::SocketAddr;

use ::endpoint::memory::Account;
use ::endpoint::table::{self, Name};
use base::HashKey;
use hashbrown::HashTable;

use crate::connection::Connection;

/// Identifies a connection of an endpoint. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(Name);

impl ConnectionId {
    /// Row of the connection, which a later one may use again under another id.
    pub(super) fn row(self) -> u32 {
        self.0.row()
    }
}

/// A connection and the endpoint's own data about it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) connection: Connection,
    /// Whether it waits for a turn to send.
    pub(super) dirty: bool,
    /// Whether the lookup by addresses finds it.
    pub(super) listed: bool,
    /// Whether the application has released it.
    pub(super) released: bool,
    /// Whether the application knows of it.
    pub(super) announced: bool,
    /// Whether it counts as half open.
    pub(super) half_open: bool,
    /// The connection's account of memory.
    pub(super) account: Account,
}

#[derive(Debug)]
pub(super) struct Table {
    slots: table::Table<Slot>,
    /// Peers choose their ports and, with IPv6, their addresses: the hash has a secret key.
    key: HashKey,
    /// Looked up for every segment. Never iterated, so that the order of its rows does not matter.
    by_addresses: HashTable<(u64, ConnectionId)>,
    /// Number of connections that lookups compared with.
    #[cfg(test)]
    looks: core::cell::Cell<u64>,
}

impl Table {
    pub(super) fn new(key: HashKey) -> Table {
        Table {
            slots: table::Table::default(),
            key,
            by_addresses: HashTable::new(),
            #[cfg(test)]
            looks: core::cell::Cell::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn insert(&mut self, connection: Connection) -> ConnectionId {
        let hash = self.hash(connection.local, connection.remote);
        let slot = Slot {
            announced: connection.listener().is_none(),
            half_open: false,
            connection,
            dirty: false,
            listed: true,
            released: false,
            account: Account::default(),
        };
        let id = ConnectionId(self.slots.insert(slot));
        self.by_addresses.insert_unique(hash, (hash, id), |(hash, _)| *hash);
        id
    }

    /// Removes the connection from the lookup by addresses.
    pub(super) fn unlist(&mut self, id: ConnectionId) {
        let Some(slot) = self.slot_mut(id) else { return };
        if !core::mem::take(&mut slot.listed) {
            return;
        }
        let (local, remote) = (slot.connection.local, slot.connection.remote);
        let hash = self.hash(local, remote);
        if let Ok(found) = self.by_addresses.find_entry(hash, |(_, other)| *other == id) {
            found.remove();
        }
    }

    pub(super) fn remove(&mut self, id: ConnectionId) {
        self.unlist(id);
        self.slots.remove(id.0);
    }

    #[inline]
    pub(super) fn slot(&self, id: ConnectionId) -> Option<&Slot> {
        self.count_look();
        self.slots.get(id.0)
    }

    #[inline]
    pub(super) fn slot_mut(&mut self, id: ConnectionId) -> Option<&mut Slot> {
        self.count_look();
        self.slots.get_mut(id.0)
    }

    /// Identifier of the connection that is in a row now.
    pub(super) fn id(&self, row: u32) -> Option<ConnectionId> {
        self.count_look();
        self.slots.name(row).map(ConnectionId)
    }

    pub(super) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.slot(id).map(|slot| &slot.connection)
    }

    pub(super) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.slot_mut(id).map(|slot| &mut slot.connection)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ConnectionId, &Slot)> {
        self.slots.iter().map(|(name, slot)| {
            self.count_look();
            (ConnectionId(name), slot)
        })
    }

    pub(super) fn find(&self, local: SocketAddr, remote: SocketAddr) -> Option<ConnectionId> {
        let is_it = |(_, id): &(u64, ConnectionId)| {
            self.get(*id).is_some_and(|own| own.local == local && own.remote == remote)
        };
        // With a single connection, as on a host of a virtual network, there is no lookup.
        if self.slots.rows() == 1 {
            let id = self.id(0).filter(|id| self.slot(*id).is_some_and(|slot| slot.listed));
            return id.filter(|id| is_it(&(0, *id)));
        }
        self.by_addresses.find(self.hash(local, remote), is_it).map(|(_, id)| *id)
    }

    fn hash(&self, local: SocketAddr, remote: SocketAddr) -> u64 {
        self.key.hash_addresses(local, remote, 0)
    }

    /// Counts work that must not grow with the number of connections.
    fn count_look(&self) {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
    }
}

#[cfg(test)]
mod tests;
