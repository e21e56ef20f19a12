//! Congestion controllers: numbers in, numbers out; none has access to the sender.
//!
//! [`Congestion`] is any one of them, behind the interface that all share. A controller decides how
//! far the window falls; the recovery decides how the flight gets there while lost data is being
//! repaired.

/// Accessors that all controllers implement alike, from their fields `cwnd`, `ssthresh` and `mss`.
macro_rules! windows_of {
    ($controller:ty) => {
        impl $controller {
            /// Congestion window, in bytes.
            pub fn cwnd(&self) -> u64 {
                self.cwnd
            }

            /// Slow start threshold, in bytes.
            pub fn ssthresh(&self) -> u64 {
                self.ssthresh
            }

            /// Maximum number of bytes of data in a packet.
            pub fn mss(&self) -> u64 {
                self.mss
            }

            /// Sets the maximum number of bytes of data in a packet; the windows keep their bytes.
            pub fn set_mss(&mut self, mss: u64) {
                self.mss = mss;
            }
        }
    };
}

pub mod cubic;
pub mod hystart;
mod idle;
pub mod newreno;
pub mod prr;
pub mod rfc9260;
pub mod vegas;

use base::{Duration, Instant};

use self::cubic::Cubic;
use self::idle::Idle;
use self::newreno::NewReno;
use self::rfc9260::Rfc9260;
use self::vegas::Vegas;
use crate::policy::{CongestionPolicy, Controller};

/// Facts of an acknowledgement that a controller may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Arrival time of the acknowledgement.
    pub now: Instant,
    /// Bytes newly acknowledged, cumulatively or by gap.
    pub bytes: u64,
    /// Bytes in flight before the acknowledgement.
    pub flight_before: u64,
    /// Bytes in flight after the acknowledgement.
    pub flight_after: u64,
    /// Most bytes in flight since the acknowledged data was sent: how much of the window was used.
    pub flight_peak: u64,
    /// Whether the cumulative point advanced.
    pub advanced: bool,
    /// Whether fast recovery is in progress.
    pub in_fast_recovery: bool,
    /// The RTT sample that the acknowledgement gave, if any.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time; `None` before the first RTT sample.
    pub srtt: Option<Duration>,
    /// The first unit not acknowledged cumulatively.
    pub cumulative: u64,
    /// The first unit not sent yet.
    pub next_unit: u64,
}

/// Evidence of congestion that lowers a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A loss found by acknowledgements or by a short timer.
    Loss,
    /// A congestion mark of the network (RFC 3168).
    Ecn,
}

/// The first sign of congestion since the window last fell.
#[derive(Clone, Copy, Debug)]
pub struct Congested {
    /// Time at which the signal was detected.
    pub now: Instant,
    /// Whether a loss or a congestion mark lowers the window.
    pub signal: Signal,
    /// Bytes sent and not acknowledged cumulatively: FlightSize of RFC 5681.
    pub flight_size: u64,
    /// Whether the lost data was itself a retransmission.
    pub again: bool,
}

/// An expiry of the retransmission timer.
#[derive(Clone, Copy, Debug)]
pub struct TimedOut {
    /// Time at which the timer expired.
    pub now: Instant,
    /// Bytes sent and not acknowledged cumulatively: FlightSize of RFC 5681.
    pub flight_size: u64,
    /// Whether the timer had retransmitted the oldest data before.
    pub again: bool,
}

/// The controller of one path. All windows are in bytes.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// Slow start and congestion avoidance of SCTP (RFC 9260, section 7.2).
    Rfc9260(Rfc9260),
    /// Reno with byte counting (RFC 5681, RFC 3465).
    NewReno(NewReno),
    /// Cubic growth between losses, beta 0.7 (RFC 9438).
    Cubic(Box<Cubic>),
    /// Vegas (Brakmo and Peterson 1995).
    Vegas(Box<Vegas>),
}

