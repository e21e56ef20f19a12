//! The search for the path MTU, by packetization layer path MTU discovery (RFC 8899; for TCP, RFC 4821), and the detection
//! of black holes for large packets (RFC 2923).
//!
//! A probe that arrives confirms its size. One that is lost disproves it after as many losses as the policy says. What
//! carries a probe, how a loss is noticed, and how far a router is believed are the protocol's calls; sizes are in
//! the protocol's unit, bytes of an IP packet or of what is in it.
//!
//! The states are those of RFC 8899, section 5.2: BASE, where a size that nearly every path carries is confirmed;
//! ERROR, where even this size fails; SEARCHING; and SEARCH_COMPLETE.

mod probes;

use base::Instant;

use self::probes::MtuProbes;
use crate::policy::{PathMtuPolicy, ProbeSizes};

/// Bytes of IP packets that links have: of tunnels, PPPoE and Ethernet (RFC 4821, section 7.6), and the plateaus of RFC
/// 1191, section 7.1.
const COMMON: [u16; 10] = [1006, 1280, 1400, 1492, 1500, 4352, 8166, 9000, 17_914, 32_000];

/// Sizes between which a search moves, and the unit of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeLimits {
    /// Used where not even `base` passes (MIN_PLPMTU).
    pub min: u16,
    /// Confirmed first (BASE_PLPMTU), and used while large packets are thought to vanish.
    pub base: u16,
    /// Never exceeded (MAX_PLPMTU).
    pub max: u16,
    /// Bytes of an IP packet that a size does not count.
    pub headers: u16,
    /// All sizes are multiples of this many bytes: 1 or more.
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
    /// Not even the base size passes.
    Error,
    /// Larger sizes are probed.
    Searching,
    /// The largest size is known, for the time being.
    SearchComplete,
}

/// Verdict of the black-hole detection on timeouts of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspicion {
    /// Nothing changed.
    None,
    /// Large packets are thought to vanish: the size in use is the fallback until [`PathMtuSearch::restart`].
    Arisen,
    /// Packets of the fallback size are lost, too: the former size is in use again.
    Refuted,
}

/// The search on one path. `P` tells the protocol which packet is the probe.
#[derive(Clone, Debug)]
pub struct PathMtuSearch<P> {
    limits: SizeLimits,
    state: PathMtuState,
    /// The largest size that passes, as far as is known.
    confirmed: u16,
    /// The largest size that may pass, as far as is known.
    ceiling: u16,
    /// A size that a router named.
    hint: Option<u16>,
    probes: MtuProbes<P>,
    /// A probe is due whatever the time is.
    eager: bool,
    /// Packets above the fallback size are thought to vanish, and nothing confirms or refutes it yet.
    suspected: bool,
}

impl<P> PathMtuSearch<P> {
    /// Begins with the base size, which is probed from `now` on.
    pub fn new(now: Instant, limits: SizeLimits) -> Self {
        let limits = limits.up_to(limits.max);
        PathMtuSearch {
            state: PathMtuState::Base,
            confirmed: limits.base,
            probes: MtuProbes::new(Some(now)),
            ..PathMtuSearch::complete(limits)
        }
    }

    /// Takes the largest size for confirmed, as RFC 1191 does: there is nothing to probe.
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

    /// Back to the base size, and a new search from `now` on: what the size in use was does not pass any more. Where the
    /// base or less was in use, the least is left (ERROR).
    pub fn restart(&mut self, now: Instant) {
        let (fallback, vanishing) = (self.fallback(), self.confirmed);
        *self = PathMtuSearch::new(now, self.limits);
        if fallback < self.limits.base {
            (self.state, self.confirmed) = (PathMtuState::Error, fallback);
            self.ceiling = vanishing.saturating_sub(self.limits.multiple);
        }
    }

    /// From now on nothing above `max` is used, and all sizes up to it are tried, as soon as [`PathMtuSearch::due`] is
    /// asked.
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

    /// State of the search.
    pub fn state(&self) -> PathMtuState {
        self.state
    }

    /// Whether the largest size of all is in use, so that there is nothing to look for.
    pub fn is_at_max(&self) -> bool {
        self.state == PathMtuState::SearchComplete && self.size() == self.limits.max
    }

    /// The size that every path carries, as far as the protocol goes.
    pub fn least(&self) -> u16 {
        self.limits.min
    }

