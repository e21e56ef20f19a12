//! The recovery policy: everything that decides when to resend what, as plain values.
//!
//! A paper's idea is a value here, never a fork of the code. Named presets are bundles of such
//! values; `docs/policies.md` gives the source and the reason of each.

mod changes;
mod defaults;
mod fields;
mod form;
mod path_mtu;
mod protocol;
mod redundancy;
mod samples;
mod sctp;
mod tcp;

use base::Duration;

pub use self::changes::Changes;
pub use self::defaults::{SCTP_DEFAULT, TCP_DEFAULT};
pub use self::fields::{FIELDS, Field, FieldError, Only, Topic};
pub use self::path_mtu::{IPV4_MIN_MTU, IPV6_MIN_MTU, PathMtuPolicy, ProbeSizes};
pub use self::redundancy::{BundleReaction, BundlingPolicy, RedundancyPolicy};
pub use self::sctp::PRESETS;
pub use self::tcp::TCP_PRESETS;
use crate::rtt::{Deviation, Ratio};

/// Everything that decides when to resend what. Can be replaced at any time in an association's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryPolicy {
    /// How round-trip times become a retransmission timeout.
    pub rto: RtoPolicy,
    /// What happens to the timeout, and to the error counter, when it expires again and again.
    pub backoff: BackoffPolicy,
    /// What the timer is set to when an acknowledgement leaves data outstanding.
    pub timer_restart: TimerRestart,
    /// When a stream counts as thin.
    pub thin: ThinDetector,
    /// How loss is told from delay, other than by the retransmission timer.
    pub loss: LossPolicy,
    /// What an expired retransmission timer resends.
    pub timeout_resends: TimeoutResends,
    /// What an expired retransmission timer means while the stream is thin.
    pub timeout_while_thin: ThinTimeout,
    /// On which path it resends that.
    pub retransmission_path: RetransmissionPath,
    /// Congestion control: controller, windows and bursts.
    pub congestion: CongestionPolicy,
    /// What the receiving side of this endpoint acknowledges when, and what it asks of its peer.
    pub acknowledgement: AcknowledgementPolicy,
    /// What is sent more than once before anything is known to be lost.
    pub redundancy: RedundancyPolicy,
    /// When larger packets are tried on a path, and when large ones are thought to vanish.
    pub path_mtu: PathMtuPolicy,
}

/// From round-trip times to the retransmission timeout (RFC 9260, section 6.3.1; RFC 6298).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtoPolicy {
    /// Gain of the smoothed round-trip time.
    pub alpha: Ratio,
    /// Gain of the round-trip time variation.
    pub beta: Ratio,
    /// What the variation follows: the absolute deviation, or another to reproduce a paper's.
    pub deviation: Deviation,
    /// Timeout before the first measurement.
    pub initial: Duration,
    /// Lower bound of the timeout (RTO.Min).
    pub min: Duration,
    /// Lower bound while the stream is thin (Petlund et al. 2009, section 5.2); none: `min` always.
    pub min_while_thin: Option<Duration>,
    /// Upper bound, also of the backed-off timeout.
    pub max: Duration,
    /// Upper bound of the backed-off timeout while the stream is thin, unless acknowledgements come and no round trip
    /// can be measured: then the path may have become longer than this. Never below the timeout without back-off.
    /// None: `max` always.
    pub max_while_thin: Option<Duration>,
    /// Which data gives a round-trip time.
    pub samples: RttSamples,
    /// How many variations the timeout allows for.
    pub margin: RtoMargin,
    /// Clock granularity G: the variation never counts for less.
    pub granularity: Duration,
    /// What four times the variation counts for at least, so that a steady path has this much above its round trip
    /// (Linux, which bounds the variation by its least timeout of 200 ms); zero: the granularity alone.
    pub min_variation: Duration,
    /// Most of the peer's acknowledgement delay that the timeout of a packet that no other follows allows for, as it
    /// is learned; none: nothing is learned, and what the round trips contain of it counts.
    pub ack_delay: Option<Duration>,
    /// The timer expires at whole multiples of this only, not before it is due, as a kernel's coarse timer does; zero:
    /// when it is due. To reproduce one.
    pub tick: Duration,
}

