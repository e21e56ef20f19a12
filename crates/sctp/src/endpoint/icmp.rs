//! ICMP (RFC 9260, section 10): the association that a message is about, and the proof that its
//! sender saw a packet of it.

use base::{Icmp, Instant};
use recovery::PathId;

use super::{AssociationId, Endpoint};
use crate::association::Association;
use crate::state::State;
use crate::wire::{ChunkType, VerificationTag};

/// The quoted part of a packet.
struct Quoted {
    source_port: u16,
    destination_port: u16,
    verification_tag: VerificationTag,
    /// The tag that a quoted INIT offers.
    initiate_tag: Option<VerificationTag>,
}

impl Quoted {
    /// Parses a quote: routers quote at least eight bytes, ports and tag.
    fn read(bytes: &[u8]) -> Option<Quoted> {
        let &[s0, s1, d0, d1, t0, t1, t2, t3] = bytes.first_chunk()?;
        let initiate_tag = match bytes.get(12..20) {
            Some(&[chunk_type, _, _, _, i0, i1, i2, i3])
                if ChunkType(chunk_type) == ChunkType::INIT =>
            {
                Some(VerificationTag(u32::from_be_bytes([i0, i1, i2, i3])))
            }
            _ => None,
        };
        Some(Quoted {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            verification_tag: VerificationTag(u32::from_be_bytes([t0, t1, t2, t3])),
            initiate_tag,
        })
    }

    /// Whether the association may have sent the packet: the quote has the peer's tag, or this
    /// side's in an INIT.
    fn is_of(&self, own: &Association) -> bool {
        match self.verification_tag {
            VerificationTag(0) => {
                own.state() == State::CookieWait && self.initiate_tag == Some(own.local_tag())
            }
            tag => tag == own.peer_tag(),
        }
    }
}

impl Endpoint {
    pub(super) fn on_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        match self.subject_of(icmp) {
            Some((id, path)) => {
                self.stats.icmp += 1;
                self.with(id, |own, _| own.on_icmp(now, path, icmp.error));
            }
            None => self.stats.icmp_ignored += 1,
        }
    }

    /// The association and path that a message is about.
    fn subject_of(&self, icmp: Icmp<'_>) -> Option<(AssociationId, PathId)> {
        let quoted = Quoted::read(icmp.quoted)?;
        if quoted.source_port != self.options.port {
            return None;
        }
        let id = self.table.by_peer(icmp.remote, quoted.destination_port)?;
        let own = self.table.get(id).filter(|own| quoted.is_of(own))?;
        Some((id, own.path_to(icmp.remote.ip())?))
    }
}
