//! A node as one of the shards of an endpoint: which datagrams belong to another shard, and what
//! others hand to this one.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::{Datagram, DatagramMeta, Instant, Machine};
use sctp::{AssociationId, Destination, Shard};
use tokio::sync::Notify;

use super::{Node, Stack};
use crate::peer_address::PeerAddress;
use crate::shards::{Leg, Parcel, Shards, Whom};

/// The shard of an endpoint that a node is.
#[derive(Debug)]
pub(crate) struct Place {
    index: usize,
    shard: Shard,
    shards: Arc<Shards>,
    /// Peers of this shard that do not come to it by themselves.
    detours: BTreeSet<Whom>,
    /// Number of detours at which those of peers that are gone are sought.
    sweep_at: usize,
}

/// Detours among which those of peers that are gone are not sought.
const FEW: usize = 64;

impl Place {
    pub(crate) fn new(index: usize, shard: Shard, shards: Arc<Shards>) -> Place {
        Place { index, shard, shards, detours: BTreeSet::new(), sweep_at: FEW }
    }

    /// Verification tags that belong to this shard.
    pub(crate) fn shard(&self) -> Shard {
        self.shard
    }

    /// Notification that wakes the driver of the shard.
    pub(crate) fn wake(&self) -> Arc<Notify> {
        self.shards.wake(self.index)
    }

    /// The shard that should have a datagram which the socket or, on this leg, another shard gave
    /// to this one.
    fn next_leg(
        &self,
        stack: &Stack,
        meta: &DatagramMeta,
        datagram: &Datagram,
        leg: Option<Leg>,
    ) -> Option<(usize, Leg)> {
        match (stack, leg) {
            (_, Some(Leg::Last | Leg::Search(_) | Leg::ByAddress)) => None,
            (Stack::Plain(_), _) => self.next_leg_of_packet(stack, meta, datagram),
            (Stack::Secure(_), _) => {
                let whom = (meta.remote.ip(), meta.remote.port());
                match self.shards.detour(whom) {
                    Some(shard) => self.to_other(shard, Leg::Last),
                    None => self.to_other(self.shards.of_sealed(whom, self.index), Leg::ByAddress),
                }
            }
        }
    }

    /// The next leg of [`Place::next_leg`], of an unencrypted packet.
    fn next_leg_of_packet(
        &self,
        stack: &Stack,
        meta: &DatagramMeta,
        packet: &Datagram,
    ) -> Option<(usize, Leg)> {
        let port = match self.shard.destination(&packet.head) {
            Destination::Malformed => return None,
            Destination::Tagged { shard, .. } if shard as usize != self.index => {
                return Some((shard as usize, Leg::ByTag));
            }
            Destination::Tagged { tag, .. } if stack.endpoint().has_tag(tag) => return None,
            // A tag of no association: whether that is out of the blue depends on the associations
            // with its sender.
            Destination::Tagged { port, .. } | Destination::Untagged { port } => port,
        };
        let sender = (meta.remote.ip(), port);
        let shard = self.shards.detour(sender).unwrap_or_else(|| self.shards.home(sender));
        self.to_other(shard, Leg::Last)
    }

    fn to_other(&self, shard: usize, leg: Leg) -> Option<(usize, Leg)> {
        (shard != self.index).then_some((shard, leg))
    }

    /// The shard to be asked for a session after this one; none if this was the last.
    fn next_to_ask(&self, leg: Option<Leg>) -> Option<(usize, Leg)> {
        let left = match leg {
            None | Some(Leg::ByAddress) => self.shards.len() - 1,
            Some(Leg::Search(left)) => left - 1,
            Some(Leg::ByTag | Leg::Last) => 0,
        };
        (left > 0).then(|| ((self.index + 1) % self.shards.len(), Leg::Search(left)))
    }

    /// Leads packets of this peer to this shard, whichever shard receives them.
    fn add_detour(&mut self, stack: &Stack, whom: Whom) {
        if !self.detours.insert(whom) {
            return;
        }
        self.shards.add_detour(whom, self.index);
        if self.detours.len() < self.sweep_at {
            return;
        }
        self.detours.retain(|whom| {
            let is_here = stack.knows(*whom);
            if !is_here {
                self.shards.remove_detour(*whom, self.index);
            }
            is_here
        });
        self.sweep_at = 2 * self.detours.len() + FEW;
    }
}

impl Stack {
    /// Whether packets are encrypted and there is a session with the sender of a datagram.
    fn has_session(&self, meta: &DatagramMeta) -> bool {
        self.sessions().is_some_and(|own| own.is_at(meta.remote, Some(meta.local)))
    }

