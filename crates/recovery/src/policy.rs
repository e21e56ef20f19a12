//! The recovery policy: every decision about what to retransmit and when, as plain values.
//!
//! A paper's mechanism is a value here, never a fork of the code. Named presets are sets of such
//! values; `docs/policies.md` gives the source and the reason of each.

mod by_name;
mod changes;
mod defaults;
mod evidence;
mod fields;
mod form;
mod path_mtu;
mod protocol;
mod redundancy;
mod samples;
mod sctp;
mod tcp;
mod windows;

use base::Duration;

pub use self::changes::Changes;
pub use self::defaults::{SCTP_DEFAULT, TCP_DEFAULT};
pub use self::evidence::{
    EarlyRule, FineGrainedTimer, PartialAck, RepeatFast, SackFlight, SackLosses,
};
pub use self::fields::{FIELDS, Field, FieldError, Topic};
pub use self::path_mtu::{IPV4_MIN_MTU, IPV6_MIN_MTU, PathMtuPolicy, ProbeSizes};
pub use self::protocol::Protocol;
pub use self::redundancy::{BundleReaction, BundlingPolicy, RedundancyPolicy};
pub use self::sctp::PRESETS;
pub use self::tcp::TCP_PRESETS;
pub use self::windows::{EarlyWindow, IdleRestart, LeastWindow, WindowCounts, WindowFalls};
use crate::rtt::{Deviation, Ratio};

/// Every decision about what to retransmit and when. Can be replaced at any time in an
/// association's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryPolicy {
    /// Computation of the retransmission timeout from round-trip times.
    pub rto: RtoPolicy,
    /// The timeout, and the error counter, at consecutive expiries.
    pub backoff: BackoffPolicy,
    /// The timer's new value when an acknowledgement leaves data outstanding.
    pub timer_restart: TimerRestart,
    /// Condition under which a stream counts as thin.
    pub thin: ThinDetector,
    /// Loss detection other than by the retransmission timer.
    pub loss: LossPolicy,
    /// Data that an expired retransmission timer retransmits.
    pub timeout_resends: TimeoutResends,
    /// Meaning of an expired retransmission timer while the stream is thin, or while its path
    /// works.
    pub timeout_while_thin: ThinTimeout,
    /// Path on which data is retransmitted after a timeout.
    pub retransmission_path: RetransmissionPath,
    /// Congestion control: controller, windows and bursts.
    pub congestion: CongestionPolicy,
    /// Acknowledgements that this endpoint sends, and those that it requests.
    pub acknowledgement: AcknowledgementPolicy,
    /// Data that is sent more than once before any evidence of loss.
    pub redundancy: RedundancyPolicy,
    /// Conditions under which larger packets are tried on a path, and under which large ones are
    /// thought to vanish.
    pub path_mtu: PathMtuPolicy,
}

/// Computation of the retransmission timeout from round-trip times (RFC 9260, section 6.3.1; RFC
/// 6298).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtoPolicy {
    /// Gain of the smoothed round-trip time.
    pub alpha: Ratio,
    /// Gain of the round-trip time variation.
    pub beta: Ratio,
    /// The deviation that the variation follows: the absolute one, or another that reproduces a
    /// paper.
    pub deviation: Deviation,
    /// Timeout before the first measurement.
    pub initial: Duration,
    /// Lower bound of the timeout (RTO.Min).
    pub min: Duration,
    /// Lower bound while the stream is thin (Petlund et al. 2009, section 5.2); `None`: `min`.
    pub min_while_thin: Option<Duration>,
    /// Upper bound, with and without back-off.
    pub max: Duration,
    /// Upper bound of the backed-off timeout while the stream is thin, never below the timeout
    /// without back-off; `None`: `max`. It does not apply while acknowledgements arrive that
    /// allow no RTT sample, since the path may have become longer than the bound.
    pub max_while_thin: Option<Duration>,
    /// Data whose acknowledgements are RTT samples.
    pub samples: RttSamples,
    /// Variations that the timeout allows for.
    pub margin: RtoMargin,
    /// Clock granularity G, the lower bound of the variation term.
    pub granularity: Duration,
    /// Lower bound of four times the variation, so that the timeout of a steady path exceeds its
    /// round trip by at least this (Linux, whose bound is its minimum timeout of 200 ms);
    /// zero: the granularity only.
    pub min_variation: Duration,
    /// Longest acknowledgement delay of the peer that the timeout of a packet without a successor
    /// allows for; the delay itself is learned. `None`: nothing is learned, and the timeout
    /// contains the delay only as far as the RTT samples do.
    pub ack_delay: Option<Duration>,
    /// The timer expires only at multiples of this, never early, as a kernel's coarse timer does;
    /// zero: exactly when due. For the reproduction of such kernels.
    pub tick: Duration,
}

