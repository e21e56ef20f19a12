//! The endpoint's associations: by id, by verification tag, by peer.

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ::endpoint::memory::{Account, Glance};
use ::endpoint::table::{self, Name};
use base::Host;
use hashbrown::HashTable;
use recovery::PATHS_MAX;
use smallvec::SmallVec;

use super::census::Census;
use super::population::Membership;
use crate::association::Association;
use crate::wire::VerificationTag;

/// Identifies an association of an endpoint. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId(Name);

impl AssociationId {
    /// The lowest identifier, the lower bound of searches by path and association.
    const FIRST: AssociationId = AssociationId(Name::FIRST);

    /// The row in the endpoint's table: a small number, used again once the association is
    /// released.
    pub fn row(self) -> u32 {
        self.0.row()
    }
}

/// An association and the endpoint's own data about it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) association: Association,
    /// Whether it waits for a turn to send.
    pub(super) dirty: bool,
    /// Whether it is counted among those that wait for acknowledgements.
    pub(super) waits: bool,
    /// The peer's address in the lookup, while the association is listed.
    listed: Option<Peer>,
    /// Further addresses in the lookups; one word while there are none.
    listed_further: Option<Box<Further>>,
    /// Whether the application has released it.
    released: bool,
    /// The peer's host at its creation.
    pub(super) host: Host,
    /// The entry among the associations that peers opened, until it ends.
    pub(super) membership: Option<Membership>,
    /// The memory that it last held.
    pub(super) account: Account,
    /// Bytes of received messages that its application keeps.
    pub(super) kept: usize,
    /// Whether it was last notified that memory is scarce.
    pub(super) scarce: bool,
    /// Schedule of the next look at its memory.
    pub(super) glance: Glance,
}

impl Slot {
    fn new(association: Association) -> Slot {
        Slot {
            host: Host::from(association.remote().ip()),
            association,
            dirty: false,
            waits: false,
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

    /// Whether its entries in the lookup are outdated.
    #[inline]
    pub(super) fn is_misplaced(&self) -> bool {
        let association = &self.association;
        self.listed.is_some() && (association.is_readdressed() || association.is_closed())
    }

    /// Whether it has ended and been released.
    pub(super) fn is_done(&self) -> bool {
        self.released && self.association.is_closed()
    }
}

/// A peer: IP address, SCTP port, UDP port (0 for raw IP). Two peers behind one NAT may differ in
/// the UDP port only.
type Peer = (IpAddr, u16, u16);

/// Entries in the lookups of an association with several paths, apart from its first address.
#[derive(Debug, Default)]
struct Further {
    /// Confirmed addresses of the peer.
    peers: Vec<Peer>,
    /// Remote addresses of its paths, confirmed or not.
    paths: Vec<SocketAddr>,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    slots: table::Table<Slot>,
    /// Looked up for every packet, where a tree would need several memory accesses. Never
    /// iterated, so that the order of its rows does not matter.
    by_tag: HashTable<(VerificationTag, AssociationId)>,
    by_peer: BTreeMap<Peer, AssociationId>,
    /// Associations with several paths, by where the paths lead.
    by_path: BTreeSet<(SocketAddr, AssociationId)>,
    /// Number of released associations with data left to send.
    leaving: usize,
    /// Counts places together with other endpoints: each association has one until it is released.
    census: Option<Arc<dyn Census>>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Number of ended associations with a packet left to send.
    pub(super) fn leaving(&self) -> usize {
        self.leaving
    }

    /// Counts places together with other endpoints from now on; there is no association yet.
    pub(super) fn join(&mut self, census: Arc<dyn Census>) {
        self.census = Some(census);
    }

    /// Whether places are counted together with other endpoints.
    pub(super) fn is_joined(&self) -> bool {
        self.census.is_some()
    }

    /// Takes a place for an association that will be inserted, if fewer than `max` are taken.
    /// Associations that have ended and still have a packet to send take none, as long as the
    /// table has fewer than twice `max` associations in total.
    pub(super) fn take_place(&self, max: usize) -> bool {
        let all = self.len();
        all / 2 < max
            && match &self.census {
                None => all - self.leaving < max,
                Some(census) => census.take_place(max),
            }
    }

    /// Gives back the place of an association that is released, or was not inserted.
    pub(super) fn give_place(&self) {
        if let Some(census) = &self.census {
            census.give_place();
        }
    }

    /// All associations in the order of their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (AssociationId, &Slot)> {
        self.slots.iter().map(|(name, slot)| (AssociationId(name), slot))
    }

    pub(super) fn insert(&mut self, association: Association) -> AssociationId {
        let id = AssociationId(self.slots.insert(Slot::new(association)));
        self.list(id);
        id
    }

    /// Replaces the association with this id: a restart.
    pub(super) fn replace(&mut self, id: AssociationId, association: Association) {
        self.unlist(id);
        if let Some(slot) = self.slot_mut(id) {
            slot.association = association;
        }
        self.list(id);
    }

    /// Adds the association to the lookup by its tag and by the confirmed addresses of its peer: an
    /// address that the peer merely listed may belong to another host, whose INIT it must not
    /// block. An address of another association keeps its entry.
    fn list(&mut self, id: AssociationId) {
        let Some(slot) = self.slot_mut(id) else { return };
        slot.association.clear_readdressed();
        let tag = slot.association.local_tag();
        let peers = peers_of(&slot.association);
        let paths = slot.association.remotes_of_several().to_vec();
        let by_tag = self.by_tag.entry(hash(tag), |(other, _)| *other == tag, rehash);
        by_tag.insert((tag, id));
        let mut listed = peers.into_iter();
        let first = listed.next().inspect(|peer| {
            self.by_peer.insert(*peer, id);
        });
        let peers: Vec<Peer> =
            listed.filter(|peer| *self.by_peer.entry(*peer).or_insert(id) == id).collect();
        self.by_path.extend(paths.iter().map(|path| (*path, id)));
        let is_single = peers.is_empty() && paths.is_empty();
        if let Some(slot) = self.slot_mut(id) {
            slot.listed = first;
            slot.listed_further = (!is_single).then(|| Box::new(Further { peers, paths }));
        }
    }

    /// Updates the lookup: removes an association that has ended, and applies changed addresses or
    /// UDP ports of a peer.
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
        for path in further.paths {
            self.by_path.remove(&(path, id));
        }
        for peer in core::iter::once(first).chain(further.peers) {
            if self.by_peer.get(&peer) == Some(&id) {
                self.by_peer.remove(&peer);
            }
        }
    }