    /// Whether there is an association or, where packets are encrypted, a session with this peer.
    fn knows(&self, (ip, port): Whom) -> bool {
        match self.sessions() {
            None => self.endpoint().has_peer(ip, port),
            Some(sessions) => sessions.is_at((ip, port).into(), None),
        }
    }
}

impl Node {
    /// The node is one of several shards.
    pub(crate) fn take_place(&mut self, place: Place) {
        self.stack.share_tags(place.shard);
        self.place = Some(Box::new(place));
    }

    /// Handles a datagram, or hands it to the shard to which it belongs; `leg` is that on which a
    /// shard handed it to this one.
    pub(super) fn receive_datagram(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        datagram: Datagram,
        leg: Option<Leg>,
    ) {
        let Some(place) = &self.place else {
            return self.stack.handle_datagram(now, meta, datagram);
        };
        let had_session = self.stack.has_session(&meta);
        if !had_session
            && let Some((shard, leg)) = place.next_leg(&self.stack, &meta, &datagram, leg)
        {
            return place.shards.post(shard, Parcel::Datagram { meta, datagram, leg });
        }
        if let Stack::Plain(machine) = &mut self.stack {
            return machine.handle_datagram(now, meta, datagram);
        }
        self.stack.handle_datagram(now, meta, datagram.clone());
        // What ends a session leaves none, and is for no other shard all the same.
        if had_session || self.stack.sessions().is_some_and(|own| own.is_at(meta.remote, None)) {
            self.note_found(&meta, leg);
        } else if !secure::asks_for_session(&datagram.head) {
            self.ask_next(meta, datagram, leg);
        }
        self.send_strays(now);
    }

    /// This shard has the session of a datagram; if it was sought, all shards learn where its
    /// sender is.
    fn note_found(&mut self, meta: &DatagramMeta, leg: Option<Leg>) {
        if let (Some(place), Some(Leg::Search(_))) = (&mut self.place, leg) {
            place.add_detour(&self.stack, (meta.remote.ip(), meta.remote.port()));
        }
    }

    /// No session here took a datagram: the next shard is asked.
    fn ask_next(&self, meta: DatagramMeta, datagram: Datagram, leg: Option<Leg>) {
        let Some(place) = &self.place else { return };
        if let Some((shard, leg)) = place.next_to_ask(leg) {
            place.shards.post(shard, Parcel::Datagram { meta, datagram, leg });
        }
    }

    /// Packets with the tag of another shard go there, and so does the session in which they came.
    fn send_strays(&mut self, now: Instant) {
        let Some(place) = &self.place else { return };
        for (meta, packet) in self.stack.take_strays() {
            let destination = place.shard.destination(&packet.head);
            let Destination::Tagged { shard, .. } = destination else { continue };
            let sessions = self.stack.sessions_mut();
            let session =
                sessions.and_then(|own| own.give_away(now, meta.remote, Some(meta.local)));
            place.shards.post(shard as usize, Parcel::Opened { meta, packet, session });
        }
    }

    /// Handles what another shard has handed to this one; false if there is nothing.
    pub(crate) fn take_parcel(&mut self, now: Instant) -> bool {
        let parcel = self.place.as_ref().and_then(|place| place.shards.collect(place.index));
        match parcel {
            None => return false,
            Some(Parcel::Datagram { meta, datagram, leg }) => {
                self.receive_datagram(now, meta, datagram, Some(leg));
            }
            Some(Parcel::Opened { meta, packet, session }) => {
                if let Some((session, sessions)) = session.zip(self.stack.sessions_mut()) {
                    sessions.adopt(now, session);
                    if let Some(place) = &mut self.place {
                        place.add_detour(&self.stack, (meta.remote.ip(), meta.remote.port()));
                    }
                }
                self.stack.handle_opened(now, meta, packet);
            }
        }
        true
    }

    /// Whether this shard has an association or a session with one of a peer's addresses.
    pub(crate) fn is_with(&self, peer: &PeerAddress) -> bool {
        let endpoint = self.stack.endpoint();
        peer.addresses.as_slice().iter().any(|at| {
            endpoint.has_peer(at.ip(), peer.sctp_port)
                || self.stack.sessions().is_some_and(|own| own.is_at(*at, None))
        })
    }

    /// Addresses of an association's peer may have been confirmed: what comes from there without a
    /// tag is for this shard.
    pub(super) fn note_addresses(&mut self, id: AssociationId) {
        let (Some(place), Stack::Plain(_)) = (&mut self.place, &self.stack) else { return };
        let Some(own) = self.stack.endpoint().association(id) else { return };
        for address in own.confirmed_addresses() {
            let whom = (address.ip(), own.peer_port());
            if place.shards.home(whom) != place.index {
                place.add_detour(&self.stack, whom);
            }
        }
    }
}