/// Data whose acknowledgements are RTT samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSamples {
    /// Data sent once (Karn's algorithm; RFC 9260, section 6.3.1, rule C5).
    SentOnce,
    /// Also retransmitted data, measured from its first transmission, once that one is proven to
    /// have arrived: the peer reports every retransmission as a duplicate (RFC 3708), or
    /// acknowledges the only one sooner than the shortest recent round trip. It does not count
    /// if later data had a clean round trip within the timeout, since then the measurement
    /// reflects a lost acknowledgement. TCP, whose timestamps identify the transmission,
    /// samples the latest delivered packet, whereas the echo is that of the oldest one, with which
    /// the peer waited.
    Proven,
    /// Also retransmitted data, measured from its first transmission, whichever one arrived:
    /// without Karn's algorithm, as Petlund et al. (2009, section 8) suspect of the SCTP that
    /// they measured. A loss makes the sample too long by the wait for the retransmission (Karn
    /// and Partridge 1987). For the reproduction of papers.
    FromFirst,
    /// Samples as of `FromFirst`, but measured from the latest transmission: the acknowledgement of
    /// an earlier one makes the sample too short. For the reproduction of papers.
    FromLatest,
}

impl RttSamples {
    /// Whether retransmitted data gives samples although nothing shows which transmission arrived.
    pub(crate) fn takes_ambiguous(self) -> bool {
        matches!(self, RttSamples::FromFirst | RttSamples::FromLatest)
    }
}

/// Number of RTT variations that the timeout allows for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoMargin {
    /// Four (RFC 6298, section 2).
    Fixed,
    /// Four or more: as many as keep at most half of the expiries early, or one packet in 4096
    /// without loss. An expiry was early if the peer acknowledges the first transmission and
    /// then reports the retransmission as a duplicate; over TCP, if the acknowledgement carries
    /// a timestamp from before the retransmission.
    Learned,
    /// A margin as of `Learned`, on lines of any rate: on a slow one, a retransmission queues
    /// behind earlier packets and delays later ones. Reports of needless retransmissions tell
    /// how long that takes, the margin at most doubles the longest round trip, and while the
    /// peer reports other data a timeout of any stream is a probe.
    LearnedNarrow,
}

impl RtoMargin {
    /// Whether the margin follows early expiries.
    pub fn learns(self) -> bool {
        self != RtoMargin::Fixed
    }

    /// Whether the margin allows for a slow line.
    pub fn heeds_narrow(self) -> bool {
        self == RtoMargin::LearnedNarrow
    }
}

/// Back-off of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffPolicy {
    /// Back-off while the stream is thin.
    pub while_thin: ThinBackoff,
    /// The event that ends back-off.
    pub ends: BackoffEnd,
    /// [`ThinBackoff::LinearFor`] n expiries counts time as well: until n times this duration has
    /// passed since the first expiry of an outage, timeouts while thin double only up to this
    /// duration, and remain probes ([`ThinTimeout::Probe`]). Otherwise, the shorter a round
    /// trip is, the sooner its linear timeouts would be used up and the later the end of an
    /// outage would be noticed. Zero: the count only.
    pub linear_step: Duration,
    /// Timeouts are linear, and probes, only while the smoothed round trip is at most this
    /// multiple of the least one of the last minutes, or exceeds it by at most half of
    /// `linear_step`. A longer one indicates a queue, where needless data does harm and a loss
    /// means congestion. Zero: regardless of the queue.
    pub linear_queue: u8,
    /// Least time between packets of new data that leave in an outage although the window is full;
    /// also at least a timeout without back-off and a 32nd of the outage. An outage is a silence
    /// with more expiries than stay linear. Applies only while `linear_queue` allows linear
    /// timeouts. Zero: the window decides.
    pub outage_data: Duration,
    /// Expiries that count as errors of the path.
    pub errors: ErrorCounting,
    /// Consecutive expiries during the set-up (SCTP: T1-init, T1-cookie) at which the timeout does
    /// not double beyond `rto.initial`, as `tcp_syn_linear_timeouts` of Linux; 0: it doubles
    /// at each.
    pub linear_setup: u8,
    /// First timeout of the set-up (INIT, COOKIE ECHO, this side's own SYN) without an RTT sample;
    /// it doubles up to `rto.initial`. `None`: `rto.initial`.
    pub first_setup: Option<Duration>,
}

