//! What an experiment with several policies showed, as a self-contained page, a picture, JSON and
//! text for a terminal. All of them read the same [`DemoReport`].

use base::Instant;
use results::{CdfPoint, LatencySummary, RetransmissionLatencies};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

mod cdf;
pub mod document;
pub mod figures;
mod ladder;
pub mod markdown;
mod numbers;
mod page;
mod scale;
pub mod section;
pub mod svg;
pub mod tally;
mod terminal;

pub use numbers::four_digits;

/// The comparison of policies over the same network and traffic.
#[derive(Clone, Debug)]
pub struct DemoReport {
    /// Headline, plain text.
    pub title: String,
    /// Name and value of what was set, in the order to show it.
    pub parameters: Vec<(String, String)>,
    /// The same for programs, with units in the names.
    pub settings: Vec<(String, serde_json::Value)>,
    /// Whether the user ended it early.
    pub interrupted: bool,
    /// A policy each, in the order to show them; the first is what others are compared with.
    pub policies: Vec<PolicyReport>,
    /// The command line that produces these numbers again.
    pub reproduce: String,
}

/// What one policy achieved.
#[derive(Clone, Debug)]
pub struct PolicyReport {
    /// Name as on the command line.
    pub name: String,
    /// One sentence on what the policy does.
    pub description: String,
    /// Its numbers.
    pub results: PolicyResults,
    /// Cumulative distribution of latency ([`results::LatencyRecorder::cdf`]).
    pub cdf: Vec<CdfPoint>,
    /// What happened around one loss; none to leave the policy out of that figure.
    pub ladder: Option<Ladder>,
}

/// The numbers of one policy, named as in the JSON output.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PolicyResults {
    /// Messages that were due.
    pub messages: u64,
    /// Messages that reached the application.
    pub delivered: u64,
    /// One-way latency of delivered messages, from when they were due, in milliseconds.
    pub latency_ms: Option<LatencySummary>,
    /// The same by number of retransmissions of the message.
    pub latency_by_retransmissions_ms: RetransmissionLatencies,
    /// Messages or chunks sent again.
    pub retransmissions: Retransmissions,
    /// Retransmissions of what had arrived already.
    pub spurious: u64,
    /// Packets sent by the sender of the messages.
    pub packets_sent: u64,
    /// Bytes on the wire in those packets.
    pub bytes_sent: u64,
}

/// Retransmissions by cause and by order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retransmissions {
    /// All of them: the sum of the causes, and the sum of the orders.
    pub total: u64,
    /// Because the retransmission timer expired.
    pub timeout: u64,
    /// By fast retransmit.
    pub fast: u64,
    /// By an early retransmission timer or early retransmit.
    pub early: u64,
    /// Along with another retransmission, because there was room.
    pub bundled: u64,
    /// As a probe.
    pub probe: u64,
    /// First retransmissions of their unit.
    pub first: u64,
    /// Second ones.
    pub second: u64,
    /// Third ones.
    pub third: u64,
    /// Later ones.
    pub more: u64,
}

/// The time-sequence diagram of one loss: who sent what when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// When the message that was lost was due; times are shown relative to this.
    pub due: Instant,
    /// When it was delivered to the application.
    pub delivered: Option<Instant>,
    /// What happened, in any order. Events before `due` are left out.
    pub events: Vec<LadderEvent>,
}

/// Something to draw in a ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LadderEvent {
    /// A packet crossed the network, or was lost in it.
    Packet {
        /// Who sent it.
        from: Side,
        /// When it was sent.
        sent: Instant,
        /// When it arrived; none if it was lost.
        arrived: Option<Instant>,
        /// What it was.
        kind: PacketKind,
        /// Short text, such as `TSN 7` or `SACK 6`.
        label: String,
    },
    /// Something happened at one side.
    Mark {
        /// Where.
        side: Side,
        /// When.
        at: Instant,
        /// What.
        kind: MarkKind,
        /// Short text, such as `T3-rtx expires`.
        label: String,
    },
}

/// A side of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The sender of the messages, drawn on the left.
    Sender,
    /// Their receiver, drawn on the right.
    Receiver,
}

/// What a packet in a ladder was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// It carried data for the first time.
    Data,
    /// It carried data again.
    Retransmission,
    /// It acknowledged.
    Acknowledgement,
}

/// What a mark in a ladder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A timer expired.
    Timer,
    /// A message reached the application.
    Delivered,
}

impl DemoReport {
    /// A page that needs no network: inline styles and SVG, no scripts.
    pub fn to_html(&self) -> String {
        page::page(self).into_string()
    }

    /// The latency distributions as a picture on its own, with a background that follows the
    /// reader's light or dark theme.
    pub fn to_svg(&self) -> String {
        cdf::standalone(self).into_string()
    }

    /// The numbers as text with aligned columns, without colour.
    pub fn to_text(&self) -> String {
        terminal::table(&self.policies)
    }

    /// Settings and numbers as one JSON object: `{"policies": {NAME: {...}}}`, the policies in their order.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Document<'a> {
            version: &'static str,
            settings: Settings<'a>,
            interrupted: bool,
            policies: ByName<'a>,
        }
        // Nothing in these types can fail to serialize: keys are strings, numbers are plain.
        serde_json::to_string_pretty(&Document {
            version: env!("CARGO_PKG_VERSION"),
            settings: Settings(&self.settings),
            interrupted: self.interrupted,
            policies: ByName(&self.policies),
        })
        .unwrap_or_default()
    }
}

/// Settings as a map that keeps their order.
struct Settings<'a>(&'a [(String, serde_json::Value)]);

impl Serialize for Settings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Policies as a map that keeps their order.
struct ByName<'a>(&'a [PolicyReport]);

impl Serialize for ByName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for policy in self.0 {
            map.serialize_entry(&policy.name, &policy.results)?;
        }
        map.end()
    }
}
