//! Presets for TCP. SCTP's presets do not suit it: they have another controller with its bursts,
//! and no rule for SACK reports that may be forgotten.

use base::Duration;

use super::sctp::{
    FEW_OR_SLOW, FIRST_SETUP, LEAST_TIMEOUT, LINEAR_QUEUE, LINEAR_SETUP, LINEAR_STEP,
};
use super::{
    BackoffEnd, BundleReaction, BundlingPolicy, Controller, EarlyWindow, ErrorCounting,
    FineGrainedTimer, IdleRestart, ImmediateRequest, LeastWindow, PathMtuPolicy, RecoveryPolicy,
    ReorderingWindow, RtoMargin, RttSamples, SackFlight, SackLosses, ThinBackoff, ThinDetector,
    ThinTimeout, TimeoutResends, TimerRestart, VegasPolicy, WindowCounts, WindowFalls,
};
use crate::rtt::Ratio;

/// TCP's presets, each with its name and its description.
pub const TCP_PRESETS: [(&str, &str); 14] = [
    ("rfc", "RFC 5681, 6298, 3042, 6675: what the RFCs that TCP must or should follow say"),
    ("newreno", "rfc without SACK: RFC 6582"),
    ("sack", "rfc with a minimum timeout of 200 ms"),
    ("thin", "sack with Linux's modifications for thin streams and RFC 7765's timer restart"),
    ("thin-rdb", "thin with redundant data bundling"),
    (
        "latency",
        "thin at the bound of the path: timeouts of a round trip, two packets' copies where they help",
    ),
    ("latency-lean", "latency without copies"),
    (
        "latency-max",
        "latency that sends what nothing follows twice: the lowest tail, for twice the packets",
    ),
    ("thin-paper", "thin as the papers' plans measure it: a set of values that stays as it is"),
    ("thin-rdb-paper", "thin-paper with redundant data bundling, as the papers' plans measure it"),
    ("linux", "Linux: CUBIC, RACK-TLP, F-RTO, PRR, undo, timeouts 200 ms above the round trip"),
    ("vegas", "sack with Vegas: window by delay, fine-grained early retransmission"),
    ("er", "sack with TCP-ER: fine-grained early retransmission and its window"),
    (
        "ns-2",
        "SACK as ns-2's simulated sender (Sack1) has it, for the plans of papers that used it",
    ),
];

impl RecoveryPolicy {
    /// TCP's preset of this name; `None` if there is none (see [`TCP_PRESETS`]).
    pub fn tcp_preset(name: &str) -> Option<Self> {
        Some(match name {
            "rfc" => RecoveryPolicy::tcp_rfc(),
            "newreno" => RecoveryPolicy::tcp_newreno(),
            "sack" => RecoveryPolicy::tcp_sack(),
            "thin" => RecoveryPolicy::tcp_thin(),
            "thin-rdb" => RecoveryPolicy::tcp_thin_rdb(),
            "latency" => RecoveryPolicy::tcp_latency(),
            "latency-lean" => RecoveryPolicy::tcp_latency_lean(),
            "latency-max" => RecoveryPolicy::tcp_latency_max(),
            "thin-paper" => RecoveryPolicy::tcp_thin_paper(),
            "thin-rdb-paper" => RecoveryPolicy::tcp_thin_rdb_paper(),
            "linux" => RecoveryPolicy::tcp_linux(),
            "vegas" => RecoveryPolicy::tcp_vegas(),
            "er" => RecoveryPolicy::tcp_er(),
            "ns-2" => RecoveryPolicy::tcp_ns2(),
            _ => return None,
        })
    }

    /// The RFCs: slow start and congestion avoidance (5681) with byte counting (3465) from ten
    /// segments on (6928), timeout (6298), limited transmit (3042), SACK (6675), without SACK
    /// NewReno (6582).
    pub fn tcp_rfc() -> Self {
        let mut policy = RecoveryPolicy::sctp_rfc();
        policy.congestion.controller = Controller::NewReno;
        policy.congestion.max_burst = 0;
        policy.congestion.limited_transmit = true;
        policy.congestion.abc_limit = 2;
        policy.thin = ThinDetector::FewerThanFour;
        policy.loss.rescue = true;
        policy.path_mtu = PathMtuPolicy::TCP;
        policy
    }

    /// `tcp_rfc` without SACK (RFC 6582).
    pub fn tcp_newreno() -> Self {
        let mut policy = RecoveryPolicy::tcp_rfc();
        policy.loss.use_sack = false;
        policy
    }

