//! What follows from data having arrived, whoever says so.

use base::Instant;

use super::Recovery;
use crate::congestion::Acked;
use crate::event::Event;
use crate::ledger::{PathAck, PathIndex};

impl Recovery {
    pub(super) fn on_spurious(&mut self, now: Instant, units: u32) {
        self.stats.spurious += u64::from(units);
        self.events.record(now, || Event::Spurious { units });
    }

    /// Data on `path` was newly acknowledged.
    pub(super) fn on_path_acked(
        &mut self,
        now: Instant,
        path: PathIndex,
        news: &PathAck,
        advanced: bool,
    ) {
        let rtt = news.timed_sent_at.map(|sent_at| now.since(sent_at));
        let backoff = self.policy.backoff;
        if let Some(sample) = rtt {
            self.on_rtt_sample(path, sample);
        }
        let cumulative = self.ledger.cumulative();
        let bytes = news.acked_bytes;
        if self.events.is_enabled() {
            let rto = self.rto(path);
            self.events.record(now, || Event::Acknowledged { path, cumulative, bytes, rtt, rto });
        }
        let (window_bytes, flight_before) =
            (self.delivered(path, news), self.counted(path, news.flight_before));
        let flight_after = self.window_taken(path);
        let (next_unit, next_packet) = (self.ledger.next_unit(), self.ledger.next_packet());
        let state = &mut self.paths[usize::from(path)];
        let flight_peak = state.peak.get().max(flight_before);
        if let Some(packet) = news.largest_packet {
            state.peak.on_delivered(packet, next_packet, flight_after);
        }
        // Every packet's round trip, where the timeout's estimator takes one per round trip.
        let clean = news.largest_sent_at.filter(|_| !news.largest_resent);
        let latest = clean.map(|sent_at| now.since(sent_at)).or(rtt);
        if news.proven {
            state.backoff.on_acknowledged(backoff);
        }
        (0..news.delivered).for_each(|_| state.loss.on_fate(false));
        if advanced {
            state.limited_transmit = 0;
        }
        let before = state.congestion.cwnd();
        state.congestion.on_acked(Acked {
            now,
            bytes: window_bytes,
            flight_before,
            flight_after,
            flight_peak,
            advanced,
            in_fast_recovery: state.fast_recovery_exit.is_some() || self.feedback.keeps_window(),
            rtt: latest,
            srtt: state.rtt.srtt(),
            cumulative,
            next_unit,
        });
        if state.congestion.cwnd() != before {
            self.record_window(now, path);
        }
    }
}
