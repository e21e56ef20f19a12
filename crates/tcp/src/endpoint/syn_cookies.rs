//! SYN cookies (RFC 4987, section 3.6): a SYN is answered without storing state.
//!
//! The initial sequence number is the cookie: 29 bits of a keyed hash over addresses, the peer's
//! initial sequence number, a clock of 64 seconds and the peer's MSS; three bits say which of eight
//! sizes that MSS was rounded down to. With timestamps, six bits of the SYN ACK's TSval carry the
//! peer's window scale, SACK and ECN; the peer echoes them. Without, none of these is used.

use core::net::SocketAddr;

use base::{Duration, HashKey, Instant};

use crate::wire::SeqNumber;

/// Step of the clock. A cookie is valid in the step in which it was made and in the next one.
const STEP: Duration = Duration::from_secs(64);

/// Longest validity of a cookie.
pub(super) const LIFE: Duration = Duration::from_secs(128);

/// Sizes to which an MSS is rounded down: a minimum, those of the smallest IPv4 and IPv6 paths, of
/// tunnels, of Ethernet and of its large frames.
const SIZES: [u16; 8] = [64, 536, 1220, 1360, 1400, 1440, 1460, 8960];

/// The options stored in six bits of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Features {
    pub(super) window_scale: Option<u8>,
    pub(super) sack: bool,
    pub(super) ecn: bool,
}

/// Code for no window scale; the largest scale is 14.
const UNSCALED: u32 = 15;
const SACK: u32 = 1 << 4;
const ECN: u32 = 1 << 5;
const MASK: u32 = (1 << 6) - 1;

impl Features {
    /// The latest timestamp, no later than `clock`, whose low bits contain these options.
    pub(super) fn into_timestamp(self, clock: u32) -> u32 {
        let bits = self.window_scale.map_or(UNSCALED, |scale| u32::from(scale).min(14))
            | if self.sack { SACK } else { 0 }
            | if self.ecn { ECN } else { 0 };
        let stamp = clock & !MASK | bits;
        // Timestamps must not run ahead: later segments would seem old.
        if bits > clock & MASK { stamp.wrapping_sub(MASK + 1) } else { stamp }
    }

    /// Decodes the options that a SYN ACK hid in the timestamp that is echoed.
    pub(super) fn from_timestamp(echo: u32) -> Features {
        Features {
            window_scale: Some(echo & 15).filter(|scale| *scale != UNSCALED).map(|s| s as u8),
            sack: echo & SACK != 0,
            ecn: echo & ECN != 0,
        }
    }
}

/// A connection's addresses and its peer's initial sequence number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) irs: SeqNumber,
}

impl Subject {
    fn hash(&self, key: HashKey, step: u64, index: u32) -> u32 {
        let number = u64::from(self.irs.0) << 32 | (step & 0x0fff_ffff) << 4 | u64::from(index);
        key.hash_addresses(self.local, self.remote, number) as u32
    }

    /// Low bits that stand for index 0, so that the index is hidden from observers.
    fn mask(&self, key: HashKey) -> u32 {
        self.hash(key, u64::MAX, 15) & 7
    }

    /// The cookie for a SYN that arrived at `now`.
    pub(super) fn cookie(&self, key: HashKey, now: Instant, mss: u16) -> SeqNumber {
        let index = SIZES.iter().rposition(|size| *size <= mss).unwrap_or(0) as u32;
        let step = now.as_nanos() / STEP.as_nanos();
        SeqNumber(self.hash(key, step, index) & !7 | index ^ self.mask(key))
    }

    /// The MSS stored in `cookie`, if it was made here for this connection and is still valid.
    pub(super) fn verify(&self, key: HashKey, now: Instant, cookie: SeqNumber) -> Option<u16> {
        let index = (cookie.0 & 7) ^ self.mask(key);
        let step = now.as_nanos() / STEP.as_nanos();
        let matches = |step| self.hash(key, step, index) & !7 == cookie.0 & !7;
        let good = matches(step) || step.checked_sub(1).is_some_and(matches);
        SIZES.get(index as usize).copied().filter(|_| good)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Purpose, RandomStream};
    use proptest::prelude::*;

    fn key() -> HashKey {
        HashKey::draw(&mut RandomStream::new(5, Purpose("test", 0)))
    }

    fn subject() -> Subject {
        Subject {
            local: "10.0.0.1:80".parse().unwrap(),
            remote: "10.0.0.2:4000".parse().unwrap(),
            irs: SeqNumber(7),
        }
    }

    #[test]
    fn a_cookie_gives_its_mss_back_rounded_down_until_it_is_stale() {
        let made = Instant::from_millis(63_999);
        for (mss, kept) in [(0, 64), (535, 64), (536, 536), (1459, 1440), (65_535, 8960)] {
            let cookie = subject().cookie(key(), made, mss);
            let verify = |at| subject().verify(key(), Instant::from_millis(at), cookie);
            assert_eq!(verify(63_999), Some(kept));
            assert_eq!(verify(127_999), Some(kept));
            assert_eq!(verify(128_000), None);
        }
    }

    #[test]
    fn a_cookie_is_worth_nothing_for_another_connection_or_another_syn() {
        let cookie = subject().cookie(key(), Instant::ZERO, 1460);
        let other = Subject { remote: "10.0.0.2:4001".parse().unwrap(), ..subject() };
        assert_eq!(other.verify(key(), Instant::ZERO, cookie), None);
        let other = Subject { irs: SeqNumber(8), ..subject() };
        assert_eq!(other.verify(key(), Instant::ZERO, cookie), None);
        let guesses = 0..100_000;
        let hits = guesses.filter(|guess| {
            subject().verify(key(), Instant::ZERO, SeqNumber(guess * 42_949)).is_some()
        });
        assert_eq!(hits.count(), 0);
    }

    proptest! {
        #[test]
        fn features_come_back_from_a_timestamp_that_is_never_ahead(
            clock in any::<u32>(), scale in prop::option::of(0u8..15), sack: bool, ecn: bool
        ) {
            let features = Features { window_scale: scale, sack, ecn };
            let stamp = features.into_timestamp(clock);
            prop_assert!(clock.wrapping_sub(stamp) < 64);
            prop_assert_eq!(Features::from_timestamp(stamp), features);
        }
    }
}
