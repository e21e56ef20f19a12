//! How large packets may be on a path: packetization layer path MTU discovery (RFC 8899), of which section
//! 6.2 is about SCTP.
//!
//! A probe is a HEARTBEAT padded with PAD to the size in question. One that is answered proves its size; one
//! that is lost as often in a row as the policy says disproves it, and is never taken for congestion. This file
//! decides which size is probed when, and nothing else; sizes are bytes of SCTP packets.
//!
//! The states are those of section 5.2: BASE, where a size that nearly every path carries is confirmed;
//! ERROR, where even that fails; SEARCHING; and SEARCH_COMPLETE. DISABLED is no discovery at all.

use base::{Duration, Instant};
use recovery::path_mtu::MtuProbes;
use recovery::policy::PathMtuPolicy;

/// Packets are multiples of four bytes.
const STEP: usize = 4;

/// Sizes between which the search moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizeLimits {
    /// Used where not even `base` passes (MIN_PLPMTU).
    pub(crate) min: usize,
    /// Confirmed first (BASE_PLPMTU).
    pub(crate) base: usize,
    /// Never exceeded (MAX_PLPMTU).
    pub(crate) max: usize,
}

/// Where the search stands (section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMtuState {
    /// The base size is being confirmed.
    Base,
    /// Not even the base size passes.
    Error,
    /// Larger sizes are probed.
    Searching,
    /// The largest size is known, for the time being.
    SearchComplete,
}

/// A probe that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct Probe {
    nonce: u64,
    lost_at: Instant,
}

/// The discovery on one path.
#[derive(Clone, Debug)]
pub(crate) struct PathMtuDiscovery {
    limits: SizeLimits,
    state: PathMtuState,
    /// The size in use: it passes, as far as is known.
    confirmed: usize,
    /// The smallest size known to be too large.
    too_large: usize,
    /// A size that a router said would pass.
    hint: Option<usize>,
    probes: MtuProbes<Probe>,
    /// A probe is to be sent as soon as anybody asks.
    eager: bool,
    /// Timeouts in a row at this cumulative point.
    suspicion: (u64, u8),
}

impl PathMtuDiscovery {
    /// Begins with the base size, which is to be confirmed at once.
    pub(crate) fn new(now: Instant, limits: SizeLimits) -> Self {
        let max = limits.max;
        let base = limits.base.min(max);
        let limits = SizeLimits { min: limits.min.min(base), base, max };
        PathMtuDiscovery {
            limits,
            state: PathMtuState::Base,
            confirmed: base,
            too_large: max + STEP,
            hint: None,
            probes: MtuProbes::new(Some(now)),
            eager: false,
            suspicion: (0, 0),
        }
    }

    /// From now on nothing above `max` is used, and all up to it is tried, from the next time on that
    /// the association is called.
    pub(crate) fn set_max(&mut self, max: usize) {
        if max == self.limits.max {
            return;
        }
        self.limits =
            SizeLimits { min: self.limits.min.min(max), base: self.limits.base.min(max), max };
        self.confirmed = self.confirmed.min(max);
        self.too_large = max + STEP;
        self.probes = MtuProbes::new(None);
        self.hint = None;
        self.eager = self.state != PathMtuState::SearchComplete || self.confirmed < max;
    }

    /// The largest size known to pass.
    pub(crate) fn size(&self) -> usize {
        self.confirmed
    }

    pub(crate) fn state(&self) -> PathMtuState {
        self.state
    }

