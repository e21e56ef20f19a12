//! The peers of a server, with their turns to send, deadlines and events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{Host, Instant, Machine};

use super::{AcceptError, ServerLimits};
use crate::ice::IceLite;
use crate::peer::{Peer, PeerEvent};

/// Id of a peer of a server; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerId(u64);

#[derive(Debug)]
struct Slot {
    peer: Peer<IceLite>,
    /// Host of its offer, if known.
    host: Option<Host>,
    /// Whether the peer has not connected yet.
    waits: bool,
    /// The instant under which the deadlines list the peer.
    listed: Option<Instant>,
    in_turns: bool,
    in_eventful: bool,
    /// The application was told of the end.
    told: bool,
}

#[derive(Debug, Default)]
pub(super) struct Peers {
    last: u64,
    slots: BTreeMap<PeerId, Slot>,
    deadlines: BTreeSet<(Instant, PeerId)>,
    /// Peers that may have something to send, the next first.
    turns: VecDeque<PeerId>,
    /// Peers that may have events.
    eventful: VecDeque<PeerId>,
}

impl Peers {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether one more peer is admitted, counting the peers and the waiting offers by host.
    pub(super) fn admit(
        &self,
        host: Option<Host>,
        limits: &ServerLimits,
        offers: impl Iterator<Item = Option<Host>>,
    ) -> Result<(), AcceptError> {
        let (mut all, mut waiting, mut of_host, mut waiting_of_host) = (0, 0, 0, 0);
        let peers = self.slots.values().map(|slot| (slot.host, slot.waits));
        for (place, waits) in peers.chain(offers.map(|host| (host, true))) {
            let is_of_host = host.is_some() && place == host;
            all += 1;
            waiting += usize::from(waits);
            of_host += usize::from(is_of_host);
            waiting_of_host += usize::from(is_of_host && waits);
        }
        if all >= limits.peers || waiting >= limits.waiting {
            Err(AcceptError::TooMany)
        } else if waiting_of_host >= limits.waiting_per_host {
            Err(AcceptError::TooManyOfHost)
        } else if of_host >= limits.per_host {
            Err(AcceptError::HostFull)
        } else {
            Ok(())
        }
    }

    /// Reserves the id of a future peer.
    pub(super) fn reserve(&mut self) -> PeerId {
        self.last += 1;
        PeerId(self.last)
    }

    pub(super) fn insert(&mut self, id: PeerId, peer: Peer<IceLite>, host: Option<Host>) {
        let slot = Slot {
            peer,
            host,
            waits: true,
            listed: None,
            in_turns: false,
            in_eventful: false,
            told: false,
        };
        self.slots.insert(id, slot);
    }

    pub(super) fn get(&self, id: PeerId) -> Option<&Peer<IceLite>> {
        self.slots.get(&id).map(|slot| &slot.peer)
    }

    pub(super) fn get_mut(&mut self, id: PeerId) -> Option<&mut Peer<IceLite>> {
        self.slots.get_mut(&id).map(|slot| &mut slot.peer)
    }

    /// Updates turns, events and deadline of a peer after its input.
    pub(super) fn settle(&mut self, id: PeerId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        if !core::mem::replace(&mut slot.in_turns, true) {
            self.turns.push_back(id);
        }
        self.note_eventful(id);
        self.list(id);
    }

    fn list(&mut self, id: PeerId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let due = slot.peer.poll_timeout();
        if due == slot.listed {
            return;
        }
        if let Some(listed) = slot.listed {
            self.deadlines.remove(&(listed, id));
        }
        self.deadlines.extend(due.map(|due| (due, id)));
        slot.listed = due;
    }

    // ---- turns ----------------------------------------------------------------------------------

    pub(super) fn current(&self) -> Option<PeerId> {
        self.turns.front().copied()
    }

    /// Ends the turn of the first peer, which has sent a datagram.
    pub(super) fn next_turn(&mut self) {
        self.turns.rotate_left(1);
    }

    /// Removes the first peer from the turns, since it has nothing more to send. True if it has
    /// ended, the application was notified, and it was removed.
    pub(super) fn finish_turn(&mut self, id: PeerId) -> bool {
        self.turns.pop_front();
        let Some(slot) = self.slots.get_mut(&id) else { return true };
        slot.in_turns = false;
        if slot.peer.is_over() && slot.told {
            self.remove(id);
            return true;
        }
        // What was sent may have made room, of which there is an event.
        self.note_eventful(id);
        self.list(id);
        false
    }

    fn remove(&mut self, id: PeerId) {
        if let Some(slot) = self.slots.remove(&id)
            && let Some(listed) = slot.listed
        {
            self.deadlines.remove(&(listed, id));
        }
    }

    // ---- deadlines ------------------------------------------------------------------------------

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.deadlines.first().map(|first| first.0)
    }

    pub(super) fn pop_due(&mut self, now: Instant) -> Option<PeerId> {
        let (due, id) = *self.deadlines.first().filter(|first| first.0 <= now)?;
        self.deadlines.remove(&(due, id));
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.listed = None;
        }
        Some(id)
    }

    // ---- events ---------------------------------------------------------------------------------

    pub(super) fn poll_eventful(&mut self) -> Option<PeerId> {
        let id = self.eventful.pop_front()?;
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.in_eventful = false;
        }
        Some(id)
    }

    pub(super) fn note_eventful(&mut self, id: PeerId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        if !core::mem::replace(&mut slot.in_eventful, true) {
            self.eventful.push_back(id);
        }
    }

    pub(super) fn peer_event(&mut self, id: PeerId) -> Option<PeerEvent> {
        let slot = self.slots.get_mut(&id)?;
        let event = slot.peer.poll_event()?;
        match event {
            PeerEvent::Connected => slot.waits = false,
            PeerEvent::Ended(_) => slot.told = true,
            PeerEvent::Channel(_) => {}
        }
        // A message that was read makes room; one that is over can be forgotten.
        if !core::mem::replace(&mut slot.in_turns, true) {
            self.turns.push_back(id);
        }
        Some(event)
    }
}
