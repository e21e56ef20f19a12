//! HyStart++ (RFC 9406): leaves the first slow start when the round trip grows, before a loss, and
//! returns to it after a false alarm.

use base::Duration;

use super::Acked;

/// Least increase of the round trip that means a queue (MIN_RTT_THRESH).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// Largest increase that may be required (MAX_RTT_THRESH).
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// Divisor of the round trip that gives the required increase between the two (MIN_RTT_DIVISOR).
const MIN_RTT_DIVISOR: u64 = 8;
/// Samples that a round needs before it is compared (N_RTT_SAMPLE).
const N_RTT_SAMPLE: u8 = 8;
/// Factor by which conservative slow start is slower (CSS_GROWTH_DIVISOR).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// Rounds of conservative slow start before congestion avoidance (RFC 9406, section 4.3).
const CSS_ROUNDS: u8 = 5;

/// State of the first slow start of a path.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    /// The unit whose acknowledgement ends the round: the first unsent one when the round began.
    window_end: Option<u64>,
    last_round: Option<Duration>,
    current_round: Option<Duration>,
    samples: u8,
    /// Conservative slow start, while it is in progress.
    conservative: Option<Conservative>,
    over: bool,
}

#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The round trip that started it (cssBaselineMinRtt).
    baseline: Duration,
    rounds_left: u8,
}

/// RttThresh (section 4.2): least increase over the previous round's round trip that counts.
pub fn threshold(last_round: Duration) -> Duration {
    last_round.scale(1, MIN_RTT_DIVISOR).max(MIN_RTT_THRESH).min(MAX_RTT_THRESH)
}

impl HyStart {
    /// The growth of the window by an acknowledgement in slow start, of which `growth` is the usual
    /// value, in bytes.
    pub fn growth(&mut self, growth: u64, acked: &Acked) -> u64 {
        self.pass_round(acked);
        if let Some(rtt) = acked.rtt {
            self.current_round = Some(self.current_round.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        self.judge();
        if self.conservative.is_some() { growth / CSS_GROWTH_DIVISOR } else { growth }
    }

    /// Whether slow start is over and congestion avoidance begins.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn pass_round(&mut self, acked: &Acked) {
        // Section 4.2: the acknowledgement of the unit itself, the first of the next round, ends
        // the round; the unit before it was sent in this round.
        if self.window_end.is_some_and(|end| acked.cumulative <= end) {
            return;
        }
        let first = self.window_end.replace(acked.next_unit).is_none();
        if first {
            return;
        }
        self.last_round = self.current_round.take();
        self.samples = 0;
        if let Some(conservative) = &mut self.conservative {
            conservative.rounds_left = conservative.rounds_left.saturating_sub(1);
            self.over = conservative.rounds_left == 0;
        }
    }

    fn judge(&mut self) {
        let Some(current) = self.current_round.filter(|_| self.samples >= N_RTT_SAMPLE) else {
            return;
        };
        match self.conservative {
            Some(conservative) if current < conservative.baseline => self.conservative = None,
            Some(_) => {}
            None => {
                if self.last_round.is_some_and(|last| current >= last + threshold(last)) {
                    self.conservative =
                        Some(Conservative { baseline: current, rounds_left: CSS_ROUNDS });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
