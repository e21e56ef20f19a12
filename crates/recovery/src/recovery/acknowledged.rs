//! What follows from data having arrived, whoever says so.

use base::{Duration, Instant};

use super::Recovery;
use crate::ack_delay::AckDelay;
use crate::congestion::Acked;
use crate::event::Event;
use crate::ledger::{PathAck, PathIndex};
use crate::path::RoundTrip;

impl Recovery {
    pub(super) fn on_spurious(&mut self, now: Instant, units: u32) {
        self.stats.spurious += u64::from(units);
        self.events.record(now, || Event::Spurious { units });
        let delays = self.paths.iter_mut().filter_map(|path| path.ack_delay.as_deref_mut());
        delays.for_each(AckDelay::on_needless);
    }

    /// The round trip of the latest packet found delivered, unless it was sent before: what it tells of the
    /// peer's delay and of a queue.
    fn watch_round_trip(&mut self, now: Instant, path: PathIndex, news: &PathAck) {
        let state = &mut self.paths[usize::from(path)];
        if state.ack_delay.is_none() && state.brake.is_none() {
            return;
        }
        let fresh = news.largest_packet.filter(|_| news.largest_fresh);
        let Some((packet, sent_at)) = fresh.zip(news.largest_sent_at) else { return };
        let measured = now.since(sent_at);
        let next_sent_at = self.ledger.next_sent_at(packet);
        if let Some(delay) = state.ack_delay.as_deref_mut() {
            delay.on_round_trip(now, measured, news.delivered == 1 && next_sent_at.is_none());
        }
        // The last of several made the receiver acknowledge them; a single one may have waited for the next.
        let delay = match next_sent_at {
            _ if news.delivered > 1 => Duration::ZERO,
            Some(next) => next.since(sent_at),
            None => return,
        };
        self.watch_queue(now, path, RoundTrip { measured, delay });
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
        self.watch_round_trip(now, path, news);
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
            state.episode.end_extra();
        }
        let before = state.congestion.cwnd();
        state.congestion.on_acked(Acked {
            now,
            bytes: window_bytes,
            flight_before,
            flight_after,
            flight_peak,
            advanced,
            in_fast_recovery: state.episode.is_recovering() || self.feedback.keeps_window(),
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
