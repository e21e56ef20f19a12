//! Recovery state of one path: round-trip time, back-off, window, timers.

mod brake;
mod watch;

use core::num::NonZeroU64;

use base::{Duration, Instant};

use crate::ack_delay::AckDelay;
use crate::congestion::Congestion;
use crate::ledger::{Ledger, PacketNumber, PathIndex};
use crate::policy::{RecoveryPolicy, RtoPolicy};
use crate::rto::{Backoff, compute_rto};
use crate::rtt::RttEstimator;
use crate::thin_stream::LossEstimator;
pub(crate) use brake::{Brake, RoundTrip};
pub(crate) use watch::{Pacing, Peak, Watch};

/// A retransmission timer that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunningTimer {
    pub(crate) started_at: Instant,
    pub(crate) due: Instant,
}

/// The data for which the window has fallen: for one window of data it falls once (RFC 3168, section 6.1.2;
/// RFC 6675, section 5).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fallen {
    /// The first unit not sent then.
    until: u64,
    /// The number of the next packet then.
    packet: PacketNumber,
    by_timeout: bool,
    /// A mark of the network told of it, too.
    marked: bool,
}

impl Fallen {
    /// It falls now, by the retransmission timer or not.
    pub(crate) fn now(ledger: &Ledger, by_timeout: bool) -> Fallen {
        let (until, packet) = (ledger.next_unit(), ledger.next_packet());
        Fallen { until, packet, by_timeout, marked: false }
    }

    /// The same, and a mark of the network told of it.
    pub(crate) fn marked(self) -> Fallen {
        Fallen { marked: true, ..self }
    }

    /// Whether a mark comes for data of which one did before.
    pub(crate) fn covers_mark(self, cumulative: u64) -> bool {
        self.marked && self.covers_signal(cumulative)
    }

    /// Whether a packet that is lost was sent since: if it carried something again, it is another sign of
    /// congestion (RFC 5681, section 4.3).
    pub(crate) fn precedes(self, packet: PacketNumber) -> bool {
        self.packet <= packet
    }

    /// Whether a signal that tells of no unit comes for the same data still: nothing sent since is
    /// acknowledged, so that the peer cannot know yet.
    pub(crate) fn covers_signal(self, cumulative: u64) -> bool {
        cumulative <= self.until
    }

    /// Whether a loss at the cumulative point is one of that data, by acknowledgements. After a timeout it is
    /// not asked of SCTP, whose formula then opens a window of one packet to four.
    pub(crate) fn covers_loss(self, cumulative: u64) -> bool {
        cumulative < self.until && !self.by_timeout
    }
}

