//! The receiving side's fields in outgoing segments, and when one must leave.

use core::ops::Range;

use base::{Duration, Instant};
use recovery::AckTiming;
use smallvec::SmallVec;

use super::Receiver;
use crate::rx::timestamps::RecentTimestamp;
use crate::wire::MAX_SACK_BLOCKS;

/// Offsets of the data that SACK blocks report, as many as fit into a segment.
pub type SackRanges = SmallVec<[Range<u64>; MAX_SACK_BLOCKS]>;

/// The receiving side's fields in an outgoing segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckFields {
    /// RCV.NXT: the offset of the next byte expected.
    pub ack: u64,
    /// The window as on the wire, shifted by the negotiated scale (RFC 7323, section 2.2).
    pub window: u16,
    /// SACK blocks, a duplicate first (RFC 2883), then that of the latest segment (RFC 2018,
    /// section 4).
    pub sack: SackRanges,
}

impl Receiver {
    /// Whether an acknowledgement must be sent at `now`.
    pub fn wants_ack(&self, now: Instant) -> bool {
        self.ack_due().is_some_and(|due| due <= now)
    }

    /// Deadline of the pending acknowledgement; `None` if none is pending.
    pub fn ack_due(&self) -> Option<Instant> {
        self.acknowledgement.due()
    }

    /// Makes an acknowledgement due for a reason outside the receiving side.
    pub fn request_ack(&mut self, now: Instant) {
        self.acknowledgement.request(now);
    }

    /// Whether the window has opened so far, since the application read, that a window update
    /// should leave at once.
    pub fn window_update_due(&self) -> bool {
        !self.finished && self.window.update_due(self.rcv_nxt(), self.queue.len())
    }

    /// Whether there is anything to report in SACK blocks.
    pub fn has_sack(&self) -> bool {
        self.duplicate.is_some() || self.behind.is_some()
    }

    /// The fields of a segment with ACK that leaves now, with room for `max_sack_blocks` blocks (0
    /// if the peer does not accept them). The segment counts as sent.
    pub fn acknowledge(&mut self, max_sack_blocks: usize) -> AckFields {
        let ack = self.rcv_nxt();
        let sack =
            if self.has_sack() { self.sack_ranges(max_sack_blocks) } else { SackRanges::new() };
        self.last_ack_sent = ack;
        self.acknowledgement.on_sent();
        AckFields { ack, window: self.window.advertise(ack, self.queue.len()), sack }
    }

    /// The duplicate, which is reported once, then the data after holes.
    fn sack_ranges(&mut self, room: usize) -> SackRanges {
        let duplicate = self.duplicate.take().map(|range| *range);
        let mut ranges: SackRanges = duplicate.into_iter().take(room).collect();
        if let Some(behind) = &self.behind {
            behind.report(room - ranges.len(), |range| ranges.push(range));
        }
        ranges
    }

    /// Sets the timing of acknowledgements.
    pub fn set_ack_timing(&mut self, timing: AckTiming) {
        self.acknowledgement.set_timing(timing);
    }

    /// Sets the negotiated window scale: from now on the window field is shifted by `scale` bits
    /// (at most 14).
    pub fn set_window_scale(&mut self, scale: u8) {
        self.window.set_scale(scale);
    }

    /// Sets the round-trip time of the handshake: the buffer grows only if the window limits the
    /// peer.
    pub fn set_round_trip(&mut self, round_trip: Duration) {
        if let Some(autotune) = self.autotune.as_deref_mut() {
            autotune.set_round_trip(round_trip);
        }
    }

    /// Round-trip time measured by the receiving side: from timestamps that full-sized segments
    /// echo, or from the time that a window takes. Only estimated if the buffer may grow.
    pub fn round_trip(&self) -> Option<Duration> {
        self.autotune.as_ref()?.round_trip()
    }

    /// The last acknowledgment number sent.
    pub fn last_ack_sent(&self) -> u64 {
        self.last_ack_sent
    }
}

/// Timestamps, and protection against wrapped sequence numbers (RFC 7323).
impl Receiver {
    /// Enables timestamps; the peer's SYN carried `value`.
    pub fn enable_timestamps(&mut self, now: Instant, value: u32) {
        self.timestamp = Some(RecentTimestamp::new(now, value));
    }

    /// TS.Recent, for TSecr; `None` without negotiated timestamps.
    pub fn timestamp_to_echo(&self) -> Option<u32> {
        self.timestamp.as_ref().map(RecentTimestamp::value)
    }

    /// PAWS: whether a segment with TSval `value` is an old duplicate, to be acknowledged and
    /// dropped (RFC 7323, section 5.3, rule R1). Not applicable to segments with RST (section
    /// 5.2).
    pub fn is_old_timestamp(&self, now: Instant, value: u32) -> bool {
        self.timestamp.as_ref().is_some_and(|recent| recent.is_old(now, value))
    }

    /// An acceptable segment that begins at `start` (with its SYN, if any) carried TSval `value`.
    /// Must be called before [`Receiver::on_segment`].
    pub fn on_timestamp(&mut self, now: Instant, start: u64, value: u32) {
        let last_ack_sent = self.last_ack_sent;
        if let Some(recent) = &mut self.timestamp {
            recent.on_segment(now, start, value, last_ack_sent);
        }
    }
}
