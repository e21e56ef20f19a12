//! The path MTU of a connection (RFC 1191, RFC 8201; black holes: RFC 2923, RFC 4821).

use base::{Duration, Instant};

/// The least IP packet that every path carries: of IPv4 (RFC 791) without DF, of IPv6 (RFC 8200).
const MINIMUM: [u16; 2] = [68, 1280];

/// What a connection tries when its large segments vanish: packets that nearly every path carries.
const SAFE: [u16; 2] = [552, 1280];

/// How long a lowered MTU holds before a larger one is tried again (RFC 1191, section 6.3: ten minutes).
const HOLDS: Duration = Duration::from_secs(600);

/// Expiries of the retransmission timer in a row for a large segment after which its size is to blame (R1 of
/// RFC 9293, section 3.8.3).
const EXPIRIES: u8 = 3;

/// IPv4 packets smaller than this are rather fragmented than made smaller still: a router that asks for less
/// is as likely a stranger.
const SMALLEST_WHOLE: u16 = 552;

/// What is known of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathMtu {
    /// In use: bytes of an IP packet.
    current: u16,
    /// The link's, with which it began.
    largest: u16,
    is_ipv6: bool,
    /// Whether packets may be fragmented on their way.
    may_fragment: bool,
    /// When to try the largest again.
    raise_at: Option<Instant>,
}

impl PathMtu {
    pub(crate) fn new(link: u16, is_ipv6: bool) -> PathMtu {
        let largest = link.max(MINIMUM[usize::from(is_ipv6)]);
        PathMtu { current: largest, largest, is_ipv6, may_fragment: false, raise_at: None }
    }

    /// Bytes of an IP packet.
    pub(crate) fn get(&self) -> u16 {
        self.current
    }

    /// Whether IP may fragment packets.
    pub(crate) fn may_fragment(&self) -> bool {
        self.may_fragment
    }

    /// ICMP, verified, says that a packet was too big for a link that takes `mtu`; 0 if the router does not
    /// say (RFC 1191, section 5). `packet`: bytes of the packet that was quoted, at most. True if the MTU
    /// was lowered.
    pub(crate) fn on_too_big(&mut self, now: Instant, mtu: u32, packet: u16) -> bool {
        let mtu = match u16::try_from(mtu).unwrap_or(u16::MAX) {
            0 => plateau_below(packet),
            mtu => mtu,
        };
        if self.is_ipv6 {
            // RFC 8201, section 4: less than the least that every link takes is no MTU.
            return mtu >= MINIMUM[1] && self.lower(now, mtu);
        }
        let small = mtu < SMALLEST_WHOLE && self.largest > SMALLEST_WHOLE;
        let changed = small && !core::mem::replace(&mut self.may_fragment, true);
        self.lower(now, if small { SMALLEST_WHOLE } else { mtu }) || changed
    }

    /// A segment that makes packets of `packet` bytes was given up `expiries` times in a row. True if the MTU
    /// was lowered: its size may be why, and no ICMP may come.
    pub(crate) fn on_expiry(&mut self, now: Instant, expiries: u8, packet: u16) -> bool {
        let safe = SAFE[usize::from(self.is_ipv6)];
        expiries >= EXPIRIES && packet > safe && self.lower(now, safe)
    }

    fn lower(&mut self, now: Instant, mtu: u16) -> bool {
        let lower = mtu < self.current;
        if lower {
            self.current = mtu;
            self.raise_at = Some(now + HOLDS);
        }
        lower
    }

    /// When something is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.raise_at
    }

    /// Time has come to `now`: true if the largest is tried again.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> bool {
        let due = self.raise_at.is_some_and(|at| at <= now);
        if due {
            self.raise_at = None;
            self.current = self.largest;
            self.may_fragment = false;
        }
        due
    }
}

/// The next smaller size that links have (RFC 1191, section 7).
fn plateau_below(packet: u16) -> u16 {
    const PLATEAUS: [u16; 10] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];
    PLATEAUS.into_iter().find(|plateau| *plateau < packet).unwrap_or(68)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ZERO;

    #[test]
    fn a_router_lowers_it_to_what_its_link_takes_and_never_below_the_least() {
        let mut path = PathMtu::new(1500, false);
        assert!(path.on_too_big(NOW, 1400, 1500));
        assert!(!path.on_too_big(NOW, 1450, 1500));
        assert_eq!(path.get(), 1400);
        assert!(!path.may_fragment() && path.on_too_big(NOW, 20, 1400));
        assert_eq!((path.get(), path.may_fragment()), (552, true));
        let mut path = PathMtu::new(1500, true);
        assert!(!path.on_too_big(NOW, 70_000, 1500) && !path.on_too_big(NOW, 1279, 1500));
        assert!(path.on_too_big(NOW, 1280, 1500));
        assert_eq!(path.get(), 1280);
    }

    #[test]
    fn a_router_that_names_no_size_makes_it_the_next_plateau() {
        let mut path = PathMtu::new(1500, false);
        assert!(path.on_too_big(NOW, 0, 1500));
        assert_eq!(path.get(), 1492);
        assert!(path.on_too_big(NOW, 0, 1492));
        assert_eq!(path.get(), 1006);
    }

    #[test]
    fn a_lowered_mtu_is_tried_anew_after_ten_minutes() {
        let mut path = PathMtu::new(1500, false);
        path.on_too_big(NOW, 1400, 1500);
        let at = path.next_timeout().unwrap();
        assert_eq!(at, NOW + Duration::from_secs(600));
        assert!(!path.on_timeout(at.before(Duration::from_nanos(1))));
        assert!(path.on_timeout(at));
        assert_eq!((path.get(), path.next_timeout()), (1500, None));
    }

    #[test]
    fn large_segments_that_vanish_three_times_make_it_safe() {
        let mut path = PathMtu::new(1500, false);
        assert!(!path.on_expiry(NOW, 2, 1500));
        assert!(!path.on_expiry(NOW, 3, 552));
        assert!(path.on_expiry(NOW, 3, 1500));
        assert_eq!(path.get(), 552);
    }
}