/// Calls one method on the controller of whichever variant.
macro_rules! each {
    ($self:expr, $controller:ident => $call:expr) => {
        match $self {
            Congestion::Rfc9260($controller) => $call,
            Congestion::NewReno($controller) => $call,
            Congestion::Cubic($controller) => $call,
            Congestion::Vegas($controller) => $call,
        }
    };
}

impl Congestion {
    /// The controller that the policy names, for an unused path whose packets carry at most `mss`
    /// bytes of data.
    pub fn new(policy: &CongestionPolicy, mss: u64) -> Self {
        match policy.controller {
            Controller::Rfc9260 => Congestion::Rfc9260(Rfc9260::new(mss, policy.initial_window)),
            Controller::NewReno => Congestion::NewReno(NewReno::new(mss, policy)),
            Controller::Cubic => Congestion::Cubic(Box::new(Cubic::new(mss, policy))),
            Controller::Vegas(limits) => {
                Congestion::Vegas(Box::new(Vegas::new(mss, policy, limits)))
            }
        }
    }

    /// Applies a replaced policy: the controller follows its new values, or the newly named
    /// controller takes over this one's windows.
    pub fn set_policy(&mut self, policy: &CongestionPolicy) {
        let next = match (&mut *self, policy.controller) {
            (Congestion::Rfc9260(_), Controller::Rfc9260) => return,
            (Congestion::NewReno(newreno), Controller::NewReno) => {
                return newreno.set_policy(policy);
            }
            (Congestion::Cubic(cubic), Controller::Cubic) => return cubic.set_policy(policy),
            (Congestion::Vegas(vegas), Controller::Vegas(limits)) => {
                return vegas.set_policy(policy, limits);
            }
            _ => Congestion::new(policy, self.mss()),
        };
        let (cwnd, ssthresh) = (self.cwnd(), self.ssthresh());
        self.replace(next);
        self.set_windows(cwnd, ssthresh);
        if let Some(idle) = self.idle() {
            idle.set_policy(policy);
        }
    }

    /// Congestion window, in bytes.
    pub fn cwnd(&self) -> u64 {
        each!(self, controller => controller.cwnd())
    }

    /// Slow start threshold, in bytes.
    pub fn ssthresh(&self) -> u64 {
        each!(self, controller => controller.ssthresh())
    }

    /// Bytes acknowledged since the window last grew in congestion avoidance; 0 for CUBIC and
    /// Vegas, which do not count them.
    pub fn partial_bytes_acked(&self) -> u64 {
        match self {
            Congestion::Rfc9260(controller) => controller.partial_bytes_acked(),
            Congestion::NewReno(controller) => controller.partial_bytes_acked(),
            Congestion::Cubic(_) | Congestion::Vegas(_) => 0,
        }
    }

    /// Maximum number of bytes of data in a packet: PMDCS of RFC 9260, SMSS of RFC 5681.
    pub fn mss(&self) -> u64 {
        each!(self, controller => controller.mss())
    }

    /// Sets the maximum number of bytes of data in a packet; the windows keep their bytes.
    pub fn set_mss(&mut self, mss: u64) {
        each!(self, controller => controller.set_mss(mss));
    }

    /// Sets the maximum number of bytes of data in a packet; the windows keep their number of
    /// packets, as in a kernel that counts packets.
    pub fn set_mss_of_packets(&mut self, mss: u64) {
        let before = self.mss().max(1);
        if mss == before {
            return;
        }
        self.set_mss(mss);
        let scaled = |window: u64| match window {
            // The threshold has not been set yet.
            u64::MAX => u64::MAX,
            window => window / before * mss + window % before * mss / before,
        };
        let (cwnd, ssthresh) = (scaled(self.cwnd()), scaled(self.ssthresh()));
        self.set_windows(cwnd, ssthresh);
        if let Congestion::Cubic(cubic) = self {
            cubic.set_w_max(scaled(cubic.w_max()));
        }
    }

    /// Grows the window by an acknowledgement, unless fast recovery is in progress or little of it
    /// was used.
    pub fn on_acked(&mut self, acked: Acked) {
        each!(self, controller => controller.on_acked(acked));
    }

