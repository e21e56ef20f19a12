//! What the newer mechanisms keep of a path; nothing where the policy asks for none of them.

use base::Instant;

use crate::congestion::prr::Prr;
use crate::ledger::PacketNumber;
use crate::loss::fine_grained::FineGrained;
use crate::loss::frto::Frto;
use crate::loss::probe::Probe;
use crate::loss::rack::{Rack, RecentMinimum, Situation};
use crate::loss::undo::Undo;
use crate::policy::{EarlyWindow, FineGrainedTimer, RecoveryPolicy, RttSamples, ThinTimeout};
use crate::rtt::RttEstimator;

/// State of RACK, tail loss probes, F-RTO, undo, PRR and the fine-grained timer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) rack: Rack,
    pub(crate) min_rtt: RecentMinimum,
    /// When RACK's next packet is lost.
    pub(crate) rack_due: Option<Instant>,
    pub(crate) probe: Probe,
    pub(crate) probe_due: Option<Instant>,
    pub(crate) frto: Option<Frto>,
    /// What a timeout took for lost is repaired once this unit is acknowledged.
    pub(crate) timeout_exit: u64,
    pub(crate) undo: Option<Undo>,
    pub(crate) pacing: Option<Pacing>,
    pub(crate) fine: FineGrained,
    /// Bytes in flight before the input that is being dealt with.
    pub(crate) flight_before: u64,
    /// Something was taken for lost by it.
    pub(crate) lost_now: bool,
    /// Fast recovery was in progress after the last one.
    pub(crate) was_recovering: bool,
    /// Round trips in a row that were in doubt, since one was clean.
    doubts: u8,
}

/// Proportional rate reduction under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacing {
    pub(crate) prr: Prr,
    /// Bytes that may be in flight now.
    pub(crate) window: u64,
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
        let (loss, congestion) = (&policy.loss, &policy.congestion);
        self.rack_due = self.rack_due.filter(|_| loss.rack);
        self.probe_due = self.probe_due.filter(|_| loss.tail_probe.is_some());
        self.frto = self.frto.take().filter(|_| loss.frto);
        self.pacing = self.pacing.filter(|_| congestion.prr);
        self.undo = self.undo.take().filter(|_| congestion.undo || loss.frto);
        if let Some(undo) = &mut self.undo {
            undo.set_policy(congestion);
        }
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
        let waits = self.rack_due.is_some() || self.probe_due.is_some() || self.frto.is_some();
        let repairs = self.undo.is_some() || self.pacing.is_some() || self.was_recovering;
        let learned = self.doubts > 0 || !self.rack.is_blank() || !self.fine.is_blank();
        !waits && !repairs && !learned
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
        self.frto = None;
        self.undo = None;
        self.pacing = None;
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
