//! Rate limit of ACKs in answer to unacceptable segments (RFC 5961, section 7). Each connection has
//! its own: a shared limit would reveal other connections to an attacker (Cao et al. 2016).

use base::{Duration, Instant};

/// Number of ACKs in the present interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Throttle {
    began: Instant,
    count: u8,
}

impl Throttle {
    /// Whether one more ACK may be sent at `now`; if so, counts it.
    pub(crate) fn take(&mut self, now: Instant, limit: u8, interval: Duration) -> bool {
        if self.count == 0 || now.since(self.began) >= interval {
            *self = Throttle { began: now, count: 0 };
        }
        let granted = self.count < limit;
        self.count += u8::from(granted);
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_grants_its_number_and_begins_with_the_first() {
        let mut throttle = Throttle::default();
        let mut take = |at| throttle.take(Instant::from_millis(at), 2, Duration::from_millis(500));
        assert_eq!([take(900), take(1000), take(1399), take(1400)], [true, true, false, true]);
    }
}
