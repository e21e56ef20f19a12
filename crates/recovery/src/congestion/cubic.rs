//! CUBIC (RFC 9438): the window follows a cubic function of the time since congestion avoidance
//! began, and never falls behind Reno's.
//!
//! All arithmetic is on integers, bytes and microseconds, so that every platform computes the same.

use base::{Duration, Instant};

use super::hystart::HyStart;
use super::idle::Idle;
use super::newreno::is_used;
use super::{Acked, Congested, Signal, TimedOut};
use crate::policy::CongestionPolicy;

/// beta_cubic (section 4.6): the share of the window that remains.
const BETA: (u64, u64) = (7, 10);
/// (1 + beta_cubic) / 2 (section 4.7): where fast convergence puts the plateau.
const CONVERGENCE: (u64, u64) = (17, 20);
/// alpha_cubic = 3 (1 - beta_cubic) / (1 + beta_cubic) (section 4.3).
const ALPHA: (u64, u64) = (9, 17);
/// C (section 5): 0.4 segments per cubed second.
const C: (u64, u64) = (4, 10);
/// Cubed microseconds in a cubed second.
const CUBED_SECOND: u128 = 1_000_000_000_000_000_000;
/// Furthest distance from the plateau that the curve is computed for: three hours, in microseconds.
const FURTHEST: u64 = 10_800_000_000;

/// Congestion state of one path. All windows are in bytes.
#[derive(Clone, Debug)]
pub struct Cubic {
    cwnd: u64,
    ssthresh: u64,
    mss: u64,
    pub(super) idle: Idle,
    abc_limit: u8,
    hystart: Option<HyStart>,
    /// W_max: the window at the last congestion, or less after fast convergence.
    w_max: u64,
    /// The window just before the last congestion.
    cwnd_prior: u64,
    /// The current stage of congestion avoidance.
    epoch: Option<Epoch>,
    /// The next congestion avoidance starts on the plateau: it follows a timeout or a slow start
    /// without losses (sections 4.8 and 4.10).
    starts_flat: bool,
}

/// A stage of congestion avoidance.
#[derive(Clone, Debug)]
struct Epoch {
    /// Time in this stage during which the window was used.
    elapsed: Duration,
    /// End of the time included in `elapsed`.
    counted_to: Instant,
    /// K: time of the curve to its plateau.
    k: Duration,
    /// Reno's window (W_est), with the remainder of its division.
    w_est: Quotient,
    /// Growth of the window along the curve, with the remainder of its division.
    grown: Quotient,
}

/// A sum of quotients that keeps their remainders.
#[derive(Clone, Copy, Debug, Default)]
struct Quotient {
    whole: u64,
    rest: u128,
}

impl Quotient {
    fn add(&mut self, numerator: u128, denominator: u128) {
        let denominator = denominator.max(1);
        let sum = self.rest.saturating_add(numerator);
        self.whole =
            self.whole.saturating_add(u64::try_from(sum / denominator).unwrap_or(u64::MAX));
        self.rest = sum % denominator;
    }
}

/// The largest integer whose cube is at most `number`.
pub fn cube_root(number: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..43).rev() {
        let candidate = root | (1 << bit);
        let cube =
            candidate.checked_mul(candidate).and_then(|square| square.checked_mul(candidate));
        if cube.is_some_and(|cube| cube <= number) {
            root = candidate;
        }
    }
    root as u64
}

/// K of equation 2: the cubic root of `(w_max - cwnd_epoch) / C`.
pub fn time_to_plateau(w_max: u64, cwnd_epoch: u64, mss: u64) -> Duration {
    let distance = u128::from(w_max.saturating_sub(cwnd_epoch).min(1 << 56));
    let cubed = distance * CUBED_SECOND * u128::from(C.1) / u128::from(C.0 * mss.max(1));
    Duration::from_micros(cube_root(cubed))
}

/// W_cubic of equation 1 after `elapsed` of congestion avoidance.
pub fn cubic_window(w_max: u64, k: Duration, elapsed: Duration, mss: u64) -> u64 {
    let distance = u128::from(elapsed.abs_diff(k).as_micros().min(FURTHEST));
    let cubed = distance * distance * distance;
    // No overflow: 2^102 for three hours, times a segment of less than 2^20 bytes.
    let mss = u128::from(mss.min(1 << 20));
    let away = cubed * mss * u128::from(C.0) / (u128::from(C.1) * CUBED_SECOND);
    let away = u64::try_from(away).unwrap_or(u64::MAX);
    if elapsed < k { w_max.saturating_sub(away) } else { w_max.saturating_add(away) }
}

fn scale(value: u64, (numerator, denominator): (u64, u64)) -> u64 {
    (u128::from(value) * u128::from(numerator) / u128::from(denominator)) as u64
}

windows_of!(Cubic);

impl Cubic {
    /// The state of an unused path.
    pub fn new(mss: u64, policy: &CongestionPolicy) -> Self {
        let (idle, cwnd) = Idle::new(mss, policy);
        Cubic {
            cwnd,
            ssthresh: u64::MAX,
            mss,
            idle,
            abc_limit: policy.abc_limit,
            hystart: policy.hystart.then(HyStart::default),
            w_max: 0,
            cwnd_prior: 0,
            epoch: None,
            starts_flat: true,
        }
    }

    /// Takes over a replaced policy; windows and the cubic function stay.
    pub fn set_policy(&mut self, policy: &CongestionPolicy) {
        self.abc_limit = policy.abc_limit;
        self.idle.set_policy(policy);
        // Once the threshold is known, the first slow start is over, and HyStart++ with it.
        let first = self.ssthresh == u64::MAX;
        self.hystart = self.hystart.take().or_else(|| first.then(HyStart::default));
        self.hystart = self.hystart.take().filter(|_| policy.hystart);
    }

