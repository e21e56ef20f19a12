//! Events since the last frame, as JSON for the page. Times are in milliseconds since the first
//! message may be due.

use serde::Serialize;

use crate::why::Reason;

/// Events since the last frame on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Frame {
    /// End of the frame, in milliseconds after the traffic began.
    pub now_ms: f64,
    /// Whether the run is over.
    pub is_over: bool,
    /// Messages of the flow shown that became due: number and time.
    pub due: Vec<(u64, f64)>,
    /// Events of the left side, then of the right one.
    pub sides: [SideFrame; 2],
}

/// Events since the last frame on one side.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SideFrame {
    /// Packets of the flow shown that left.
    pub lines: Vec<Line>,
    /// Fates of packets: number of the line, and the time of arrival; `None` if the packet was
    /// lost.
    pub fates: Vec<(u64, Option<f64>)>,
    /// Messages of all flows that were delivered.
    pub marks: Vec<Mark>,
    /// Steps of the sender's recovery of the flow shown.
    pub told: Vec<Told>,
}

/// A packet's line in the ladder, from its transmission to its arrival or loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Number of the line, from 0.
    pub id: u64,
    /// 0 from the sender, 1 from the receiver.
    pub from: u8,
    /// Time at which the packet left, in milliseconds.
    pub sent_ms: f64,
    /// Time of arrival unless the packet is lost or delayed.
    pub expected_ms: f64,
    /// `data`, `again`, `along`, `ack` or `other`.
    pub role: &'static str,
    /// The messages in it, each with the number of this sending; the first is 1.
    pub messages: Vec<(u64, u32)>,
    /// The packet in the words of its protocol, such as `TSN 7` or `ACK 700`.
    pub label: String,
    /// The change that drops it.
    pub drop: String,
    /// Reason for which it was sent.
    pub why: Reason,
}

/// A message that was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Number of the flow among those of its side, from 0.
    pub flow: u32,
    /// Number of the message in its flow, from 0.
    pub message: u64,
    /// Time at which the message was due.
    pub due_ms: f64,
    /// Time from then until the application had it.
    pub latency_ms: f64,
    /// Number of times that it was sent again before.
    pub again: u32,
}

/// A step of recovery, in words, for the list beside the picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    /// Time of the step, in milliseconds.
    pub at_ms: f64,
    /// Short description of the event.
    pub text: String,
}

/// Numbers of a side so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Numbers {
    /// Messages that the application had to send, of all flows.
    pub due: u64,
    /// Messages that reached the receiving application, of all flows.
    pub delivered: u64,
    /// Mean latency of the delivered messages, in milliseconds.
    pub mean_ms: f64,
    /// Quantiles 0.5, 0.9, 0.99 of the latency, and its maximum.
    pub quantiles_ms: [f64; 4],
    /// Packets of the senders for each message.
    pub packets: f64,
    /// Bytes of the senders for each message, IP headers included.
    pub bytes: f64,
    /// Copies that arrived in vain, for each message.
    pub needless: f64,
    /// Expiries of retransmission timers of the senders.
    pub timeouts: u64,
    /// Latency histogram. Each bin has an upper bound in milliseconds and a number of messages.
    pub bins: Vec<(f64, u64)>,
}

impl Frame {
    /// One JSON object, as the page's worker passes it on.
    pub fn to_json(&self) -> String {
        // Nothing in it can fail to serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}