impl BackoffPolicy {
    /// Least excess of a round trip over the shortest one that indicates a queue. On a short path,
    /// the traffic of others makes round trips several times as long for a while without one.
    pub(crate) fn least_queue(&self) -> Duration {
        self.linear_step / 2
    }
}

/// Event that ends the back-off of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffEnd {
    /// An RTT sample (RFC 9260, section 6.3.2, rule C3 with C5; RFC 6298, section 5).
    Sample,
    /// Also the first acknowledgement after an outage, once between two RTT samples. An outage is a
    /// silence with more expiries than stay linear.
    Acknowledgement,
}

/// Expiries at which the timeout doubles while the stream is thin; it always doubles on a thick
/// stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinBackoff {
    /// Each expiry (RFC 9260, section 6.3.3, rule E2).
    Exponential,
    /// Never while thin (Petlund et al. 2009, section 5.3): the timeout keeps its value, even if
    /// that was doubled before.
    Linear,
    /// Expiries from number n + 1 on; at the first n consecutive expiries while thin the timeout is
    /// computed again (Linux TCP: 6).
    LinearFor(u8),
}

/// Expiries of the retransmission timer that count as errors towards path failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCounting {
    /// Every expiry (RFC 9260, section 8.2).
    EveryExpiry,
    /// Expiries at which an exponentially backed-off timer would have expired, so that linear
    /// timeouts do not declare a path dead sooner than the RFC does.
    ExponentialSchedule,
}

/// The timer's new value when an acknowledgement moves the cumulative point but leaves data
/// outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerRestart {
    /// The full RTO from now (RFC 9260, section 6.3.2, rule R3; RFC 6298, rule 5.3).
    Full,
    /// While thin: the RTO less the age of the old timer (Petlund et al. 2009, section 5.2). May
    /// expire before the oldest outstanding packet is one RTO old.
    LessTimerAge,
    /// While fewer than `threshold` packets are outstanding or unsent: the RTO less the age of the
    /// oldest outstanding packet (RFC 7765, section 4; its threshold is 4).
    LessOldestAge {
        /// `rrthresh` of RFC 7765, in packets.
        threshold: u8,
    },
}

/// Condition under which a stream counts as thin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinDetector {
    /// Never: the mechanisms for thin streams are off.
    Off,
    /// Fewer packets in flight than a fast retransmission needs on average at the estimated loss
    /// rate: `in_flight < (threshold + 1) / (1 - loss)` (Petlund et al. 2009, section 5.1).
    InFlight {
        /// Duplicate acknowledgements that trigger a fast retransmission.
        threshold: u8,
        /// Whether the boundary itself counts as thin (`<=`).
        inclusive: bool,
    },
    /// The condition of [`ThinDetector::InFlight`] with a threshold of 3, or packets in flight that
    /// are at most half full and left more than `least` apart on average: a slow stream stays
    /// thin however long its round trip, and while an outage lets its flight grow.
    FewOrSlow {
        /// Least mean time between packets.
        least: Duration,
    },
    /// Fewer than four packets in flight (Linux TCP).
    FewerThanFour,
    /// Fewer packets in flight than a round trip contains at one per `least`, so that a longer
    /// round trip allows more of them (dynamic packets in flight limit; Opstad 2015). Every
    /// stream counts as thin before the first RTT sample.
    Interval {
        /// Least mean time between packets of a thin stream.
        least: Duration,
    },
    /// Every stream counts as thin.
    Always,
}