    /// The next instant that matters.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.probes.under_way().map(|(_, probe)| probe.lost_at).or(self.probes.due())
    }

    /// Time has come to `now`: a probe may be lost.
    pub(crate) fn handle_timeout(&mut self, now: Instant, policy: &PathMtuPolicy) {
        if self.probes.under_way().is_some_and(|(_, probe)| probe.lost_at <= now) {
            self.on_probe_lost(now, policy);
        }
    }

    /// The size of the probe to be sent now, which carries `nonce` and is lost if not answered within
    /// `timeout`.
    pub(crate) fn take_probe(
        &mut self,
        now: Instant,
        timeout: Duration,
        nonce: u64,
        policy: &PathMtuPolicy,
    ) -> Option<usize> {
        let is_due = self.eager || self.probes.due().is_some_and(|due| due <= now);
        if self.probes.under_way().is_some() || !is_due {
            return None;
        }
        self.eager = false;
        if self.state == PathMtuState::SearchComplete {
            // The path may have become better.
            self.too_large = self.limits.max + STEP;
            self.state = PathMtuState::Searching;
        }
        let size = self.next_size();
        let lost_at = now + timeout.max(policy.probe_timer);
        // No packet is larger than 65,535 bytes.
        self.probes.on_sent(size as u16, Probe { nonce, lost_at });
        Some(size)
    }

    /// What to probe next: the base; what a router named; the largest of all, which is mostly right; or
    /// the middle of what is left.
    fn next_size(&self) -> usize {
        if self.state == PathMtuState::Base {
            return self.limits.base;
        }
        let between = |size: &usize| (self.confirmed + STEP..self.too_large).contains(size);
        if let Some(hint) = self.hint.filter(between) {
            return hint;
        }
        if self.too_large > self.limits.max {
            return self.limits.max;
        }
        let middle = self.confirmed.midpoint(self.too_large);
        (middle / STEP * STEP).max(self.confirmed + STEP)
    }

    /// Whether `nonce` is that of the probe under way.
    pub(crate) fn is_probe(&self, nonce: u64) -> bool {
        self.probes.under_way().is_some_and(|(_, probe)| probe.nonce == nonce)
    }

    /// The probe under way was answered.
    pub(crate) fn on_probe_acked(&mut self, now: Instant, policy: &PathMtuPolicy) {
        let Some((size, _)) = self.probes.under_way() else { return };
        self.confirmed = self.confirmed.max(size.into());
        self.suspicion = (0, 0);
        if self.state == PathMtuState::Base {
            self.state = PathMtuState::Searching;
        }
        self.go_on(now, policy);
    }

    fn on_probe_lost(&mut self, now: Instant, policy: &PathMtuPolicy) {
        // Losses happen: until it is too large, a size is probed once more.
        let Some(size) = self.probes.on_lost(now, policy) else { return };
        self.too_large = size.into();
        if self.state == PathMtuState::Base {
            self.state = PathMtuState::Error;
            self.confirmed = self.limits.min;
        }
        self.go_on(now, policy);
    }

    /// Either the search is over, or the next probe is due.
    fn go_on(&mut self, now: Instant, policy: &PathMtuPolicy) {
        if self.confirmed + STEP < self.too_large {
            self.probes = MtuProbes::new(Some(now));
            return;
        }
        self.hint = None;
        self.state = PathMtuState::SearchComplete;
        // Above the largest size there is nothing to look for.
        let raises = self.confirmed < self.limits.max;
        self.probes = MtuProbes::new(raises.then(|| now + policy.raise_timer));
    }

    /// A router said, and the endpoint verified, that packets above `size` do not pass (section 4.6). True
    /// if [`PathMtuDiscovery::size`] is another now.
    pub(crate) fn on_packet_too_big(
        &mut self,
        now: Instant,
        size: usize,
        policy: &PathMtuPolicy,
    ) -> bool {
        let size = size / STEP * STEP;
        if size < self.limits.min || size >= self.limits.max {
            // Nothing to be learned, or a lie: without it, losses tell.
            return false;
        }
        if size < self.confirmed {
            // Section 4.6.2: what was confirmed does not pass any more.
            self.restart(now);
            self.hint = Some(size);
            self.too_large = size + STEP;
            if size < self.limits.base {
                (self.state, self.confirmed) = (PathMtuState::Error, self.limits.min);
            }
            return true;
        }
        if self.probes.under_way().is_some_and(|(probed, _)| usize::from(probed) > size) {
            self.too_large = size + STEP;
            self.hint = Some(size);
            self.go_on(now, policy);
        }
        false
    }

    /// The size to fall back to where the present one is found not to pass any more: the base, or the least
    /// where no more than the base is in use. While the base is being confirmed its probes decide.
    pub(crate) fn floor(&self) -> usize {
        match self.state {
            _ if self.confirmed > self.limits.base => self.limits.base,
            PathMtuState::Base => self.confirmed,
            _ => self.limits.min,
        }
    }

    /// The retransmission timer of the path expired while packets above [`PathMtuDiscovery::floor`] may have
    /// been outstanding, at this cumulative point. True if large packets are now thought to vanish, so that
    /// [`PathMtuDiscovery::size`] is what the floor was.
    pub(crate) fn on_data_timeout(
        &mut self,
        now: Instant,
        cumulative: u64,
        policy: &PathMtuPolicy,
    ) -> bool {
        let (before, count) = self.suspicion;
        let count = if before == cumulative { count.saturating_add(1) } else { 1 };
        self.suspicion = (cumulative, count);
        let (floor, vanishing) = (self.floor(), self.confirmed);
        if count < policy.black_hole_timeouts || vanishing <= floor {
            return false;
        }
        self.restart(now);
        if floor < self.limits.base {
            (self.state, self.confirmed) = (PathMtuState::Error, floor);
            self.too_large = vanishing;
        }
        true
    }

    /// Back to the base size, and a new search.
    fn restart(&mut self, now: Instant) {
        *self = PathMtuDiscovery::new(now, self.limits);
    }
}

#[cfg(test)]
mod tests;