    pub(super) fn remove(&mut self, id: AssociationId) {
        self.unlist(id);
        match self.slots.remove(id.0) {
            Some(slot) if slot.released => self.leaving -= 1,
            Some(_) => self.give_place(),
            None => {}
        }
    }

    pub(super) fn mark_released(&mut self, id: AssociationId) {
        if let Some(slot) = self.slot_mut(id)
            && !core::mem::replace(&mut slot.released, true)
        {
            self.leaving += 1;
            self.give_place();
        }
    }

    #[inline]
    pub(super) fn slot_mut(&mut self, id: AssociationId) -> Option<&mut Slot> {
        self.slots.get_mut(id.0)
    }

    /// Identifier of the association that is in a row now.
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

    /// Associations of several paths, one of which leads to `remote`.
    pub(super) fn with_path_to(&self, remote: SocketAddr) -> impl Iterator<Item = AssociationId> {
        let from = self.by_path.range((remote, AssociationId::FIRST)..);
        from.take_while(move |(path, _)| *path == remote).map(|(_, id)| *id)
    }

    /// An association with SCTP port `port` of the host at `remote`, on any UDP port: the
    /// association of a packet by RFC 9260, which RFC 6951, section 5.4, looks up without the
    /// UDP port.
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

/// Tags are random and chosen by this side, so that no peer can cause collisions; the factor
/// spreads their bits over the upper half, which the table uses too.
fn hash(tag: VerificationTag) -> u64 {
    u64::from(tag.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn rehash((tag, _): &(VerificationTag, AssociationId)) -> u64 {
    hash(*tag)
}

/// The confirmed addresses of an association's peer, the primary first.
fn peers_of(association: &Association) -> SmallVec<[Peer; PATHS_MAX]> {
    let remotes = association.confirmed_remotes().into_iter();
    remotes.map(|remote| key(remote, association.peer_port())).collect()
}

fn key(remote: SocketAddr, port: u16) -> Peer {
    (remote.ip(), port, remote.port())
}
