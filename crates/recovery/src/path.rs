//! Recovery state of one path: round-trip time, back-off, window, timers.

mod brake;
mod copying;
mod peak;
mod unladen;
mod worth;

use core::num::NonZeroU64;

use base::{Duration, Instant};

use crate::ack_delay::AckDelay;
use crate::congestion::Congestion;
use crate::episode::Episode;
use crate::ledger::PacketNumber;
use crate::loss::inflation::algorithm_1;
use crate::loss::{Delivered, MechanismStates};
use crate::margin::Margin;
use crate::path_id::PathId;
use crate::policy::{RecoveryPolicy, RtoMargin, RtoPolicy};
use crate::rto::{Backoff, compute_rto};
use crate::rtt::RttEstimator;
use crate::thin_stream::LossEstimator;
pub(crate) use brake::{Brake, Prospect, RoundTrip};
use copying::Copying;
pub(crate) use peak::Peak;
use worth::Worth;

/// Expiries in a row that are a persistent congestion: RFC 9002, section 7.6.1, has as many
/// timeouts.
const PERSISTENT: u8 = 2;

/// Start and deadline of a retransmission timer that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunningTimer {
    pub(crate) started_at: Instant,
    pub(crate) due: Instant,
}

/// Estimators, window and timers of one path.
#[derive(Clone, Debug)]
pub(crate) struct PathRecovery {
    pub(crate) rtt: RttEstimator,
    pub(crate) margin: Margin,
    pub(crate) backoff: Backoff,
    pub(crate) congestion: Congestion,
    pub(crate) loss: LossEstimator,
    /// The repair of losses in progress, if any.
    pub(crate) episode: Episode,
    /// T3-rtx (RFC 9260, section 6.3).
    pub(crate) t3_rtx: Option<RunningTimer>,
    /// The early fast retransmit timer (FreeBSD).
    pub(crate) early_timer: Option<Instant>,
    /// Most bytes in flight that the present input may lead to (Max.Burst).
    pub(crate) burst_end: Option<NonZeroU64>,
    /// One past the last packet that the peer was asked to acknowledge at once.
    asked_before: Option<NonZeroU64>,
    /// Paths that retransmit this path's losses.
    pub(crate) routes: Routes,
    /// Peak of the recent flight.
    pub(crate) peak: Peak,
    /// State of the mechanisms that the policy enables.
    pub(crate) mechanisms: Option<Box<MechanismStates>>,
    /// The peer's learned acknowledgement delay, if the policy uses it.
    pub(crate) ack_delay: Option<Box<AckDelay>>,
    /// The brake, gain and cost of copies.
    pub(crate) copying: Copying,
    /// The path's own RTO policy, if it differs from the general one.
    pub(crate) rto_policy: Option<Box<RtoPolicy>>,
}

/// Paths on which a path's losses are retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routes {
    /// Path for losses found by acknowledgements or short timers: the path itself while it works
    /// (RFC 9260, section 6.4).
    pub fast: PathId,
    /// Path for losses found by the retransmission timer.
    pub timeout: PathId,
}

impl Routes {
    /// Retransmits all losses on `path`.
    pub fn all(path: PathId) -> Routes {
        Routes { fast: path, timeout: path }
    }
}

impl PathRecovery {
    pub(crate) fn new(path: PathId, mss: u64, policy: &RecoveryPolicy) -> Self {
        PathRecovery {
            rtt: RttEstimator::default(),
            margin: Margin::default(),
            backoff: Backoff::default(),
            congestion: Congestion::new(&policy.congestion, mss),
            loss: LossEstimator::default(),
            episode: Episode::default(),
            t3_rtx: None,
            early_timer: None,
            burst_end: None,
            asked_before: None,
            routes: Routes::all(path),
            peak: Peak::default(),
            mechanisms: None,
            ack_delay: None,
            copying: Copying::default(),
            rto_policy: None,
        }
    }

    /// Allocates state for the policy's mechanisms when data leaves; `follows`: other data is in
    /// flight. A path without data takes no memory for mechanisms, and one whose messages
    /// travel alone none for copies that ride along.
    pub(crate) fn equip(&mut self, now: Instant, follows: bool, policy: &RecoveryPolicy) {
        if self.ack_delay.is_none() && policy.rto.ack_delay.is_some() {
            self.estimate_ack_delay(now);
        }
        if self.mechanisms.is_none() && MechanismStates::is_wanted(policy) {
            self.mechanisms = Some(Box::default());
        }
        self.copying.equip(follows, policy);
    }

    #[cold]
    #[inline(never)]
    fn estimate_ack_delay(&mut self, now: Instant) {
        self.ack_delay = Some(Box::new(AckDelay::new(now, self.rtt.srtt())));
    }

    /// The fate of `packets` packets became known.
    pub(crate) fn on_fates(&mut self, packets: u32, lost: bool) {
        for _ in 0..packets {
            self.loss.on_fate(lost);
            if let Some(worth) = self.copying.worth_mut() {
                worth.on_fate(lost);
            }
        }
    }

