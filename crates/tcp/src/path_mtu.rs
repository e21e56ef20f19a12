//! The path MTU of a connection (RFC 1191, RFC 8201), and its search where no router says anything (RFC 4821; the
//! terms are RFC 8899's; black holes: RFC 2923).
//!
//! Segments are as large as the link takes to begin with. ICMP lowers that, or large segments that vanish while small ones
//! arrive; then the path MTU is searched from below, and a larger segment of queued data is the probe.

use core::ops::Range;

use base::Instant;
use recovery::path_mtu::{PathMtuSearch, SizeLimits, Suspicion};
use recovery::policy::{IPV4_MIN_MTU, IPV6_MIN_MTU, PathMtuPolicy};

/// IPv4 packets smaller than this are rather fragmented than made smaller still: a router that asks for less
/// is as likely a stranger.
const SMALLEST_WHOLE: u16 = 552;

/// The path MTU of a connection: bytes of an IP packet.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    /// The link's, with which it began.
    largest: u16,
    is_ipv6: bool,
    /// Whether packets may be fragmented on their way.
    may_fragment: bool,
    /// Present once something suggests that the path carries less than the link. A probe is known by the offsets of its
    /// first byte and behind its last one.
    search: Option<Box<PathMtuSearch<Range<u64>>>>,
}

impl PathMtu {
    pub(crate) fn new(link: u16, is_ipv6: bool) -> PathMtu {
        let largest = link.max(if is_ipv6 { IPV6_MIN_MTU } else { IPV4_MIN_MTU });
        PathMtu { largest, is_ipv6, may_fragment: false, search: None }
    }

    /// The size in use: bytes of an IP packet.
    pub(crate) fn get(&self) -> u16 {
        self.search.as_ref().map_or(self.largest, |search| search.size())
    }

    /// Whether IP may fragment a packet of `size` bytes. A probe must arrive whole.
    pub(crate) fn may_fragment(&self, size: usize) -> bool {
        self.may_fragment && size <= usize::from(self.get())
    }

    /// The search, which begins if there is none.
    fn begun(&mut self, policy: &PathMtuPolicy) -> &mut PathMtuSearch<Range<u64>> {
        let base = policy.base_mtu(self.is_ipv6);
        let max = self.largest;
        let limits = SizeLimits { min: base, base, max, headers: 0, multiple: 1 };
        self.search.get_or_insert_with(|| Box::new(PathMtuSearch::complete(limits)))
    }

    /// There is nothing to search once packets as large as the link takes pass whole.
    fn end_at_largest(&mut self) {
        self.search.take_if(|search| !self.may_fragment && search.is_at_max());
    }

    // ---- smaller -------------------------------------------------------------------------------

    /// ICMP, verified, says that a packet was too big for a link that takes `mtu`; 0 if the router does not
    /// say (RFC 1191, section 5). `packet`: bytes of the packet that was quoted, at most. True if the MTU
    /// is another now.
    pub(crate) fn on_too_big(
        &mut self,
        now: Instant,
        mtu: u32,
        packet: u16,
        policy: &PathMtuPolicy,
    ) -> bool {
        let mtu = match u16::try_from(mtu).unwrap_or(u16::MAX) {
            0 => plateau_below(packet),
            mtu => mtu,
        };
        if mtu > self.get() {
            return self.on_larger_too_big(now, mtu, policy);
        }
        if self.is_ipv6 {
            // RFC 8201, section 4: less than the least that every link takes is no MTU.
            return mtu >= IPV6_MIN_MTU && self.lower(now, mtu, policy);
        }
        let small = mtu < SMALLEST_WHOLE && self.largest > SMALLEST_WHOLE;
        let changed = small && !core::mem::replace(&mut self.may_fragment, true);
        self.lower(now, if small { SMALLEST_WHOLE } else { mtu }, policy) || changed
    }

    fn lower(&mut self, now: Instant, mtu: u16, policy: &PathMtuPolicy) -> bool {
        let before = self.get();
        if mtu < before || self.may_fragment {
            self.begun(policy).lower(now, mtu, policy);
        }
        self.get() < before
    }