    /// `tcp_rfc` with the minimum timeout of deployed stacks.
    pub fn tcp_sack() -> Self {
        let mut policy = RecoveryPolicy::tcp_rfc();
        policy.rto.min = Duration::from_millis(200);
        policy
    }

    /// [`tcp_thin_paper`](RecoveryPolicy::tcp_thin_paper) with four additions. Errors count by an
    /// exponential schedule, so that linear timeouts end no connection sooner. The timeout
    /// allows for acknowledgements that the peer is seen to delay. Losses are detected by time
    /// (RACK), so that a lost retransmission does not wait for the timer. Needless reductions
    /// of the window are undone. After an outage it is back within a second, as SCTP's `thin`
    /// is.
    pub fn tcp_thin() -> Self {
        let mut policy = RecoveryPolicy::tcp_thin_paper();
        policy.backoff.errors = ErrorCounting::ExponentialSchedule;
        policy.backoff.ends = BackoffEnd::Acknowledgement;
        policy.backoff.linear_queue = LINEAR_QUEUE;
        policy.rto.max_while_thin = Some(Duration::from_secs(1));
        policy.loss.rack = true;
        policy.loss.reordering_window = ReorderingWindow::Measured;
        // Data that RACK waits for is not retransmitted early.
        policy.loss.rescue = false;
        policy.congestion.undo = true;
        // RFC 9293, section 3.8.6.3: no acknowledgement is delayed by half a second.
        policy.rto.ack_delay = Some(Duration::from_millis(500));
        policy
    }

    /// Linux's modifications for thin streams: linear timeouts for six expiries, fast
    /// retransmission at the first duplicate while fewer than four packets are in flight; and
    /// RTO restart. Plans that reproduce the papers rely on these values.
    pub fn tcp_thin_paper() -> Self {
        let mut policy = RecoveryPolicy::tcp_sack();
        policy.backoff.while_thin = ThinBackoff::LinearFor(6);
        policy.loss.dup_threshold_while_thin = Some(1);
        policy.timer_restart = TimerRestart::LessOldestAge { threshold: 4 };
        policy
    }

    /// `tcp_thin` with copies of data in flight in each packet, retransmissions included: as far as
    /// they fit the congestion window, and while the round trip stays within a quarter of its
    /// minimum, so that copies never displace other data. Losses that copies repair reduce the
    /// window if the peer's duplicate reports prove them.
    pub fn tcp_thin_rdb() -> Self {
        let mut policy = RecoveryPolicy::tcp_thin();
        policy.redundancy = RecoveryPolicy::tcp_thin_rdb_paper().redundancy;
        if let Some(bundling) = &mut policy.redundancy.bundling {
            bundling.brake = Some(Ratio::new(1, 4));
        }
        policy
    }

    /// [`tcp_latency_lean`](RecoveryPolicy::tcp_latency_lean) with copies of the last two packets'
    /// data, as in [`sctp_latency`](RecoveryPolicy::sctp_latency), and with a request for the
    /// acknowledgement of each message that travels alone: while the path loses packets and has
    /// room, if the peer is seen to delay.
    pub fn tcp_latency() -> Self {
        let mut policy = RecoveryPolicy::tcp_latency_lean();
        policy.redundancy.bundling = Some(BundlingPolicy::LATENCY);
        policy.acknowledgement.request_immediate = ImmediateRequest::WhileThin;
        policy
    }

    /// `tcp_thin` with timeouts of little more than the round trip, which is measured on the latest
    /// delivered segment; an expiry that timestamps prove early widens the margin. While
    /// timeouts are linear they are probes and leave the window alone, so that new messages
    /// continue to leave after a burst of losses.
    pub fn tcp_latency_lean() -> Self {
        let mut policy = RecoveryPolicy::tcp_thin();
        policy.rto.min_while_thin = Some(LEAST_TIMEOUT);
        policy.backoff.linear_step = LINEAR_STEP;
        policy.backoff.outage_data = LINEAR_STEP;
        policy.congestion.least_window = LeastWindow::Carried;
        policy.rto.samples = RttSamples::Proven;
        policy.rto.margin = RtoMargin::LearnedNarrow;
        policy.timeout_resends = TimeoutResends::ByRack;
        policy.timeout_while_thin = ThinTimeout::Probe;
        policy.thin = FEW_OR_SLOW;
        policy.backoff.linear_setup = LINEAR_SETUP;
        policy.backoff.first_setup = Some(FIRST_SETUP);
        // The first repetition of a SYN is evidence of a long distance rather than of a loss.
        policy.congestion.handshake_losses = 2;
        policy
    }

