//! The path MTU of a connection (RFC 1191, RFC 8201), and its search where no router says anything (RFC 4821; the
//! terms are RFC 8899's; black holes: RFC 2923).
//!
//! It is lowered by ICMP, or when large segments vanish while small ones arrive, and found anew from below: a larger
//! segment of the data at hand is the probe.

use core::ops::Range;

use base::{Duration, Instant};
use recovery::path_mtu::MtuProbes;
use recovery::policy::PathMtuPolicy;

/// The least IP packet that every path carries: of IPv4 (RFC 791) without DF, of IPv6 (RFC 8200).
const MINIMUM: [u16; 2] = [68, 1280];

/// What a connection tries when its large segments vanish: packets that nearly every path carries.
const SAFE: [u16; 2] = [552, 1280];

/// Sizes that paths have, in the order in which they are tried (RFC 4821, section 7.6): of tunnels, PPPoE, Ethernet, and
/// the plateaus of RFC 1191, section 7.1.
const STEPS: [u16; 10] = [1006, 1280, 1400, 1492, 1500, 4352, 8166, 9000, 17_914, 32_000];

/// How long a probe waits for data to follow it before it goes without.
const PATIENCE: Duration = Duration::from_secs(10);

/// IPv4 packets smaller than this are rather fragmented than made smaller still: a router that asks for less
/// is as likely a stranger.
const SMALLEST_WHOLE: u16 = 552;

/// What is known of the path.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    /// In use: bytes of an IP packet.
    current: u16,
    /// The link's, with which it began.
    largest: u16,
    is_ipv6: bool,
    /// Whether packets may be fragmented on their way.
    may_fragment: bool,
    /// While it is smaller than the link's.
    search: Option<Box<Search>>,
}

/// How a larger MTU is looked for.
#[derive(Clone, Debug)]
struct Search {
    /// What was in use before large segments vanished, while nothing shows whether their size was why.
    suspected: Option<u16>,
    /// What a router said that a probe was too big for: the next size.
    told: Option<u16>,
    /// Segments that are larger than those that are known to arrive, by the offsets of their first byte and behind their
    /// last one.
    probes: MtuProbes<Range<u64>>,
}

/// What expiries of the retransmission timer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suspicion {
    /// Nothing changed.
    None,
    /// What is outstanding is sent again in smaller segments, to see whether they arrive.
    Arisen,
    /// Smaller segments are lost, too: the size is not the reason.
    Refuted,
}

impl Search {
    fn new(next_at: Instant) -> Search {
        Search { suspected: None, told: None, probes: MtuProbes::new(Some(next_at)) }
    }
}

impl PathMtu {
    pub(crate) fn new(link: u16, is_ipv6: bool) -> PathMtu {
        let largest = link.max(MINIMUM[usize::from(is_ipv6)]);
        PathMtu { current: largest, largest, is_ipv6, may_fragment: false, search: None }
    }

    /// Bytes of an IP packet.
    pub(crate) fn get(&self) -> u16 {
        self.current
    }

    /// Whether IP may fragment a packet of `size` bytes. A probe must arrive whole.
    pub(crate) fn may_fragment(&self, size: usize) -> bool {
        self.may_fragment && size <= usize::from(self.current)
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
        if mtu > self.current {
            return self.on_larger_too_big(now, mtu, policy);
        }
        if self.is_ipv6 {
            // RFC 8201, section 4: less than the least that every link takes is no MTU.
            return mtu >= MINIMUM[1] && self.lower(now, mtu, policy);
        }
        let small = mtu < SMALLEST_WHOLE && self.largest > SMALLEST_WHOLE;
        let changed = small && !core::mem::replace(&mut self.may_fragment, true);
        self.lower(now, if small { SMALLEST_WHOLE } else { mtu }, policy) || changed
    }

    fn lower(&mut self, now: Instant, mtu: u16, policy: &PathMtuPolicy) -> bool {
        let lower = mtu < self.current;
        if lower {
            self.current = mtu;
        }
        if lower || self.may_fragment {
            self.search = Some(Box::new(Search::new(now + policy.raise_timer)));
        }
        lower
    }