/// Which data gives a round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSamples {
    /// Data that was sent once (Karn's algorithm; RFC 9260, section 6.3.1, rule C5).
    SentOnce,
    /// Also data that was sent again, from its first transmission on, once it is proven that this one arrived: the peer
    /// reports every retransmission as a duplicate (RFC 3708), or acknowledges the only one sooner after it left than
    /// the shortest recent round trip. Not if something sent later had a clean round trip within the timeout: then the
    /// measurement is of an acknowledgement that was lost. TCP, whose timestamps tell which transmission arrived, takes
    /// the round trip of the latest segment delivered, where the echo is that of the oldest, for which the peer waited.
    Proven,
}

/// How many variations of the round trip the timeout allows for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoMargin {
    /// Four (RFC 6298, section 2).
    Fixed,
    /// Four and more: as many as leave no more than half of the expiries, or without loss one packet in 4096, early.
    /// An expiry was early if the peer reports what was sent again as a duplicate, after it acknowledged the first
    /// transmission; over TCP, if the acknowledgement carries a timestamp from before the second.
    Learned,
}

/// Back-off of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffPolicy {
    /// Timeouts while the stream is thin.
    pub while_thin: ThinBackoff,
    /// The event that ends back-off.
    pub ends: BackoffEnd,
    /// [`ThinBackoff::LinearFor`] n expiries counts by time, too: until n times as long as this has passed since the first
    /// expiry of an outage, timeouts while thin double up to this only, and go on to probe ([`ThinTimeout::Probe`]). Otherwise the shorter a round trip is, the
    /// sooner its linear timeouts are spent, and the later the end of an outage is found. Zero: the count alone.
    pub linear_step: Duration,
    /// Timeouts are linear, and probes, only while the smoothed round trip is at most this multiple of the least one of the
    /// last minutes: a longer one is that of a queue, into which nothing is to be sent without need, and what is lost is
    /// lost to congestion. Zero: whatever the queue.
    pub linear_queue: u8,
    /// In an outage, a silence in which the timer expired more often than it stays linear, new data leaves whatever the window
    /// says: a packet each such time, each timeout without back-off and each 32nd part of the outage at most, while a timeout may
    /// be linear by `linear_queue`. Zero: as the window allows.
    pub outage_data: Duration,
    /// Which expiries count as errors of the path.
    pub errors: ErrorCounting,
    /// Expiries in a row of the timer of the set-up (SCTP: T1-init, T1-cookie) at which the timeout does not
    /// double beyond `rto.initial`, as `tcp_syn_linear_timeouts` of Linux; 0: it doubles at each.
    pub linear_setup: u8,
    /// The first timeout of the set-up (INIT, COOKIE ECHO, a SYN of this side's own) where no round trip was measured: it doubles
    /// up to `rto.initial`. None: `rto.initial`.
    pub first_setup: Option<Duration>,
}

/// What ends the back-off of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffEnd {
    /// A measured round-trip time (RFC 9260, section 6.3.2, rule C3 with C5; RFC 6298, section 5).
    Sample,
    /// Also the first acknowledgement after an outage, once between two measurements. An outage is a silence in which
    /// the timer expired more often than it stays linear.
    Acknowledgement,
}

/// When the timeout doubles while the stream is thin; a thick stream always doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinBackoff {
    /// At each expiry (RFC 9260, section 6.3.3, rule E2).
    Exponential,
    /// Never while thin (Petlund et al. 2009, section 5.3): the timeout stays as it is, doubled before or not.
    Linear,
    /// Not for the first n consecutive expiries while thin, at which the timeout is computed anew (Linux TCP: 6).
    LinearFor(u8),
}

/// Which expiries of the retransmission timer count as errors towards path failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCounting {
    /// Each one (RFC 9260, section 8.2).
    EveryExpiry,
    /// Expiries at which an exponentially backed-off timer would have expired, so that linear timeouts
    /// do not declare a path dead sooner than the RFC would.
    ExponentialSchedule,
}