    /// The rest of the flight was abandoned, which counts as acknowledged for good, but not for the
    /// window (RFC 3758, section 3.5, A2).
    pub fn on_flight_abandoned(&mut self) {
        if let Congestion::Rfc9260(controller) = self {
            controller.on_nothing_in_flight();
        }
    }

    /// Lowers the window in response to congestion: at most once per window of data.
    pub fn on_congestion(&mut self, congested: Congested) {
        each!(self, controller => controller.on_congestion(congested));
    }

    /// Lowers the window and begins slow start, since the retransmission timer expired.
    pub fn on_timeout(&mut self, timed_out: TimedOut) {
        each!(self, controller => controller.on_timeout(timed_out));
    }

    /// Responds to FreeBSD's early fast retransmit timer: one packet less, then congestion
    /// avoidance.
    pub fn on_early_timer(&mut self) {
        match self {
            Congestion::Rfc9260(controller) => controller.on_early_timer(),
            _ => {
                let (cwnd, mss) = (self.cwnd(), self.mss());
                let cwnd = if cwnd > mss { cwnd - mss } else { cwnd };
                self.set_windows(cwnd, cwnd.saturating_sub(1));
            }
        }
    }

    /// Whether an idle period may lower the window at `now`: otherwise [`Congestion::before_send`]
    /// needs no timeout.
    pub fn may_fall_idle(&self, now: Instant, in_flight: u64) -> bool {
        match self {
            Congestion::Rfc9260(controller) => controller.may_fall_idle(now),
            _ if in_flight > 0 => false,
            Congestion::NewReno(controller) => controller.idle.may_charge(now),
            Congestion::Cubic(controller) => controller.idle.may_charge(now),
            Congestion::Vegas(controller) => controller.idle.may_charge(now),
        }
    }

    /// Called before data may be sent, to apply the rule for idle periods; `rto` is the
    /// retransmission timeout, of any length unless [one may lower the
    /// window](Congestion::may_fall_idle).
    pub fn before_send(&mut self, now: Instant, rto: Duration, in_flight: u64) {
        match self {
            Congestion::Rfc9260(controller) => controller.on_send(now, rto),
            _ if in_flight > 0 => {}
            Congestion::NewReno(controller) => controller.before_send(now, rto),
            Congestion::Cubic(controller) => controller.before_send(now, rto),
            Congestion::Vegas(controller) => controller.before_send(now, rto),
        }
    }

    /// Data was sent, which ends an idle period.
    pub fn on_sent(&mut self, now: Instant) {
        if let Some(idle) = self.idle() {
            idle.on_sent(now);
        }
    }

    /// Replaces the controller; the time of the last transmission is kept.
    fn replace(&mut self, next: Congestion) {
        let known = self.idle().copied();
        *self = next;
        if let (Some(idle), Some(known)) = (self.idle(), known) {
            *idle = known;
        }
    }

    /// Idle-period state; `None` for the controller of RFC 9260, which has its own rule.
    fn idle(&mut self) -> Option<&mut Idle> {
        match self {
            Congestion::Rfc9260(_) => None,
            Congestion::NewReno(controller) => Some(&mut controller.idle),
            Congestion::Cubic(controller) => Some(&mut controller.idle),
            Congestion::Vegas(controller) => Some(&mut controller.idle),
        }
    }

    /// Undoes a needless reduction: restores the state `before` it, but never to less than the
    /// present windows.
    pub fn undo(&mut self, before: Congestion) {
        let (cwnd, ssthresh, mss) = (self.cwnd(), self.ssthresh(), self.mss());
        self.replace(before);
        self.set_mss(mss);
        if cwnd > self.cwnd() || ssthresh > self.ssthresh() {
            self.set_windows(cwnd.max(self.cwnd()), ssthresh.max(self.ssthresh()));
        }
    }

    /// After the window fell from `before` bytes: keeps `least` of it, or as much as it was.
    pub fn keep(&mut self, least: u64, before: u64) {
        let least = least.min(before);
        let (cwnd, ssthresh) = (self.cwnd(), self.ssthresh());
        if cwnd < least || ssthresh < least {
            self.set_windows(cwnd.max(least), ssthresh.max(least));
        }
    }

