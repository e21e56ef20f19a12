//! Slow start, congestion avoidance and responses to loss of RFC 9260, section 7.2.

use base::{Duration, Instant};

use super::{Acked, Congested, TimedOut};

/// Congestion state of one path. All windows are in bytes.
#[derive(Clone, Debug)]
pub struct Rfc9260 {
    cwnd: u64,
    ssthresh: u64,
    partial_bytes_acked: u64,
    /// Path maximum DATA chunk size.
    mss: u64,
    last_sent: Option<Instant>,
}

windows_of!(Rfc9260);

impl Rfc9260 {
    /// The state of an unused path, with `window` bytes, or the initial window of section 7.2.1.
    pub fn new(mss: u64, window: Option<u32>) -> Self {
        let initial = window.map_or((4 * mss).min((2 * mss).max(4404)), u64::from);
        Rfc9260 { cwnd: initial, ssthresh: u64::MAX, partial_bytes_acked: 0, mss, last_sent: None }
    }

    /// Bytes acknowledged since the window last grew in congestion avoidance.
    pub fn partial_bytes_acked(&self) -> u64 {
        self.partial_bytes_acked
    }

    /// Sets both windows, in bytes.
    pub fn set_windows(&mut self, cwnd: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    /// Data was acknowledged (sections 7.2.1 and 7.2.2).
    pub fn on_acked(&mut self, acked: Acked) {
        let fully_used = acked.flight_before >= self.cwnd;
        if self.cwnd <= self.ssthresh {
            if acked.advanced && fully_used && !acked.in_fast_recovery {
                self.cwnd += acked.bytes.min(self.mss);
            }
        } else {
            self.partial_bytes_acked += acked.bytes;
            if self.partial_bytes_acked > self.cwnd && !fully_used {
                // The window was not fully used: the acknowledged bytes count for one window at
                // most.
                self.partial_bytes_acked = self.cwnd;
            }
            if self.partial_bytes_acked >= self.cwnd && fully_used {
                self.partial_bytes_acked -= self.cwnd;
                if !acked.in_fast_recovery {
                    self.cwnd += self.mss;
                }
            }
        }
        if acked.flight_after == 0 {
            self.on_nothing_in_flight();
        }
    }

    /// All data is acknowledged or abandoned: the count of acknowledged bytes begins again (section
    /// 7.2.2).
    pub fn on_nothing_in_flight(&mut self) {
        self.partial_bytes_acked = 0;
    }

    /// Halves the window in response to a loss found by acknowledgements (sections 7.2.3 and
    /// 7.2.4).
    pub fn on_congestion(&mut self, _: Congested) {
        self.ssthresh = self.halved();
        self.cwnd = self.ssthresh;
        self.partial_bytes_acked = 0;
    }

    /// Sets the window to one packet, then slow start (section 7.2.3).
    pub fn on_timeout(&mut self, _: TimedOut) {
        self.ssthresh = self.halved();
        self.cwnd = self.mss;
        self.partial_bytes_acked = 0;
    }

    /// Responds to the early fast retransmit timer: one packet less, then congestion avoidance.
    pub fn on_early_timer(&mut self) {
        if self.cwnd > self.mss {
            self.cwnd -= self.mss;
        }
        self.ssthresh = self.cwnd.saturating_sub(1);
    }

    /// Whether time has passed since data was sent, and the window is large enough to fall.
    pub fn may_fall_idle(&self, now: Instant) -> bool {
        self.is_large() && self.last_sent.is_some_and(|last| last < now)
    }

    /// Whether the window is larger than the least that an idle period leaves.
    fn is_large(&self) -> bool {
        self.cwnd > 4 * self.mss
    }

    /// Called before data is sent after an idle period of `now - last_sent`: the window halves once
    /// per RTO without data, and the threshold keeps its previous value (section 7.2.1).
    pub fn on_send(&mut self, now: Instant, rto: Duration) {
        if let Some(last) = self.last_sent.replace(now) {
            let idle = now.since(last).as_nanos() / rto.as_nanos().max(1);
            if idle > 0 && self.is_large() {
                self.ssthresh = self.cwnd;
                let halved = self.cwnd.checked_shr(idle.min(63) as u32).unwrap_or(0);
                self.cwnd = halved.max(4 * self.mss);
            }
        }
    }

    fn halved(&self) -> u64 {
        (self.cwnd / 2).max(4 * self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Congestion, Signal};
    use crate::policy::{CongestionPolicy, Controller, RecoveryPolicy};

    const MSS: u64 = 1452;
    const CONGESTED: Congested =
        Congested { now: Instant::ZERO, signal: Signal::Loss, flight_size: 0, again: false };
    const TIMED_OUT: TimedOut = TimedOut { now: Instant::ZERO, flight_size: 0, again: false };

    fn acked(bytes: u64, flight_before: u64) -> Acked {
        Acked {
            bytes,
            flight_before,
            flight_after: flight_before - bytes,
            advanced: true,
            ..Acked::default()
        }
    }

    #[test]
    fn the_initial_window_is_three_full_packets_of_ethernet() {
        assert_eq!(Rfc9260::new(MSS, None).cwnd(), 4404);
        assert_eq!(Rfc9260::new(500, None).cwnd(), 2000);
        assert_eq!(Rfc9260::new(9000, None).cwnd(), 18_000);
        assert_eq!(Rfc9260::new(9000, Some(1452)).cwnd(), 1452);
    }

    #[test]
    fn slow_start_grows_by_what_is_acknowledged_but_no_more_than_one_packet_and_only_if_used() {
        let mut path = Rfc9260::new(MSS, None);
        path.on_acked(acked(2904, 4404));
        assert_eq!(path.cwnd(), 4404 + MSS);
        path.on_acked(acked(100, 100));
        assert_eq!(path.cwnd(), 4404 + MSS);
        path.on_acked(Acked { advanced: false, ..acked(1452, 9000) });
        assert_eq!(path.cwnd(), 4404 + MSS);
    }

    #[test]
    fn congestion_avoidance_grows_by_one_packet_a_window() {
        let mut path = Rfc9260::new(MSS, None);
        path.cwnd = 20_000;
        path.on_congestion(CONGESTED);
        assert_eq!((path.cwnd(), path.ssthresh()), (10_000, 10_000));
        path.cwnd = 10_001;
        let mut acks = 0;
        while path.cwnd() == 10_001 {
            path.on_acked(acked(1452, 11_000));
            acks += 1;
        }
        assert_eq!((acks, path.cwnd()), (7, 11_453));
        assert_eq!(path.partial_bytes_acked(), 7 * 1452 - 10_001);
    }

    #[test]
    fn slow_start_lasts_as_long_as_the_window_is_no_larger_than_the_threshold() {
        let mut path = Rfc9260::new(MSS, None);
        path.set_windows(10_000, 10_000);
        path.on_acked(acked(1452, 10_000));
        assert_eq!((path.cwnd(), path.partial_bytes_acked()), (11_452, 0));
    }

    #[test]
    fn a_window_acknowledged_to_the_byte_opens_it() {
        let mut path = Rfc9260::new(MSS, None);
        path.set_windows(10 * MSS, 10_000);
        for _ in 0..9 {
            path.on_acked(acked(MSS, 20_000));
        }
        assert_eq!((path.cwnd(), path.partial_bytes_acked()), (10 * MSS, 9 * MSS));
        path.on_acked(acked(MSS, 20_000));
        assert_eq!((path.cwnd(), path.partial_bytes_acked()), (11 * MSS, 0));
    }

    #[test]
    fn the_early_timer_leaves_one_packet_of_window() {
        let mut path = Rfc9260::new(MSS, None);
        path.set_windows(2 * MSS, 1 << 20);
        for _ in 0..2 {
            path.on_early_timer();
            assert_eq!((path.cwnd(), path.ssthresh()), (MSS, MSS - 1));
        }
    }

    #[test]
    fn partial_bytes_acked_is_forgotten_when_all_is_acknowledged() {
        let mut path = Rfc9260::new(MSS, None);
        path.cwnd = 20_000;
        path.ssthresh = 10_000;
        path.on_acked(acked(1452, 20_000));
        assert_eq!(path.partial_bytes_acked(), 1452);
        path.on_acked(acked(1452, 1452));
        assert_eq!(path.partial_bytes_acked(), 0);
    }

    #[test]
    fn no_window_falls_below_four_packets_but_after_a_timeout() {
        let mut path = Rfc9260::new(MSS, None);
        path.on_congestion(CONGESTED);
        assert_eq!((path.cwnd(), path.ssthresh()), (4 * MSS, 4 * MSS));
        path.on_timeout(TIMED_OUT);
        assert_eq!((path.cwnd(), path.ssthresh()), (MSS, 4 * MSS));
    }

    #[test]
    fn an_idle_window_halves_once_per_rto_down_to_four_packets() {
        let rto = Duration::from_secs(1);
        let mut path = Rfc9260::new(MSS, None);
        path.cwnd = 40_000;
        path.ssthresh = 10_000;
        path.on_send(Instant::ZERO, rto);
        path.on_send(Instant::from_millis(900), rto);
        assert_eq!((path.cwnd(), path.ssthresh()), (40_000, 10_000));
        path.on_send(Instant::from_millis(2950), rto);
        assert_eq!((path.cwnd(), path.ssthresh()), (10_000, 40_000));
        path.on_send(Instant::from_millis(100_000), rto);
        assert_eq!(path.cwnd(), 4 * MSS);
    }

    #[test]
    fn two_packets_are_left_of_a_window_of_sctp_and_what_tcp_s_controllers_leave_stays() {
        let with = |controller| {
            let policy = CongestionPolicy { controller, ..RecoveryPolicy::tcp_rfc().congestion };
            Congestion::new(&policy, 1000)
        };
        let left = |controller, before: u64| {
            let mut congestion = with(controller);
            congestion.set_windows(before, before);
            congestion.on_congestion(Congested { flight_size: before, ..CONGESTED });
            congestion.fall_to_two(before);
            (congestion.cwnd(), congestion.ssthresh())
        };
        let sctp = [20_000, 6_000, 1_000].map(|before| left(Controller::Rfc9260, before));
        assert_eq!(sctp, [(10_000, 10_000), (3_000, 3_000), (2_000, 2_000)]);
        let mut alone = with(Controller::Rfc9260);
        alone.set_windows(1_000, 1_000);
        alone.on_congestion(CONGESTED);
        assert_eq!(alone.cwnd(), 4_000, "RFC 9260, section 7.2.3");
        assert_eq!(left(Controller::Cubic, 20_000), (14_000, 14_000));
    }
}
