//! Datagrams whose checksum is zero (RFC 9653, section 5.3).

use base::{DatagramMeta, Instant};
use bytes::Bytes;

use super::Endpoint;
use super::routing::is_from_peer;
use crate::wire::{ChunkType, Packet};

impl Endpoint {
    /// Processes a datagram with a checksum of zero. In the rare case that zero is correct, it is a
    /// packet like any other. Otherwise it is accepted for an association that offered to,
    /// unless it is of a kind that always has a checksum. Out of the blue it is answered if
    /// associations would accept it, since the layer below protects their packets too.
    pub(super) fn handle_without_checksum(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        datagram: Bytes,
    ) {
        if let Ok(packet) = Packet::parse(datagram.clone()) {
            return self.take(now, &meta, &packet);
        }
        match Packet::parse_without_checksum(datagram) {
            Ok(packet) if self.takes_without_checksum(meta, &packet) => {
                self.stats.zero_checksums += 1;
                self.take(now, &meta, &packet);
            }
            Ok(packet) if self.is_out_of_the_blue_without_checksum(meta, &packet) => {
                self.stats.zero_checksums += 1;
                self.reply_out_of_the_blue(meta, &packet);
            }
            _ => self.stats.malformed += 1,
        }
    }

    /// Whether a packet belongs to no association and no known peer, at an endpoint whose
    /// associations offer to accept such packets.
    fn is_out_of_the_blue_without_checksum(&self, meta: DatagramMeta, packet: &Packet) -> bool {
        let header = packet.header();
        self.options.accepted.zero_checksum.is_some()
            && !opens(packet)
            && self.table.by_tag(header.verification_tag).is_none()
            && self.by_peer(meta, header.source_port).is_none()
            && self.by_transport_address(meta, header.source_port).is_none()
    }

    fn takes_without_checksum(&self, meta: DatagramMeta, packet: &Packet) -> bool {
        let header = packet.header();
        let Some(Ok(first)) = packet.raw_chunks().next() else { return false };
        let own = self.table.by_tag(header.verification_tag).and_then(|id| self.table.get(id));
        own.is_some_and(|own| {
            // A peer with a proved identity may have moved.
            let proved = meta.origin.is_some() && self.is_tag_of(meta, header);
            own.takes_zero_checksum() && (proved || is_from_peer(own, &meta, header.source_port))
        }) && !opens(packet)
            && !first.reflects_tag()
            && header.destination_port == self.options.port
    }
}

/// Whether a packet begins with a chunk that always has a checksum (section 5.2), or has no chunk.
fn opens(packet: &Packet) -> bool {
    let Some(Ok(first)) = packet.raw_chunks().next() else { return true };
    matches!(first.chunk_type, ChunkType::INIT | ChunkType::COOKIE_ECHO)
}
