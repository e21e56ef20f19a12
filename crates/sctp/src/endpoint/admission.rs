//! Admission of new associations, and the choice of the one that makes room.

use base::{DatagramMeta, Host, Instant};

use super::out_of_the_blue::Reply;
use super::population::{LOOKS, Use};
use super::table::Slot;
use super::{AssociationId, Endpoint};
use crate::control::OwnedCause;
use crate::cookie::StateCookie;
use crate::wire::Packet;

/// Reason for which a peer's association is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    PerPeer,
    Full,
    Memory,
}

impl Endpoint {
    /// Whether an association is admitted, whose cookie proves the peer's address. A refusal is
    /// answered (RFC 9260, sections 5.1 and 3.3.10.4) in fewer bytes than its COOKIE ECHO has.
    pub(super) fn admits(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        packet: &Packet,
        cookie: &StateCookie,
    ) -> bool {
        let Some(refusal) = self.refusal(now, Host::from(meta.remote.ip())) else { return true };
        let counter = match refusal {
            Refusal::PerPeer => &mut self.stats.refused_per_peer,
            Refusal::Full => &mut self.stats.refused_full,
            Refusal::Memory => &mut self.stats.refused_memory,
        };
        *counter += 1;
        let cause = OwnedCause::OutOfResource;
        self.reply(Reply::abort(meta, packet.header(), cookie.peer_tag, cause));
        false
    }

    /// Takes a place for an association with a peer at `host`, and counts it there, unless it is
    /// refused.
    fn refusal(&mut self, now: Instant, host: Host) -> Option<Refusal> {
        // If one host may have every place, one of its own associations makes room.
        let may_have_all = self.options.per_peer() >= self.options.max_associations;
        if !self.population.admit(host, may_have_all) {
            return Some(Refusal::PerPeer);
        }
        let refusal = if !self.take_place(now, host) {
            Some(Refusal::Full)
        } else if !self.memory.budget().has_room_for_one() && !self.make_room(now, host) {
            self.table.give_place();
            Some(Refusal::Memory)
        } else {
            None
        };
        if refusal.is_some() {
            self.population.dismiss(host);
        }
        refusal
    }

    /// Takes a place for an association with a peer at `host`: a free one, or that of another that
    /// makes room.
    pub(super) fn take_place(&mut self, now: Instant, host: Host) -> bool {
        let max = self.options.max_associations;
        if self.table.take_place(max) {
            return true;
        }
        // Without other endpoints the freed place cannot be taken in between, and associations that
        // have ended take none.
        self.make_room(now, host) && (!self.table.is_joined() || self.table.take_place(max))
    }

    /// Aborts an association of a peer with a weaker claim to its place than a newcomer from
    /// `host`, or than one that this side opens to it. Returns false if there is none.
    pub(super) fn make_room(&mut self, now: Instant, host: Host) -> bool {
        let Some(id) = self.victim(now, host) else { return false };
        let Some(slot) = self.table.slot_mut(id) else { return false };
        match slot.association.standing().last_use() {
            Some(_) => self.stats.idle_evicted += 1,
            None => self.stats.unused_evicted += 1,
        }
        self.evict(id)
    }

    /// The association that makes room for a newcomer from `host`. If all that are examined were
    /// used since the last examination, the one of them that was idle the longest is chosen.
    fn victim(&mut self, now: Instant, host: Host) -> Option<AssociationId> {
        let mut oldest: Option<(Use, AssociationId)> = None;
        for _ in 0..LOOKS {
            let id = self.table.id(self.population.first()?)?;
            let slot = self.table.slot_mut(id)?;
            let (last, own) = (slot.last_use()?, slot.host);
            let membership = slot.membership.as_mut()?;
            let known = self.population.knows(id.row(), own, membership, last);
            let yields = self.population.yields(now, host, own, membership);
            if known {
                return yields.then_some(id);
            }
            if yields && oldest.is_none_or(|(before, _)| last < before) {
                oldest = Some((last, id));
            }
        }
        oldest.map(|(_, id)| id)
    }

    /// Records an association that a peer opened.
    pub(super) fn enter(&mut self, now: Instant, id: AssociationId) {
        if let Some(slot) = self.table.slot_mut(id) {
            slot.membership = Some(self.population.enter(id.row(), slot.host, now));
        }
    }
}

impl Slot {
    /// Last use of an association that a peer opened, or its creation.
    fn last_use(&self) -> Option<Use> {
        let known = self.membership?.last_known();
        Some(self.association.standing().last_use().map_or(known, Use::at))
    }
}
