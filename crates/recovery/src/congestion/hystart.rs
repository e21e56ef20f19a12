//! HyStart++ (RFC 9406): leaves the first slow start when the round trip grows, before anything is lost,
//! and goes back if that was a false alarm.

use base::Duration;

use super::Acked;

/// Round trips of at least this much longer mean a queue (MIN_RTT_THRESH).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// Largest such increase that is required (MAX_RTT_THRESH).
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// In between, this part of the round trip (MIN_RTT_DIVISOR).
const MIN_RTT_DIVISOR: u64 = 8;
/// Samples that a round needs before it says something (N_RTT_SAMPLE).
const N_RTT_SAMPLE: u8 = 8;
/// How much slower conservative slow start is (CSS_GROWTH_DIVISOR).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// Rounds of conservative slow start before congestion avoidance (RFC 9406, section 4.3).
const CSS_ROUNDS: u8 = 5;

/// State of the first slow start of a path.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    /// The round ends when this unit is acknowledged: the first that was not sent when it began.
    window_end: Option<u64>,
    last_round: Option<Duration>,
    current_round: Option<Duration>,
    samples: u8,
    /// Conservative slow start, while it runs.
    conservative: Option<Conservative>,
    over: bool,
}

#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The round trip that made it begin (cssBaselineMinRtt).
    baseline: Duration,
    rounds_left: u8,
}

/// RttThresh (section 4.2): how much longer than in the round before is longer.
pub fn threshold(last_round: Duration) -> Duration {
    last_round.scale(1, MIN_RTT_DIVISOR).max(MIN_RTT_THRESH).min(MAX_RTT_THRESH)
}

impl HyStart {
    /// An acknowledgement in slow start that would open the window by `growth`: by how much it does.
    pub fn growth(&mut self, growth: u64, acked: &Acked) -> u64 {
        self.pass_round(acked);
        if let Some(rtt) = acked.rtt {
            self.current_round = Some(self.current_round.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        self.judge();
        if self.conservative.is_some() { growth / CSS_GROWTH_DIVISOR } else { growth }
    }

    /// Whether congestion avoidance is to begin.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn pass_round(&mut self, acked: &Acked) {
        // Section 4.2: what ends it is the acknowledgement of the unit itself, the first of the next round; the
        // one before was sent in this round.
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