    /// After the window fell from `before` bytes: at most half of that, or two packets (RFC 5681,
    /// section 3.1), where RFC 9260, section 7.2.3, leaves four: nine streams of four packets
    /// each fill a narrow line for seconds.
    pub fn fall_to_two(&mut self, before: u64) {
        let most = (before / 2).max(2 * self.mss());
        let is_higher = matches!(self, Congestion::Rfc9260(_)) && self.ssthresh() > most;
        if is_higher {
            self.set_windows(self.cwnd().min(most), most);
        }
    }

    /// After the window fell from `before` bytes: half of that in whole packets, one at least,
    /// where the controller's own bound held it higher. The threshold stays.
    pub fn fall_to_one(&mut self, before: u64) {
        let mss = self.mss().max(1);
        let bound = if matches!(self, Congestion::Rfc9260(_)) { 4 } else { 2 };
        let half = (before / 2 / mss * mss).max(mss);
        if self.cwnd() <= bound * mss && half < self.cwnd() {
            self.set_windows(half, self.ssthresh());
        }
    }

    /// After a timeout: slow start leads to `least` bytes at least.
    pub fn keep_threshold(&mut self, least: u64) {
        if self.ssthresh() < least {
            self.set_windows(self.cwnd(), least);
        }
    }

    /// Limits the window to at most `cwnd` bytes.
    pub fn cap(&mut self, cwnd: u64) {
        if cwnd < self.cwnd() {
            self.set_windows(cwnd, self.ssthresh());
        }
    }

    /// Sets the initial window to `cwnd` bytes.
    pub fn restart(&mut self, cwnd: u64) {
        self.set_windows(cwnd, self.ssthresh());
    }

    /// Applies an early retransmission: window and threshold become `cwnd` bytes, the threshold no
    /// less than two packets (Yin et al., algorithm 1).
    pub fn on_early_retransmission(&mut self, cwnd: u64) {
        self.set_windows(cwnd, cwnd.max(2 * self.mss()));
    }