/// The timer's new value when an acknowledgement moves the cumulative point but leaves data outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerRestart {
    /// The full RTO from now (RFC 9260, section 6.3.2, rule R3; RFC 6298, rule 5.3).
    Full,
    /// While thin: the RTO less the age of the old timer (Petlund et al. 2009, section 5.2). May fire
    /// before the oldest outstanding packet is one RTO old.
    LessTimerAge,
    /// While fewer than `threshold` packets are outstanding or unsent: the RTO less the age of the
    /// oldest outstanding packet (RFC 7765, section 4; its threshold is 4).
    LessOldestAge {
        /// `rrthresh` of RFC 7765.
        threshold: u8,
    },
}

/// When a stream counts as thin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinDetector {
    /// Never: thin-stream mechanisms stay off.
    Off,
    /// Fewer packets in flight than a fast retransmission needs on average at the estimated loss rate:
    /// `in_flight < (threshold + 1) / (1 - loss)` (Petlund et al. 2009, section 5.1).
    InFlight {
        /// Duplicate acknowledgements that trigger a fast retransmission.
        threshold: u8,
        /// Count the boundary itself as thin (`<=`).
        inclusive: bool,
    },
    /// As [`ThinDetector::InFlight`] with a threshold of 3, or the packets in flight are at most half full and left
    /// more than `least` apart, on average: a slow stream stays thin however long its round trip, and while an outage lets
    /// its flight grow.
    FewOrSlow {
        /// Least mean time between packets.
        least: Duration,
    },
    /// Fewer than four packets in flight (Linux TCP).
    FewerThanFour,
    /// Fewer packets in flight than one each `least` would make in a round trip, so that longer round
    /// trips may have more of them (dynamic packets in flight limit; Opstad 2015). Before any
    /// measurement: always.
    Interval {
        /// Least time between packets of a thin stream.
        least: Duration,
    },
    /// Every stream counts as thin.
    Always,
}

/// How loss is told from delay by acknowledgements and short timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossPolicy {
    /// Miss indications (duplicate acknowledgements) that mean loss.
    pub dup_threshold: u8,
    /// Miss indications that mean loss while the stream is thin (Petlund et al. 2009, section 5.4: 1).
    pub dup_threshold_while_thin: Option<u8>,
    /// When a unit that was fast-retransmitted may be so again on evidence from packets sent later.
    pub repeat_fast_retransmit: RepeatFast,
    /// Whether a fast retransmission of the oldest outstanding data restarts the retransmission timer
    /// (RFC 9260, section 7.2.4, rule 4). Where it does not (Linux' SCTP), the timer keeps running and repairs a
    /// lost retransmission sooner.
    pub fast_restarts_timer: bool,
    /// Lower the threshold when few segments are outstanding and none can be sent (RFC 5827, section 3.2).
    pub early_retransmit: bool,
    /// Early retransmit counts bytes in full segments, not the segments that left (RFC 5827, section 3.1): on
    /// streams of small segments that is sooner. Of TCP only.
    pub early_retransmit_by_bytes: bool,
    /// FreeBSD's early fast retransmit timer: the least it waits; none switches it off.
    pub early_timer: Option<Duration>,
    /// Whether what the peer reports by SACK is looked at. Of TCP only.
    pub use_sack: bool,
    /// Loss is told by when packets were sent, instead of by counting reports, where the peer reports
    /// what it has (RACK, RFC 8985, section 6). `dup_threshold` is then the number of packets reported that
    /// closes the reordering window where nothing was ever reordered.
    pub rack: bool,
    /// How much later than a packet sent after it RACK allows a packet to arrive.
    pub reordering_window: ReorderingWindow,
    /// Tail loss probes (RFC 8985, section 7), with the longest that the peer delays an acknowledgement
    /// of a single packet; none: no probes.
    pub tail_probe: Option<Duration>,
    /// Find out whether a timeout was needless by sending new data first (F-RTO, RFC 5682), and take it
    /// back if it was.
    pub frto: bool,
    /// Whether duplicate acknowledgements make the sender look at the age of the oldest packet (Vegas;
    /// TCP-ER, Yin et al.).
    pub fine_grained: FineGrainedTimer,
    /// In fast recovery, with room in the window and no new data, send again what is not known to be lost
    /// (RFC 6675, section 4, NextSeg, rules 3 and 4). Of TCP with SACK only.
    pub rescue: bool,
    /// Which partial acknowledgements restart the retransmission timer (RFC 6582, section 3.2, step 3; the names are
    /// those of RFC 3782, section 4). Of TCP without SACK only.
    pub partial_ack: PartialAck,
    /// Whether a timeout forgets what the peer reported by SACK (RFC 2018, section 8). What is found to
    /// have been discarded is forgotten in any case.
    pub forget_sack_at_timeout: bool,
}

