//! Presets for SCTP: RFC 9260, simulators, kernels and ours.

use base::Duration;

use super::{
    AcknowledgementPolicy, BackoffEnd, BackoffPolicy, BundlingPolicy, CongestionPolicy, Controller,
    EarlyRule, EarlyWindow, ErrorCounting, FineGrainedTimer, IdleRestart, ImmediateRequest,
    LeastWindow, LossPolicy, PartialAck, PathMtuPolicy, RecoveryPolicy, RedundancyPolicy,
    ReorderingWindow, RepeatFast, RetransmissionPath, RtoMargin, RtoPolicy, RttSamples, SackFlight,
    SackLosses, ThinBackoff, ThinDetector, ThinTimeout, TimeoutResends, TimerRestart, WindowCounts,
    WindowFalls,
};
use crate::rtt::{Deviation, Ratio};

/// SCTP's presets, each with its name and its description.
pub const PRESETS: [(&str, &str); 9] = [
    ("rfc", "RFC 9260 and nothing else"),
    (
        "lksctp",
        "Linux kernel SCTP: a first timeout of 3 s, which fast retransmissions do not restart",
    ),
    (
        "freebsd",
        "FreeBSD SCTP: a timeout resends only what is old enough, repeated fast retransmission",
    ),
    ("freebsd-efr", "freebsd with its early fast retransmit timer"),
    ("thin-paper", "lksctp with the thin-stream modifications of Petlund et al. 2009"),
    ("thin", "rfc with timers, detection and windows for thin streams"),
    (
        "latency",
        "thin at the bound of the path: timeouts of a round trip, two packets' copies where they help",
    ),
    ("latency-lean", "latency without copies"),
    (
        "latency-max",
        "latency that sends what nothing follows twice: the lowest tail, for twice the packets",
    ),
];

/// Loss detection of RFC 9260 besides the timer: three miss indications, once (section 7.2.4).
const LOSS: LossPolicy = LossPolicy {
    dup_threshold: 3,
    dup_threshold_while_thin: None,
    repeat_fast_retransmit: RepeatFast::Never,
    fast_restarts_timer: true,
    early_retransmit: false,
    early_retransmit_by_bytes: false,
    early_timer: None,
    early_rule: EarlyRule::FreeBsd,
    use_sack: true,
    rack: false,
    reordering_window: ReorderingWindow::Quarter,
    tail_probe: None,
    frto: false,
    fine_grained: FineGrainedTimer::Off,
    rescue: false,
    partial_ack: PartialAck::First,
    forget_sack_at_timeout: true,
    sack_losses: SackLosses::IsLost,
    sack_flight: SackFlight::Reports,
};

/// Least timeout of the `latency` presets while the stream is thin: the smallest difference from
/// the round trip that the clock can tell.
pub(super) const LEAST_TIMEOUT: Duration = Duration::from_millis(1);

/// A stream that waits for a lost packet has more packets in flight than before, and is still thin.
pub(super) const FEW_OR_SLOW: ThinDetector =
    ThinDetector::FewOrSlow { least: Duration::from_millis(5) };

/// Window of an unused path, as TCP's of ten segments (RFC 6928), where RFC 9260, section 7.2.1,
/// has three packets: a stream of some packets a round trip never waits for its window to open.
const INITIAL_WINDOW: u32 = 14_600;

/// Expiries of the timer during set-up at which the timeout does not double, as in Linux
/// (`tcp_syn_linear_timeouts`).
pub(super) const LINEAR_SETUP: u8 = 4;

/// A host that chooses between addresses waits this long for the first before it tries the second
/// (RFC 8305, section 5).
pub(super) const FIRST_SETUP: Duration = Duration::from_millis(250);

/// The round trip of a path varies by less than this factor, that of a queue by more.
pub(super) const LINEAR_QUEUE: u8 = 3;

/// While an outage is young, the `latency` presets probe no less often than `thin`, whose timeouts
/// are not shorter.
pub(super) const LINEAR_STEP: Duration = Duration::from_millis(200);

