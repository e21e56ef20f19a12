//! What the newer mechanisms keep of a path; nothing where the policy asks for none of them.

use base::Instant;

use crate::ledger::PacketNumber;
use crate::loss::fine_grained::FineGrained;
use crate::loss::probe::Probe;
use crate::loss::rack::{Rack, RecentMinimum, Situation};
use crate::policy::{EarlyWindow, FineGrainedTimer, RecoveryPolicy, RttSamples, ThinTimeout};
use crate::rtt::RttEstimator;

/// State of RACK, tail loss probes and the fine-grained timer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) rack: Rack,
    pub(crate) min_rtt: RecentMinimum,
    /// When RACK's next packet is lost.
    pub(crate) rack_due: Option<Instant>,
    pub(crate) probe: Probe,
    pub(crate) probe_due: Option<Instant>,
    pub(crate) fine: FineGrained,
    /// Round trips in a row that were in doubt, since one was clean.
    doubts: u8,
}

impl Watch {
    /// Whether a policy needs any of it.
    pub(crate) fn is_wanted(policy: &RecoveryPolicy) -> bool {
        let (loss, congestion) = (&policy.loss, &policy.congestion);
        loss.rack
            || loss.tail_probe.is_some()
            || loss.frto
            || loss.fine_grained != FineGrainedTimer::Off
            || congestion.prr
            || congestion.undo
            || policy.timeout_while_thin == ThinTimeout::Probe
            || policy.rto.samples == RttSamples::Proven
            || congestion.early_window != EarlyWindow::Controller
    }

    /// The policy was replaced: what it does not ask for ends.
    pub(crate) fn set_policy(&mut self, policy: &RecoveryPolicy) {
        let loss = &policy.loss;
        self.rack_due = self.rack_due.filter(|_| loss.rack);
        self.probe_due = self.probe_due.filter(|_| loss.tail_probe.is_some());
    }

    /// Counts a round trip that is in doubt, if this one `is`; answers how many came in a row.
    pub(crate) fn doubt(&mut self, is: bool) -> u8 {
        self.doubts = self.doubts.saturating_add(u8::from(is));
        self.doubts
    }

    /// A packet that was sent once was delivered: its round trip is clean.
    pub(crate) fn on_clean_trip(&mut self) {
        self.doubts = 0;
        self.probe.on_sample();
        self.fine.on_sample();
    }

    /// Whether it knows nothing but the shortest round trip that would be missed once data leaves again.
    pub(crate) fn is_blank(&self) -> bool {
        let waits = self.rack_due.is_some() || self.probe_due.is_some();
        let learned = self.doubts > 0 || !self.rack.is_blank() || !self.fine.is_blank();
        !waits && !learned
    }

    /// The retransmission timer expired: no shorter one goes on.
    pub(crate) fn on_timeout(&mut self) {
        self.rack_due = None;
        self.on_recovery();
    }

    /// Fast recovery begins: no probe is needed.
    pub(crate) fn on_recovery(&mut self) {
        self.probe_due = None;
        self.probe.reset();
    }

    /// The next timer of its own.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        [self.rack_due, self.probe_due].into_iter().flatten().min()
    }

    /// Up to when what was sent is lost when the retransmission timer expires (RFC 8985, section 6.3); none
    /// before anything was delivered.
    pub(crate) fn lost_at_timeout(&self, now: Instant, rtt: &RttEstimator) -> Option<Instant> {
        let min_rtt = self.min_rtt.get().or(rtt.srtt());
        let situation = Situation {
            recovering: true,
            gap_acked: 0,
            dup_threshold: u8::MAX,
            srtt: rtt.srtt().unwrap_or_default(),
        };
        let window = self.rack.reordering_window(situation, min_rtt);
        self.rack.lost_at_timeout(now, window)
    }

    /// Nothing is outstanding any more: what concerned it is forgotten, what was learned stays.
    pub(crate) fn settle(&mut self) {
        self.rack_due = None;
        self.probe_due = None;
        self.probe.reset();
    }
}

/// Most bytes in flight of late: in the round trip that runs and in the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peak {
    current: u64,
    before: u64,
    /// The round trip ends when this packet is delivered.
    end: PacketNumber,
}

impl Peak {
    /// Something left.
    pub(crate) fn on_sent(&mut self, flight: u64) {
        self.current = self.current.max(flight);
    }

    /// A packet was delivered; `next` is the number of the next one.
    pub(crate) fn on_delivered(&mut self, packet: PacketNumber, next: PacketNumber, flight: u64) {
        if packet >= self.end {
            self.before = core::mem::replace(&mut self.current, flight);
            self.end = next;
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.current.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_watched_costs_no_more_than_half_a_kilobyte() {
        assert!(size_of::<Watch>() <= 512);
    }
}