    /// Sets both windows. Outside this module, tests aside, callers use a method that states the
    /// reason.
    pub(crate) fn set_windows(&mut self, cwnd: u64, ssthresh: u64) {
        each!(self, controller => controller.set_windows(cwnd, ssthresh));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{IdleRestart, RecoveryPolicy, VegasPolicy};

    fn policy(controller: Controller) -> CongestionPolicy {
        CongestionPolicy { controller, ..RecoveryPolicy::tcp_rfc().congestion }
    }

    fn congested() -> Congested {
        Congested { now: Instant::ZERO, signal: Signal::Loss, flight_size: 100_000, again: false }
    }

    #[test]
    fn another_policy_with_the_same_controller_keeps_what_that_learned() {
        let mut cubic = Congestion::new(&policy(Controller::Cubic), 1000);
        cubic.set_windows(100_000, 100_000);
        cubic.on_congestion(congested());
        cubic.set_policy(&CongestionPolicy { abc_limit: 9, ..policy(Controller::Cubic) });
        assert_eq!(cubic.cwnd(), 70_000);
        let Congestion::Cubic(cubic) = cubic else { panic!("another controller") };
        assert_eq!(cubic.w_max(), 100_000);

        let limits = VegasPolicy::default();
        let mut vegas = Congestion::new(&policy(Controller::Vegas(limits)), 1000);
        let rtt = Some(Duration::from_millis(100));
        vegas.on_acked(Acked { rtt, ..Acked::default() });
        vegas.set_policy(&policy(Controller::Vegas(VegasPolicy { alpha: 2, ..limits })));
        let Congestion::Vegas(vegas) = vegas else { panic!("another controller") };
        assert_eq!(vegas.base_rtt(), rtt);
    }

    #[test]
    fn another_controller_takes_over_the_windows() {
        let mut congestion = Congestion::new(&policy(Controller::NewReno), 1000);
        congestion.set_windows(100_000, 50_000);
        congestion.set_policy(&policy(Controller::Cubic));
        assert!(matches!(congestion, Congestion::Cubic(_)));
        assert_eq!((congestion.cwnd(), congestion.ssthresh()), (100_000, 50_000));
    }

    /// A controller with windows of 80 and 5 segments and a rule for idle periods, which sent data
    /// at the beginning.
    fn idle(controller: Controller) -> Congestion {
        let halving = CongestionPolicy { idle_restart: IdleRestart::Halve, ..policy(controller) };
        let mut congestion = Congestion::new(&halving, 1000);
        congestion.set_windows(80_000, 5_000);
        congestion.on_sent(Instant::ZERO);
        congestion
    }

    #[test]
    fn every_controller_pays_once_for_an_idle_period_and_not_while_anything_is_in_flight() {
        let rto = Duration::from_secs(1);
        for controller in
            [Controller::NewReno, Controller::Cubic, Controller::Vegas(VegasPolicy::default())]
        {
            let mut congestion = idle(controller);
            for (in_flight, windows) in
                [(1, (80_000, 5_000)), (0, (40_000, 60_000)), (0, (40_000, 60_000))]
            {
                congestion.before_send(Instant::from_millis(1500), rto, in_flight);
                assert_eq!((congestion.cwnd(), congestion.ssthresh()), windows, "{controller:?}");
            }
        }
    }

    #[test]
    fn when_data_last_left_is_known_to_what_takes_over() {
        let (rto, now) = (Duration::from_secs(1), Instant::from_millis(1500));
        let mut congestion = idle(Controller::Cubic);
        let before = congestion.clone();
        congestion.on_sent(Instant::from_millis(1000));
        congestion.undo(before);
        congestion.before_send(now, rto, 0);
        assert_eq!(congestion.cwnd(), 80_000, "half a second idle");

        let mut congestion = idle(Controller::Cubic);
        let first = CongestionPolicy {
            idle_restart: IdleRestart::InitialWindow,
            ..policy(Controller::NewReno)
        };
        congestion.set_policy(&first);
        congestion.before_send(now, rto, 0);
        assert_eq!(congestion.cwnd(), 10_000, "one and a half, by the rule of the new policy");
    }

    #[test]
    fn windows_in_packets_keep_their_number_when_packets_become_smaller_or_larger() {
        for controller in
            [Controller::NewReno, Controller::Cubic, Controller::Vegas(VegasPolicy::default())]
        {
            let mut congestion = Congestion::new(&policy(controller), 1460);
            let first = congestion.cwnd();
            congestion.set_mss_of_packets(1160);
            assert_eq!((congestion.cwnd(), congestion.ssthresh()), (first / 1460 * 1160, u64::MAX));
            congestion.set_windows(14_600, 7_300);
            congestion.set_mss_of_packets(1160 * 2);
            assert_eq!((congestion.cwnd(), congestion.ssthresh()), (29_200, 14_600));
        }
    }

    #[test]
    fn hystart_begins_in_the_first_slow_start_only() {
        let with = |hystart| CongestionPolicy { hystart, ..policy(Controller::Cubic) };
        // Ever longer round trips: HyStart++ opens the window more slowly.
        let grown = |congestion: &mut Congestion| {
            let before = congestion.cwnd();
            for step in 0..40 {
                congestion.on_acked(Acked {
                    bytes: 1000,
                    flight_peak: congestion.cwnd(),
                    advanced: true,
                    rtt: Some(Duration::from_millis(100 + 3 * step)),
                    cumulative: 10 * step,
                    next_unit: 10 * step + 100,
                    ..Acked::default()
                });
            }
            congestion.cwnd() - before
        };
        let mut plain = Congestion::new(&with(false), 1000);
        let mut switched = plain.clone();
        switched.set_policy(&with(true));
        assert!(grown(&mut switched) < grown(&mut plain));
        let mut later = Congestion::new(&with(false), 1000);
        later.set_windows(10_000, 1_000_000);
        let mut without = later.clone();
        later.set_policy(&with(true));
        assert_eq!(grown(&mut later), grown(&mut without));
    }
}
