//! The form of JSON, one event a line.

use base::{Duration, Instant};
use recovery::{Event, TimedEvent};
use serde::Serialize;

/// An event with the policy and the flow to which it belongs. Times are in milliseconds. Units are
/// counted from 0: as long as each message is one DATA chunk, their numbers are those of the
/// messages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventLine<'a> {
    /// Time since the driver's origin, in milliseconds.
    pub time_ms: f64,
    /// Name of the policy with which the flow is sent.
    pub policy: &'a str,
    /// Number of the flow, which is set by the caller; 0 in a qlog.
    pub flow: u32,
    /// Kind and details of the event, as fields beside these.
    #[serde(flatten)]
    pub step: Step,
}

/// Kinds of events, named by `event` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Step {
    /// A packet with data left.
    Sent {
        /// Number of the unit, from the flow's first.
        packet: u64,
        /// Units in it for the first time.
        new: u32,
        /// Units in it that were sent before.
        again: u32,
        /// Bytes of user data in the packet.
        bytes: u64,
    },
    /// A unit is sent again.
    Resent {
        /// Number of the unit in the ledger.
        unit: u64,
        /// Name of the mechanism that demanded the retransmission.
        cause: &'static str,
        /// Number of this retransmission of the unit, from 1.
        order: u8,
    },
    /// An acknowledgement reported data as arrived for the first time.
    Acknowledged {
        /// The first unit not acknowledged cumulatively.
        cumulative: u64,
        /// Bytes acknowledged for the first time, cumulatively or by gap.
        bytes: u64,
        /// The round-trip time it measured.
        rtt_ms: Option<f64>,
        /// The retransmission timeout after it.
        rto_ms: f64,
    },
    /// Packets were declared lost together.
    Lost {
        /// Number of packets that were declared lost.
        packets: u32,
        /// Name of the evidence by which they were.
        cause: &'static str,
    },
    /// The retransmission timer of a path expired.
    Timeout {
        /// Retransmission timeout after the expiry, with back-off, in milliseconds.
        next_rto_ms: f64,
        /// Whether the stream was thin.
        thin: bool,
        /// Whether the timeout was left undoubled.
        linear: bool,
    },
    /// A tail loss probe left.
    Probe {
        /// Whether the probe is new data.
        new: bool,
    },
    /// A retransmission timer was set.
    Timer {
        /// Deadline of the timer, in milliseconds.
        due_ms: f64,
    },
    /// The congestion window or the slow start threshold changed.
    Window {
        /// Congestion window in bytes.
        cwnd: u64,
        /// Slow start threshold in bytes; the largest `u64` before it is known.
        ssthresh: u64,
        /// Bytes in flight at the change.
        flight: u64,
    },
    /// The peer reported needless retransmissions.
    Spurious {
        /// Number of units that arrived twice.
        units: u32,
    },
    /// Copies that rode along repaired losses.
    Repaired {
        /// Number of lost units that arrived in copies, without a retransmission.
        units: u32,
    },
}

impl<'a> EventLine<'a> {
    /// The event of flow `flow`, whose first DATA chunk is `first_unit`.
    pub fn new(policy: &'a str, flow: u32, first_unit: u64, event: &TimedEvent) -> EventLine<'a> {
        let (at, event) = event;
        EventLine { time_ms: millis(*at), policy, flow, step: Step::new(first_unit, event) }
    }

    /// The line, without its end.
    pub fn to_json(&self) -> String {
        // Nothing in it can fail to serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Step {
    fn new(first_unit: u64, event: &Event) -> Step {
        let number = |unit: u64| unit.saturating_sub(first_unit);
        match *event {
            Event::Sent { packet, new, again, bytes, .. } => {
                Step::Sent { packet, new, again, bytes }
            }
            Event::Resent { unit, cause, order } => {
                Step::Resent { unit: number(unit), cause: cause.name(), order }
            }
            Event::Acknowledged { cumulative, bytes, rtt, rto, .. } => Step::Acknowledged {
                cumulative: number(cumulative),
                bytes,
                rtt_ms: rtt.map(Duration::as_millis_f64),
                rto_ms: rto.as_millis_f64(),
            },
            Event::Lost { packets, cause, .. } => Step::Lost { packets, cause: cause.name() },
            Event::Timeout { next_rto, thin, linear, .. } => {
                Step::Timeout { next_rto_ms: next_rto.as_millis_f64(), thin, linear }
            }
            Event::Probed { new, .. } => Step::Probe { new },
            Event::TimerSet { due, .. } => Step::Timer { due_ms: millis(due) },
            Event::Window { cwnd, ssthresh, flight, .. } => Step::Window { cwnd, ssthresh, flight },
            Event::Spurious { units } => Step::Spurious { units },
            Event::Repaired { units, .. } => Step::Repaired { units },
        }
    }
}

fn millis(at: Instant) -> f64 {
    at.since(Instant::ZERO).as_millis_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recovery::Cause;

    #[test]
    fn a_line_says_when_whose_and_what_with_units_counted_from_zero() {
        let event = Event::Resent { unit: 1_000_007, cause: Cause::Timeout, order: 2 };
        let line = EventLine::new("thin", 3, 1_000_000, &(Instant::from_millis(1500), event));
        let expected = r#"{"time_ms":1500.0,"policy":"thin","flow":3,"event":"resent","unit":7,"cause":"timeout","order":2}"#;
        assert_eq!(line.to_json(), expected);
    }
}
