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
use crate::ledger::{PacketNumber, PathIndex};
use crate::loss::MechanismStates;
use crate::margin::Margin;
use crate::policy::{RecoveryPolicy, RtoMargin, RtoPolicy};
use crate::rto::{Backoff, compute_rto};
use crate::rtt::RttEstimator;
use crate::thin_stream::LossEstimator;
pub(crate) use brake::{Brake, Prospect, RoundTrip};
use copying::Copying;
pub(crate) use peak::Peak;
use worth::Worth;

/// A retransmission timer that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunningTimer {
    pub(crate) started_at: Instant,
    pub(crate) due: Instant,
}

/// What recovery keeps for a path.
#[derive(Clone, Debug)]
pub(crate) struct PathRecovery {
    pub(crate) rtt: RttEstimator,
    pub(crate) margin: Margin,
    pub(crate) backoff: Backoff,
    pub(crate) congestion: Congestion,
    pub(crate) loss: LossEstimator,
    /// What is done about losses now.
    pub(crate) episode: Episode,
    /// T3-rtx (RFC 9260, section 6.3).
    pub(crate) t3_rtx: Option<RunningTimer>,
    /// The early fast retransmit timer (FreeBSD).
    pub(crate) early_timer: Option<Instant>,
    /// Most bytes in flight that the present input may lead to (Max.Burst).
    pub(crate) burst_end: Option<NonZeroU64>,
    /// One past the last packet that the peer was asked to acknowledge at once.
    asked_before: Option<NonZeroU64>,
    /// Where what is lost here is sent again.
    pub(crate) routes: Routes,
    /// How much was in flight lately.
    pub(crate) peak: Peak,
    /// What the newer mechanisms keep.
    pub(crate) mechanisms: Option<Box<MechanismStates>>,
    /// How long the peer delays acknowledgements, where the policy allows for it.
    pub(crate) ack_delay: Option<Box<AckDelay>>,
    /// What keeps copies that ride along from filling a queue, and what they gain and cost.
    pub(crate) copying: Copying,
    /// The path's own way to a timeout, where it differs from the policy's.
    pub(crate) rto_policy: Option<Box<RtoPolicy>>,
}

/// Where what is lost on a path is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routes {
    /// What acknowledgements or short timers found lost: the path itself while it works (RFC 9260,
    /// section 6.4).
    pub fast: PathIndex,
    /// What the retransmission timer gave up.
    pub timeout: PathIndex,
}

impl Routes {
    /// Everything goes on `path`.
    pub fn all(path: PathIndex) -> Routes {
        Routes { fast: path, timeout: path }
    }
}

impl PathRecovery {
    pub(crate) fn new(path: PathIndex, mss: u64, policy: &RecoveryPolicy) -> Self {
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

    /// Data leaves, while other data is in flight or not: what the policy's mechanisms keep is there from now on. A path without
    /// data takes no memory for it, and one whose messages travel alone none for copies that ride along.
    pub(crate) fn equip(&mut self, now: Instant, follows: bool, policy: &RecoveryPolicy) {
        if self.ack_delay.is_none() && policy.rto.ack_delay.is_some() {
            self.ack_delay = Some(Box::new(AckDelay::new(now, self.rtt.srtt())));
        }
        if self.mechanisms.is_none() && MechanismStates::is_wanted(policy) {
            self.mechanisms = Some(Box::default());
        }
        self.copying.equip(follows, policy);
    }

    /// The fate of this many packets is known.
    pub(crate) fn on_fates(&mut self, packets: u32, lost: bool) {
        for _ in 0..packets {
            self.loss.on_fate(lost);
            if let Some(worth) = self.copying.worth_mut() {
                worth.on_fate(lost);
            }
        }
    }

    /// A packet that was taken for lost had arrived.
    pub(crate) fn on_spurious(&mut self) {
        self.loss.on_spurious();
        if let Some(worth) = self.copying.worth_mut() {
            worth.on_spurious();
        }
    }

    /// The peer is asked to acknowledge `packet` at once: by a flag, or by a packet that follows.
    pub(crate) fn on_asked(&mut self, packet: PacketNumber) {
        self.asked_before = NonZeroU64::new(packet + 1);
    }

    /// Whether `packet` is the last one that the peer was asked to acknowledge at once.
    pub(crate) fn was_asked_for(&self, packet: PacketNumber) -> bool {
        self.asked_before.is_some_and(|end| end.get() == packet + 1)
    }

    /// Nothing is outstanding: what is not worth its memory until data leaves again is let go of. The shortest round
    /// trip goes, too, where it is all that was learned: half a kilobyte for each idle connection is a high price for a
    /// number that the smoothed round trip, which stays, stands in for until data is acknowledged again.
    pub(crate) fn rest(&mut self) {
        if self.episode.keeps_nothing()
            && self.mechanisms.as_ref().is_some_and(|mechanisms| mechanisms.is_blank())
        {
            self.mechanisms = None;
        }
    }

    /// Whether no timer runs, and nothing is kept that an acknowledgement could change.
    pub(crate) fn waits_for_nothing(&self) -> bool {
        self.t3_rtx.is_none()
            && self.early_timer.is_none()
            && self.mechanisms.is_none()
            && self.episode.keeps_nothing()
    }

    /// The policy was replaced.
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

    /// Bytes that may be in flight.
    pub(crate) fn window(&self) -> u64 {
        self.episode.window(self.congestion.cwnd(), self.congestion.mss())
    }

    /// The way from round-trip times to a timeout that holds here; `general` unless the path has its own.
    pub(crate) fn rto_policy<'a>(&'a self, general: &'a RtoPolicy) -> &'a RtoPolicy {
        self.rto_policy.as_deref().unwrap_or(general)
    }

    /// The timeout with back-off.
    pub(crate) fn rto(&self, general: &RtoPolicy, thin: bool) -> Duration {
        let policy = self.rto_policy(general);
        self.backoff.apply(compute_rto(policy, &self.rtt, self.margin, thin), policy, thin)
    }
}
