//! Counters of recovery: retransmissions by cause and by order.

use core::ops::{Deref, DerefMut};
use std::sync::LazyLock;

/// Evidence on which a unit was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The retransmission timer expired, and the unit was the oldest.
    Timeout,
    /// The number of miss indications that the policy asks for arrived (RFC 9260, section 7.2.4).
    Fast,
    /// The unit was retransmitted along with data whose timer expired.
    Bundled,
    /// Early retransmit (RFC 5827) or the early fast retransmit timer.
    Early,
    /// A tail loss probe repeated the last unit (RFC 8985, section 7).
    Probe,
    /// No packet followed for a share of the round trip: a copy before any evidence of a loss.
    Copy,
}

impl Cause {
    /// Whether acknowledgements or short timers found the loss, so that the unit counts as
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

/// Retransmitted units, counted twice: by cause and by order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RetransmissionCounts {
    /// Units whose retransmission timer expired: [`Cause::Timeout`].
    pub timeout: u64,
    /// Units that miss indications declared lost: [`Cause::Fast`].
    pub fast: u64,
    /// Units that rode along with timed out ones: [`Cause::Bundled`].
    pub bundled: u64,
    /// Units found lost by RFC 5827 or an early timer: [`Cause::Early`].
    pub early: u64,
    /// Units sent as tail loss probes: [`Cause::Probe`].
    pub probe: u64,
    /// First, second, third and later retransmissions of a unit.
    pub by_order: [u64; 4],
}

impl RetransmissionCounts {
    /// Counts the `order`-th retransmission of a unit (from 1). Copies are not retransmissions.
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

    /// Retransmissions of all units, by any cause, without copies.
    pub fn total(&self) -> u64 {
        self.by_order.iter().sum()
    }
}

/// Counters of an association's or connection's recovery since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RecoveryStats {
    /// Retransmitted units, by cause and order.
    pub retransmissions: RetransmissionCounts,
    /// Retransmissions that the peer reported as needless.
    pub spurious: u64,
    /// Bytes sent as redundant copies, not included in retransmissions.
    pub redundant_bytes: u64,
    /// Units sent as redundant copies.
    pub redundant_units: u64,
    /// Packets with copies, whether the copies rode along with other data or alone.
    pub bundles: u64,
    /// Copies that repaired a loss, as far as acknowledgements show.
    pub bundle_hits: u64,
    /// Copies that arrived and were not needed.
    pub bundle_misses: u64,
    /// Units whose loss a copy repaired.
    pub bundle_repairs: u64,
    /// Expiries of retransmission timers, on all paths.
    pub timeouts: u64,
    /// Times that fast recovery was entered.
    pub fast_recoveries: u64,
    /// Tail loss probes sent (RFC 8985, section 7).
    pub probes: u64,
    /// Window reductions undone because nothing had been lost.
    pub undone: u64,
}

/// Counters that are allocated at the first count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters(Option<Box<RecoveryStats>>);

/// Counters read before the first count.
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