impl RecoveryPolicy {
    /// RFC 9260, with the values of its section 16, and nothing else.
    pub fn sctp_rfc() -> Self {
        RecoveryPolicy {
            rto: RtoPolicy {
                alpha: Ratio::new(1, 8),
                beta: Ratio::new(1, 4),
                deviation: Deviation::Absolute,
                initial: Duration::from_secs(1),
                min: Duration::from_secs(1),
                min_while_thin: None,
                max: Duration::from_secs(60),
                max_while_thin: None,
                samples: RttSamples::SentOnce,
                margin: RtoMargin::Fixed,
                granularity: Duration::from_millis(1),
                min_variation: Duration::ZERO,
                ack_delay: None,
                tick: Duration::ZERO,
            },
            backoff: BackoffPolicy {
                while_thin: ThinBackoff::Exponential,
                ends: BackoffEnd::Sample,
                linear_step: Duration::ZERO,
                linear_queue: 0,
                outage_data: Duration::ZERO,
                errors: ErrorCounting::EveryExpiry,
                linear_setup: 0,
                first_setup: None,
            },
            timer_restart: TimerRestart::Full,
            thin: ThinDetector::InFlight { threshold: 3, inclusive: false },
            loss: LOSS,
            timeout_resends: TimeoutResends::AllOutstanding,
            timeout_while_thin: ThinTimeout::Loss,
            retransmission_path: RetransmissionPath::Alternate,
            congestion: CongestionPolicy {
                controller: Controller::Rfc9260,
                initial_window: None,
                handshake_losses: 1,
                max_burst: 4,
                limited_transmit: false,
                abc_limit: 1,
                hystart: false,
                window_counts: WindowCounts::Bytes,
                idle_restart: IdleRestart::InitialWindow,
                prr: false,
                undo: false,
                early_window: EarlyWindow::Controller,
                least_window: LeastWindow::Controller,
                window_falls: WindowFalls::Again,
            },
            acknowledgement: AcknowledgementPolicy {
                delay: Some(Duration::from_millis(200)),
                every_packets: 2,
                quick: 0,
                request_immediate: ImmediateRequest::Never,
            },
            redundancy: RedundancyPolicy::NONE,
            path_mtu: PathMtuPolicy::SCTP,
        }
    }

    /// SCTP as the Linux kernel implements it.
    pub fn lksctp() -> Self {
        let mut policy = RecoveryPolicy::sctp_rfc();
        policy.rto.initial = Duration::from_secs(3);
        policy.loss.fast_restarts_timer = false;
        policy
    }

    /// The preset `freebsd`: SCTP as FreeBSD implements it.
    pub fn freebsd() -> Self {
        let mut policy = RecoveryPolicy::sctp_rfc();
        policy.loss.repeat_fast_retransmit = RepeatFast::Always;
        policy.timeout_resends = TimeoutResends::OldEnough;
        policy
    }

    /// FreeBSD's SCTP with the early fast retransmit timer, at its default minimum of 250 ms.
    pub fn freebsd_efr() -> Self {
        let mut policy = RecoveryPolicy::freebsd();
        policy.loss.early_timer = Some(Duration::from_millis(250));
        policy
    }

    /// `lksctp` with all modifications of Petlund et al. 2009, with error counting that linear
    /// timeouts do not affect, and with requests for prompt SACKs.
    pub fn sctp_thin_paper() -> Self {
        let mut policy = RecoveryPolicy::lksctp();
        policy.rto.min_while_thin = Some(Duration::from_millis(200));
        policy.backoff.while_thin = ThinBackoff::Linear;
        policy.backoff.errors = ErrorCounting::ExponentialSchedule;
        policy.timer_restart = TimerRestart::LessOldestAge { threshold: 4 };
        policy.loss.dup_threshold_while_thin = Some(1);
        // With a timeout of little more than a round trip, the timer would expire before the
        // retransmission's acknowledgement.
        policy.loss.fast_restarts_timer = true;
        // A peer may delay its SACKs by as much as the minimum timeout: otherwise each message of a
        // thin stream on a short path would be sent twice.
        policy.acknowledgement.request_immediate = ImmediateRequest::WhileThin;
        policy
    }

