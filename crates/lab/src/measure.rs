//! Measures: small accumulators that merge, each asked for by a plan or not kept at all.
//!
//! A [`GroupMeter`] is shared by the flows of a group and holds what is a distribution; a [`FlowMeter`] holds
//! the few numbers that each flow has of its own. [`rows`] makes tidy rows of both.

mod flow_meter;
mod group_meter;
mod ladder;
mod observed;
pub mod rows;
#[cfg(test)]
mod tests;
mod timeouts;
mod traffic;

use core::ops::Range;

use base::{Duration, Instant};

pub use flow_meter::FlowMeter;
pub use group_meter::GroupMeter;
pub use ladder::{Beginning, LadderWish};
pub use observed::{Delivery, Needless};
pub use timeouts::TimeoutTrace;
pub use traffic::Traffic;

/// What is measured of a group of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Wishes {
    /// When: messages due, and bytes read or sent, in this time count.
    pub window: Range<Instant>,
    /// Latency of messages.
    pub latency: Option<LatencyWish>,
    /// Retransmissions by order and cause, and which were needless.
    pub retransmissions: bool,
    /// Goodput, and in intervals of this length.
    pub goodput: Option<GoodputWish>,
    /// Time without progress longer than each of these counts as frozen; none: not asked for.
    pub frozen: Vec<GapLimit>,
    /// Deviation of the time between deliveries.
    pub inter_arrival: bool,
    /// What is sent: sizes of messages, times between them, packets and bits a second.
    pub traffic: bool,
    /// Messages that come too late to be played.
    pub late: Option<LateWish>,
    /// Packets and bytes sent for what is delivered.
    pub overhead: bool,
    /// How long transfers over connections of their own take.
    pub transfers: bool,
    /// Each flow as a stream: its longest latency, beyond which of these limits, and its loss.
    pub streams: Option<Vec<LatencyLimit>>,
    /// Round-trip times and the timeouts that follow; this much of their curve is kept.
    pub rto: Option<Duration>,
    /// When data leaves the first path, which is lost at this time.
    pub switchover: Option<Instant>,
}

impl Wishes {
    /// Nothing in this time.
    pub fn none(window: Range<Instant>) -> Wishes {
        Wishes {
            window,
            latency: None,
            retransmissions: false,
            goodput: None,
            frozen: Vec::new(),
            inter_arrival: false,
            traffic: false,
            late: None,
            overhead: false,
            transfers: false,
            streams: None,
            rto: None,
            switchover: None,
        }
    }

    /// Whether messages have to be told apart.
    pub fn needs_messages(&self) -> bool {
        self.latency.is_some()
            || self.retransmissions
            || !self.frozen.is_empty()
            || self.inter_arrival
            || self.traffic
            || self.late.is_some()
            || self.overhead
            || self.streams.is_some()
            || self.rto.is_some()
            || self.switchover.is_some()
    }
}

/// What of latency is wanted.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LatencyWish {
    /// At the transport: until all of a message has arrived, in whatever order.
    pub transport: bool,
    /// At the application: until it is delivered.
    pub application: bool,
    /// What order costs: from arrival to delivery.
    pub in_order: bool,
    /// Apart by number of retransmissions.
    pub by_retransmission: bool,
    /// The worst flow's own numbers, too: each flow's maximum.
    pub per_flow: bool,
    /// Quantiles.
    pub quantiles: Vec<f64>,
    /// Shares of messages that take longer than these times.
    pub limits: Vec<LatencyLimit>,
    /// The whole distribution, too.
    pub distribution: bool,
    /// From when the last of a message left, as a packet trace sees it, not from when it was due.
    pub since_sent: bool,
}

/// A latency beyond which people suffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyLimit {
    /// As it was written: a time, or the name of a limit that others have found.
    pub name: String,
    /// The time.
    pub span: Duration,
}

/// Limits with names: of first-person shooters, role-playing and real-time strategy games (Claypool and
/// Claypool 2006), of conversations (ITU-T G.114: good, and hardly acceptable).
pub const NAMED_LIMITS: [(&str, Duration); 5] = [
    ("fps", Duration::from_millis(100)),
    ("rpg", Duration::from_millis(500)),
    ("rts", Duration::from_millis(1000)),
    ("itu-good", Duration::from_millis(150)),
    ("itu-limit", Duration::from_millis(400)),
];

impl core::str::FromStr for LatencyLimit {
    type Err = String;

    fn from_str(name: &str) -> Result<LatencyLimit, String> {
        let known = NAMED_LIMITS.iter().find(|(known, _)| *known == name).map(|(_, span)| *span);
        let span = known.or_else(|| name.parse().ok()).ok_or_else(|| {
            let names: Vec<&str> = NAMED_LIMITS.iter().map(|(known, _)| *known).collect();
            format!("\"{name}\" is no limit: give a time such as 100ms, or {}", names.join(", "))
        })?;
        Ok(LatencyLimit { name: name.to_owned(), span })
    }
}

/// Beyond which a gap between two acknowledgements of new data counts as frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapLimit {
    /// So long.
    Span(Duration),
    /// The sender's own retransmission timeout when the gap began.
    Rto,
}

impl GapLimit {
    /// Whether a gap that began with this timeout is longer.
    pub(crate) fn is_passed(self, gap: Duration, rto: Duration) -> bool {
        gap > match self {
            GapLimit::Span(span) => span,
            GapLimit::Rto => rto,
        }
    }
}

impl core::str::FromStr for GapLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<GapLimit, String> {
        match text {
            "rto" => Ok(GapLimit::Rto),
            span => span.parse().map(GapLimit::Span).map_err(|error| {
                format!("{error}; or \"rto\", the sender's own retransmission timeout")
            }),
        }
    }
}

impl core::fmt::Display for GapLimit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            GapLimit::Span(span) => span.fmt(f),
            GapLimit::Rto => f.pad("rto"),
        }
    }
}

/// What of goodput is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GoodputWish {
    /// The distribution over intervals of this length.
    pub interval: Option<Duration>,
    /// Each flow's own.
    pub per_flow: bool,
    /// That of the group over time, in intervals of the same length.
    pub over_time: bool,
}

/// A player that begins so long after its first message and then plays each at its time.
#[derive(Clone, Debug, PartialEq)]
pub struct LateWish {
    /// Pre-buffering: from the first delivery to the beginning of play-back.
    pub pre_buffer: Duration,
    /// Ratios of encoding rate and play-back rate: 2 plays at half of the speed.
    pub ratios: Vec<f64>,
}
