//! What the segments that leave say of the receiving side, and when one must leave.

use core::ops::Range;

use base::{Duration, Instant};
use recovery::AckTiming;
use smallvec::SmallVec;

use super::Receiver;
use crate::rx::timestamps::RecentTimestamp;
use crate::wire::MAX_SACK_BLOCKS;

/// Ranges to be told in SACK blocks.
pub type SackRanges = SmallVec<[Range<u64>; MAX_SACK_BLOCKS]>;

/// What a segment that leaves says of the receiving side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckFields {
    /// RCV.NXT.
    pub ack: u64,
    /// The window field, scaled.
    pub window: u16,
    /// SACK blocks, a duplicate first (RFC 2883), then that of the latest segment (RFC 2018, section 4).
    pub sack: SackRanges,
}

impl Receiver {
    /// Whether an acknowledgement must be sent at `now`.
    pub fn wants_ack(&self, now: Instant) -> bool {
        self.ack_due().is_some_and(|due| due <= now)
    }

    /// When the acknowledgement that waits must be sent; none when nothing waits.
    pub fn ack_due(&self) -> Option<Instant> {
        self.acknowledgement.due()
    }

    /// An acknowledgement is due for a reason that the receiving side does not know.
    pub fn request_ack(&mut self, now: Instant) {
        self.acknowledgement.request(now);
    }

    /// Whether the window has opened so far, since the application read, that the peer should hear of it
    /// without delay.
    pub fn window_update_due(&self) -> bool {
        !self.finished && self.window.update_due(self.rcv_nxt(), self.queue.len())
    }

    /// Whether there is anything that SACK blocks would tell.
    pub fn has_sack(&self) -> bool {
        self.duplicate.is_some() || self.behind.is_some()
    }

    /// What a segment with ACK that leaves now says, with room for `max_sack_blocks` blocks (0 where the peer
    /// takes none). The segment counts as sent.
    pub fn acknowledge(&mut self, max_sack_blocks: usize) -> AckFields {
        let ack = self.rcv_nxt();
        let sack =
            if self.has_sack() { self.sack_ranges(max_sack_blocks) } else { SackRanges::new() };
        self.last_ack_sent = ack;
        self.acknowledgement.on_sent();
        AckFields { ack, window: self.window.advertise(ack, self.queue.len()), sack }
    }

    /// The duplicate, which is told once, then what lies behind holes.
    fn sack_ranges(&mut self, room: usize) -> SackRanges {
        let duplicate = self.duplicate.take().map(|range| *range);
        let mut ranges: SackRanges = duplicate.into_iter().take(room).collect();
        if let Some(behind) = &self.behind {
            behind.report(room - ranges.len(), |range| ranges.push(range));
        }
        ranges
    }

    /// When to acknowledge, from now on.
    pub fn set_ack_timing(&mut self, timing: AckTiming) {
        self.acknowledgement.set_timing(timing);
    }

    /// Window scaling is agreed: from now on the window field is shifted by this number of bits (at most 14).
    pub fn set_window_scale(&mut self, scale: u8) {
        self.window.set_scale(scale);
    }

    /// The round-trip time of the handshake: the buffer grows only if the window holds up the peer.
    pub fn set_round_trip(&mut self, round_trip: Duration) {
        if let Some(autotune) = self.autotune.as_deref_mut() {
            autotune.set_round_trip(round_trip);
        }
    }

    /// The round-trip time as the receiving side sees it: by the timestamps that full-sized segments echo,
    /// or by the time that a window takes. Estimated only where the buffer may grow.
    pub fn round_trip(&self) -> Option<Duration> {
        self.autotune.as_ref()?.round_trip()
    }

    /// The last acknowledgment number sent.
    pub fn last_ack_sent(&self) -> u64 {
        self.last_ack_sent
    }
}

/// Timestamps (RFC 7323).
impl Receiver {
    /// Timestamps are agreed; the peer's SYN carried `value`.
    pub fn enable_timestamps(&mut self, now: Instant, value: u32) {
        self.timestamp = Some(RecentTimestamp::new(now, value));
    }

    /// TS.Recent, for TSecr; none where timestamps are not agreed.
    pub fn timestamp_to_echo(&self) -> Option<u32> {
        self.timestamp.as_ref().map(RecentTimestamp::value)
    }

    /// PAWS: whether a segment with TSval `value` is an old duplicate, to be answered by an acknowledgement
    /// and dropped (RFC 7323, section 5.3, rule R1). Not to be asked of segments with RST (section 5.2).
    pub fn is_old_timestamp(&self, now: Instant, value: u32) -> bool {
        self.timestamp.as_ref().is_some_and(|recent| recent.is_old(now, value))
    }

    /// A segment that begins at `start` (its SYN, if there is one) and is acceptable carried TSval `value`.
    /// To be called before [`Receiver::on_segment`].
    pub fn on_timestamp(&mut self, now: Instant, start: u64, value: u32) {
        let last_ack_sent = self.last_ack_sent;
        if let Some(recent) = &mut self.timestamp {
            recent.on_segment(now, start, value, last_ack_sent);
        }
    }
}
