//! What ICMP says of packets of an association (RFC 9260, section 10), once it is verified.

use base::{IcmpError, Instant};

use super::Association;
use crate::control::Control;
use crate::event::Failure;
use crate::paths::PathId;
use crate::paths::path::Path;
use crate::phase::Phase;

impl Association {
    /// Input: ICMP about a packet that left on `path`.
    pub(crate) fn on_icmp(&mut self, now: Instant, path: PathId, error: IcmpError) {
        match (error, &self.phase) {
            (IcmpError::PacketTooBig { mtu }, _) => self.on_packet_too_big(now, path, mtu),
            (IcmpError::NobodyThere, Phase::CookieWait(_)) => self.on_init_refused(now, path),
            // Rule ICMP8: protocol unreachable, as an ABORT with the T bit. Over UDP (RFC 6951, section 5.5)
            // it is the port that is unreachable, which a server that restarts, or a NAT, may have said.
            (IcmpError::NobodyThere, _) if self.paths[path].remote().port() == 0 => {
                self.fail(Failure::NobodyThere);
            }
            // Rule ICMP9 lets it count as an error of the path. It is not proof enough to give the path up
            // without a timeout.
            _ => self.paths.hint_error(&self.options, path),
        }
    }

    /// ICMP, verified to be about an INIT of this attempt, says that the address of `path` has no listener.
    ///
    /// Protocol unreachable is treated as an ABORT (rule ICMP8), port unreachable of the encapsulation so once
    /// it was said again. Where the application named several addresses, each refuses for
    /// itself, and the attempt goes on with the next at once.
    fn on_init_refused(&mut self, now: Instant, path: PathId) {
        let Some(handshake) = self.phase.handshake_mut() else { return };
        handshake.on_refusal(path);
        let refusals = *handshake.refusals();
        let is_final = |id, path: &Path| refusals.are_final(id, path.remote().port() != 0);
        if self.paths.live().all(|(id, path)| is_final(id, path)) {
            return self.fail(Failure::NobodyThere);
        }
        if self.paths.is_single() {
            return;
        }
        // The next INIT goes elsewhere, at once where one has not said the same.
        self.paths.count_refusal(path);
        if refusals.count() < self.paths.ids().count() {
            if let Some(handshake) = self.phase.handshake_mut() {
                handshake.turn(now);
            }
            self.turn_control_path();
            self.control.push(Control::Init);
        }
    }
}
