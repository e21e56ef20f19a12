//! Loss detection by time: RACK and tail loss probes (RFC 8985), the fine-grained timer of Vegas
//! and TCP-ER.

use base::{Duration, Instant};

use super::{Lost, Recovery};
use crate::episode::Exempt;
use crate::event::Event;
use crate::ledger::PathAck;
use crate::loss;
use crate::loss::probe::{ProbeSituation, probe_due};
use crate::loss::rack::{Delivery, Situation};
use crate::path_id::PathId;
use crate::policy::FineGrainedTimer;
use crate::stats::Cause;

impl Recovery {
    /// Passes the delivered packets of a path to RACK. `echo`: age of the echoed timestamp.
    pub(super) fn watch_delivery(
        &mut self,
        now: Instant,
        path: PathId,
        news: &PathAck,
        echo: Option<Duration>,
    ) {
        let state = &mut self.paths[path];
        // Before the first acknowledgement of data there is the handshake's RTT sample.
        let srtt = state.rtt.srtt();
        let Some(mechanisms) = state.mechanisms.as_deref_mut() else { return };
        if let Some(sent_at) = news.reordered {
            mechanisms.rack.on_reordering(now, sent_at);
        }
        if let Some(sent_at) = news.certain_sent_at {
            mechanisms.doubts.on_clean(now, sent_at);
        }
        let Some((packet, sent_at)) = news.largest_packet.zip(news.largest_sent_at) else { return };
        mechanisms.probe.on_delivered(sent_at);
        if let Some(handshake) = srtt.filter(|_| mechanisms.shortest_trip().is_none()) {
            mechanisms.min_rtt.on_sample(now, handshake);
        }
        if !news.largest_resent {
            mechanisms.min_rtt.on_sample(now, now.since(sent_at));
            mechanisms.on_clean_trip();
        }
        // Elsewhere RACK goes by the round trip alone, as it did when its results were compared
        // with the papers'.
        let narrow = self.policy.rto.margin.heeds_narrow();
        let delivery = Delivery {
            packet,
            sent_at,
            again: news.largest_resent,
            partly: news.largest_partly,
            by_gap: narrow && news.by_gap,
            echo: echo.filter(|_| narrow),
        };
        let min_rtt = mechanisms.shortest_trip().or(srtt);
        mechanisms.rack.on_delivered(now, delivery, min_rtt);
    }

    /// Whether RACK detects losses on acknowledgements of this kind.
    pub(super) fn detects_by_time(&self) -> bool {
        self.policy.loss.rack && self.reports_gaps()
    }

    /// Declares the packets lost that RACK finds lost (RFC 8985, section 6.2, step 5), and sets its
    /// timer for the next packet.
    ///
    /// The RFC sets the timer for the last of the waiting packets, so that it expires once; here it
    /// is set for the first, and each is retransmitted at its own time. `flight_before`: flight
    /// before the input. Returns whether any packet was lost.
    pub(super) fn detect_by_time(
        &mut self,
        now: Instant,
        path: PathId,
        flight_before: u64,
    ) -> bool {
        let thin = self.is_thin(path);
        let dup_threshold = loss::dup_threshold(&self.policy.loss, thin);
        let gap_acked = self.ledger.reported_packets();
        let state = &mut self.paths[path];
        let recovering = state.episode.is_repairing();
        let srtt = state.rtt.srtt().unwrap_or_default();
        let to = state.routes.fast;
        let Some(mechanisms) = state.mechanisms.as_deref_mut() else { return false };
        let policy = self.policy.loss.reordering_window;
        let situation = Situation { policy, recovering, gap_acked, dup_threshold, srtt };
        let min_rtt = mechanisms.shortest_trip().or(state.rtt.srtt());
        let window = mechanisms.rack.reordering_window(situation, min_rtt);
        let rack = &mechanisms.rack;
        let deadline = |packet, sent_at| rack.deadline(packet, sent_at, window);
        let overdue = self.ledger.lose_overdue(now, path, to, Cause::Fast, deadline);
        mechanisms.rack.due = overdue.next;
        if overdue.packets > 0 {
            let (packets, resent) = (overdue.packets, overdue.resent);
            self.on_loss(now, path, Lost { packets, cause: Cause::Fast, resent, flight_before });
        }
        overdue.packets > 0
    }

    /// Runs the due timers of RACK, probes and copies. A window probe is not late.
    pub(super) fn on_mechanism_timers(
        &mut self,
        now: Instant,
        path: PathId,
        probing: bool,
        unsent_packets: u32,
    ) {
        let Some(mechanisms) = self.paths[path].mechanisms.as_deref_mut() else {
            return;
        };
        let rack = mechanisms.rack.due.take_if(|due| *due <= now).is_some();
        let probe = mechanisms.probe.due.take_if(|due| *due <= now).is_some();
        let copy = mechanisms.copies.take_due(now).filter(|_| !probing);
        if rack && !probing {
            self.on_rack_timer(now, path);
        }
        if probe && !probing {
            self.on_probe_timer(now, path, unsent_packets);
        }
        if let Some(packet) = copy {
            self.on_copy_due(now, path, packet);
        }
    }

    /// RACK's timer expired: no acknowledgement arrived before the reordering window ended.
    pub(super) fn on_rack_timer(&mut self, now: Instant, path: PathId) {
        let flight_before = self.window_taken(path);
        self.detect_by_time(now, path, flight_before);
    }

