//! Steps of recovery and their reasons, as typed events: they show why a message was late.

use std::collections::VecDeque;

use base::{Duration, Instant};

use crate::ledger::PacketNumber;
use crate::path_id::PathId;
use crate::stats::Cause;

/// One step of recovery, with the values that explain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet with data left.
    Sent {
        /// Number of the packet in the ledger, never reused.
        packet: PacketNumber,
        /// Path on which the packet left.
        path: PathId,
        /// Units sent for the first time.
        new: u32,
        /// Units of the packet sent before, as retransmissions or copies.
        again: u32,
        /// Bytes of data in the packet.
        bytes: u64,
        /// The first unit not sent yet: new units of the packet end before it.
        next_unit: u64,
    },
    /// A unit was sent again since it counts as lost.
    Resent {
        /// Number of the unit in the ledger.
        unit: u64,
        /// Evidence on which the unit was retransmitted.
        cause: Cause,
        /// Number of the retransmission of this unit, from 1.
        order: u8,
    },
    /// An acknowledgement reported data as arrived that it had not reported before.
    Acknowledged {
        /// Path on which the data was sent.
        path: PathId,
        /// The first unit not acknowledged cumulatively.
        cumulative: u64,
        /// Bytes newly acknowledged, cumulatively or by gap.
        bytes: u64,
        /// The RTT sample that the acknowledgement gave, if any.
        rtt: Option<Duration>,
        /// The retransmission timeout after the acknowledgement, with back-off.
        rto: Duration,
    },
    /// Packets in flight were declared lost.
    Lost {
        /// Path on which the packets were sent.
        path: PathId,
        /// Number of packets declared lost.
        packets: u32,
        /// Evidence that revealed the loss.
        cause: Cause,
    },
    /// The retransmission timer of a path expired.
    Timeout {
        /// Path whose data was not acknowledged in time.
        path: PathId,
        /// The timeout after the expiry, with back-off.
        next_rto: Duration,
        /// Whether the stream was thin.
        thin: bool,
        /// Whether the timeout was not doubled.
        linear: bool,
        /// Number of doublings after the expiry, without those for early expiries.
        doublings: u8,
    },
    /// A tail loss probe left.
    Probed {
        /// Path on which the probe was sent.
        path: PathId,
        /// Whether the probe carries new data.
        new: bool,
    },
    /// A retransmission timer was set.
    TimerSet {
        /// Path whose packets in flight the timer guards.
        path: PathId,
        /// Deadline, at which the timer expires unless it is restarted.
        due: Instant,
    },
    /// The congestion window or the slow start threshold changed.
    Window {
        /// Path to whose packets in flight the window applies.
        path: PathId,
        /// Congestion window, in bytes.
        cwnd: u64,
        /// Slow start threshold, in bytes; `u64::MAX` before it is known.
        ssthresh: u64,
        /// Bytes in flight at the change.
        flight: u64,
    },
    /// Lost units arrived in redundant copies, without a retransmission.
    Repaired {
        /// Path on which the original was sent.
        path: PathId,
        /// Number of units that were lost and repaired.
        units: u32,
    },
    /// The peer reported needless retransmissions.
    Spurious {
        /// Number of units that arrived twice.
        units: u32,
    },
}

impl Event {
    /// The path of the event; `None` for those about units alone.
    pub fn path(&self) -> Option<PathId> {
        match *self {
            Event::Sent { path, .. }
            | Event::Acknowledged { path, .. }
            | Event::Lost { path, .. }
            | Event::Timeout { path, .. }
            | Event::Probed { path, .. }
            | Event::TimerSet { path, .. }
            | Event::Window { path, .. }
            | Event::Repaired { path, .. } => Some(path),
            Event::Resent { .. } | Event::Spurious { .. } => None,
        }
    }
}

/// An event and its instant.
pub type TimedEvent = (Instant, Event);

/// A queue of events for the driver to fetch; takes one word of memory while recording is off.
#[derive(Clone, Debug, Default)]
#[expect(clippy::box_collection, reason = "one word while off")]
pub struct EventLog(Option<Box<VecDeque<TimedEvent>>>);

impl EventLog {
    /// Most events kept; older ones are dropped if the driver does not fetch them.
    const LIMIT: usize = 65_536;

    /// Switches recording on or off.
    pub fn set_enabled(&mut self, enabled: bool) {
        self.0 = enabled.then(|| self.0.take().unwrap_or_default());
    }

    /// Whether events are recorded; off by default.
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Records the event that `event` returns; calls it only while recording is on.
    pub fn record(&mut self, now: Instant, event: impl FnOnce() -> Event) {
        if let Some(events) = &mut self.0 {
            keep(events, (now, event()));
        }
    }

    /// The oldest event not fetched yet.
    pub fn poll(&mut self) -> Option<TimedEvent> {
        self.0.as_mut()?.pop_front()
    }
}

/// Appends an event. Recording is mostly off, so that the compiler moves this out of the way.
#[cold]
#[inline(never)]
fn keep(events: &mut VecDeque<TimedEvent>, event: TimedEvent) {
    if events.len() == EventLog::LIMIT {
        events.pop_front();
    }
    events.push_back(event);
}
