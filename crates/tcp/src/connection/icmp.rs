//! What ICMP says of a connection (RFC 5927; RFC 5461; RFC 9293, section 3.9.2.2).

use base::{IcmpError, Instant};

use super::{Connection, State, headers};
use crate::event::Failure;
use crate::wire::SeqNumber;

impl Connection {
    /// Whether a segment that begins with `seq` is outstanding: only who saw it can quote its number
    /// (RFC 5927, section 4.1).
    pub(crate) fn has_outstanding(&self, seq: SeqNumber) -> bool {
        if let Some(handshake) = &self.handshake {
            return handshake.sent > 0 && seq == self.outgoing.initial();
        }
        let una = self.tx.snd_una();
        let offset = self.outgoing.unwrap(una, seq);
        una <= offset && offset < self.tx.snd_max()
    }

    /// An ICMP message about a segment that is outstanding.
    pub(crate) fn on_icmp(&mut self, now: Instant, error: IcmpError) {
        match (error, self.state) {
            (IcmpError::PacketTooBig { mtu }, _) => self.on_packet_too_big(now, mtu),
            // A hard error ends the attempt to open, and no connection that works (RFC 5927, section 5.2).
            (IcmpError::NobodyThere, State::SynSent | State::SynReceived) => {
                self.fail(Failure::NobodyThere);
            }
            // A soft one says why, should there be no answer.
            (IcmpError::NobodyThere, _) => self.note_hint(Failure::NobodyThere),
            (IcmpError::Unreachable, _) => self.note_hint(Failure::Unreachable),
        }
    }

    fn note_hint(&mut self, hint: Failure) {
        if let Some(handshake) = &mut self.handshake {
            handshake.hint = Some(hint);
        }
    }

    /// A packet was too big for a link on its way (RFC 1191, RFC 8201): what is outstanding was dropped and is
    /// sent again in smaller segments.
    fn on_packet_too_big(&mut self, now: Instant, mtu: u32) {
        let packet = self.packet_of(self.tx.largest_in_flight());
        if self.options.path_mtu_discovery && self.path_mtu.on_too_big(now, mtu, packet) {
            self.on_lower_mtu(now);
        }
    }

    /// The retransmission timer expired `expiries` times in a row for a segment of `largest` bytes: perhaps it
    /// is too big, and nobody says so (RFC 2923, section 2.1).
    pub(super) fn suspect_black_hole(&mut self, now: Instant, expiries: u8, largest: u32) {
        let packet = self.packet_of(largest);
        if self.options.path_mtu_discovery && self.path_mtu.on_expiry(now, expiries, packet) {
            self.on_lower_mtu(now);
        }
    }

    fn on_lower_mtu(&mut self, now: Instant) {
        self.tally.path_mtu_reductions = self.tally.path_mtu_reductions.saturating_add(1);
        let mss = u32::from(self.send_mss());
        self.tx.set_mss(now, mss, true);
    }

    /// After a while a larger MTU is tried again.
    pub(super) fn on_path_mtu_timeout(&mut self, now: Instant) {
        if self.path_mtu.on_timeout(now) {
            let mss = u32::from(self.send_mss());
            self.tx.set_mss(now, mss, false);
        }
    }

    /// Bytes of the IP packet that carries so much data.
    fn packet_of(&self, data: u32) -> u16 {
        let timestamps = if self.negotiated.timestamps { 12 } else { 0 };
        let packet = data + timestamps + u32::from(headers(self.local.is_ipv6()));
        u16::try_from(packet).unwrap_or(u16::MAX)
    }
}