    /// Thin streams never wait longer than with `sctp_rfc`, and mostly far less, without a copy of
    /// data that is not late. `docs/policies.md` gives the reason of each value.
    pub fn sctp_thin() -> Self {
        let mut policy = RecoveryPolicy::sctp_thin_paper();
        policy.rto.initial = Duration::from_secs(1);
        policy.rto.max_while_thin = Some(Duration::from_secs(1));
        policy.rto.beta = Ratio::new(1, 8);
        policy.rto.samples = RttSamples::Proven;
        policy.rto.margin = RtoMargin::Learned;
        policy.backoff.while_thin = ThinBackoff::LinearFor(6);
        policy.backoff.ends = BackoffEnd::Acknowledgement;
        policy.backoff.linear_setup = LINEAR_SETUP;
        policy.backoff.linear_queue = LINEAR_QUEUE;
        policy.thin = FEW_OR_SLOW;
        policy.loss.repeat_fast_retransmit = RepeatFast::WhileThin;
        policy.timeout_while_thin = ThinTimeout::Probe;
        policy.congestion.undo = true;
        policy
    }

    /// `sctp_thin` with timeouts of little more than the measured round trip: the base of the
    /// `latency` presets, which add a way to repair losses without a timeout.
    fn sctp_thin_at_bound() -> Self {
        let mut policy = RecoveryPolicy::sctp_thin();
        policy.rto.min_while_thin = Some(LEAST_TIMEOUT);
        policy.rto.margin = RtoMargin::LearnedNarrow;
        policy.backoff.linear_step = LINEAR_STEP;
        policy.backoff.outage_data = LINEAR_STEP;
        policy.congestion.least_window = LeastWindow::Carried;
        policy.congestion.initial_window = Some(INITIAL_WINDOW);
        policy.backoff.first_setup = Some(FIRST_SETUP);
        policy
    }

    /// `sctp_thin` at the path's own bound: timeouts of little more than the measured round trip,
    /// and copies of the last two packets' data in each message that follows within a round
    /// trip, so that the next message repairs the loss of the previous one. A brake ends copies
    /// that would fill a queue.
    pub fn sctp_latency() -> Self {
        let mut policy = RecoveryPolicy::sctp_thin_at_bound();
        policy.redundancy.bundling = Some(BundlingPolicy::LATENCY);
        policy
    }

    /// [`sctp_latency`](RecoveryPolicy::sctp_latency) without copies: a loss costs one round trip
    /// from its transmission, for each packet in flight, provided that each has a prompt SACK.
    pub fn sctp_latency_lean() -> Self {
        let mut policy = RecoveryPolicy::sctp_thin_at_bound();
        policy.timer_restart = TimerRestart::LessOldestAge { threshold: u8::MAX };
        policy.acknowledgement.request_immediate = ImmediateRequest::Always;
        policy
    }

    /// [`sctp_latency`](RecoveryPolicy::sctp_latency) with data that has no successor sent twice: a
    /// single loss costs a seventh of the round trip. A stream slower than that sends twice as
    /// many packets.
    pub fn sctp_latency_max() -> Self {
        let mut policy = RecoveryPolicy::sctp_latency();
        policy.redundancy.bundling = Some(BundlingPolicy::MAX);
        policy
    }

    /// The preset of this name; `None` if there is none (see [`PRESETS`]).
    pub fn preset(name: &str) -> Option<Self> {
        Some(match name {
            "rfc" => RecoveryPolicy::sctp_rfc(),
            "lksctp" => RecoveryPolicy::lksctp(),
            "freebsd" => RecoveryPolicy::freebsd(),
            "freebsd-efr" => RecoveryPolicy::freebsd_efr(),
            "thin-paper" => RecoveryPolicy::sctp_thin_paper(),
            "thin" => RecoveryPolicy::sctp_thin(),
            "latency" => RecoveryPolicy::sctp_latency(),
            "latency-lean" => RecoveryPolicy::sctp_latency_lean(),
            "latency-max" => RecoveryPolicy::sctp_latency_max(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_preset_exists_and_no_two_are_equal() {
        let presets: Vec<_> =
            PRESETS.iter().map(|(name, _)| RecoveryPolicy::preset(name).unwrap()).collect();
        for (index, preset) in presets.iter().enumerate() {
            assert!(!presets[..index].contains(preset), "{}", PRESETS[index].0);
        }
        assert_eq!(RecoveryPolicy::preset("lkstcp"), None);
    }
}
