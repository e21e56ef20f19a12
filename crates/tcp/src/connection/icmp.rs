//! ICMP messages about a connection (RFC 5927; RFC 5461; RFC 9293, section 3.9.2.2).

use base::{IcmpError, Instant};

use super::{Connection, State};
use crate::event::{Event, Failure, SoftError};
use crate::wire::SeqNumber;

impl Connection {
    /// Whether a segment that begins with `seq` is outstanding: only a host that saw it can quote
    /// its number (RFC 5927, section 4.1).
    pub(crate) fn has_outstanding(&self, seq: SeqNumber) -> bool {
        if let Some(handshake) = &self.handshake {
            return handshake.sent > 0 && seq == self.outgoing.initial();
        }
        let una = self.tx.snd_una();
        let offset = self.outgoing.unwrap(una, seq);
        una <= offset && offset < self.tx.snd_max()
    }

    /// An ICMP message about an outstanding segment arrived.
    pub(crate) fn on_icmp(&mut self, now: Instant, error: IcmpError) {
        match (error, self.state) {
            (IcmpError::PacketTooBig { mtu }, _) => self.on_packet_too_big(now, mtu),
            // A hard error ends an attempt to open, but no established connection (RFC 5927,
            // section 5.2).
            (IcmpError::NoListener, State::SynSent | State::SynReceived) => {
                self.fail(Failure::NoListener);
            }
            // A soft error is the reason given if no answer arrives.
            (IcmpError::NoListener, _) => self.tell(SoftError::NoListener),
            (IcmpError::Unreachable, _) => {
                if let Some(handshake) = &mut self.handshake {
                    handshake.hint = Some(Failure::Unreachable);
                }
                self.tell(SoftError::Unreachable);
            }
        }
    }

    /// Reports a soft error if the application subscribed to it and knows the connection: one that
    /// a peer opened has no application before it is established.
    pub(super) fn tell(&mut self, error: SoftError) {
        let is_opening = self.state == State::SynReceived && self.listener().is_some();
        if self.options.soft_errors && !self.closed && !is_opening {
            self.events.add(Event::SoftError(error));
        }
    }
}