    /// Sets both windows, in bytes.
    pub fn set_windows(&mut self, cwnd: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
        self.epoch = None;
    }

    /// W_max, in bytes: the plateau of the curve.
    pub fn w_max(&self) -> u64 {
        self.w_max
    }

    /// Sets W_max after a change of the packet size.
    pub(super) fn set_w_max(&mut self, w_max: u64) {
        self.w_max = w_max;
    }

    /// Data was acknowledged (sections 4.2 to 4.5 and 4.10).
    pub fn on_acked(&mut self, acked: Acked) {
        if acked.in_fast_recovery {
            return;
        }
        let used = is_used(self.cwnd, self.ssthresh, self.mss, acked.flight_peak);
        if self.cwnd < self.ssthresh {
            if acked.advanced && used {
                self.slow_start(acked);
            }
            return;
        }
        self.begin_epoch(acked.now);
        self.pass_time(acked.now, used);
        if acked.advanced && used {
            self.follow_curve(acked.bytes, acked.srtt.unwrap_or_default());
        }
    }

    fn slow_start(&mut self, acked: Acked) {
        let limit = u64::from(self.abc_limit.max(1)) * self.mss;
        let growth = acked.bytes.min(limit);
        let Some(hystart) = self.hystart.as_mut().filter(|_| self.ssthresh == u64::MAX) else {
            self.cwnd += growth;
            return;
        };
        self.cwnd += hystart.growth(growth, &acked);
        if hystart.is_over() {
            self.ssthresh = self.cwnd;
            self.starts_flat = true;
        }
    }

    /// Congestion avoidance begins, unless it is running (sections 4.2, 4.8 and 4.10).
    fn begin_epoch(&mut self, now: Instant) {
        if self.epoch.is_some() {
            return;
        }
        if core::mem::take(&mut self.starts_flat) || self.w_max < self.cwnd {
            self.w_max = self.cwnd;
        }
        self.epoch = Some(Epoch {
            elapsed: Duration::ZERO,
            counted_to: now,
            k: time_to_plateau(self.w_max, self.cwnd, self.mss),
            w_est: Quotient { whole: self.cwnd, rest: 0 },
            grown: Quotient::default(),
        });
    }

    /// Advances the time along the curve, without periods in which the window was not used (section
    /// 4.2).
    fn pass_time(&mut self, now: Instant, used: bool) {
        let Some(epoch) = &mut self.epoch else { return };
        if used {
            epoch.elapsed += now.since(epoch.counted_to);
        }
        epoch.counted_to = now;
    }

    fn follow_curve(&mut self, bytes: u64, rtt: Duration) {
        let Some(epoch) = &mut self.epoch else { return };
        let (cwnd, bytes) = (u128::from(self.cwnd), u128::from(bytes));
        // Section 4.3: Reno's growth, faster once the window is back where the congestion was.
        let (alpha, of) = if epoch.w_est.whole < self.cwnd_prior { ALPHA } else { (1, 1) };
        let step = u128::from(alpha) * bytes * u128::from(self.mss);
        epoch.w_est.add(step, u128::from(of) * cwnd);
        if cubic_window(self.w_max, epoch.k, epoch.elapsed, self.mss) < epoch.w_est.whole {
            self.cwnd = self.cwnd.max(epoch.w_est.whole);
            return;
        }
        // Sections 4.4 and 4.5: towards the curve's value one round trip later, and at most half as
        // much again.
        let ahead = cubic_window(self.w_max, epoch.k, epoch.elapsed + rtt, self.mss);
        let target = ahead.clamp(self.cwnd, self.cwnd.saturating_add(self.cwnd / 2));
        epoch.grown.add(bytes * u128::from(target - self.cwnd), cwnd);
        self.cwnd += core::mem::take(&mut epoch.grown.whole);
    }

    /// Responds to congestion (sections 4.6 and 4.7).
    pub fn on_congestion(&mut self, congested: Congested) {
        let flight_size = congested.flight_size.min(self.cwnd);
        self.remember_plateau();
        let left = scale(flight_size, BETA);
        let least = if congested.signal == Signal::Ecn { 1 } else { 2 };
        self.cwnd = left.max(least * self.mss);
        self.ssthresh = left.max(2 * self.mss);
        self.starts_flat = false;
    }

    /// Responds to a timeout (section 4.8). A repeated timeout for the same data changes nothing
    /// further.
    pub fn on_timeout(&mut self, timed_out: TimedOut) {
        if !timed_out.again {
            self.remember_plateau();
            self.ssthresh = scale(timed_out.flight_size, BETA).max(2 * self.mss);
        }
        self.cwnd = self.mss;
        self.epoch = None;
        self.starts_flat = true;
    }

    fn remember_plateau(&mut self) {
        self.cwnd_prior = self.cwnd;
        let converges = self.cwnd < self.w_max;
        self.w_max = if converges { scale(self.cwnd, CONVERGENCE) } else { self.cwnd };
        self.epoch = None;
        self.hystart = None;
    }

    /// Called before data may be sent while nothing is in flight: idle time does not advance along
    /// the curve (sections 4.2 and 5.8).
    pub fn before_send(&mut self, now: Instant, rto: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.counted_to = now;
        }
        let (cwnd, ssthresh) = self.idle.charge(now, rto, (self.cwnd, self.ssthresh));
        if cwnd < self.cwnd {
            self.epoch = None;
        }
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }
}

#[cfg(test)]
mod tests;