/// When a unit is fast-retransmitted more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatFast {
    /// Never: a retransmission that is lost waits for the timer (RFC 9260, section 7.2.4, rule 5).
    Never,
    /// While the stream is thin.
    WhileThin,
    /// Always (FreeBSD).
    Always,
}

impl RepeatFast {
    /// Whether it may be so again now.
    pub(crate) fn applies(self, thin: bool) -> bool {
        match self {
            RepeatFast::Never => false,
            RepeatFast::WhileThin => thin,
            RepeatFast::Always => true,
        }
    }
}

/// How much later than a packet sent after it a packet may arrive before RACK takes it for lost, once packets
/// overtook each other and before duplicate reports widen the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReorderingWindow {
    /// A quarter of the shortest round trip (RFC 8985, section 6.2, step 4).
    Quarter,
    /// An eighth more than the most that any packet was seen to be late, but no more than a quarter of the shortest round
    /// trip.
    Measured,
}

/// Which acknowledgements that leave a hole open restart the retransmission timer in fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAck {
    /// The first one only: with many holes the timer ends it and slow start repairs them (Impatient).
    First,
    /// Each one, so that one hole is repaired per round trip (Slow-but-Steady).
    Every,
}

/// The fine-grained timer of Vegas: a packet as old as 17/16 (SRTT + 2 RTTVAR) is sent again at the first
/// duplicate acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FineGrainedTimer {
    /// No such look.
    Off,
    /// As it stands (Brakmo and Peterson 1995; Yin et al.).
    On,
    /// A quarter of the shortest round trip later for each round trip in which the peer reported something
    /// sent again needlessly, as RACK's window (RFC 8985, section 6.2): robust to reordering, which the
    /// authors of TCP-ER leave to future work.
    Robust,
}

/// What an expired retransmission timer resends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutResends {
    /// All that is outstanding on the path: one packet at once, the rest as the window allows
    /// (RFC 9260, section 6.3.3, rule E3; lksctp).
    AllOutstanding,
    /// Only what was sent at least `SRTT + 2 · RTTVAR` ago, and always the oldest packet (FreeBSD).
    OldEnough,
    /// Only what RACK would take for lost if something sent later were delivered now, and always the oldest
    /// packet (RFC 8985, section 6.3); all where nothing was delivered yet.
    ByRack,
}

/// What an expired retransmission timer means while the stream is thin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinTimeout {
    /// Congestion: the window falls to one packet (RFC 9260, section 7.2.3).
    Loss,
    /// A question, as long as timeouts stay linear: what is older than SRTT + 2 RTTVAR is sent again, the oldest packet in
    /// any case, everything from the second expiry in a row on; and the window falls once acknowledgements show that something was lost (as for the probes of
    /// RFC 8985, section 7). A timer of little more than a round trip is then no worse for being wrong.
    Probe,
}

/// On which path what a retransmission timer gave up is sent again. What acknowledgements found lost
/// stays on its path in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionPath {
    /// Another one, if another one works (RFC 9260, section 6.4; lksctp).
    Alternate,
    /// The path itself, as long as it counts as working (the setting of Fallon et al.).
    Same,
}

/// Congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionPolicy {
    /// Algorithm that sets the congestion window.
    pub controller: Controller,
    /// Congestion window of a path on which nothing was sent yet, bytes; none: what RFC 9260, section
    /// 7.2.1, makes of the path MTU. Looked at when a path comes into being.
    pub initial_window: Option<u32>,
    /// SYNs or SYN ACKs that had to be sent again before the first window is one segment only; RFC 5681, section
    /// 3.1, says one. RFC 9260 knows no such rule.
    pub handshake_losses: u8,
    /// Packets that one input may release at most (Max.Burst of RFC 9260, section 6.1); 0: no limit.
    pub max_burst: u8,
    /// On the first two miss indications, send one new packet each beyond the window (RFC 3042).
    pub limited_transmit: bool,
    /// Packets by which one acknowledgement may open the window in slow start: L of RFC 3465; 255 is as
    /// good as no limit. RFC 9260 has one and knows no other.
    pub abc_limit: u8,
    /// Leave the first slow start when the round trip grows (HyStart++, RFC 9406); of CUBIC.
    pub hystart: bool,
    /// What of the window a packet takes.
    pub window_counts: WindowCounts,
    /// The window after an idle period. RFC 9260 has its own rule and knows no other.
    pub idle_restart: IdleRestart,
    /// Proportional rate reduction (RFC 9937): a recovery's packets leave at the pace of acknowledgements,
    /// neither after a silence nor in a burst. Where the peer reports what it has.
    pub prr: bool,
    /// Take back what a loss did to the window if there was none: the peer reports all that was sent again
    /// as received twice (RFC 3708), or echoes a timestamp older than it (RFC 3522).
    pub undo: bool,
    /// What an early retransmission, by the fine-grained timer or RFC 5827, does to the window.
    pub early_window: EarlyWindow,
}

/// In what the congestion window is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowCounts {
    /// Bytes of data: a window of two full packets holds dozens of small ones (RFC 5681, RFC 9260).
    Bytes,
    /// Packets, each as a full one whatever it carries; and the window falls from what it was, where the RFCs
    /// let it fall from what was in flight (Linux).
    Packets,
}

/// What an early retransmission does to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyWindow {
    /// What any other loss does to it.
    Controller,
    /// Half, and a window of fewer than four packets becomes two that are inflated by two until recovery
    /// ends (Yin et al., algorithm 1).
    TcpEr,
}

/// What the window becomes when data is sent after more than an RTO in which none was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// What it was.
    Keep,
    /// The initial one at most (RFC 5681, section 4.1).
    InitialWindow,
    /// Half of it per RTO, and no less than the initial one; the threshold becomes three quarters of it if it was
    /// lower, so that slow start brings it back (RFC 2861, section 3; Linux TCP).
    Halve,
}

/// The congestion controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Slow start, congestion avoidance and fast recovery of RFC 9260, section 7.2.
    Rfc9260,
    /// Slow start, congestion avoidance and halving of RFC 5681.
    NewReno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// Vegas (Brakmo and Peterson 1995).
    Vegas(VegasPolicy),
}

/// How many packets Vegas keeps in the path's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VegasPolicy {
    /// With fewer the window opens.
    pub alpha: u8,
    /// With more it closes.
    pub beta: u8,
    /// With more slow start ends.
    pub gamma: u8,
}

impl Default for VegasPolicy {
    /// The values of ns-2: 1, 3, 1.
    fn default() -> Self {
        VegasPolicy { alpha: 1, beta: 3, gamma: 1 }
    }
}

/// The receiving side's acknowledgements and the sending side's wish for prompt ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcknowledgementPolicy {
    /// Longest delay of an acknowledgement; none acknowledges every packet at once. TCP delays none by half a second or
    /// more (RFC 9293, section 3.8.6.3): a longer delay counts as 499 ms.
    pub delay: Option<Duration>,
    /// Packets after which an acknowledgement is not delayed any more.
    pub every_packets: u8,
    /// Packets with data that are acknowledged at once when a connection begins, while its peer's window grows by
    /// each acknowledgement (the quick acknowledgements of Linux: 16); 0: none. Of TCP only.
    pub quick: u8,
    /// Which data asks the peer for an immediate acknowledgement: by the I bit (RFC 7053); over TCP by its last byte, sent
    /// once more.
    pub request_immediate: ImmediateRequest,
}

/// Which data asks the peer for an immediate acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImmediateRequest {
    /// None but what the application marks.
    Never,
    /// While the stream is thin, data behind which nothing waits to be sent: no further packet will
    /// come soon that would make the peer acknowledge this one. Over TCP only where the peer is seen to delay.
    WhileThin,
    /// All.
    Always,
}
