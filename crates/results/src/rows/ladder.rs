//! A conversation as it is drawn: the packets between two sides, and events at either side.

use serde::{Deserialize, Serialize};

use super::Labels;

/// Sequence of the packets of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// Name of the group of flows.
    pub of: String,
    /// Name of the measure that drew it.
    pub measure: String,
    /// Labels that distinguish ladders of one measure.
    pub labels: Labels,
    /// Length of the time axis, in milliseconds.
    pub span_ms: f64,
    /// Packets, in the order in which they left: from the sender (0) or the receiver (1).
    pub arrows: Vec<Arrow>,
    /// Events at either side, such as expired timers.
    pub notes: Vec<Note>,
}

impl Ladder {
    /// Word for a side: 0 is the sender, any other the receiver.
    pub fn side(number: u8) -> &'static str {
        if number == 0 { "sender" } else { "receiver" }
    }
}

/// A packet of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrow {
    /// Side that sent it: 0 or 1.
    pub from: u8,
    /// Time at which it was sent, in milliseconds.
    pub sent_ms: f64,
    /// Time of arrival; `None` if the packet was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived_ms: Option<f64>,
    /// Text beside the arrow: the packet in the words of its protocol.
    pub label: String,
    /// Purpose of the packet, which colours it.
    pub role: Role,
}

/// Purpose of a packet, by which its arrow is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Data for the first time.
    Data,
    /// Data sent before, as a retransmission.
    Again,
    /// Data for the first time, with redundant copies of earlier data.
    Along,
    /// An acknowledgement without data.
    Ack,
    /// Any other packet, such as one of the handshake.
    Other,
}

/// An event at one side of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Side of the event: 0 or 1.
    pub side: u8,
    /// Time of the event, in milliseconds.
    pub at_ms: f64,
    /// Text beside the time axis, such as an expired timer.
    pub label: String,
}
