//! Probes of packet sizes on a path (RFC 8899, section 5; RFC 4821, section 7): when the next is due, which one is under
//! way, and how many of a size were lost.

use base::Instant;

use crate::policy::PathMtuPolicy;

/// The probes of a path. `P` is what tells the protocol which packet the probe is.
#[derive(Clone, Debug)]
pub(super) struct MtuProbes<P> {
    /// When the next probe may leave.
    due: Option<Instant>,
    /// The size of the probe under way, and which packet it is.
    under_way: Option<(u16, P)>,
    /// Probes of the present size that were lost.
    losses: u8,
}

impl<P> MtuProbes<P> {
    /// The first probe of the next size may leave at `due`, none at all without `due`.
    pub(super) fn new(due: Option<Instant>) -> Self {
        MtuProbes { due, under_way: None, losses: 0 }
    }

    /// When the next probe may leave; none while one is under way.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.filter(|_| self.under_way.is_none())
    }

    /// A probe leaves that makes a packet of `size` bytes.
    pub(super) fn on_sent(&mut self, size: u16, probe: P) {
        self.under_way = Some((size, probe));
    }

    /// The size of the probe under way, in bytes, and which packet it is.
    pub(super) fn under_way(&self) -> Option<(u16, &P)> {
        self.under_way.as_ref().map(|(size, probe)| (*size, probe))
    }

    /// Whatever becomes of the probe under way tells nothing any more.
    pub(super) fn forget(&mut self) {
        self.under_way = None;
    }

    /// The probe under way was lost, for its size or by chance: the next one may leave at `again`. Returns the size
    /// once enough probes of it were lost that it counts as too large.
    pub(super) fn on_lost(&mut self, again: Instant, policy: &PathMtuPolicy) -> Option<u16> {
        let (size, _) = self.under_way.take()?;
        self.losses = self.losses.saturating_add(1);
        self.due = Some(again);
        (self.losses >= policy.max_probes).then_some(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::RecoveryPolicy;

    #[test]
    fn a_size_is_too_large_once_as_many_probes_as_the_policy_says_are_lost() {
        let at = Instant::from_millis;
        let mut policy = RecoveryPolicy::sctp_rfc().path_mtu;
        for max_probes in [1, 3, 255] {
            policy.max_probes = max_probes;
            let mut probes = MtuProbes::new(Some(at(5)));
            for lost in 1..=max_probes {
                probes.on_sent(1500, lost);
                assert_eq!((probes.due(), probes.under_way()), (None, Some((1500, &lost))));
                let too_large = probes.on_lost(at(9), &policy);
                assert_eq!(too_large, (lost == max_probes).then_some(1500));
                assert_eq!((probes.due(), probes.under_way()), (Some(at(9)), None));
            }
        }
    }

    #[test]
    fn a_probe_that_is_forgotten_is_not_lost() {
        let at = Instant::from_millis;
        let policy = PathMtuPolicy { max_probes: 1, ..RecoveryPolicy::tcp_rfc().path_mtu };
        let mut probes = MtuProbes::new(Some(at(5)));
        probes.on_sent(1500, ());
        probes.forget();
        assert_eq!(probes.due(), Some(at(5)));
        assert_eq!(probes.on_lost(at(9), &policy), None);
        assert_eq!(probes.due(), Some(at(5)));
    }
}