    /// A packet that was declared lost had arrived.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_spurious(&mut self) {
        self.loss.on_spurious();
        if let Some(worth) = self.copying.worth_mut() {
            worth.on_spurious();
        }
    }

    /// The peer was asked to acknowledge `packet` at once, by a flag or by a packet that follows.
    pub(crate) fn on_asked(&mut self, packet: PacketNumber) {
        self.asked_before = NonZeroU64::new(packet + 1);
    }

    /// Whether `packet` is the last one that the peer was asked to acknowledge at once.
    pub(crate) fn was_asked_for(&self, packet: PacketNumber) -> bool {
        self.asked_before.is_some_and(|end| end.get() == packet + 1)
    }

    /// Frees state that is not worth its memory while nothing is outstanding. The shortest round
    /// trip is freed too if nothing else was learned: half a kilobyte per idle connection is a
    /// high price for a number that the smoothed round trip replaces until data is acknowledged
    /// again.
    #[inline(never)]
    pub(crate) fn rest(&mut self) {
        if self.episode.keeps_nothing()
            && self.mechanisms.as_ref().is_some_and(|mechanisms| mechanisms.is_blank())
        {
            self.mechanisms = None;
        }
    }

    /// Whether no timer runs, and no state is left that an acknowledgement could change.
    pub(crate) fn waits_for_nothing(&self) -> bool {
        self.t3_rtx.is_none()
            && self.early_timer.is_none()
            && self.mechanisms.is_none()
            && self.episode.keeps_nothing()
    }

    /// Applies a replaced policy: state that it does not ask for ends.
    pub(crate) fn set_policy(&mut self, policy: &RecoveryPolicy) {
        self.congestion.set_policy(&policy.congestion);
        self.episode.set_policy(policy);
        if policy.loss.early_timer.is_none() {
            self.early_timer = None;
        }
        if policy.rto.margin == RtoMargin::Fixed {
            self.margin = Margin::default();
        }
        self.ack_delay = self.ack_delay.take().filter(|_| policy.rto.ack_delay.is_some());
        self.copying.set_policy(policy);
        let mechanisms = self.mechanisms.take();
        self.mechanisms =
            MechanismStates::is_wanted(policy).then(|| mechanisms.unwrap_or_default());
        if let Some(mechanisms) = &mut self.mechanisms {
            mechanisms.set_policy(policy);
        }
    }

    /// Notifies the mechanisms that the policy enables of delivered data.
    pub(crate) fn on_data_delivered(
        &mut self,
        now: Instant,
        delivered: &Delivered,
        policy: &RecoveryPolicy,
    ) {
        MechanismStates::on_data_delivered(&mut self.mechanisms, policy, now, delivered, &self.rtt);
    }

    /// Applies algorithm 1 of TCP-ER as printed, at a window that was `cwnd_before` bytes. Returns
    /// the inflation until recovery ends.
    #[cold]
    pub(crate) fn run_algorithm_1(
        &mut self,
        cwnd_before: u64,
        early: bool,
        duplicates: u32,
    ) -> i64 {
        let (window, mss) = (self.congestion.cwnd(), self.congestion.mss());
        let inflated = algorithm_1(cwnd_before, window, mss, early, duplicates);
        if early {
            self.congestion.on_early_retransmission(inflated.window);
        }
        inflated.inflation as i64
    }

    /// Shortest round trip of the last minutes, if a mechanism measures it.
    pub(crate) fn shortest_trip(&self) -> Option<Duration> {
        self.mechanisms.as_deref().and_then(MechanismStates::shortest_trip)
    }

    /// Bytes that the window keeps at a loss; 0 if no mechanism keeps any.
    pub(crate) fn least_window(&self) -> u64 {
        let mss = self.congestion.mss();
        self.mechanisms.as_deref().map_or(0, |mechanisms| mechanisms.least_window(mss))
    }

    /// Whether the window is little more than what it keeps at a loss and the first timeouts of a
    /// silence say nothing against that: a congested path that stays silent for longer loses
    /// more than one window (persistent congestion of RFC 9002, section 7.6).
    pub(crate) fn is_near_least_window(&self) -> bool {
        let least = self.least_window();
        let fits = least > 0 && self.congestion.cwnd() <= least * 2;
        fits && self.backoff.expiries() < PERSISTENT
    }

    /// Bytes that may be in flight.
    pub(crate) fn window(&self) -> u64 {
        let cwnd = self.congestion.cwnd();
        if self.episode.is_blank() { cwnd } else { self.window_in_episode(cwnd) }
    }

    #[inline(never)]
    fn window_in_episode(&self, cwnd: u64) -> u64 {
        self.episode.window(cwnd, self.congestion.mss())
    }

    /// The path's own rules for the timeout, or else the association's.
    pub(crate) fn rto_policy<'a>(&'a self, general: &'a RtoPolicy) -> &'a RtoPolicy {
        self.rto_policy.as_deref().unwrap_or(general)
    }

    /// The retransmission timeout with back-off.
    pub(crate) fn rto(&self, general: &RtoPolicy, thin: bool) -> Duration {
        let policy = self.rto_policy(general);
        self.backoff.apply(compute_rto(policy, &self.rtt, self.margin, thin), policy, thin)
    }
}
