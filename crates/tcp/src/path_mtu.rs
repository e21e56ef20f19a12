//! The path MTU of a connection (RFC 1191, RFC 8201), and its search if no router reports it (RFC
//! 4821; the terms are RFC 8899's; black holes: RFC 2923).
//!
//! Initially segments are as large as the link allows. ICMP lowers that, and so do large segments
//! that vanish while small ones arrive; then the path MTU is searched from below, with a larger
//! segment of queued data as the probe.

use core::ops::Range;

use base::Instant;
use recovery::path_mtu::{PathMtuSearch, SizeLimits, Suspicion};
use recovery::policy::{IPV4_MIN_MTU, IPV6_MIN_MTU, PathMtuPolicy};

/// IPv4 packets smaller than this are fragmented rather than made smaller: a message that asks for
/// less is more likely forged than a router's.
const SMALLEST_WHOLE: u16 = 552;

/// The path MTU of a connection: bytes of an IP packet.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    /// The link's MTU, the initial value.
    largest: u16,
    is_ipv6: bool,
    /// Whether routers may fragment packets.
    may_fragment: bool,
    /// The search, once there is evidence that the path carries less than the link. A probe is
    /// identified by the range of its bytes.
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

    /// The search, started if there is none.
    fn begun(&mut self, policy: &PathMtuPolicy) -> &mut PathMtuSearch<Range<u64>> {
        let base = policy.base_mtu(self.is_ipv6);
        let max = self.largest;
        let limits = SizeLimits { min: base, base, max, headers: 0, multiple: 1 };
        self.search.get_or_insert_with(|| Box::new(PathMtuSearch::complete(limits)))
    }

    /// Ends the search once packets of the link's size pass whole.
    fn end_at_largest(&mut self) {
        self.search.take_if(|search| !self.may_fragment && search.is_at_max());
    }

    // ---- smaller -------------------------------------------------------------------------------

    /// A verified ICMP message reports that a packet was too big for a link with MTU `mtu`, 0 if
    /// the router does not report it (RFC 1191, section 5). `packet`: upper bound of the quoted
    /// packet's bytes. Returns whether the MTU changed.
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
            // RFC 8201, section 4: an MTU below the minimum of every link is ignored.
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

    /// A segment that makes packets of `packet` bytes was lost `expiries` times in a row. Its size
    /// may be the reason, and no ICMP may arrive; but more often the whole path is down (RFC
    /// 4821, section 7.7). Hence small and large segments alternate, and the result is which of
    /// them arrives.
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

    /// Data was acknowledged. Returns whether this proves that large segments vanish because of
    /// their size.
    pub(crate) fn on_progress(&mut self, now: Instant, policy: &PathMtuPolicy) -> bool {
        let search = self.search.as_mut().filter(|search| search.is_suspected());
        search.is_some_and(|search| {
            // The path may also have just recovered, which the search soon finds out.
            search.restart(now);
            search.on_confirmed(now, search.size(), policy);
            true
        })
    }

    // ---- larger --------------------------------------------------------------------------------

    /// Packet size of the probe that is due, if any.
    pub(crate) fn due(&mut self, now: Instant, policy: &PathMtuPolicy) -> Option<u16> {
        self.search.as_mut()?.due(now, policy)
    }

    /// Whether a probe has waited so long that it need not wait for data to follow it.
    pub(crate) fn is_overdue(&self, now: Instant, policy: &PathMtuPolicy) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_overdue(now, policy))
    }

    /// A probe of this packet size left, with the data in `range`.
    pub(crate) fn on_probe_sent(&mut self, size: u16, range: Range<u64>) {
        if let Some(search) = &mut self.search {
            search.on_probe_sent(size, range);
        }
    }

    /// All data before offset `acked` arrived. Returns whether a larger MTU is in use now.
    pub(crate) fn on_acked(&mut self, now: Instant, acked: u64, policy: &PathMtuPolicy) -> bool {
        let probe = self.search.as_ref().and_then(|search| search.probe());
        let arrived = probe.filter(|(_, range)| range.end <= acked).map(|(size, _)| size);
        if let Some(size) = arrived {
            self.on_confirmed(now, size, policy);
        }
        arrived.is_some()
    }

    /// Records that packets of this size pass, or that no segment will ever be as large.
    pub(crate) fn on_confirmed(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        if let Some(search) = &mut self.search {
            search.on_confirmed(now, size, policy);
            self.may_fragment = false;
        }
        self.end_at_largest();
    }

    /// Data between these offsets is retransmitted: a probe among it is lost, because of its size
    /// or by chance.
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

    /// A router reports that a packet larger than those in use was too big for a link with MTU
    /// `mtu`. If that was the probe, `mtu` is the next size; if large packets were suspected,
    /// it confirms the suspicion. Returns whether the MTU changed.
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

/// The next smaller common MTU of links (RFC 1191, section 7).
fn plateau_below(packet: u16) -> u16 {
    const PLATEAUS: [u16; 10] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];
    PLATEAUS.into_iter().find(|plateau| *plateau < packet).unwrap_or(68)
}

#[cfg(test)]
mod tests;
