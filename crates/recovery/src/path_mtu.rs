//! The search for the path MTU, by packetization layer path MTU discovery (RFC 8899; for TCP, RFC
//! 4821), and the detection of black holes for large packets (RFC 2923).
//!
//! A probe that arrives confirms its size. A lost one disproves it after as many losses as the
//! policy says. The protocol decides what carries a probe, how its loss is noticed and how far a
//! router is believed. Sizes are in the protocol's unit: bytes of an IP packet or of its payload.
//!
//! The states are those of RFC 8899, section 5.2: BASE, where a size that nearly every path carries
//! is being confirmed; ERROR, where even that size fails; SEARCHING; and SEARCH_COMPLETE.

mod probes;

use base::Instant;

use self::probes::MtuProbes;
use crate::policy::{PathMtuPolicy, ProbeSizes};

/// Common sizes of IP packets: those of tunnels, PPPoE and Ethernet (RFC 4821, section 7.6), and
/// the plateaus of RFC 1191, section 7.1.
const COMMON: [u16; 10] = [1006, 1280, 1400, 1492, 1500, 4352, 8166, 9000, 17_914, 32_000];

/// Bounds and granularity of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeLimits {
    /// The size in use if not even `base` passes (MIN_PLPMTU).
    pub min: u16,
    /// The size confirmed first (BASE_PLPMTU), and the size in use while large packets are thought
    /// to vanish.
    pub base: u16,
    /// The largest size that may be used or probed (MAX_PLPMTU).
    pub max: u16,
    /// Bytes of an IP packet that a size does not include.
    pub headers: u16,
    /// All sizes are multiples of this number of bytes: 1 or more.
    pub multiple: u16,
}

impl SizeLimits {
    /// Limits with `max` as the largest size.
    fn up_to(self, max: u16) -> SizeLimits {
        let base = self.base.min(max);
        SizeLimits { min: self.min.min(base), base, max, ..self }
    }

    /// The largest size in an IP packet of `mtu` bytes.
    fn within(&self, mtu: u16) -> u16 {
        self.round(mtu.saturating_sub(self.headers))
    }

    fn round(&self, size: u16) -> u16 {
        size / self.multiple * self.multiple
    }
}

/// State of a search (RFC 8899, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMtuState {
    /// The base size is being confirmed.
    Base,
    /// Even the base size fails.
    Error,
    /// Larger sizes are being probed.
    Searching,
    /// The largest size is known until the raise timer expires.
    SearchComplete,
}

/// Verdict of black-hole detection on timeouts of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspicion {
    /// The timeouts give no reason to change the size in use.
    None,
    /// Large packets are thought to vanish: the fallback size is in use until
    /// [`PathMtuSearch::restart`].
    Arisen,
    /// Packets of the fallback size are lost too: the previous size is in use again.
    Refuted,
}

/// The search on one path. `P` identifies the packet that is the probe.
#[derive(Clone, Debug)]
pub struct PathMtuSearch<P> {
    limits: SizeLimits,
    state: PathMtuState,
    /// The largest size known to pass.
    confirmed: u16,
    /// The largest size not known to fail.
    ceiling: u16,
    /// A size reported by a router.
    hint: Option<u16>,
    probes: MtuProbes<P>,
    /// A probe is due regardless of the time.
    eager: bool,
    /// Packets above the fallback size are thought to vanish, which is neither confirmed nor
    /// refuted yet.
    suspected: bool,
}

impl<P> PathMtuSearch<P> {
    /// A search that probes the base size first, from `now` on.
    pub fn new(now: Instant, limits: SizeLimits) -> Self {
        let limits = limits.up_to(limits.max);
        PathMtuSearch {
            state: PathMtuState::Base,
            confirmed: limits.base,
            probes: MtuProbes::new(Some(now)),
            ..PathMtuSearch::complete(limits)
        }
    }

    /// A complete search, whose largest size counts as confirmed, as in RFC 1191.
    pub fn complete(limits: SizeLimits) -> Self {
        PathMtuSearch {
            limits: limits.up_to(limits.max),
            state: PathMtuState::SearchComplete,
            confirmed: limits.max,
            ceiling: limits.max,
            hint: None,
            probes: MtuProbes::new(None),
            eager: false,
            suspected: false,
        }
    }

    /// Returns to the base size and searches again from `now` on, since the size in use no longer
    /// passes. If the base size or less was in use, the least size remains (ERROR).
    pub fn restart(&mut self, now: Instant) {
        let (fallback, vanishing) = (self.fallback(), self.confirmed);
        *self = PathMtuSearch::new(now, self.limits);
        if fallback < self.limits.base {
            (self.state, self.confirmed) = (PathMtuState::Error, fallback);
            self.ceiling = vanishing.saturating_sub(self.limits.multiple);
        }
    }

