//! Keep-alive (RFC 9293, section 3.8.4): when to probe a silent peer.

use base::Instant;

use crate::options::KeepAlive;

/// The peer's silence, and the number of probes in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silence {
    /// Arrival of the peer's last segment, moved later by any time for which this process was
    /// suspended.
    since: Instant,
    /// Number of probes sent since then.
    probes: u8,
}

/// The action that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Neither a probe nor the end is due.
    Nothing,
    /// A probe is to be sent.
    Probe,
    /// The peer counts as gone.
    GiveUp,
}

impl Silence {
    pub(crate) fn new(now: Instant) -> Silence {
        Silence { since: now, probes: 0 }
    }

    /// A segment of the peer arrived.
    pub(crate) fn on_heard(&mut self, now: Instant) {
        *self = Silence::new(now);
    }

    /// Arrival of the peer's last segment.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Number of probes sent since the peer's last segment.
    pub(crate) fn probes(&self) -> u8 {
        self.probes
    }

    /// Instant of the next action: the first probe after the idle time, further ones at their
    /// interval, and the end one interval after the last.
    pub(crate) fn due(&self, options: &KeepAlive) -> Instant {
        self.since + options.idle + options.interval * u64::from(self.probes)
    }

    /// The action due at `now`; a probe counts as sent. A process that was suspended probes the
    /// peer for as long as any other before it gives up, since it could not receive during the
    /// suspension.
    pub(crate) fn on_timeout(&mut self, now: Instant, options: &KeepAlive) -> Due {
        let due = self.due(options);
        if now < due {
            return Due::Nothing;
        }
        let (late, last) = (now.since(due), self.probes >= options.probes);
        if late > options.interval {
            self.since += late;
            if last {
                // The answer to the last probe may have arrived meanwhile.
                self.since += options.interval;
                return Due::Nothing;
            }
        }
        if last {
            return Due::GiveUp;
        }
        self.probes += 1;
        Due::Probe
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Duration;

    #[test]
    fn probes_follow_the_idle_time_at_their_interval_and_the_end_follows_them() {
        let second = Duration::from_secs(1);
        let options = KeepAlive { idle: second * 100, interval: second * 10, probes: 2 };
        let at = |seconds| Instant::ZERO + second * seconds;
        let mut silence = Silence::new(at(5));
        silence.on_heard(at(50));
        assert_eq!(silence.on_timeout(at(149), &options), Due::Nothing);
        assert_eq!(silence.on_timeout(at(150), &options), Due::Probe);
        assert_eq!((silence.due(&options), silence.probes), (at(160), 1));
        assert_eq!(silence.on_timeout(at(160), &options), Due::Probe);
        assert_eq!(silence.on_timeout(at(169), &options), Due::Nothing);
        assert_eq!(silence.on_timeout(at(170), &options), Due::GiveUp);
        silence.on_heard(at(170));
        assert_eq!(silence.due(&options), at(270));
    }

    #[test]
    fn a_process_that_was_stopped_probes_as_often_as_any_other_before_it_gives_up() {
        let second = Duration::from_secs(1);
        let options = KeepAlive { idle: second * 100, interval: second * 10, probes: 2 };
        let at = |seconds| Instant::ZERO + second * seconds;
        let mut silence = Silence::new(at(0));
        assert_eq!(silence.on_timeout(at(5_000), &options), Due::Probe);
        assert_eq!(silence.due(&options), at(5_010));
        assert_eq!(silence.on_timeout(at(5_010), &options), Due::Probe);
        // Suspended again: the answer to the probe may have arrived.
        assert_eq!(silence.on_timeout(at(9_000), &options), Due::Nothing);
        assert_eq!(silence.on_timeout(at(9_009), &options), Due::Nothing);
        assert_eq!(silence.on_timeout(at(9_010), &options), Due::GiveUp);
    }
}
