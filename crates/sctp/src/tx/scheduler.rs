//! Stream schedulers (RFC 8260, section 3).
//!
//! Every scheduler assigns a [`Rank`] to a stream that begins to wait and to one that was served.
//! The stream with the lowest rank is next. The choice costs the logarithm of the number of waiting
//! streams, and a stream that does not wait costs nothing.

mod first_come;
mod priority;
mod rank;
mod round_robin;
mod weighted_fair;

pub(super) use self::rank::{Clock, Rank};

/// Rule by which streams share the connection (SCTP_STREAM_SCHEDULER of RFC 8260, section 4.3.2).
///
/// If messages [interleave](crate::Extensions::INTERLEAVING), the scheduler chooses for each
/// fragment; otherwise a partly sent message is completed first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// Messages leave in the order in which they were accepted (SCTP_SS_FCFS, section 3.1).
    #[default]
    FirstCome,
    /// The streams take turns, message by message or fragment by fragment (SCTP_SS_RR, section
    /// 3.2).
    RoundRobin,
    /// The streams take turns, packet by packet; a packet bundles data of one stream, so that a
    /// lost packet delays one stream only (SCTP_SS_RR_PKT, section 3.3).
    RoundRobinPerPacket,
    /// The stream with the highest priority first; streams of equal priority take turns
    /// (SCTP_SS_PRIO, section 3.4). See `set_stream_priority`.
    Priority,
    /// An equal number of bytes for each stream (SCTP_SS_FB, section 3.5).
    FairBandwidth,
    /// Bytes in proportion to the weights of the streams (SCTP_SS_WFQ, section 3.6). See
    /// `set_stream_weight`.
    WeightedFair,
}

/// Priority or weight of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamValue {
    pub(super) priority: u16,
    pub(super) weight: u16,
}

/// Default priority and weight of a stream: those of a data channel of the W3C's priority *low*
/// (RFC 8831, section 6.4).
pub const DEFAULT_STREAM_VALUE: u16 = 256;

impl Default for StreamValue {
    fn default() -> Self {
        StreamValue { priority: DEFAULT_STREAM_VALUE, weight: DEFAULT_STREAM_VALUE }
    }
}

/// Facts about a fragment that was just sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Served {
    /// Bytes of user data that the stream sent.
    pub(super) bytes: usize,
    /// Whether other streams may be next: the message ended, or messages interleave.
    pub(super) yields: bool,
    /// Number of the stream's next message, in the order of acceptance.
    pub(super) next_message: Option<u64>,
}

impl Scheduler {
    /// Rank of a stream that begins to wait with `message`.
    pub(super) fn enter(self, clock: &mut Clock, value: StreamValue, message: u64) -> Rank {
        match self {
            Scheduler::FirstCome => first_come::enter(message),
            Scheduler::RoundRobin | Scheduler::RoundRobinPerPacket => round_robin::next(clock),
            Scheduler::Priority => priority::next(clock, value.priority),
            Scheduler::FairBandwidth | Scheduler::WeightedFair => weighted_fair::enter(clock),
        }
    }

    /// Rank of a stream after it was served with `rank`.
    pub(super) fn pass(
        self,
        clock: &mut Clock,
        value: StreamValue,
        rank: Rank,
        served: Served,
    ) -> Rank {
        match self {
            Scheduler::FirstCome => first_come::pass(rank, served.next_message),
            Scheduler::RoundRobin if served.yields => round_robin::next(clock),
            Scheduler::Priority if served.yields => priority::next(clock, value.priority),
            Scheduler::RoundRobin | Scheduler::RoundRobinPerPacket | Scheduler::Priority => rank,
            Scheduler::FairBandwidth => {
                weighted_fair::pass(clock, rank, served.bytes, DEFAULT_STREAM_VALUE)
            }
            Scheduler::WeightedFair => weighted_fair::pass(clock, rank, served.bytes, value.weight),
        }
    }

    /// Rank of a stream after one of its messages was dropped.
    pub(super) fn skip(self, rank: Rank, next_message: Option<u64>) -> Rank {
        match self {
            Scheduler::FirstCome => first_come::pass(rank, next_message),
            _ => rank,
        }
    }

    /// Rank of a stream after its packet is full.
    pub(super) fn pass_packet(self, clock: &mut Clock, rank: Rank) -> Rank {
        if self.holds_packets() { round_robin::next(clock) } else { rank }
    }

    /// Rank of a waiting stream after its value changed.
    pub(super) fn revalue(self, value: StreamValue, rank: Rank) -> Rank {
        match self {
            Scheduler::Priority => priority::revalue(rank, value.priority),
            _ => rank,
        }
    }

    /// Whether a packet carries new data of one stream only.
    pub(super) fn holds_packets(self) -> bool {
        self == Scheduler::RoundRobinPerPacket
    }
}
