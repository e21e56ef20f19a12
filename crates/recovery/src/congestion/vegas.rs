//! TCP Vegas (Brakmo and Peterson 1995; constants and corner cases as in ns-2): once per round trip
//! the window is compared with what the path would carry without a queue.
//!
//! [`crate::loss::fine_grained`] has its fine-grained timer.

use base::{Duration, Instant};

use super::idle::Idle;
use super::newreno::is_used;
use super::{Acked, Congested, Signal, TimedOut};
use crate::policy::{CongestionPolicy, VegasPolicy};

/// Congestion state of one path. All windows are in bytes.
#[derive(Clone, Debug)]
pub struct Vegas {
    cwnd: u64,
    ssthresh: u64,
    mss: u64,
    pub(super) idle: Idle,
    limits: VegasPolicy,
    /// BaseRTT: the shortest round trip ever.
    base_rtt: Option<Duration>,
    round: Round,
    /// Whether the window doubles in this round trip of slow start: in every second one, so that
    /// the others compare equal windows.
    doubles: bool,
}

/// Observations of one round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// The unit whose acknowledgement ends the round.
    end: Option<u64>,
    /// Sum and number of the round-trip times.
    sum: Duration,
    samples: u64,
    /// Most bytes in flight during the round trip.
    peak: u64,
}

/// Bytes that the window keeps in the path's queues: `(expected - actual) · BaseRTT`, where the
/// expected rate is `window / BaseRTT` and the actual one `window / rtt`.
pub fn queued(window: u64, base_rtt: Duration, rtt: Duration) -> u64 {
    let (base, rtt) = (u128::from(base_rtt.as_nanos()), u128::from(rtt.as_nanos()));
    let longer = rtt.saturating_sub(base);
    (u128::from(window) * longer / rtt.max(1)) as u64
}

/// The window after a retransmission: three quarters; half if the data had been retransmitted
/// before; two segments if it was three or fewer.
pub fn after_retransmission(window: u64, mss: u64, again: bool) -> u64 {
    if window <= 3 * mss {
        2 * mss
    } else if again {
        window / 2
    } else {
        window - window / 4
    }
}

windows_of!(Vegas);

impl Vegas {
    /// The state of an unused path.
    pub fn new(mss: u64, policy: &CongestionPolicy, limits: VegasPolicy) -> Self {
        let (idle, cwnd) = Idle::new(mss, policy);
        Vegas {
            cwnd,
            ssthresh: u64::MAX,
            mss,
            idle,
            limits,
            base_rtt: None,
            round: Round::default(),
            doubles: true,
        }
    }

    /// Takes over a replaced policy; windows and BaseRTT stay.
    pub fn set_policy(&mut self, policy: &CongestionPolicy, limits: VegasPolicy) {
        self.idle.set_policy(policy);
        self.limits = limits;
    }

    /// Sets both windows, in bytes.
    pub fn set_windows(&mut self, cwnd: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    /// BaseRTT; `None` before the first RTT sample.
    pub fn base_rtt(&self) -> Option<Duration> {
        self.base_rtt
    }

    /// Compares expected and actual rate once per round trip, and grows or shrinks the window by a
    /// packet.
    pub fn on_acked(&mut self, acked: Acked) {
        if let Some(rtt) = acked.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
            self.round.sum += rtt;
            self.round.samples += 1;
        }
        self.round.peak = self.round.peak.max(acked.flight_peak);
        if acked.in_fast_recovery || !acked.advanced {
            return;
        }
        let used = is_used(self.cwnd, self.ssthresh, self.mss, acked.flight_peak);
        if self.cwnd < self.ssthresh && self.doubles && used {
            self.cwnd += acked.bytes.min(self.mss);
        }
        if self.round.end.is_none_or(|end| acked.cumulative >= end) {
            let round = core::mem::take(&mut self.round);
            self.round.end = Some(acked.next_unit);
            self.compare(round, used);
        }
    }

    /// Compares the expected with the actual rate at the end of a round trip.
    fn compare(&mut self, round: Round, used: bool) {
        let Some(base_rtt) = self.base_rtt.filter(|_| round.samples > 0) else { return };
        let rtt = round.sum / round.samples;
        let queued = queued(self.cwnd.min(round.peak), base_rtt, rtt);
        let packets = |count: u8| u64::from(count) * self.mss;
        if self.cwnd < self.ssthresh {
            self.doubles = !self.doubles;
            if queued > packets(self.limits.gamma) {
                self.ssthresh = 2 * self.mss;
                self.cwnd = (self.cwnd - self.cwnd / 8).max(2 * self.mss);
            }
        } else if queued > packets(self.limits.beta) {
            self.cwnd = self.cwnd.saturating_sub(self.mss).max(2 * self.mss);
        } else if queued < packets(self.limits.alpha) && used {
            self.cwnd += self.mss;
        }
    }

    /// Responds to a retransmission by acknowledgements or by the fine-grained timer; a mark counts
    /// as one.
    pub fn on_congestion(&mut self, congested: Congested) {
        let again = congested.again && congested.signal == Signal::Loss;
        let window = congested.flight_size.min(self.cwnd);
        self.cwnd = after_retransmission(window, self.mss, again);
        self.ssthresh = self.cwnd;
        self.round = Round::default();
    }

    /// Sets the window to one segment, then slow start up to half of what was in flight.
    pub fn on_timeout(&mut self, timed_out: TimedOut) {
        if !timed_out.again {
            self.ssthresh = (timed_out.flight_size / 2).max(2 * self.mss);
        }
        self.cwnd = self.mss;
        self.doubles = true;
        self.round = Round::default();
    }

    /// Called before data may be sent while nothing is in flight.
    pub fn before_send(&mut self, now: Instant, rto: Duration) {
        (self.cwnd, self.ssthresh) = self.idle.charge(now, rto, (self.cwnd, self.ssthresh));
    }
}

#[cfg(test)]
mod tests;
