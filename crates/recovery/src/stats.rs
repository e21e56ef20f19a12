//! Counters of recovery: retransmissions by cause and by order.

use core::ops::{Deref, DerefMut};
use std::sync::LazyLock;

/// Why data is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The retransmission timer expired and this was the oldest.
    Timeout,
    /// Enough miss indications.
    Fast,
    /// Resent along with data whose timer expired.
    Bundled,
    /// Early retransmit (RFC 5827) or the early fast retransmit timer.
    Early,
    /// A tail loss probe.
    Probe,
    /// Nothing followed it for a share of the round trip: a copy, ahead of any sign of a loss.
    Copy,
}

impl Cause {
    /// Whether the loss was found by acknowledgements or short timers, so that the unit counts as
    /// fast-retransmitted.
    pub fn is_fast(self) -> bool {
        matches!(self, Cause::Fast | Cause::Early)
    }

    /// Name in reports and JSON, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Timeout => "timeout",
            Cause::Fast => "fast",
            Cause::Bundled => "bundled",
            Cause::Early => "early",
            Cause::Probe => "probe",
            Cause::Copy => "copy",
        }
    }
}

/// Units sent again, counted twice: by cause and by order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RetransmissionCounts {
    /// Units retransmitted by [`Cause::Timeout`].
    pub timeout: u64,
    /// Units retransmitted by [`Cause::Fast`].
    pub fast: u64,
    /// Units retransmitted by [`Cause::Bundled`].
    pub bundled: u64,
    /// Units retransmitted by [`Cause::Early`].
    pub early: u64,
    /// Units retransmitted by [`Cause::Probe`].
    pub probe: u64,
    /// First, second, third, and later retransmissions of a unit.
    pub by_order: [u64; 4],
}

impl RetransmissionCounts {
    /// A unit is sent again for the `order`-th time (from 1). Copies are no retransmissions.
    pub fn count(&mut self, cause: Cause, order: u8) {
        *match cause {
            Cause::Timeout => &mut self.timeout,
            Cause::Fast => &mut self.fast,
            Cause::Bundled => &mut self.bundled,
            Cause::Early => &mut self.early,
            Cause::Probe => &mut self.probe,
            Cause::Copy => return,
        } += 1;
        self.by_order[usize::from(order.clamp(1, 4)) - 1] += 1;
    }

    /// Units sent again in all.
    pub fn total(&self) -> u64 {
        self.by_order.iter().sum()
    }
}

/// Counters of an association's or connection's recovery since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RecoveryStats {
    /// Retransmitted units, by cause and order.
    pub retransmissions: RetransmissionCounts,
    /// Retransmissions that the peer reported to have been needless.
    pub spurious: u64,
    /// Bytes sent as redundant copies, apart from retransmissions.
    pub redundant_bytes: u64,
    /// Units that they copied.
    pub redundant_units: u64,
    /// Packets with copies: those in which they rode along with other data, and those of their own.
    pub bundles: u64,
    /// Copies that repaired a loss, as far as acknowledgements tell.
    pub bundle_hits: u64,
    /// Copies that arrived and were not needed.
    pub bundle_misses: u64,
    /// Units whose loss they repaired.
    pub bundle_repairs: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Times that fast recovery was entered.
    pub fast_recoveries: u64,
    /// Tail loss probes sent (RFC 8985, section 7).
    pub probes: u64,
    /// Times that the window was given back because nothing had been lost.
    pub undone: u64,
}

/// Counters that take up room once there is something to count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters(Option<Box<RecoveryStats>>);

/// What there is to read before.
static NOTHING: LazyLock<RecoveryStats> = LazyLock::new(RecoveryStats::default);

impl Deref for Counters {
    type Target = RecoveryStats;

    fn deref(&self) -> &RecoveryStats {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for Counters {
    fn deref_mut(&mut self) -> &mut RecoveryStats {
        self.0.get_or_insert_default()
    }
}
