//! The endpoint's connections: by name and by addresses.

use core::net::SocketAddr;

use ::endpoint::memory::Account;
use ::endpoint::table::{self, Name};
use base::HashKey;
use hashbrown::HashTable;

use crate::connection::Connection;

/// Names a connection of an endpoint. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(Name);

impl ConnectionId {
    /// The row of the table.
    pub(super) fn row(self) -> u32 {
        self.0.row()
    }
}

/// A connection and what the endpoint remembers beside it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) connection: Connection,
    /// Whether it waits to be asked for segments.
    pub(super) dirty: bool,
    /// Whether segments find it.
    pub(super) listed: bool,
    /// Whether the application has let go of it.
    pub(super) released: bool,
    /// Whether the application knows of it.
    pub(super) announced: bool,
    /// Whether it counts as half open.
    pub(super) half_open: bool,
    /// What it holds.
    pub(super) account: Account,
}

#[derive(Debug)]
pub(super) struct Table {
    slots: table::Table<Slot>,
    /// Peers choose their ports and with IPv6 their addresses: the hash has a key that they do not know.
    key: HashKey,
    /// Every segment asks here. Never walked, so that the order of its rows does not matter.
    by_addresses: HashTable<(u64, ConnectionId)>,
    /// How often a connection was looked at.
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

    /// Segments find the connection no more.
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

    /// The connection in a row.
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
        // Where there is only one, as on a host of a virtual network, there is nothing to look up.
        if self.slots.rows() == 1 {
            let id = self.id(0).filter(|id| self.slot(*id).is_some_and(|slot| slot.listed));
            return id.filter(|id| is_it(&(0, *id)));
        }
        self.by_addresses.find(self.hash(local, remote), is_it).map(|(_, id)| *id)
    }

    fn hash(&self, local: SocketAddr, remote: SocketAddr) -> u64 {
        self.key.hash_addresses(local, remote, 0)
    }

    /// Work that must not grow with the number of connections.
    fn count_look(&self) {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
    }
}

#[cfg(test)]
mod tests;