/// Loss detection by acknowledgements and short timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossPolicy {
    /// Miss indications (duplicate acknowledgements) that mean loss.
    pub dup_threshold: u8,
    /// Miss indications that mean loss while the stream is thin (Petlund et al. 2009, section 5.4:
    /// 1); `None`: `dup_threshold`.
    pub dup_threshold_while_thin: Option<u8>,
    /// Condition under which evidence from packets sent later lets a fast-retransmitted unit be
    /// fast-retransmitted again.
    pub repeat_fast_retransmit: RepeatFast,
    /// Whether a fast retransmission of the oldest outstanding data restarts the retransmission
    /// timer (RFC 9260, section 7.2.4, rule 4). Where it does not (Linux' SCTP), the timer
    /// keeps running and repairs a lost retransmission sooner.
    pub fast_restarts_timer: bool,
    /// Lowers the threshold when few segments are outstanding and no data waits to be sent (RFC
    /// 5827, section 3.2).
    pub early_retransmit: bool,
    /// Early retransmit counts bytes in full segments instead of the segments sent (RFC 5827,
    /// section 3.1), which is sooner on streams of small segments. TCP only.
    pub early_retransmit_by_bytes: bool,
    /// Least wait of FreeBSD's early fast retransmit timer; `None` switches it off.
    pub early_timer: Option<Duration>,
    /// Packets that the early fast retransmit timer times, and the condition under which it acts.
    pub early_rule: EarlyRule,
    /// Whether SACK blocks of the peer are used. TCP only.
    pub use_sack: bool,
    /// Loss detection by transmission times instead of counts, if the peer reports gaps (RACK, RFC
    /// 8985, section 6). `dup_threshold` is then the number of reported packets that closes
    /// the reordering window while no reordering was seen.
    pub rack: bool,
    /// Reordering window of RACK: how much later than a packet sent after it a packet may arrive.
    pub reordering_window: ReorderingWindow,
    /// Tail loss probes (RFC 8985, section 7), with the peer's longest delay of the
    /// acknowledgement of a single packet; `None`: no probes.
    pub tail_probe: Option<Duration>,
    /// After a timeout, sends new data first to find out whether the timeout was needless (F-RTO,
    /// RFC 5682), and undoes it if so.
    pub frto: bool,
    /// Whether duplicate acknowledgements make the sender check the age of the oldest packet
    /// (Vegas; TCP-ER, Yin et al.).
    pub fine_grained: FineGrainedTimer,
    /// Whether fast recovery, with room in the window and no new data, retransmits data that is
    /// not known to be lost (RFC 6675, section 4, NextSeg, rules 3 and 4). TCP with SACK only.
    pub rescue: bool,
    /// Partial acknowledgements that restart the retransmission timer (RFC 6582, section 3.2, step
    /// 3; the names are those of RFC 3782, section 4). TCP without SACK only.
    pub partial_ack: PartialAck,
    /// Whether a timeout forgets the peer's SACK reports (RFC 2018, section 8). Reports of data
    /// that the peer is found to have discarded are forgotten in any case.
    pub forget_sack_at_timeout: bool,
    /// Data that counts as lost by position where the peer reports gaps. TCP with SACK only.
    pub sack_losses: SackLosses,
    /// Count of the flight where the peer reports gaps. TCP with SACK only.
    pub sack_flight: SackFlight,
}

/// RACK's reordering window once reordering was seen and before duplicate reports widen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReorderingWindow {
    /// A quarter of the shortest round trip (RFC 8985, section 6.2, step 4).
    Quarter,
    /// An eighth more than the largest lateness seen of any packet, but at most a quarter of the
    /// shortest round trip.
    Measured,
}

/// Data that an expired retransmission timer retransmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutResends {
    /// All data outstanding on the path: one packet at once, the rest as the window allows (RFC
    /// 9260, section 6.3.3, rule E3; lksctp).
    AllOutstanding,
    /// Data sent at least `SRTT + 2 · RTTVAR` ago, and always the oldest packet (FreeBSD).
    OldEnough,
    /// Data that RACK would declare lost if later data were delivered now, and always the oldest
    /// packet (RFC 8985, section 6.3); all data if none was delivered yet.
    ByRack,
}

/// Meaning of an expired retransmission timer while the stream is thin, or while its path works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinTimeout {
    /// Congestion: the window falls to one packet (RFC 9260, section 7.2.3).
    Loss,
    /// A probe, as long as timeouts stay linear, and also of a stream that is not thin, if the peer
    /// reported data within the timeout before: data older than SRTT + 2 RTTVAR is
    /// retransmitted, always the oldest packet, and from the second consecutive expiry on
    /// everything. The window only falls once acknowledgements show a loss (as for the probes
    /// of RFC 8985, section 7). A timer of little more than a round trip then does no harm when
    /// it is wrong.
    Probe,
}

/// Path on which data is retransmitted after a timeout. Losses found by acknowledgements are always
/// repaired on their own path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionPath {
    /// An alternate path, if another one works (RFC 9260, section 6.4; lksctp).
    Alternate,
    /// The path itself, as long as it counts as working (the setting of Fallon et al.).
    Same,
}

