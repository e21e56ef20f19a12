//! Verified ICMP messages about packets of an association (RFC 9260, section 10).

use base::{IcmpError, Instant};
use recovery::PathId;

use super::Association;
use crate::control::Control;
use crate::event::Failure;
use crate::paths::path::Path;
use crate::phase::Phase;

impl Association {
    /// Processes ICMP about a packet that left on `path`.
    pub(crate) fn on_icmp(&mut self, now: Instant, path: PathId, error: IcmpError) {
        match (error, &self.phase) {
            (IcmpError::PacketTooBig { mtu }, _) => self.on_packet_too_big(now, path, mtu),
            (IcmpError::NoListener, Phase::CookieWait(_)) => self.on_init_refused(now, path),
            // Rule ICMP8: protocol unreachable counts as an ABORT with the T bit. Over UDP (RFC
            // 6951, section 5.5) the port is unreachable, which may be due to a
            // restarting server or a NAT.
            (IcmpError::NoListener, _) if self.paths[path].remote().port() == 0 => {
                self.fail(Failure::NoListener);
            }
            // Rule ICMP9 allows it to count as an error of the path. It is not sufficient evidence
            // to fail the path without a timeout.
            _ => self.paths.hint_error(&self.options, path),
        }
    }

    /// Verified ICMP about an INIT of this attempt reports that the address of `path` has no
    /// listener.
    ///
    /// Protocol unreachable counts as an ABORT (rule ICMP8), and so does port unreachable of the
    /// encapsulation when it is repeated. If the application gave several addresses, each
    /// refuses separately, and the attempt continues with the next at once.
    fn on_init_refused(&mut self, now: Instant, path: PathId) {
        let Some(handshake) = self.phase.handshake_mut() else { return };
        handshake.on_refusal(path);
        let refusals = *handshake.refusals();
        let is_final = |id, path: &Path| refusals.are_final(id, path.remote().port() != 0);
        if self.paths.live().all(|(id, path)| is_final(id, path)) {
            return self.fail(Failure::NoListener);
        }
        if self.paths.is_single() {
            return;
        }
        // The next INIT is sent to another address, at once if there is one that has not refused.
        self.paths.count_refusal(path);
        if refusals.count() < self.paths.ids().count() {
            if let Some(handshake) = self.phase.handshake_mut() {
                handshake.on_other_address(now);
            }
            self.switch_control_path();
            self.control.push(Control::Init);
        }
    }
}
