//! Which stream sends next (RFC 8260, section 3).
//!
//! Every scheduler answers the same two questions with a [`Rank`]: what is the rank of a stream that begins to wait, and
//! what is it after the stream was served? The stream with the lowest rank goes first. So the choice costs the logarithm of
//! the streams that wait, and a stream that does not wait costs nothing.

mod first_come;
mod priority;
mod round_robin;
mod weighted_fair;

/// How streams share what may be sent (SCTP_STREAM_SCHEDULER of RFC 8260, section 4.3.2).
///
/// Where messages [interleave](crate::Extensions::INTERLEAVING), the choice is made anew for each
/// fragment; without, a message that has begun is finished first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// Messages leave in the order in which they were accepted (SCTP_SS_FCFS, section 3.1).
    #[default]
    FirstCome,
    /// The streams take turns, message by message or fragment by fragment (SCTP_SS_RR, section 3.2).
    RoundRobin,
    /// The streams take turns, packet by packet; what is bundled in a packet is of one stream, so that
    /// a lost packet delays one stream only (SCTP_SS_RR_PKT, section 3.3).
    RoundRobinPerPacket,
    /// The most urgent stream first; streams that are equally urgent take turns (SCTP_SS_PRIO,
    /// section 3.4). See `set_stream_priority`.
    Priority,
    /// An equal number of bytes for each stream (SCTP_SS_FB, section 3.5).
    FairBandwidth,
    /// Bytes in proportion to the weights of the streams (SCTP_SS_WFQ, section 3.6). See
    /// `set_stream_weight`.
    WeightedFair,
}

/// The place of a stream in the order of service: the lowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    class: u16,
    at: u64,
}

/// What the application set for a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamValue {
    pub(super) priority: u16,
    pub(super) weight: u16,
}

/// Priority and weight of a stream unless others are set: those of a data channel of the W3C's
/// priority *low* (RFC 8831, section 6.4).
pub const DEFAULT_STREAM_VALUE: u16 = 256;

impl Default for StreamValue {
    fn default() -> Self {
        StreamValue { priority: DEFAULT_STREAM_VALUE, weight: DEFAULT_STREAM_VALUE }
    }
}

/// What goes on in all streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// Ranks given out by the schedulers that serve streams in rotation.
    ranks: u64,
    /// Virtual time of the fair schedulers.
    time: u64,
}

/// What was just sent of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Served {
    /// Bytes of the fragment.
    pub(super) bytes: usize,
    /// Whether other streams may go now: the message ended, or messages interleave.
    pub(super) yields: bool,
    /// The message that comes next in the stream, by the order in which they were accepted.
    pub(super) next_message: Option<u64>,
}

impl Scheduler {
    /// The rank of a stream that begins to wait with `message`.
    pub(super) fn enter(self, clock: &mut Clock, value: StreamValue, message: u64) -> Rank {
        match self {
            Scheduler::FirstCome => first_come::enter(message),
            Scheduler::RoundRobin | Scheduler::RoundRobinPerPacket => round_robin::next(clock),
            Scheduler::Priority => priority::next(clock, value.priority),
            Scheduler::FairBandwidth | Scheduler::WeightedFair => weighted_fair::enter(clock),
        }
    }

    /// The rank of a stream after it was served in `rank`.
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

    /// The rank of a stream of which a message was dropped.
    pub(super) fn skip(self, rank: Rank, next_message: Option<u64>) -> Rank {
        match self {
            Scheduler::FirstCome => first_come::pass(rank, next_message),
            _ => rank,
        }
    }

    /// The rank of a stream whose packet is full.
    pub(super) fn pass_packet(self, clock: &mut Clock, rank: Rank) -> Rank {
        if self.holds_packets() { round_robin::next(clock) } else { rank }
    }

    /// The rank of a stream that waits, after its value changed.
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