    /// The size to fall back to where the present one is found not to pass any more: the base, or the least
    /// where no more than the base is in use. While the base is being confirmed its probes decide.
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
            // Another policy leaves nothing to probe.
            self.complete_until_raised(now, policy);
        }
        size
    }

    /// When the next probe is due; none while one is under way.
    pub fn next_due(&self) -> Option<Instant> {
        self.probes.due()
    }

    /// Whether a probe has been due for as long as it waits for data to follow it.
    pub fn is_overdue(&self, now: Instant, policy: &PathMtuPolicy) -> bool {
        self.next_due().is_some_and(|due| due + policy.patience <= now)
    }

    /// The probe under way and its size.
    pub fn probe(&self) -> Option<(u16, &P)> {
        self.probes.under_way()
    }

    /// A probe of `size` left; smaller than what was [due](PathMtuSearch::due) if there is no data for more.
    pub fn on_probe_sent(&mut self, size: u16, probe: P) {
        self.resume();
        self.eager = false;
        self.probes.on_sent(size, probe);
    }

    /// The probe under way arrived.
    pub fn on_probe_arrived(&mut self, now: Instant, policy: &PathMtuPolicy) {
        if let Some((size, _)) = self.probe() {
            self.on_confirmed(now, size, policy);
        }
    }

    /// Packets of `size` pass, or none will ever be as large.
    pub fn on_confirmed(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        self.resume();
        self.confirmed = self.confirmed.max(size).min(self.limits.max);
        if self.state == PathMtuState::Base {
            self.state = PathMtuState::Searching;
        }
        self.go_on(now, policy);
    }

    /// The probe under way was lost, for its size or by chance: until its size counts as too large, it is
    /// repeated, from `again` on.
    pub fn on_probe_lost(&mut self, now: Instant, again: Instant, policy: &PathMtuPolicy) {
        let Some(size) = self.probes.on_lost(again, policy) else { return };
        self.ceiling = size.saturating_sub(self.limits.multiple);
        if self.state == PathMtuState::Base {
            self.state = PathMtuState::Error;
            self.confirmed = self.limits.min;
        }
        self.go_on(now, policy);
    }

    /// A search that was complete goes on: the path may have become better.
    fn resume(&mut self) {
        if self.state == PathMtuState::SearchComplete {
            self.ceiling = self.limits.max;
            self.state = PathMtuState::Searching;
        }
    }

    /// Either the search is complete, or the next probe is due.
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
        // Above the largest size there is nothing to look for.
        let raises = self.confirmed < self.limits.max;
        self.probes = MtuProbes::new(raises.then(|| now + policy.raise_timer));
    }

    /// What to probe next, if anything is left: the base; what a router named; or what the policy says.
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

    /// A router said, and the endpoint verified, that packets above `size` do not pass: believed as far as RFC 8899,
    /// section 4.6, does, which sets no size without a probe.
    pub fn on_packet_too_big(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        let size = self.limits.round(size);
        if size < self.limits.min || size >= self.limits.max {
            // Nothing to be learned, or a lie: without it, losses tell.
            return;
        }
        if size >= self.confirmed {
            return self.on_probe_too_big(now, size, policy);
        }
        // Section 4.6.2: what was confirmed does not pass any more.
        *self = PathMtuSearch::new(now, self.limits);
        (self.hint, self.ceiling) = (Some(size), size);
        if size < self.limits.base {
            (self.state, self.confirmed) = (PathMtuState::Error, self.limits.min);
        }
    }

    /// A router said that packets above `size`, which is not below the one in use, do not pass: if the probe under way is
    /// larger, `size` is probed next.
    pub fn on_probe_too_big(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        if self.probe().is_some_and(|(probed, _)| probed > size) {
            (self.hint, self.ceiling) = (Some(size), size);
            self.go_on(now, policy);
        }
    }

    /// No more than `size` is used from now on, as RFC 1191 and RFC 8201 believe a router: the search is complete until the
    /// raise timer expires. A size that is not below what was in use explains no suspicion.
    pub fn lower(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        if self.suspected && size >= self.confirmed {
            return;
        }
        self.confirmed = self.confirmed.min(size);
        self.suspected = false;
        self.complete_until_raised(now, policy);
    }

    // ---- black holes ---------------------------------------------------------------------------

    /// The retransmission timer expired `timeouts` times in a row without progress, while data was outstanding that
    /// makes packets of `size`. Small packets may pass where large ones vanish (RFC 8899, section 4.3; RFC 4821, section
    /// 7.7), but more often there is no path at all: a further timeout refutes the suspicion.
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

    /// Whether large packets are thought to vanish, and nothing confirms or refutes it yet.
    pub fn is_suspected(&self) -> bool {
        self.suspected
    }
}

#[cfg(test)]
mod tests;
