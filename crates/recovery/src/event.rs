//! What recovery did and why, as typed events, to see why a message was late.

use std::collections::VecDeque;

use base::{Duration, Instant};

use crate::ledger::{PacketNumber, PathIndex};
use crate::stats::Cause;

/// One step of recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet left.
    Sent {
        /// Packet number.
        packet: PacketNumber,
        /// Path on which the packet left.
        path: PathIndex,
        /// Units sent for the first time.
        new: u32,
        /// Units sent again.
        again: u32,
        /// Bytes of data in it.
        bytes: u64,
    },
    /// A unit is sent again.
    Resent {
        /// Number of the unit in the ledger.
        unit: u64,
        /// Why.
        cause: Cause,
        /// For the how-many-th time.
        order: u8,
    },
    /// Data was acknowledged.
    Acknowledged {
        /// Path on which it was sent.
        path: PathIndex,
        /// The first unit not acknowledged cumulatively.
        cumulative: u64,
        /// Bytes newly acknowledged.
        bytes: u64,
        /// The measurement it allowed.
        rtt: Option<Duration>,
        /// The retransmission timeout after it, with back-off.
        rto: Duration,
    },
    /// Packets were taken for lost.
    Lost {
        /// Path on which it was sent.
        path: PathIndex,
        /// How many.
        packets: u32,
        /// By what.
        cause: Cause,
    },
    /// A retransmission timer expired.
    Timeout {
        /// Path whose timer expired.
        path: PathIndex,
        /// The timeout after it.
        next_rto: Duration,
        /// Whether the stream was thin.
        thin: bool,
        /// Whether the timeout was left undoubled.
        linear: bool,
    },
    /// A probe leaves.
    Probed {
        /// Path that was probed.
        path: PathIndex,
        /// Whether it is new data.
        new: bool,
    },
    /// A retransmission timer was set.
    TimerSet {
        /// Path whose timer was set.
        path: PathIndex,
        /// When it is due.
        due: Instant,
    },
    /// The congestion window changed.
    Window {
        /// Path whose window changed.
        path: PathIndex,
        /// Congestion window, bytes.
        cwnd: u64,
        /// Slow start threshold, bytes.
        ssthresh: u64,
        /// Bytes in flight.
        flight: u64,
    },
    /// Copies that rode along repaired losses.
    Repaired {
        /// Path on which the original was sent.
        path: PathIndex,
        /// How many units were lost.
        units: u32,
    },
    /// The peer reported needless retransmissions.
    Spurious {
        /// How many units.
        units: u32,
    },
}

/// When it happened, and what.
pub type TimedEvent = (Instant, Event);

/// Keeps events for the driver to fetch; costs one word while off.
#[derive(Clone, Debug, Default)]
#[expect(clippy::box_collection, reason = "one word while off")]
pub struct EventLog(Option<Box<VecDeque<TimedEvent>>>);

impl EventLog {
    /// Events kept at most; older ones give way when the driver does not fetch them.
    const LIMIT: usize = 65_536;

    /// Switches recording on or off.
    pub fn set_enabled(&mut self, enabled: bool) {
        self.0 = enabled.then(|| self.0.take().unwrap_or_default());
    }

    /// Whether recording is on.
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Records what `event` gives, if recording is on.
    pub fn record(&mut self, now: Instant, event: impl FnOnce() -> Event) {
        if let Some(events) = &mut self.0 {
            if events.len() == Self::LIMIT {
                events.pop_front();
            }
            events.push_back((now, event()));
        }
    }

    /// The oldest event not fetched yet.
    pub fn poll(&mut self) -> Option<TimedEvent> {
        self.0.as_mut()?.pop_front()
    }
}
