//! Probes of packet sizes on a path (RFC 8899, section 5; RFC 4821, section 7): the deadline of the
//! next, the one in flight, and the losses of a size.

use base::Instant;

use crate::policy::PathMtuPolicy;

/// The probes of a path. `P` identifies the packet that is the probe.
#[derive(Clone, Debug)]
pub(super) struct MtuProbes<P> {
    /// Earliest instant of the next probe.
    due: Option<Instant>,
    /// Size and identity of the probe in flight.
    under_way: Option<(u16, P)>,
    /// Lost probes of the present size.
    losses: u8,
}

impl<P> MtuProbes<P> {
    /// Makes the first probe of the next size due at `due`; no probe is sent if it is `None`.
    pub(super) fn new(due: Option<Instant>) -> Self {
        MtuProbes { due, under_way: None, losses: 0 }
    }

    /// Earliest instant of the next probe; `None` while one is in flight.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.filter(|_| self.under_way.is_none())
    }

    /// A probe of `size` bytes leaves.
    pub(super) fn on_sent(&mut self, size: u16, probe: P) {
        self.under_way = Some((size, probe));
    }

    /// Size in bytes and identity of the probe in flight.
    pub(super) fn under_way(&self) -> Option<(u16, &P)> {
        self.under_way.as_ref().map(|(size, probe)| (*size, probe))
    }

    /// Ignores the fate of the probe in flight.
    pub(super) fn forget(&mut self) {
        self.under_way = None;
    }

    /// The probe in flight was lost, because of its size or by chance: the next one may leave at
    /// `again`. Returns the size once enough probes of it were lost that it counts as too
    /// large.
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