    /// Sets the largest size to `max`. Sizes above it are not used any more, and all sizes up to it
    /// are probed, from the next call of [`PathMtuSearch::due`] on.
    pub fn set_max(&mut self, max: u16) {
        if max == self.limits.max {
            return;
        }
        self.limits = self.limits.up_to(max);
        self.confirmed = self.confirmed.min(max);
        self.ceiling = max;
        self.probes = MtuProbes::new(None);
        self.hint = None;
        if self.state != PathMtuState::Base && self.confirmed == max {
            self.state = PathMtuState::SearchComplete;
        }
        self.eager = self.state != PathMtuState::SearchComplete || self.confirmed < max;
    }

    /// The size in use: the largest known to pass, or the fallback while that is in doubt.
    pub fn size(&self) -> u16 {
        if self.suspected { self.fallback() } else { self.confirmed }
    }

    /// Whether the base size is being confirmed, fails, larger sizes are probed, or none is left.
    pub fn state(&self) -> PathMtuState {
        self.state
    }

    /// Whether the largest size is in use, so that there is nothing to search for.
    pub fn is_at_max(&self) -> bool {
        self.state == PathMtuState::SearchComplete && self.size() == self.limits.max
    }

    /// The size that every path carries, as far as the protocol requires.
    pub fn least(&self) -> u16 {
        self.limits.min
    }

    /// The fallback if the present size no longer passes: the base size, or the least size if no
    /// more than the base is in use. While the base size is being confirmed, its probes decide.
    pub fn fallback(&self) -> u16 {
        match self.state {
            _ if self.confirmed > self.limits.base => self.limits.base,
            PathMtuState::Base => self.confirmed,
            _ => self.limits.min,
        }
    }

    // ---- probes --------------------------------------------------------------------------------

    /// The size of the probe to be sent at `now`, if one is due.
    pub fn due(&mut self, now: Instant, policy: &PathMtuPolicy) -> Option<u16> {
        let is_due = self.eager || self.next_due().is_some_and(|due| due <= now);
        if !is_due || self.probe().is_some() || self.suspected {
            return None;
        }
        let size = self.next_size(policy);
        if size.is_none() {
            // The new policy has nothing left to probe.
            self.complete_until_raised(now, policy);
        }
        size
    }

    /// Instant of the next probe; `None` while one is in flight.
    pub fn next_due(&self) -> Option<Instant> {
        self.probes.due()
    }

    /// Whether a probe has waited the policy's `patience` for data to follow it.
    pub fn is_overdue(&self, now: Instant, policy: &PathMtuPolicy) -> bool {
        self.next_due().is_some_and(|due| due + policy.patience <= now)
    }

    /// The size and identity of the probe in flight.
    pub fn probe(&self) -> Option<(u16, &P)> {
        self.probes.under_way()
    }

    /// A probe of `size` left; smaller than the size [due](PathMtuSearch::due) if there is not
    /// enough data.
    pub fn on_probe_sent(&mut self, size: u16, probe: P) {
        self.resume();
        self.eager = false;
        self.probes.on_sent(size, probe);
    }

    /// The probe in flight arrived.
    pub fn on_probe_arrived(&mut self, now: Instant, policy: &PathMtuPolicy) {
        if let Some((size, _)) = self.probe() {
            self.on_confirmed(now, size, policy);
        }
    }

    /// Records that packets of `size` pass, or that none will ever be larger.
    pub fn on_confirmed(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        self.resume();
        self.confirmed = self.confirmed.max(size).min(self.limits.max);
        if self.state == PathMtuState::Base {
            self.state = PathMtuState::Searching;
        }
        self.go_on(now, policy);
    }

    /// The probe in flight was lost, because of its size or by chance: it is repeated from `again`
    /// on, until its size counts as too large.
    pub fn on_probe_lost(&mut self, now: Instant, again: Instant, policy: &PathMtuPolicy) {
        let Some(size) = self.probes.on_lost(again, policy) else { return };
        self.ceiling = size.saturating_sub(self.limits.multiple);
        if self.state == PathMtuState::Base {
            self.state = PathMtuState::Error;
            self.confirmed = self.limits.min;
        }
        self.go_on(now, policy);
    }

