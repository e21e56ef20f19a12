//! Set-up without packets: both INITs travel in signalling (draft-hancke-tsvwg-snap, section 6).

use base::{Instant, RandomStream};

use super::Association;
use crate::control::Control;
use crate::phase::Phase;
use crate::setup::{peer_vector, vector_fault};
use crate::signalled_init::SignalledInit;
use crate::wire::{CommonHeader, PacketBuilder, VerificationTag};
use crate::zero_checksum;

/// Bytes reserved for INIT; the longest one is shorter.
const ROOM: usize = 4096;

impl Association {
    /// This side's INIT as a chunk with its header.
    pub(crate) fn init_chunk(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let header = CommonHeader {
            source_port: self.identity.local_port,
            destination_port: self.identity.peer_port,
            verification_tag: VerificationTag(0),
        };
        let mut packet = PacketBuilder::start(&mut bytes, header, ROOM);
        // The chunk fits: every INIT is shorter than `ROOM`.
        let _ = self.append_control(&mut packet, &Control::Init);
        packet.finish_without_checksum();
        bytes.split_off(CommonHeader::LENGTH)
    }

    /// Whether this side's INIT and `signalled` make an association: the peer has not merely
    /// returned this side's INIT, both sides can authenticate or neither can, and this side's
    /// INIT lists no extension that an answer to the peer's INIT would omit.
    pub fn suits(&self, signalled: &SignalledInit) -> bool {
        let own = self.options.extensions;
        signalled.init().is_some_and(|init| {
            init.initiate_tag != self.identity.tags.local
                && vector_fault(own, &init.parameters).is_none()
                && own.listed_to(&init.parameters) == own
        })
    }

    /// Establishes a prepared association that has not begun, by the INITs that signalling carried:
    /// the peer has this side's, and `signalled` is the peer's. Returns false, without effect,
    /// if the two make no association.
    pub(crate) fn establish_with(
        &mut self,
        now: Instant,
        signalled: &SignalledInit,
        random: &mut RandomStream,
    ) -> bool {
        let Some(init) = signalled.init() else { return false };
        let Phase::CookieWait(handshake) = &self.phase else { return false };
        if handshake.next_timeout().is_some() || !self.suits(signalled) {
            return false;
        }
        self.identity.tags.peer = init.initiate_tag;
        let agreed = self.options.extensions.agreed(&init.parameters, false)
            | zero_checksum::agreed(self.options.zero_checksum, &init.parameters);
        let peer = peer_vector(agreed, &init.parameters);
        self.extensions.agree(agreed, peer, self.options.authentication.as_ref());
        let (outbound, inbound) = self.options.offered_streams();
        let outbound = outbound.min(init.inbound_streams);
        let inbound = inbound.min(init.outbound_streams);
        if self.open(init.initial_tsn, init.a_rwnd, outbound, inbound).is_ok() {
            self.establish(now, random);
        }
        true
    }
}
