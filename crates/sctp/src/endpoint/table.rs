//! The endpoint's associations: by name, by verification tag, by peer.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use base::Instant;

use crate::association::Association;
use crate::wire::VerificationTag;

/// Names an association of an endpoint. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId {
    slot: u32,
    generation: u32,
}

/// An association and what the endpoint remembers beside it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) association: Association,
    /// Its entry among the deadlines.
    pub(super) deadline: Option<Instant>,
    /// Whether it waits to be asked for packets.
    pub(super) dirty: bool,
    /// Whether packets can still find it.
    pub(super) listed: bool,
    /// Whether the application has let go of it.
    pub(super) released: bool,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Vec<(u32, Option<Box<Slot>>)>,
    free: Vec<u32>,
    by_tag: BTreeMap<VerificationTag, AssociationId>,
    /// Peers by IP address and SCTP port.
    by_peer: BTreeMap<(IpAddr, u16), AssociationId>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn insert(&mut self, association: Association) -> AssociationId {
        let slot = Box::new(Slot {
            association,
            deadline: None,
            dirty: false,
            listed: false,
            released: false,
        });
        let id = match self.free.pop() {
            Some(index) => {
                let entry = &mut self.slots[index as usize];
                entry.1 = Some(slot);
                AssociationId { slot: index, generation: entry.0 }
            }
            None => {
                self.slots.push((0, Some(slot)));
                AssociationId { slot: (self.slots.len() - 1) as u32, generation: 0 }
            }
        };
        self.list(id);
        id
    }

    /// Puts another association in the place of `id`: a restart.
    pub(super) fn replace(&mut self, id: AssociationId, association: Association) {
        self.unlist(id);
        if let Some(slot) = self.slot_mut(id) {
            slot.association = association;
        }
        self.list(id);
    }

    fn list(&mut self, id: AssociationId) {
        let Some(slot) = self.slot_mut(id) else { return };
        slot.listed = true;
        let (tag, peer) = keys(&slot.association);
        self.by_tag.insert(tag, id);
        self.by_peer.insert(peer, id);
    }

    /// Packets do not find the association any more.
    pub(super) fn unlist(&mut self, id: AssociationId) {
        let Some(slot) = self.slot_mut(id) else { return };
        slot.listed = false;
        let (tag, peer) = keys(&slot.association);
        if self.by_tag.get(&tag) == Some(&id) {
            self.by_tag.remove(&tag);
        }
        if self.by_peer.get(&peer) == Some(&id) {
            self.by_peer.remove(&peer);
        }
    }

    pub(super) fn remove(&mut self, id: AssociationId) -> Option<Box<Slot>> {
        self.unlist(id);
        self.slot_mut(id)?;
        let entry = self.slots.get_mut(id.slot as usize)?;
        entry.0 = entry.0.wrapping_add(1);
        self.free.push(id.slot);
        entry.1.take()
    }

    pub(super) fn mark_released(&mut self, id: AssociationId) {
        if let Some(slot) = self.slot_mut(id) {
            slot.released = true;
        }
    }

    pub(super) fn slot_mut(&mut self, id: AssociationId) -> Option<&mut Slot> {
        let (generation, slot) = self.slots.get_mut(id.slot as usize)?;
        slot.as_deref_mut().filter(|_| *generation == id.generation)
    }

    pub(super) fn get(&self, id: AssociationId) -> Option<&Association> {
        let (generation, slot) = self.slots.get(id.slot as usize)?;
        slot.as_deref().filter(|_| *generation == id.generation).map(|slot| &slot.association)
    }

    pub(super) fn get_mut(&mut self, id: AssociationId) -> Option<&mut Association> {
        self.slot_mut(id).map(|slot| &mut slot.association)
    }

    pub(super) fn by_tag(&self, tag: VerificationTag) -> Option<AssociationId> {
        self.by_tag.get(&tag).copied()
    }

    pub(super) fn by_peer(&self, remote: SocketAddr, port: u16) -> Option<AssociationId> {
        self.by_peer.get(&(remote.ip(), port)).copied()
    }
}

fn keys(association: &Association) -> (VerificationTag, (IpAddr, u16)) {
    (association.local_tag, (association.remote().ip(), association.peer_port))
}