/// Congestion control: controller, windows, bursts, idle periods and undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionPolicy {
    /// Algorithm that sets the congestion window.
    pub controller: Controller,
    /// Congestion window of an unused path, in bytes; `None`: derived from the path MTU by RFC
    /// 9260, section 7.2.1. Applies when a path is created.
    pub initial_window: Option<u32>,
    /// Retransmissions of the SYN or SYN ACK from which on the first window is a single segment;
    /// RFC 5681, section 3.1, says one. RFC 9260 has no such rule.
    pub handshake_losses: u8,
    /// Most packets that one input may release (Max.Burst of RFC 9260, section 6.1); 0: no limit.
    pub max_burst: u8,
    /// Whether each of the first two miss indications releases one new packet beyond the window
    /// (RFC 3042).
    pub limited_transmit: bool,
    /// Most packets by which one acknowledgement opens the window in slow start: L of RFC 3465;
    /// 255 means no limit in practice. RFC 9260 fixes it at one.
    pub abc_limit: u8,
    /// Whether growing round trips end the first slow start (HyStart++, RFC 9406). CUBIC only.
    pub hystart: bool,
    /// Unit in which the congestion window counts packets.
    pub window_counts: WindowCounts,
    /// The window after an idle period. RFC 9260 has its own rule.
    pub idle_restart: IdleRestart,
    /// Proportional rate reduction (RFC 9937): acknowledgements pace the packets of a recovery,
    /// without a silence or a burst. Requires that the peer reports gaps.
    pub prr: bool,
    /// Whether a window reduction is undone if nothing was lost: the peer reports every
    /// retransmission as a duplicate (RFC 3708), or echoes a timestamp older than the
    /// retransmission (RFC 3522).
    pub undo: bool,
    /// Effect on the window of an early retransmission, by the fine-grained timer or RFC 5827.
    pub early_window: EarlyWindow,
    /// Least window after a loss, and least slow start threshold after a timeout.
    pub least_window: LeastWindow,
    /// Losses at which the window falls in a recovery. TCP only: RFC 9260, section 7.2.4, lowers
    /// it once.
    pub window_falls: WindowFalls,
}

/// Algorithm of congestion control, for all paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Slow start, congestion avoidance and fast recovery of RFC 9260, section 7.2.
    Rfc9260,
    /// Slow start, congestion avoidance and halving of RFC 5681.
    NewReno,
    /// Cubic growth between losses, for paths with a large bandwidth-delay product (RFC 9438).
    Cubic,
    /// Vegas (Brakmo and Peterson 1995).
    Vegas(VegasPolicy),
}

/// Packets that Vegas keeps in the path's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VegasPolicy {
    /// Fewer packets than this open the window.
    pub alpha: u8,
    /// More packets than this close the window.
    pub beta: u8,
    /// More packets than this end slow start.
    pub gamma: u8,
}

impl Default for VegasPolicy {
    /// The values of ns-2: 1, 3 and 1 packets.
    fn default() -> Self {
        VegasPolicy { alpha: 1, beta: 3, gamma: 1 }
    }
}

/// Acknowledgements of the receiving side, and requests of the sending side for immediate ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcknowledgementPolicy {
    /// Longest delay of an acknowledgement; `None`: every packet is acknowledged at once. TCP
    /// limits it to less than half a second (RFC 9293, section 3.8.6.3): a longer delay counts
    /// as 499 ms.
    pub delay: Option<Duration>,
    /// Number of packets after which an acknowledgement is no longer delayed.
    pub every_packets: u8,
    /// Number of initial packets with data that are acknowledged at once, while the peer's window
    /// grows with each acknowledgement (the quick acknowledgements of Linux: 16); 0: none. TCP
    /// only.
    pub quick: u8,
    /// Data for which the peer is asked for an immediate acknowledgement: by the I bit (RFC 7053),
    /// or over TCP by a repetition of its last byte.
    pub request_immediate: ImmediateRequest,
}

/// Data for which the peer is asked for an immediate acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImmediateRequest {
    /// Only data that the application marks.
    Never,
    /// While the stream is thin, data with nothing queued behind it: no further packet will soon
    /// make the peer acknowledge it. Over TCP only if the peer is seen to delay.
    WhileThin,
    /// Every packet with data, thin stream or not.
    Always,
}
