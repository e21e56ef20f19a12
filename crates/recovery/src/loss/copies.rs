//! Copies in packets of their own: data without a successor for a share of the round trip is sent
//! once more, before any evidence of a loss.

use base::Instant;

use super::mechanism::Mechanism;
use crate::ledger::PacketNumber;
use crate::policy::RecoveryPolicy;

/// Deadline of the copy of a path's last packet, unless another packet follows first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copies {
    next: Option<(Instant, PacketNumber)>,
}

impl Copies {
    /// A packet with new data left: its copy is due at `due`, if at all.
    pub(crate) fn on_sent(&mut self, packet: PacketNumber, due: Option<Instant>) {
        self.next = due.map(|due| (due, packet));
    }

    /// Removes and returns the packet whose copy is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<PacketNumber> {
        self.next.take_if(|(due, _)| *due <= now).map(|(_, packet)| packet)
    }
}

impl Mechanism for Copies {
    fn is_wanted(policy: &RecoveryPolicy) -> bool {
        policy.redundancy.copies_alone()
    }

    fn set_policy(&mut self, policy: &RecoveryPolicy) {
        self.next = self.next.filter(|_| Copies::is_wanted(policy));
    }

    fn due(&self) -> Option<Instant> {
        self.next.map(|(due, _)| due)
    }

    fn stop(&mut self) {
        self.next = None;
    }

    fn on_recovery(&mut self) {
        self.stop();
    }

    fn is_blank(&self) -> bool {
        self.next.is_none()
    }
}