    /// Resumes a complete search: the path may carry more now.
    fn resume(&mut self) {
        if self.state == PathMtuState::SearchComplete {
            self.ceiling = self.limits.max;
            self.state = PathMtuState::Searching;
        }
    }

    /// Completes the search, or makes the next probe due.
    fn go_on(&mut self, now: Instant, policy: &PathMtuPolicy) {
        let more = self.next_size(policy).is_some();
        self.probes = MtuProbes::new(Some(now));
        if !more {
            self.complete_until_raised(now, policy);
        }
    }

    fn complete_until_raised(&mut self, now: Instant, policy: &PathMtuPolicy) {
        (self.hint, self.eager) = (None, false);
        self.state = PathMtuState::SearchComplete;
        // Above the largest size there is nothing to search for.
        let raises = self.confirmed < self.limits.max;
        self.probes = MtuProbes::new(raises.then(|| now + policy.raise_timer));
    }

    /// The next size to probe, if any: the base, a size reported by a router, or the policy's
    /// choice.
    fn next_size(&self, policy: &PathMtuPolicy) -> Option<u16> {
        let SizeLimits { base, max, multiple, .. } = self.limits;
        if self.state == PathMtuState::Base {
            return Some(base);
        }
        let ceiling = if self.state == PathMtuState::SearchComplete { max } else { self.ceiling };
        let least = self.confirmed.saturating_add(multiple);
        let is_open = |size: &u16| self.confirmed < *size && (least..=ceiling).contains(size);
        if let Some(hint) = self.hint.filter(is_open) {
            return Some(hint);
        }
        match policy.sizes {
            ProbeSizes::Common => {
                COMMON.map(|mtu| self.limits.within(mtu)).into_iter().chain([max]).find(is_open)
            }
            ProbeSizes::Halving if ceiling == max => Some(max).filter(is_open),
            ProbeSizes::Halving => {
                let middle = self.confirmed.midpoint(ceiling.saturating_add(multiple));
                Some(self.limits.round(middle).max(least)).filter(is_open)
            }
        }
    }

    // ---- routers -------------------------------------------------------------------------------

    /// A verified message of a router says that packets above `size` do not pass. As RFC 8899,
    /// section 4.6, demands, no size is taken from it without a probe.
    pub fn on_packet_too_big(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        let size = self.limits.round(size);
        if size < self.limits.min || size >= self.limits.max {
            // Nothing new, or a lie: losses decide without it.
            return;
        }
        if size >= self.confirmed {
            return self.on_probe_too_big(now, size, policy);
        }
        // Section 4.6.2: the confirmed size no longer passes.
        *self = PathMtuSearch::new(now, self.limits);
        (self.hint, self.ceiling) = (Some(size), size);
        if size < self.limits.base {
            (self.state, self.confirmed) = (PathMtuState::Error, self.limits.min);
        }
    }

    /// A router reports that packets above `size`, which is at least the size in use, do not pass.
    /// If the probe in flight is larger, `size` is probed next.
    pub fn on_probe_too_big(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        if self.probe().is_some_and(|(probed, _)| probed > size) {
            (self.hint, self.ceiling) = (Some(size), size);
            self.go_on(now, policy);
        }
    }

    /// Uses no more than `size` from now on, as RFC 1191 and RFC 8201 believe a router; the search
    /// is complete until the raise timer expires. A size that is at least the one in use does
    /// not explain a suspicion.
    pub fn lower(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        if self.suspected && size >= self.confirmed {
            return;
        }
        self.confirmed = self.confirmed.min(size);
        self.suspected = false;
        self.complete_until_raised(now, policy);
    }

    // ---- black holes ---------------------------------------------------------------------------

    /// The retransmission timer expired `timeouts` times in a row without progress, while data
    /// outstanding makes packets of `size`. Small packets may pass where large ones vanish (RFC
    /// 8899, section 4.3; RFC 4821, section 7.7), but more often the whole path is down: a
    /// further timeout refutes the suspicion.
    pub fn on_timeout(&mut self, timeouts: u8, size: u16, policy: &PathMtuPolicy) -> Suspicion {
        if core::mem::take(&mut self.suspected) {
            return Suspicion::Refuted;
        }
        let fallback = self.fallback();
        if timeouts < policy.black_hole_timeouts || size.min(self.confirmed) <= fallback {
            return Suspicion::None;
        }
        self.suspected = true;
        self.probes.forget();
        Suspicion::Arisen
    }

    /// Whether large packets are thought to vanish, which is neither confirmed nor refuted yet.
    pub fn is_suspected(&self) -> bool {
        self.suspected
    }
}

#[cfg(test)]
mod tests;
