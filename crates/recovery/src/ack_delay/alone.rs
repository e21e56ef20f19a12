//! Round trips of packets that travelled alone, which contain the peer's delay.

use base::Duration;

use super::is_late;

/// Number of recent round trips kept. A peer that has become prompt is believed after as many
/// prompt ones.
const REMEMBERED: usize = 8;

/// Number of packets that travelled alone after which a peer that delayed none of them counts as
/// prompt. Linux acknowledges the first sixteen of a connection at once.
const PROMPT: u8 = 20;

/// Longest delay of most receivers that delay acknowledgements; RFC 9293 allows half a second
/// (section 3.8.6.3). Assumed until the peer's own delay is known.
const USUAL: Duration = Duration::from_millis(200);

/// Consecutive needless expiries after which a delay is assumed.
const BELIEVED: u8 = 2;

/// Content of a packet, as far as the time of its acknowledgement depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cargo {
    /// No copy of earlier data.
    Bare,
    /// New data and copies of data in flight, most of which has arrived before.
    Copies,
}

impl Cargo {
    /// The cargo of a packet that carries copies or does not.
    pub(crate) fn of(copies: bool) -> Cargo {
        if copies { Cargo::Copies } else { Cargo::Bare }
    }
}

/// Acknowledgements of packets of one cargo that travelled alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Alone {
    /// Round trips of the last ones, in milliseconds, rounded up.
    trips: [u16; REMEMBERED],
    next: u8,
    /// Number of packets that were acknowledged promptly before the first that was not.
    prompt: u8,
    /// Number of consecutive expiries whose retransmission was needless. One may be a lost
    /// acknowledgement; from [`BELIEVED`] on, the peer's delay is longer than the one known.
    needless: u8,
    /// The timer expired for a packet, and its acknowledgement has not arrived yet.
    suspected: bool,
}

impl Alone {
    /// The state before the first round trip.
    pub(super) const NEW: Alone =
        Alone { trips: [0; REMEMBERED], next: 0, prompt: 0, needless: 0, suspected: false };

    /// Records a round trip; `base`: the shortest one of any packet.
    pub(super) fn on_round_trip(&mut self, measured: Duration, base: Option<Duration>) {
        // Needless expiries also show that the peer delays.
        let late = base.is_some_and(|base| is_late(measured, base));
        let delays = late || self.needless > 0;
        self.prompt = if delays { PROMPT } else { self.prompt.saturating_add(1) };
        (self.needless, self.suspected) = (0, false);
        if let Some(slot) = self.trips.get_mut(usize::from(self.next)) {
            *slot = u16::try_from(measured.as_millis() + 1).unwrap_or(u16::MAX);
        }
        self.next = (self.next + 1) % REMEMBERED as u8;
    }

    /// Whether the peer is known not to delay; `base`: the shortest round trip of any packet.
    pub(super) fn is_prompt(&self, base: Duration) -> bool {
        let longest = self.round_trip(Duration::MAX, base);
        self.prompt >= PROMPT && longest.is_some_and(|longest| !is_late(longest, base))
    }

    /// The retransmission timer expired: a duplicate reported next suggests a delayed
    /// acknowledgement.
    pub(super) fn on_expiry(&mut self) {
        self.suspected = true;
    }

    /// The peer reported a duplicate.
    pub(super) fn on_needless(&mut self) {
        self.needless = self.needless.saturating_add(core::mem::take(&mut self.suspected).into());
    }

    /// Expected time until the acknowledgement, if the peer delays by `most` at most; `None` before
    /// the first round trip. `base`: the shortest round trip of any packet.
    pub(super) fn round_trip(&self, most: Duration, base: Duration) -> Option<Duration> {
        let longest = base + most;
        if self.needless >= BELIEVED {
            // The timer must not expire at the very moment when the acknowledgement arrives.
            return Some(longest + Duration::from_millis(1));
        }
        if self.prompt < PROMPT {
            return Some(base * 5 / 4 + USUAL.min(most));
        }
        let seen = self.trips.iter().max().copied().filter(|seen| *seen > 0)?;
        Some(Duration::from_millis(seen.into()).min(longest))
    }
}
