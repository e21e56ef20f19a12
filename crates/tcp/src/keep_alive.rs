//! Keep-alive (RFC 9293, section 3.8.4): when to ask a silent peer whether it is still there.

use base::Instant;

use crate::options::KeepAlive;

/// How long the peer has been silent, and how often it was asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silence {
    /// When the last segment of the peer arrived, later by the time that this process was stopped since.
    since: Instant,
    /// Probes since.
    probes: u8,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// No probe is due.
    Nothing,
    /// A probe is to be sent.
    Probe,
    /// The peer is taken for gone.
    GiveUp,
}

impl Silence {
    pub(crate) fn new(now: Instant) -> Silence {
        Silence { since: now, probes: 0 }
    }

    /// The peer was heard.
    pub(crate) fn on_heard(&mut self, now: Instant) {
        *self = Silence::new(now);
    }

    /// When the peer was heard last.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Probes that have not been answered.
    pub(crate) fn probes(&self) -> u8 {
        self.probes
    }

    /// When something is due: the first probe after the idle time, the others at their interval, and one
    /// interval after the last of them the end.
    pub(crate) fn due(&self, options: &KeepAlive) -> Instant {
        self.since + options.idle + options.interval * u64::from(self.probes)
    }

    /// What is due at `now`; a probe counts as sent. A process that was stopped probes the peer for as long as any other
    /// before it gives it up: silence that it could not hear does not count.
    pub(crate) fn on_timeout(&mut self, now: Instant, options: &KeepAlive) -> Due {
        let due = self.due(options);
        if now < due {
            return Due::Nothing;
        }
        let (late, last) = (now.since(due), self.probes >= options.probes);
        if late > options.interval {
            self.since += late;
            if last {
                // The answer to the last probe may have come meanwhile.
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
        // Stopped again: what it asked may have been answered.
        assert_eq!(silence.on_timeout(at(9_000), &options), Due::Nothing);
        assert_eq!(silence.on_timeout(at(9_009), &options), Due::Nothing);
        assert_eq!(silence.on_timeout(at(9_010), &options), Due::GiveUp);
    }
}
