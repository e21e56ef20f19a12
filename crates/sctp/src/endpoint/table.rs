//! The endpoint's associations: by name, by verification tag, by peer.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use ::endpoint::memory::{Account, Glance};
use ::endpoint::population::Membership;
use ::endpoint::table::{self, Name};
use base::Host;
use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::association::Association;
use crate::paths::addresses::PATHS_MAX;
use crate::wire::VerificationTag;

/// Names an association of an endpoint. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId(Name);

impl AssociationId {
    /// The row of the table.
    pub(super) fn row(self) -> u32 {
        self.0.row()
    }
}

/// An association and what the endpoint remembers beside it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) association: Association,
    /// Whether it waits to be asked for packets.
    pub(super) dirty: bool,
    /// The peer's address under which packets find it, while they can.
    listed: Option<Peer>,
    /// Further ones.
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    listed_further: Option<Box<Vec<Peer>>>,
    /// Whether the application has let go of it.
    released: bool,
    /// Where its peer was when it came to be.
    pub(super) host: Host,
    /// Among those that peers opened, while it is one of them and not over.
    pub(super) membership: Option<Membership>,
    /// What it was last seen to hold.
    pub(super) account: Account,
    /// Bytes that its application took and says that it keeps.
    pub(super) kept: usize,
    /// Whether it was last told that memory is scarce.
    pub(super) scarce: bool,
    /// When that is looked at again.
    pub(super) glance: Glance,
}

impl Slot {
    fn new(association: Association) -> Slot {
        Slot {
            host: Host::from(association.remote().ip()),
            association,
            dirty: false,
            listed: None,
            listed_further: None,
            released: false,
            membership: None,
            account: Account::default(),
            kept: 0,
            scarce: false,
            glance: Glance::default(),
        }
    }

    /// Whether packets find it where they should not, or do not find it where they should.
    #[inline]
    pub(super) fn is_misplaced(&self) -> bool {
        let association = &self.association;
        self.listed.is_some() && (association.is_readdressed() || association.is_closed())
    }

    /// Whether it is over and the application does not ask for it any more.
    pub(super) fn is_done(&self) -> bool {
        self.released && self.association.is_closed()
    }
}

/// A peer: IP address, SCTP port, UDP port (0 for raw IP). Behind one NAT, two peers may differ in
/// nothing but the UDP port.
type Peer = (IpAddr, u16, u16);

#[derive(Debug, Default)]
pub(super) struct Table {
    slots: table::Table<Slot>,
    /// Every packet asks here, and one lookup in a tree is several in memory. Never walked, so that
    /// the order of its rows does not matter.
    by_tag: HashTable<(VerificationTag, AssociationId)>,
    by_peer: BTreeMap<Peer, AssociationId>,
    /// Associations that were released and have something left to send.
    leaving: usize,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Associations that are over but for what they have left to send.
    pub(super) fn leaving(&self) -> usize {
        self.leaving
    }

    /// All associations.
    pub(super) fn iter(&self) -> impl Iterator<Item = (AssociationId, &Slot)> {
        self.slots.iter().map(|(name, slot)| (AssociationId(name), slot))
    }

    pub(super) fn insert(&mut self, association: Association) -> AssociationId {
        let id = AssociationId(self.slots.insert(Slot::new(association)));
        self.list(id);
        id
    }

    /// Puts another association at `id`, replacing the old one: a restart.
    pub(super) fn replace(&mut self, id: AssociationId, association: Association) {
        self.unlist(id);
        if let Some(slot) = self.slot_mut(id) {
            slot.association = association;
        }
        self.list(id);
    }

    /// Packets find the association by its tag, and by the addresses at which the peer is known to be:
    /// one that it merely named might be another's, whose INIT it must not stop. An address that leads to
    /// another association already goes on doing so.
    fn list(&mut self, id: AssociationId) {
        let Some(slot) = self.slot_mut(id) else { return };
        slot.association.clear_readdressed();
        let tag = slot.association.local_tag();
        let peers = peers_of(&slot.association);
        let by_tag = self.by_tag.entry(hash(tag), |(other, _)| *other == tag, rehash);
        by_tag.insert((tag, id));
        let mut listed = peers.into_iter();
        let first = listed.next().inspect(|peer| {
            self.by_peer.insert(*peer, id);
        });
        let further: Vec<Peer> =
            listed.filter(|peer| *self.by_peer.entry(*peer).or_insert(id) == id).collect();
        if let Some(slot) = self.slot_mut(id) {
            slot.listed = first;
            slot.listed_further = (!further.is_empty()).then(|| Box::new(further));
        }
    }

