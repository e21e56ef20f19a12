//! Slow start, congestion avoidance and responses to loss of RFC 5681, with byte counting (RFC
//! 3465). The fast recovery that gave NewReno its name (RFC 6582) is part of `episode`: there the
//! window keeps the value that the loss set, and packets that left the network make room.

use base::{Duration, Instant};

use super::idle::Idle;
use super::{Acked, Congested, Signal, TimedOut};
use crate::policy::CongestionPolicy;

/// Congestion state of one path. All windows are in bytes.
#[derive(Clone, Debug)]
pub struct NewReno {
    cwnd: u64,
    ssthresh: u64,
    /// Bytes acknowledged towards the next growth in congestion avoidance (RFC 3465, section 2.1).
    bytes_acked: u64,
    /// Sender maximum segment size, in bytes of data.
    mss: u64,
    pub(super) idle: Idle,
    /// Segments by which one acknowledgement may open the window in slow start: L of RFC 3465.
    abc_limit: u8,
    /// Slow start follows a timeout, so that an acknowledgement opens the window by one segment at
    /// most (section 2.3).
    after_timeout: bool,
}

/// Whether enough of the window was used for it to grow. In slow start half of it suffices, since
/// the window doubles (RFC 7661 calls this validated); in congestion avoidance there was no room
/// for another segment.
pub(super) fn is_used(cwnd: u64, ssthresh: u64, mss: u64, peak: u64) -> bool {
    if cwnd < ssthresh { peak.saturating_mul(2) > cwnd } else { peak + mss > cwnd }
}

windows_of!(NewReno);

impl NewReno {
    /// The state of an unused path.
    pub fn new(mss: u64, policy: &CongestionPolicy) -> Self {
        let (idle, cwnd) = Idle::new(mss, policy);
        NewReno {
            cwnd,
            ssthresh: u64::MAX,
            bytes_acked: 0,
            mss,
            idle,
            abc_limit: policy.abc_limit,
            after_timeout: false,
        }
    }

    /// Takes over a replaced policy; the windows stay.
    pub fn set_policy(&mut self, policy: &CongestionPolicy) {
        self.abc_limit = policy.abc_limit;
        self.idle.set_policy(policy);
    }

    /// Bytes acknowledged since the window last grew in congestion avoidance.
    pub fn partial_bytes_acked(&self) -> u64 {
        self.bytes_acked
    }

    /// Sets both windows, in bytes.
    pub fn set_windows(&mut self, cwnd: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    /// Data was acknowledged (RFC 5681, section 3.1; RFC 3465, section 2).
    pub fn on_acked(&mut self, acked: Acked) {
        let used = is_used(self.cwnd, self.ssthresh, self.mss, acked.flight_peak);
        if !acked.advanced || acked.in_fast_recovery || !used {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.slow_start(acked.bytes);
        } else {
            self.after_timeout = false;
            self.avoid_congestion(acked.bytes);
        }
    }

    fn slow_start(&mut self, bytes: u64) {
        let limit = if self.after_timeout { 1 } else { u64::from(self.abc_limit.max(1)) };
        self.cwnd += bytes.min(limit * self.mss);
        if self.cwnd >= self.ssthresh {
            self.after_timeout = false;
        }
    }

    fn avoid_congestion(&mut self, bytes: u64) {
        self.bytes_acked += bytes;
        if self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd += self.mss;
        }
    }

    /// Halves the window (RFC 5681, section 3.2, steps 2 and 3; RFC 3168, section 6.1.2). Data that
    /// limited transmit sent beyond the window does not count. A mark leaves at least one
    /// packet, a loss at least two.
    pub fn on_congestion(&mut self, congested: Congested) {
        let flight_size = congested.flight_size.min(self.cwnd);
        let least = if congested.signal == Signal::Ecn { 1 } else { 2 };
        self.ssthresh = self.halved(flight_size);
        self.cwnd = (flight_size / 2).max(least * self.mss);
        self.bytes_acked = 0;
    }

    /// Sets the window to one segment, then slow start (RFC 5681, section 3.1). A repeated timeout
    /// for the same data leaves the threshold unchanged.
    pub fn on_timeout(&mut self, timed_out: TimedOut) {
        if !timed_out.again {
            self.ssthresh = self.halved(timed_out.flight_size);
        }
        self.cwnd = self.mss;
        self.bytes_acked = 0;
        self.after_timeout = true;
    }

    fn halved(&self, flight_size: u64) -> u64 {
        (flight_size / 2).max(2 * self.mss)
    }

    /// Called before data may be sent while nothing is in flight.
    pub fn before_send(&mut self, now: Instant, rto: Duration) {
        (self.cwnd, self.ssthresh) = self.idle.charge(now, rto, (self.cwnd, self.ssthresh));
    }
}

#[cfg(test)]
mod tests;