/// What recovery keeps for a path.
#[derive(Clone, Debug)]
pub(crate) struct PathRecovery {
    pub(crate) rtt: RttEstimator,
    pub(crate) backoff: Backoff,
    pub(crate) congestion: Congestion,
    pub(crate) loss: LossEstimator,
    /// One past the cumulative point when the timer last expired: if it is there still when the timer
    /// expires again, it is for the same data (RFC 5681, section 3.1).
    pub(crate) timed_out_at: Option<NonZeroU64>,
    /// T3-rtx (RFC 9260, section 6.3).
    pub(crate) t3_rtx: Option<RunningTimer>,
    /// The early fast retransmit timer (FreeBSD).
    pub(crate) early_timer: Option<Instant>,
    /// Packets that may leave whatever the window says: the first after a timeout or on entering
    /// fast recovery (RFC 9260, sections 6.3.3 E3 and 7.2.4).
    pub(crate) exempt_packets: u8,
    /// Whether the exempt packet was granted by fast retransmission.
    pub(crate) exempt_is_fast: bool,
    /// Packets of new data that limited transmit allows beyond the window (RFC 3042).
    pub(crate) limited_transmit: u8,
    /// Most bytes in flight that the present input may lead to (Max.Burst).
    pub(crate) burst_end: Option<NonZeroU64>,
    /// Fast recovery ends when the cumulative point reaches this unit (RFC 9260, section 7.2.4).
    pub(crate) fast_recovery_exit: Option<NonZeroU64>,
    /// For what the window fell last.
    pub(crate) fallen: Fallen,
    /// Where what is lost here is sent again.
    pub(crate) routes: Routes,
    /// Bytes by which the window is wider or narrower than the controller has it: for what duplicate
    /// acknowledgements say has left the network, where no reports say what (RFC 6582, section 3.2).
    pub(crate) inflation: i64,
    /// How much was in flight of late.
    pub(crate) peak: Peak,
    /// What the newer mechanisms keep.
    pub(crate) watch: Option<Box<Watch>>,
    /// How long the peer delays acknowledgements, where the policy allows for it.
    pub(crate) ack_delay: Option<Box<AckDelay>>,
    /// What keeps copies that ride along from filling a queue, where the policy has a brake.
    pub(crate) brake: Option<Box<Brake>>,
    /// What this path has in the place of the policy's way to a timeout.
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
    pub(crate) fn new(path: PathIndex, pmdcs: u64, policy: &RecoveryPolicy) -> Self {
        PathRecovery {
            rtt: RttEstimator::default(),
            backoff: Backoff::default(),
            congestion: Congestion::new(&policy.congestion, pmdcs),
            loss: LossEstimator::default(),
            timed_out_at: None,
            t3_rtx: None,
            early_timer: None,
            exempt_packets: 0,
            exempt_is_fast: false,
            limited_transmit: 0,
            burst_end: None,
            fast_recovery_exit: None,
            fallen: Fallen::default(),
            routes: Routes::all(path),
            inflation: 0,
            peak: Peak::default(),
            watch: None,
            ack_delay: None,
            brake: None,
            rto_policy: None,
        }
    }

    /// Data leaves: what the policy's mechanisms keep is there from now on. A path without data takes no memory for it.
    pub(crate) fn equip(&mut self, policy: &RecoveryPolicy) {
        if self.watch.is_none() && Watch::is_wanted(policy) {
            self.watch = Some(Box::default());
        }
        if self.brake.is_none() && policy.redundancy.has_brake() {
            self.brake = Some(Box::default());
        }
    }

    /// Nothing is outstanding: what is not worth its memory until data leaves again is let go of.
    pub(crate) fn rest(&mut self) {
        if self.watch.as_ref().is_some_and(|watch| watch.is_blank()) {
            self.watch = None;
        }
    }

    /// The policy was replaced.
    pub(crate) fn set_policy(&mut self, policy: &RecoveryPolicy) {
        self.congestion.set_policy(&policy.congestion);
        if policy.loss.early_timer.is_none() {
            self.early_timer = None;
        }
        self.ack_delay = self.ack_delay.take().filter(|_| policy.rto.ack_delay.is_some());
        self.brake = self.brake.take().filter(|_| policy.redundancy.has_brake());
        let watch = self.watch.take();
        self.watch = Watch::is_wanted(policy).then(|| watch.unwrap_or_default());
        if let Some(watch) = &mut self.watch {
            watch.set_policy(policy);
        }
    }

    /// Bytes that may be in flight.
    pub(crate) fn window(&self) -> u64 {
        let pacing = self.watch.as_ref().and_then(|watch| watch.pacing);
        if let Some(pacing) = pacing.filter(|_| self.fast_recovery_exit.is_some()) {
            return pacing.window;
        }
        let cwnd = self.congestion.cwnd();
        match self.inflation {
            0 => cwnd,
            inflation => cwnd.saturating_add_signed(inflation).max(self.congestion.mss()),
        }
    }

    /// The way from round-trip times to a timeout that holds here; `general` unless the path has its own.
    pub(crate) fn rto_policy<'a>(&'a self, general: &'a RtoPolicy) -> &'a RtoPolicy {
        self.rto_policy.as_deref().unwrap_or(general)
    }

    /// The timeout with back-off.
    pub(crate) fn rto(&self, general: &RtoPolicy, thin: bool) -> Duration {
        let policy = self.rto_policy(general);
        self.backoff.apply(compute_rto(policy, &self.rtt, thin), policy, thin)
    }
}
