//! Dispatch of packets to associations, and their verification (RFC 9260, sections 8.4 and 8.5).

use base::{DatagramMeta, Instant};

use super::{AssociationId, Endpoint};
use crate::address_reconfiguration::answers::may_come_from_anywhere;
use crate::association::Association;
use crate::wire::chunk::RawChunk;
use crate::wire::{Chunk, ChunkType, CommonHeader, Packet, VerificationTag};

impl Endpoint {
    /// Processes a packet, then frees memory if that is scarce.
    pub(super) fn take(&mut self, now: Instant, meta: &DatagramMeta, packet: &Packet) {
        self.route(now, meta, packet);
        self.balance_memory(now);
    }

    /// Finds the packet's association and checks its tag (sections 8.4 and 8.5).
    fn route(&mut self, now: Instant, meta: &DatagramMeta, packet: &Packet) {
        let header = packet.header();
        if header.destination_port != self.options.port {
            return self.reply_out_of_the_blue(*meta, packet);
        }
        let Some(first) = packet.raw_chunks().but_auth().next() else {
            self.stats.malformed += 1;
            return;
        };
        match first.chunk_type {
            ChunkType::INIT => return self.on_init(now, *meta, packet),
            ChunkType::COOKIE_ECHO => return self.on_cookie_echo(now, *meta, packet),
            _ => {}
        }
        let id = self.table.by_tag(header.verification_tag).filter(|id| {
            self.table.get(*id).is_some_and(|own| is_from_peer(own, meta, header.source_port))
        });
        if let Some(id) = id
            && !first.reflects_tag()
        {
            // Section 8.5.1, rule E: a SHUTDOWN ACK before the association exists is out of the
            // blue even with the right tag.
            if first.chunk_type == ChunkType::SHUTDOWN_ACK && self.is_opening(id) {
                return self.reply_out_of_the_blue(*meta, packet);
            }
            if first.chunk_type == ChunkType::INIT_ACK && self.refuses_init_ack(id, *meta, packet) {
                return;
            }
            return self.deliver(now, id, meta, packet);
        }
        match self.by_peer(*meta, header.source_port) {
            Some(id) if first.reflects_tag() => self.on_reflected(now, id, *meta, packet),
            Some(own) => self.on_wrong_tag(*meta, own, &first, packet),
            // The packet may be from an address of the peer that it did not list: an ABORT would
            // carry the right tag and end a living association.
            None if self.is_tag_of(*meta, header) => {
                self.on_packet_from_elsewhere(now, *meta, packet);
            }
            None => match self.by_transport_address(*meta, header.source_port) {
                // Section 8.5: a wrong tag, from another UDP port than the last right one.
                Some(own) => self.on_wrong_tag(*meta, own, &first, packet),
                None => self.reply_out_of_the_blue(*meta, packet),
            },
        }
    }

    /// Whether an association has this tag and these SCTP ports, whatever the address.
    pub(super) fn is_tag_of(&self, meta: DatagramMeta, header: CommonHeader) -> bool {
        let own = self.table.by_tag(header.verification_tag).and_then(|id| self.table.get(id));
        own.is_some_and(|own| own.origin() == meta.origin && own.peer_port() == header.source_port)
    }

    /// The association with SCTP port `port` at the source of a packet, if its peer is the host
    /// that sent the packet.
    pub(super) fn by_peer(&self, meta: DatagramMeta, port: u16) -> Option<AssociationId> {
        self.of_origin(self.table.by_peer(meta.remote, port), meta)
    }

    /// The association of [`Endpoint::by_peer`], whatever the port of the encapsulation.
    pub(super) fn by_transport_address(
        &self,
        meta: DatagramMeta,
        port: u16,
    ) -> Option<AssociationId> {
        self.of_origin(self.table.by_transport_address(meta.remote, port), meta)
    }

    fn of_origin(&self, found: Option<AssociationId>, meta: DatagramMeta) -> Option<AssociationId> {
        let is_of = |own: &Association| own.origin() == meta.origin;
        found.filter(|id| self.table.get(*id).is_some_and(is_of))
    }

    /// Processes a packet with the tag of an association from an address that is not its peer's:
    /// the peer may have moved (RFC 5061, section 5.2). A proved identity suffices.
    fn on_packet_from_elsewhere(&mut self, now: Instant, meta: DatagramMeta, packet: &Packet) {
        let id = self.table.by_tag(packet.header().verification_tag);
        if let Some(id) = id.filter(|_| meta.origin.is_some()) {
            let mut follows = false;
            self.with(id, |own, _| follows = own.follow_peer(now, meta));
            return match follows {
                true => self.deliver(now, id, &meta, packet),
                false => self.stats.wrong_tag += 1,
            };
        }
        match id.filter(|_| may_come_from_anywhere(packet)) {
            Some(id) => self.with(id, |association, random| {
                association.handle_packet_from_elsewhere(now, meta, packet, random);
            }),
            None => self.stats.wrong_tag += 1,
        }
    }

    pub(super) fn deliver(
        &mut self,
        now: Instant,
        id: AssociationId,
        meta: &DatagramMeta,
        packet: &Packet,
    ) {
        self.with(id, |association, random| association.handle_packet(now, meta, packet, random));
    }

    /// ABORT and SHUTDOWN COMPLETE with the T bit carry the tag that the receiver would send
    /// (section 8.5.1, rules B and C).
    fn on_reflected(
        &mut self,
        now: Instant,
        id: AssociationId,
        meta: DatagramMeta,
        packet: &Packet,
    ) {
        let tag = packet.header().verification_tag;
        let right = self
            .table
            .get(id)
            .is_some_and(|own| own.peer_tag() == tag && tag != VerificationTag(0));
        if right {
            self.deliver(now, id, &meta, packet);
        } else {
            self.stats.wrong_tag += 1;
        }
    }

    fn on_wrong_tag(
        &mut self,
        meta: DatagramMeta,
        id: AssociationId,
        first: &RawChunk<'_>,
        packet: &Packet,
    ) {
        self.stats.wrong_tag += 1;
        // Rule E again: the peer remembers an association that this side does not.
        if first.chunk_type == ChunkType::SHUTDOWN_ACK && self.is_opening(id) {
            self.reply_out_of_the_blue(meta, packet);
        }
    }

    fn is_opening(&self, id: AssociationId) -> bool {
        let opening = |own: &Association| own.state().is_opening();
        self.table.get(id).is_some_and(opening)
    }
}

/// Whether a packet is from the association's peer as far as that is proved, and from its address:
/// its SCTP port, and its IP address on any UDP port (RFC 6951, section 5.4).
pub(super) fn is_from_peer(own: &Association, meta: &DatagramMeta, source_port: u16) -> bool {
    own.origin() == meta.origin && own.peer_port() == source_port && own.leads_to(meta.remote.ip())
}

/// The first chunk of a packet, or the one after AUTH.
pub(super) fn first_but_auth(packet: &Packet) -> Option<Chunk<'_>> {
    let mut chunks = packet.chunks();
    match chunks.next()? {
        Ok(Chunk::Auth(_)) => chunks.next()?.ok(),
        first => first.ok(),
    }
}