    /// A segment that makes packets of `packet` bytes was given up `expiries` times in a row. Its size may be why, and
    /// no ICMP may come; but more often there is no path at all (RFC 4821, section 7.7). So small ones and
    /// large ones take turns, and which of them arrives tells.
    pub(crate) fn on_expiry(
        &mut self,
        expiries: u8,
        packet: u16,
        policy: &PathMtuPolicy,
    ) -> Suspicion {
        let suspicion = self.begun(policy).on_timeout(expiries, packet, policy);
        self.end_at_largest();
        suspicion
    }

    /// Something arrived; true if that shows that large segments vanish because they are large.
    pub(crate) fn on_progress(&mut self, now: Instant, policy: &PathMtuPolicy) -> bool {
        let search = self.search.as_mut().filter(|search| search.is_suspected());
        search.is_some_and(|search| {
            // Or the path came back just now, which the search finds out soon.
            search.restart(now);
            search.on_confirmed(now, search.size(), policy);
            true
        })
    }

    // ---- larger --------------------------------------------------------------------------------

    /// The size of packet to try now, if one is due.
    pub(crate) fn due(&mut self, now: Instant, policy: &PathMtuPolicy) -> Option<u16> {
        self.search.as_mut()?.due(now, policy)
    }

    /// Whether a probe has been due for so long that it need not wait for data to follow it.
    pub(crate) fn is_overdue(&self, now: Instant, policy: &PathMtuPolicy) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_overdue(now, policy))
    }

    /// A probe of this size left, with the data between these offsets.
    pub(crate) fn on_probe_sent(&mut self, size: u16, range: Range<u64>) {
        if let Some(search) = &mut self.search {
            search.on_probe_sent(size, range);
        }
    }

    /// All before offset `acked` arrived. True if a larger MTU is in use now.
    pub(crate) fn on_acked(&mut self, now: Instant, acked: u64, policy: &PathMtuPolicy) -> bool {
        let probe = self.search.as_ref().and_then(|search| search.probe());
        let arrived = probe.filter(|(_, range)| range.end <= acked).map(|(size, _)| size);
        if let Some(size) = arrived {
            self.on_confirmed(now, size, policy);
        }
        arrived.is_some()
    }

    /// Packets of this size pass, or no segment will ever be so large.
    pub(crate) fn on_confirmed(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        if let Some(search) = &mut self.search {
            search.on_confirmed(now, size, policy);
            self.may_fragment = false;
        }
        self.end_at_largest();
    }

    /// What lies between these offsets is sent again. If the probe does, it is lost, for its size or by chance.
    pub(crate) fn on_sent_again(
        &mut self,
        now: Instant,
        range: Range<u64>,
        policy: &PathMtuPolicy,
    ) {
        let Some(search) = &mut self.search else { return };
        let Some((_, probe)) = search.probe() else { return };
        if range.start < probe.end && probe.start < range.end {
            search.on_probe_lost(now, now + policy.probe_timer, policy);
        }
    }

    /// A router says that a packet larger than those in use was too big for a link that takes `mtu`. If that was the
    /// probe, it is the next size; if large ones were under suspicion, it tells. True if the MTU changed.
    fn on_larger_too_big(&mut self, now: Instant, mtu: u16, policy: &PathMtuPolicy) -> bool {
        let Some(search) = &mut self.search else { return false };
        let before = search.size();
        if search.is_suspected() {
            search.lower(now, mtu, policy);
        } else {
            search.on_probe_too_big(now, mtu, policy);
        }
        search.size() != before
    }
}

/// The next smaller size that links have (RFC 1191, section 7).
fn plateau_below(packet: u16) -> u16 {
    const PLATEAUS: [u16; 10] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];
    PLATEAUS.into_iter().find(|plateau| *plateau < packet).unwrap_or(68)
}

#[cfg(test)]
mod tests;
