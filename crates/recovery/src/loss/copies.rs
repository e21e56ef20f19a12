//! Copies in packets of their own: what nothing followed for a share of the round trip is sent once more, ahead of any
//! sign of a loss.

use base::Instant;

use super::mechanism::Mechanism;
use crate::ledger::PacketNumber;
use crate::policy::RecoveryPolicy;

/// When the last packet of a path is copied, unless another one follows before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copies {
    next: Option<(Instant, PacketNumber)>,
}

impl Copies {
    /// A packet with new data left: what it carries is copied at `due`, if at all.
    pub(crate) fn on_sent(&mut self, packet: PacketNumber, due: Option<Instant>) {
        self.next = due.map(|due| (due, packet));
    }

    /// The packet whose copy is due by now.
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