    /// Packets find an association that is over no more, and one whose peer's addresses or UDP ports
    /// changed under the new ones.
    pub(super) fn update_listing(&mut self, id: AssociationId) {
        self.unlist(id);
        if self.get(id).is_some_and(|association| !association.is_closed()) {
            self.list(id);
        }
    }

    fn unlist(&mut self, id: AssociationId) {
        let Some(slot) = self.slot_mut(id) else { return };
        let tag = slot.association.local_tag();
        let Some(first) = slot.listed.take() else { return };
        let further = slot.listed_further.take().unwrap_or_default();
        if let Ok(found) = self.by_tag.find_entry(hash(tag), |entry| *entry == (tag, id)) {
            found.remove();
        }
        for peer in core::iter::once(first).chain(*further) {
            if self.by_peer.get(&peer) == Some(&id) {
                self.by_peer.remove(&peer);
            }
        }
    }

    pub(super) fn remove(&mut self, id: AssociationId) {
        self.unlist(id);
        let slot = self.slots.remove(id.0);
        self.leaving -= usize::from(slot.is_some_and(|slot| slot.released));
    }

    pub(super) fn mark_released(&mut self, id: AssociationId) {
        if let Some(slot) = self.slot_mut(id)
            && !core::mem::replace(&mut slot.released, true)
        {
            self.leaving += 1;
        }
    }

    #[inline]
    pub(super) fn slot_mut(&mut self, id: AssociationId) -> Option<&mut Slot> {
        self.slots.get_mut(id.0)
    }

    /// The association in a row.
    pub(super) fn id(&self, row: u32) -> Option<AssociationId> {
        self.slots.name(row).map(AssociationId)
    }

    pub(super) fn get(&self, id: AssociationId) -> Option<&Association> {
        self.slots.get(id.0).map(|slot| &slot.association)
    }

    pub(super) fn get_mut(&mut self, id: AssociationId) -> Option<&mut Association> {
        self.slot_mut(id).map(|slot| &mut slot.association)
    }

    pub(super) fn by_tag(&self, tag: VerificationTag) -> Option<AssociationId> {
        let found = self.by_tag.find(hash(tag), |(other, _)| *other == tag);
        found.map(|(_, id)| *id)
    }

    pub(super) fn by_peer(&self, remote: SocketAddr, port: u16) -> Option<AssociationId> {
        self.by_peer.get(&key(remote, port)).copied()
    }

    /// An association with SCTP port `port` of the host at `remote`, on whatever UDP port: what RFC 9260 calls
    /// the association of a packet, and RFC 6951, section 5.4, looks up without the UDP port.
    pub(super) fn by_transport_address(
        &self,
        remote: SocketAddr,
        port: u16,
    ) -> Option<AssociationId> {
        let host = remote.ip();
        let found = self.by_peer.range((host, port, 0)..=(host, port, u16::MAX)).next();
        found.map(|(_, id)| *id)
    }
}

/// Tags are random and this side's own choice, so that no peer can make them collide; the factor
/// spreads their bits over the upper half, where the table looks too.
fn hash(tag: VerificationTag) -> u64 {
    u64::from(tag.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn rehash((tag, _): &(VerificationTag, AssociationId)) -> u64 {
    hash(*tag)
}

/// The addresses at which the peer of an association is known to be, the primary first.
fn peers_of(association: &Association) -> SmallVec<[Peer; PATHS_MAX]> {
    let remotes = association.confirmed_remotes().into_iter();
    remotes.map(|remote| key(remote, association.peer_port())).collect()
}

fn key(remote: SocketAddr, port: u16) -> Peer {
    (remote.ip(), port, remote.port())
}