    /// A segment that makes packets of `packet` bytes was given up `expiries` times in a row. Its size may be why, and
    /// no ICMP may come; but more often there is no path at all (RFC 4821, section 7.7). So small ones and
    /// large ones take turns, and which of them arrives tells.
    pub(crate) fn on_expiry(
        &mut self,
        now: Instant,
        expiries: u8,
        packet: u16,
        policy: &PathMtuPolicy,
    ) -> Suspicion {
        let safe = SAFE[usize::from(self.is_ipv6)];
        if let Some(before) = self.search.as_mut().and_then(|search| search.suspected.take()) {
            self.set(before);
            return Suspicion::Refuted;
        }
        if expiries < policy.black_hole_timeouts || packet <= safe || self.current <= safe {
            return Suspicion::None;
        }
        let search = self.search.get_or_insert_with(|| Box::new(Search::new(now)));
        search.suspected = Some(core::mem::replace(&mut self.current, safe));
        search.probes.forget();
        Suspicion::Arisen
    }

    /// Something arrived; true if that shows that large segments vanish because they are large.
    pub(crate) fn on_progress(&mut self, now: Instant) -> bool {
        let Some(search) = self.search.as_mut().filter(|search| search.suspected.is_some()) else {
            return false;
        };
        // Or the path came back just now, which the search finds out soon.
        **search = Search::new(now);
        true
    }

    // ---- larger --------------------------------------------------------------------------------

    /// The size of packet to try now, if one is due.
    pub(crate) fn due(&self, now: Instant) -> Option<u16> {
        let search = self.search.as_ref()?;
        let may_leave = search.probes.due().is_some_and(|due| due <= now);
        let step = STEPS.into_iter().find(|step| *step > self.current).unwrap_or(self.largest);
        (may_leave && search.suspected.is_none())
            .then(|| search.told.unwrap_or(step).min(self.largest))
    }

    /// Whether a probe has been due for so long that it need not wait for data to follow it.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        let due = self.search.as_ref().and_then(|search| search.probes.due());
        due.is_some_and(|due| due + PATIENCE <= now)
    }

    /// A probe of this size left, with the data between these offsets.
    pub(crate) fn on_probe_sent(&mut self, size: u16, range: Range<u64>) {
        if let Some(search) = &mut self.search {
            search.probes.on_sent(size, range);
        }
    }

    /// All before offset `acked` arrived. True if a larger MTU is in use now.
    pub(crate) fn on_acked(&mut self, now: Instant, acked: u64, policy: &PathMtuPolicy) -> bool {
        let probe = self.search.as_ref().and_then(|search| search.probes.under_way());
        let arrived = probe.filter(|(_, range)| range.end <= acked).map(|(size, _)| size);
        if let Some(size) = arrived {
            self.on_confirmed(now, size, policy);
        }
        arrived.is_some()
    }

    /// Packets of this size pass, or no segment will ever be so large.
    pub(crate) fn on_confirmed(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        let Some(search) = &mut self.search else { return };
        // What a router said is the limit, for the time being.
        let next_at = if search.told == Some(size) { now + policy.raise_timer } else { now };
        let told = search.told.filter(|told| *told > size);
        **search = Search { told, ..Search::new(next_at) };
        self.may_fragment = false;
        self.set(size);
    }

    /// What lies between these offsets is sent again. If the probe does, it is lost, for its size or by chance.
    pub(crate) fn on_sent_again(
        &mut self,
        now: Instant,
        range: Range<u64>,
        policy: &PathMtuPolicy,
    ) {
        let Some(search) = &mut self.search else { return };
        let Some((_, probe)) = search.probes.under_way() else { return };
        let overlaps = range.start < probe.end && probe.start < range.end;
        let again = now + policy.probe_timer;
        if overlaps && search.probes.on_lost(again, policy).is_some() {
            **search = Search::new(now + policy.raise_timer);
        }
    }

    /// A router says that a packet larger than those in use was too big for a link that takes `mtu`. If that was the
    /// probe, it is the next size; if large ones were under suspicion, it tells. True if the MTU changed.
    fn on_larger_too_big(&mut self, now: Instant, mtu: u16, policy: &PathMtuPolicy) -> bool {
        let Some(search) = &mut self.search else { return false };
        if search.probes.under_way().is_some_and(|(size, _)| mtu < size) {
            **search = Search { told: Some(mtu), ..Search::new(now) };
        }
        let explains = search.suspected.take_if(|before| mtu < *before).is_some();
        if explains {
            self.current = mtu;
            **search = Search::new(now + policy.raise_timer);
        }
        explains
    }

    fn set(&mut self, size: u16) {
        self.current = size.min(self.largest);
        if self.current == self.largest && !self.may_fragment {
            self.search = None;
        }
    }
}

/// The next smaller size that links have (RFC 1191, section 7).
fn plateau_below(packet: u16) -> u16 {
    const PLATEAUS: [u16; 10] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];
    PLATEAUS.into_iter().find(|plateau| *plateau < packet).unwrap_or(68)
}

#[cfg(test)]
mod tests;