    /// [`tcp_latency`](RecoveryPolicy::tcp_latency) with the copies of
    /// [`sctp_latency_max`](RecoveryPolicy::sctp_latency_max): a duplicate is acknowledged at once,
    /// so that no request is needed.
    pub fn tcp_latency_max() -> Self {
        let mut policy = RecoveryPolicy::tcp_latency();
        policy.acknowledgement.request_immediate = ImmediateRequest::Never;
        policy.redundancy.bundling = Some(BundlingPolicy::MAX);
        policy
    }

    /// [`tcp_thin_paper`](RecoveryPolicy::tcp_thin_paper) with copies of data in flight in each
    /// packet, as in [`tcp_thin_rdb`](RecoveryPolicy::tcp_thin_rdb), but without a brake. Plans
    /// that reproduce the papers rely on these values.
    pub fn tcp_thin_rdb_paper() -> Self {
        let mut policy = RecoveryPolicy::tcp_thin_paper();
        policy.redundancy.bundling = Some(BundlingPolicy {
            when: ThinDetector::Interval { least: Duration::from_millis(10) },
            charged: true,
            reaction: BundleReaction::Verified,
            ..BundlingPolicy::PAPER
        });
        policy
    }

    /// A present-day Linux kernel: CUBIC (RFC 9438), RACK-TLP (8985), F-RTO (5682), proportional
    /// rate reduction (9937), undo, slow start without a limit, a window in packets that decays
    /// while idle; acknowledgements that are prompt at first, and then delayed by 40 ms, the
    /// kernel's minimum and usual maximum. Without its HyStart, which is older than RFC 9406
    /// and ends slow start at once.
    pub fn tcp_linux() -> Self {
        let mut policy = RecoveryPolicy::tcp_sack();
        policy.loss.rack = true;
        policy.timeout_resends = TimeoutResends::ByRack;
        policy.loss.tail_probe = Some(Duration::from_millis(200));
        policy.loss.frto = true;
        policy.congestion.controller = Controller::Cubic;
        policy.congestion.prr = true;
        policy.congestion.undo = true;
        policy.congestion.abc_limit = u8::MAX;
        policy.congestion.window_counts = WindowCounts::Packets;
        policy.congestion.idle_restart = IdleRestart::Halve;
        policy.congestion.handshake_losses = 2;
        // Linux's minimum timeout is a bound on the variation, not on the sum (tcp_rtt_estimator).
        policy.rto.min_variation = Duration::from_millis(200);
        policy.rto.max = Duration::from_secs(120);
        policy.acknowledgement.delay = Some(Duration::from_millis(40));
        policy.acknowledgement.quick = 16;
        policy
    }

    /// Vegas (Brakmo and Peterson 1995), with SACK.
    pub fn tcp_vegas() -> Self {
        let mut policy = RecoveryPolicy::tcp_sack();
        policy.congestion.controller = Controller::Vegas(VegasPolicy::default());
        policy.loss.fine_grained = FineGrainedTimer::On;
        policy
    }

    /// TCP-ER with SACK, called "SACK-ER" by Yin et al.
    pub fn tcp_er() -> Self {
        let mut policy = RecoveryPolicy::tcp_sack();
        policy.loss.fine_grained = FineGrainedTimer::On;
        policy.congestion.early_window = EarlyWindow::TcpEr;
        policy
    }

    /// ns-2's `Agent/TCP/Sack1` with its default values: in a recovery each hole counts as lost,
    /// acknowledgements lower the flight, and the window falls once; windows in packets, which
    /// fall to one; a clock of 10 ms; acknowledgements counted instead of bytes. Its first
    /// timeout of 3 s and its initial window of two packets are for the plan to set.
    pub fn tcp_ns2() -> Self {
        let mut policy = RecoveryPolicy::tcp_sack();
        policy.loss.sack_losses = SackLosses::EachHole;
        policy.loss.sack_flight = SackFlight::Acknowledgements;
        policy.congestion.window_falls = WindowFalls::Once;
        policy.loss.rescue = false;
        policy.congestion.least_window = LeastWindow::OnePacket;
        policy.congestion.window_counts = WindowCounts::Packets;
        policy.congestion.abc_limit = 1;
        policy.rto.granularity = Duration::from_millis(10);
        policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_preset_of_tcp_exists_and_no_two_are_equal() {
        let presets: Vec<_> =
            TCP_PRESETS.iter().map(|(name, _)| RecoveryPolicy::tcp_preset(name).unwrap()).collect();
        for (index, preset) in presets.iter().enumerate() {
            assert!(!presets[..index].contains(preset), "{}", TCP_PRESETS[index].0);
        }
        assert_eq!(RecoveryPolicy::tcp_preset("reno"), None);
    }
}