    // ---- tail loss probes ----------------------------------------------------------------------

    /// Restarts or stops the probe timer (RFC 8985, section 7.2): no data may be known to be
    /// missing.
    pub(super) fn arm_probe(&mut self, now: Instant, path: PathId) {
        let Some(max_ack_delay) = self.policy.loss.tail_probe else { return };
        let flight = self.ledger.flight(path);
        let waits = flight.packets > 0
            && self.ledger.next_lost(path, 0).is_none()
            && !self.ledger.has_reports()
            && self.reports_gaps();
        let state = &mut self.paths[path];
        let idle = !state.episode.is_recovering() && !state.episode.is_suspected();
        let rto_due = state.t3_rtx.map(|timer| timer.due);
        let (srtt, single) = (state.rtt.srtt(), flight.packets == 1);
        let Some(mechanisms) = state.mechanisms.as_deref_mut() else { return };
        let arms = waits && idle && mechanisms.probe.may_arm();
        let situation = ProbeSituation { srtt, single, max_ack_delay };
        mechanisms.probe.due = arms.then(|| probe_due(now, situation, rto_due));
    }

    /// Sends a probe that is due: new data if only the window held it back, otherwise the last
    /// packet once more (section 7.3). The retransmission timer restarts.
    pub(super) fn on_probe_timer(&mut self, now: Instant, path: PathId, unsent_packets: u32) {
        if self.ledger.flight(path).packets == 0 {
            return;
        }
        let taken = self.window_taken(path);
        let next_unit = self.ledger.next_unit();
        let state = &mut self.paths[path];
        let to = state.routes.fast;
        let new = unsent_packets > 0 && taken >= state.window();
        if let Some(mechanisms) = &mut state.mechanisms {
            mechanisms.probe.on_sent(next_unit, !new);
        }
        if new {
            state.episode.allow_probe();
        } else {
            self.ledger.lose_last(path, to, Cause::Probe);
            self.paths[to].episode.exempt(Exempt::Other);
        }
        self.stats.probes += 1;
        self.events.record(now, || Event::Probed { path, new });
        self.start_timer(now, path);
    }

    // ---- the fine-grained timer ----------------------------------------------------------------

    /// Whether data sent at `sent_at` is older than a round trip should be.
    pub(super) fn is_overdue(&self, now: Instant, path: PathId, sent_at: Instant) -> bool {
        let state = &self.paths[path];
        let Some(mechanisms) = state.mechanisms.as_deref() else { return false };
        let margin = match self.policy.loss.fine_grained {
            FineGrainedTimer::Off => return false,
            FineGrainedTimer::On => Duration::ZERO,
            FineGrainedTimer::Robust => mechanisms.rack.learned_window(mechanisms.shortest_trip()),
        };
        mechanisms.fine.is_expired(now, sent_at + margin, &state.rtt)
    }

    /// Whether an acknowledgement makes the sender check ages: every duplicate does, and the first
    /// two others after a retransmission.
    pub(super) fn looks_at_age(&mut self, path: PathId, is_duplicate: bool) -> bool {
        if self.policy.loss.fine_grained == FineGrainedTimer::Off {
            return false;
        }
        let mechanisms = self.paths[path].mechanisms.as_deref_mut();
        mechanisms.is_some_and(|mechanisms| is_duplicate || mechanisms.fine.on_advance())
    }

    /// Data was retransmitted for its age.
    pub(super) fn on_overdue(&mut self, path: PathId, first: bool) {
        let outstanding = self.ledger.flight(path).packets;
        if let Some(mechanisms) = self.paths[path].mechanisms.as_deref_mut() {
            mechanisms.fine.on_retransmission(first, outstanding);
        }
    }

    /// Checks the age of the packets that an acknowledgement reports missing, all sent before
    /// packet `before`. Returns the number of lost packets.
    pub(super) fn lose_by_age(&mut self, now: Instant, path: PathId, before: u64) -> u32 {
        if !self.looks_at_age(path, true) {
            return 0;
        }
        let sent_at = self.ledger.oldest_sent_at(path);
        if sent_at.is_none_or(|sent_at| !self.is_overdue(now, path, sent_at)) {
            return 0;
        }
        let to = self.paths[path].routes.fast;
        let oldest = sent_at;
        let deadline =
            |packet, sent_at| Some(sent_at).filter(|at| packet < before && Some(*at) == oldest);
        let lost = self.ledger.lose_overdue(now, path, to, Cause::Early, deadline).packets;
        if lost > 0 {
            self.on_overdue(path, true);
        }
        lost
    }

    /// Retransmits the unit at the cumulative point if it is older than a round trip should be,
    /// even if it was retransmitted before, and even in recovery (Brakmo and Peterson 1995; Yin
    /// et al.).
    pub(super) fn lose_overdue_first(
        &mut self,
        now: Instant,
        path: PathId,
        flight_before: u64,
    ) -> bool {
        let Some(sent_at) = self.ledger.first_sent_at() else { return false };
        if !self.is_overdue(now, path, sent_at) {
            return false;
        }
        let resent = self.ledger.first_resent_in();
        let to = self.paths[path].routes.fast;
        if !self.ledger.lose_first(to, true, Cause::Early) {
            return false;
        }
        self.on_overdue(path, resent.is_none());
        self.on_loss(now, path, Lost { packets: 1, cause: Cause::Early, resent, flight_before });
        self.paths[path].episode.exempt_again();
        true
    }
}
