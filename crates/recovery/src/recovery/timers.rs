//! The retransmission timer (RFC 9260, section 6.3; RFC 6298, section 5) and FreeBSD's early one.

use std::sync::Arc;

use base::{Duration, Instant, Probability};

use super::{Recovery, TimeoutOutcome};
use crate::congestion::TimedOut;
use crate::event::Event;
use crate::feedback::Silence;
use crate::ledger::{Missing, PathAck};
use crate::loss::{self, RestartMoments};
use crate::path::{PathRecovery, RunningTimer};
use crate::path_id::PathId;
use crate::policy::{EarlyRule, ThinTimeout, TimeoutResends};
use crate::rto::{Expiry, compute_rto};
use crate::stats::Cause;

/// Loss rate from which the packet that a timeout retransmits takes everything outstanding along:
/// with such losses, young data was often lost too.
const OFTEN_LOST: Probability = Probability::from_ratio(1, 12);

impl Recovery {
    /// Restarts the retransmission timer of `path`.
    pub(super) fn start_timer(&mut self, now: Instant, path: PathId) {
        self.set_timer(now, path, now + self.rto(path));
    }

    /// The timers of `path` were suspended for a while: a retransmission timer that became due
    /// meanwhile restarts.
    pub fn resume_timer(&mut self, now: Instant, path: PathId) {
        let timer = self.paths.get(path).and_then(|state| state.t3_rtx);
        if timer.is_some_and(|timer| timer.due <= now) {
            self.start_timer(now, path);
        }
    }

    /// Sets the retransmission timer of `path` to `due`, or to the next tick.
    pub(super) fn set_timer(&mut self, now: Instant, path: PathId, due: Instant) {
        let due = due.round_up(self.policy.rto.tick);
        self.paths[path].t3_rtx = Some(RunningTimer { started_at: now, due });
        self.events.record(now, || Event::TimerSet { path, due });
    }

    /// Updates the retransmission timer after an acknowledgement (RFC 9260, section 6.3.2).
    pub(super) fn update_timer(
        &mut self,
        now: Instant,
        path: PathId,
        news: &PathAck,
        unsent_packets: u32,
    ) {
        let flight = self.ledger.flight(path);
        let state = &self.paths[path];
        let (timer, oldest) = (state.t3_rtx, self.ledger.oldest_sent_at(path));
        let (Some(timer), Some(oldest_sent_at)) = (timer, oldest) else {
            // Rule R2: nothing is outstanding. Rule R4 (reneging) starts a stopped timer.
            if timer.is_some() && self.goes_on_for_lost(path) {
                // Rule R3 applies nevertheless: data that is still missing gets a full timeout.
                if news.cumulative {
                    self.start_timer(now, path);
                }
            } else if flight.packets == 0
                && !self.waits_for_cumulative(path)
                && !self.holds_back(path)
            {
                self.paths[path].t3_rtx = None;
                self.paths[path].early_timer = None;
            } else if timer.is_none() || flight.packets > 0 {
                self.start_timer(now, path);
            }
            return;
        };
        let partial_ack = self.policy.loss.partial_ack;
        let restarts = state.episode.restarts_timer(self.reports_gaps(), partial_ack);
        if news.cumulative && restarts {
            let moments = RestartMoments {
                now,
                timer_started_at: timer.started_at,
                oldest_sent_at,
                outstanding: flight.packets + unsent_packets,
            };
            self.restart_timer(path, moments);
        }
        self.restart_early_timer(now, path);
    }

    /// Restarts the retransmission timer of `path` by the policy.
    #[inline(never)]
    fn restart_timer(&mut self, path: PathId, moments: RestartMoments) {
        let thin = self.is_thin(path);
        let rto = self.rto_if(path, thin);
        let due = loss::restarted_timer(self.policy.timer_restart, moments, rto, thin);
        self.set_timer(moments.now, path, due);
    }

    /// The timeout became longer: so does that of the oldest data in flight.
    pub(super) fn delay_timer(&mut self, now: Instant, path: PathId) {
        let timer = self.paths[path].t3_rtx;
        let Some((timer, oldest)) = timer.zip(self.ledger.oldest_sent_at(path)) else { return };
        let due = oldest + self.rto(path);
        if due > timer.due {
            self.set_timer(now, path, due);
        }
    }

    /// A packet was sent behind one that had travelled alone: the peer acknowledges both at once,
    /// so the timer no longer allows for its delay.
    pub(super) fn hasten_timer(&mut self, now: Instant, path: PathId) {
        if self.policy.rto.ack_delay.is_some() && self.ledger.flight(path).packets == 2 {
            self.hasten_timer_of_two(now, path);
        }
    }

    /// Takes the peer's delay off the timer, with exactly two packets in flight.
    #[inline(never)]
    fn hasten_timer_of_two(&mut self, now: Instant, path: PathId) {
        let rto = self.rto(path);
        let oldest = self.ledger.oldest_sent_at(path);
        let state = &mut self.paths[path];
        let (Some(timer), Some(oldest)) = (&mut state.t3_rtx, oldest) else { return };
        let answered = now + state.rtt.srtt().unwrap_or(rto);
        let due = if oldest + rto < answered { now + rto } else { oldest + rto };
        timer.due = timer.due.min(due.round_up(self.policy.rto.tick));
    }

    /// The timer expires, perhaps because the peer delays the acknowledgement of a packet that
    /// travelled alone.
    fn suspect_ack_delay(&mut self, path: PathId) {
        let alone = self.ledger.flight(path).packets == 1 && !self.asked_for_last(path);
        let cargo = self.oldest_cargo(path);
        let delay = self.paths[path].ack_delay.as_deref_mut();
        if let Some(delay) = delay.filter(|_| alone) {
            delay.on_expiry(cargo);
        }
    }

    /// Whether the timer also covers data about to be fast-retransmitted: if that does not restart
    /// the timer, the timer must not stop in between.
    fn goes_on_for_lost(&self, path: PathId) -> bool {
        let to = self.paths[path].routes.fast;
        !self.policy.loss.fast_restarts_timer && self.ledger.next_lost(to, 0).is_some()
    }

    /// Whether the peer reported everything in flight while the cumulative point stays unchanged,
    /// so that only the timer continues.
    fn waits_for_cumulative(&self, path: PathId) -> bool {
        self.heard.may_stall()
            && !self.ledger.is_empty()
            && self.ledger.next_lost(path, 0).is_none()
    }

    // ---- the early fast retransmit timer --------------------------------------------------------

    pub(super) fn arm_early_timer(&mut self, now: Instant, path: PathId) {
        // Few policies have this timer.
        if self.policy.loss.early_timer.is_none() {
            return;
        }
        if !self.has_early_room(path) || self.paths[path].early_timer.is_none() {
            self.restart_early_timer(now, path);
        }
    }

    /// Whether the flight leaves part of the window unused, which the early timer requires.
    fn has_early_room(&self, path: PathId) -> bool {
        let (congestion, flight) = (&self.paths[path].congestion, self.ledger.flight(path));
        match self.policy.loss.early_rule {
            EarlyRule::FreeBsd => self.window_taken(path) < congestion.cwnd(),
            EarlyRule::Described => {
                u64::from(flight.packets) < congestion.cwnd() / congestion.mss().max(1)
            }
        }
    }

    /// Restarts the early timer, which runs while data is in flight and does not fill the window.
    fn restart_early_timer(&mut self, now: Instant, path: PathId) {
        if let Some(least) = self.policy.loss.early_timer {
            self.set_early_timer(now, path, least);
        }
    }

    /// Sets the early timer by the oldest packet in flight, or clears it.
    #[inline(never)]
    fn set_early_timer(&mut self, now: Instant, path: PathId, least: Duration) {
        let oldest = self.ledger.oldest_sent_at(path).filter(|_| self.has_early_room(path));
        let (rule, initial) = (self.policy.loss.early_rule, self.policy.rto.initial);
        let state = &mut self.paths[path];
        let wait = loss::early_timer(rule, &state.rtt, initial, least);
        state.early_timer = oldest.map(|oldest| match rule {
            EarlyRule::FreeBsd => now + wait,
            EarlyRule::Described => (oldest + wait).max(now),
        });
    }

    fn on_early_timer(&mut self, now: Instant, path: PathId) {
        let Some(least) = self.policy.loss.early_timer else { return };
        let (rule, initial) = (self.policy.loss.early_rule, self.policy.rto.initial);
        let state = &self.paths[path];
        let wait = loss::early_timer(rule, &state.rtt, initial, least);
        let overdue = self.ledger.oldest_sent_at(path).is_some_and(|sent| now.since(sent) >= wait);
        if overdue {
            let (early, sent_by) = (Cause::Early, now.before(wait));
            let to = state.routes.fast;
            let packets = self.ledger.lose_sent_by(path, to, sent_by, early, early);
            self.events.record(now, || Event::Lost { path, packets, cause: early });
            let state = &mut self.paths[path];
            state.on_fates(packets, true);
            state.congestion.on_early_timer();
            self.record_window(now, path);
        }
        self.restart_early_timer(now, path);
    }

    // ---- time ----------------------------------------------------------------------------------

    /// Earliest deadline of all timers.
    pub fn next_timeout(&self) -> Option<Instant> {
        let due = |path: &PathRecovery| {
            let t3_rtx = path.t3_rtx.map(|timer| timer.due);
            let mechanisms = path.mechanisms.as_ref().and_then(|mechanisms| mechanisms.due());
            Instant::earliest(&[t3_rtx, path.early_timer, mechanisms])
        };
        self.paths.earliest(due)
    }

    /// The smallest packet on `path` that the peer has not reported within a round trip, if the
    /// peer reports gaps.
    fn smallest_missing(&self, now: Instant, path: PathId) -> Option<Missing> {
        let srtt = self.srtt(path).filter(|_| self.reports_gaps())?;
        self.ledger.smallest_sent_by(path, now.before(srtt))
    }

    /// Runs the timers that are due at `now`. Returns one expired retransmission timer per call,
    /// until there is none. `probing`: the peer's window is closed, and the data in flight
    /// probes it; such probes back off whatever the policy (RFC 9260, section 6.1).
    /// `unsent_packets`: as in [`Recovery::on_feedback`].
    pub fn on_timeout(
        &mut self,
        now: Instant,
        probing: bool,
        unsent_packets: u32,
    ) -> Option<TimeoutOutcome> {
        for path in self.paths.ids() {
            let expires = |state: &PathRecovery| state.t3_rtx.is_some_and(|timer| timer.due <= now);
            // Before any timer declares it lost.
            let smallest_missing =
                if expires(&self.paths[path]) { self.smallest_missing(now, path) } else { None };
            self.on_mechanism_timers(now, path, probing, unsent_packets);
            if self.paths[path].early_timer.is_some_and(|due| due <= now) {
                self.paths[path].early_timer = None;
                // A window probe is not late: only T3-rtx with its back-off repeats it.
                if !probing {
                    self.on_early_timer(now, path);
                }
            }
            if expires(&self.paths[path]) {
                let counts_as_error = self.on_expiry(now, path, probing);
                return Some(TimeoutOutcome { path, counts_as_error, smallest_missing });
            }
        }
        None
    }

    /// Handles an expiry of the retransmission timer (T3-rtx of RFC 9260, section 6.3.3; RFC 6298,
    /// section 5). Returns whether it counts as an error of the path.
    fn on_expiry(&mut self, now: Instant, path: PathId, probing: bool) -> bool {
        // Before any data leaves the flight, since the stream's past counts.
        let thin = self.is_thin(path);
        self.paths[path].t3_rtx = None;
        self.suspect_ack_delay(path);
        let queued = self.has_queue(path);
        let policy = Arc::clone(&self.policy);
        let state = &mut self.paths[path];
        let (rto, max) = {
            let rto = state.rto_policy(&policy.rto);
            (compute_rto(rto, &state.rtt, state.margin, thin), rto.max)
        };
        state.margin.on_expiry();
        // A stream that is not thin knows sooner than a thin one that the path works, and loses
        // more with its window.
        let delivers = || {
            let mechanisms = state.mechanisms.as_deref();
            policy.timeout_while_thin == ThinTimeout::Probe
                && policy.rto.margin.heeds_narrow()
                && mechanisms.is_some_and(|mechanisms| mechanisms.rack.delivered_within(now, rto))
        };
        let may_stay = (thin || delivers() || state.is_near_least_window()) && !probing && !queued;
        state.backoff.set_probing(probing);
        // Data that was too young at the last probe gets a timeout of its own, which is not new
        // evidence about the path.
        let same_round = may_stay
            && state
                .mechanisms
                .as_ref()
                .is_some_and(|mechanisms| mechanisms.probe.asked_within(now, rto));
        let expiry = if same_round {
            Expiry { linear: true, young: true, counts_as_error: false, again: false }
        } else {
            state.backoff.on_expiry(now, policy.backoff, may_stay, rto, max)
        };
        if let Some(brake) = state.copying.brake_mut() {
            brake.on_expiry(state.backoff.expiries() > 1);
        }
        let asks = expiry.young && self.asks_by_timeout(path);
        let (packets, young) = if asks {
            self.ask_by_timeout(now, path, thin, rto, expiry.again)
        } else {
            self.time_window_out(now, path, probing);
            (self.lose_by_timeout(now, path, rto), None)
        };
        self.stats.timeouts += 1;
        let next_rto = self.paths[path].rto(&policy.rto, thin);
        let linear = expiry.linear;
        let doublings = self.paths[path].backoff.doublings();
        self.events.record(now, || Event::Timeout { path, next_rto, thin, linear, doublings });
        self.events.record(now, || Event::Lost { path, packets, cause: Cause::Timeout });
        self.record_window(now, path);
        // Data that was too young for retransmission still needs a timer.
        match young {
            Some(oldest) => {
                let rto = self.behind_probe(path, rto);
                self.set_timer(now, path, (oldest + rto).max(now));
            }
            None if self.ledger.flight(path).packets > 0 => self.start_timer(now, path),
            None => {}
        }
        expiry.counts_as_error
    }

    /// The timeout while a probe that was sent behind other packets is unanswered: `rto`, and at
    /// least twice the timeout without back-off, of which the probe and what is before it may
    /// take one.
    pub(super) fn behind_probe(&self, path: PathId, rto: Duration) -> Duration {
        let state = &self.paths[path];
        let mechanisms = state.mechanisms.as_deref();
        if !mechanisms.is_some_and(|mechanisms| mechanisms.probe.is_behind()) {
            return rto;
        }
        let policy = state.rto_policy(&self.policy.rto);
        rto.max(compute_rto(policy, &state.rtt, state.margin, true) * 2)
    }

    /// Whether the smoothed round trip is so far above the minimum that it contains a queue.
    pub(super) fn has_queue(&self, path: PathId) -> bool {
        let state = &self.paths[path];
        let most = u64::from(self.policy.backoff.linear_queue);
        let least = state.shortest_trip();
        let excess = self.policy.backoff.least_queue();
        let above = least
            .zip(state.rtt.srtt())
            .is_some_and(|(least, srtt)| srtt > (least * most).max(least + excess));
        most > 0 && above
    }

    /// Whether a timeout is a probe at present: not if another path repairs the losses.
    pub(super) fn asks_by_timeout(&self, path: PathId) -> bool {
        let stays = self.paths[path].routes.timeout == path;
        self.policy.timeout_while_thin == ThinTimeout::Probe && stays
    }

    /// Retransmits data that should have been acknowledged by now, or everything if the previous
    /// expiry brought no acknowledgement (`again`). Acknowledgements decide about the window.
    /// Returns the number of packets taken for lost; `rto` is the timeout without back-off.
    fn ask_by_timeout(
        &mut self,
        now: Instant,
        path: PathId,
        thin: bool,
        rto: Duration,
        again: bool,
    ) -> (u32, Option<Instant>) {
        let next_unit = self.ledger.next_unit();
        let state = &mut self.paths[path];
        let young = state.rtt.overdue_after().unwrap_or(rto);
        let often = thin && state.loss.estimate() >= OFTEN_LOST;
        let copies = self.policy.redundancy.bundling.is_some();
        let narrow = self.policy.rto.margin.heeds_narrow();
        let follows = narrow && self.ledger.flight(path).packets > 1;
        let all = again || (often && !copies);
        let sent_by = if all { now } else { now.before(young) };
        if let Some(mechanisms) = &mut state.mechanisms {
            mechanisms.probe.on_sent(next_unit, true);
            if !mechanisms.probe.asked_within(now, rto) {
                // What fills an outage does not fill the line.
                let behind = follows && (!again || mechanisms.probe.is_behind());
                mechanisms.probe.on_asked(now, all, behind);
            }
        }
        let mut packets =
            self.ledger.lose_sent_by(path, path, sent_by, Cause::Timeout, Cause::Bundled);
        // The packet has room for young data, which nevertheless leaves in a packet of its own.
        let next = self.ledger.oldest_sent_at(path);
        if often && copies {
            packets += self.ledger.lose_sent_by(path, path, now, Cause::Timeout, Cause::Bundled);
        }
        self.grant_one_packet(path);
        let state = &mut self.paths[path];
        state.on_fates(packets, true);
        (packets, next)
    }

    /// Lowers the window for a timeout, and ends every recovery.
    fn time_window_out(&mut self, now: Instant, path: PathId, probing: bool) {
        let flight_size = self.flight_size(path);
        let cumulative = self.ledger.cumulative();
        let again = self.paths[path].episode.expires_again(cumulative);
        self.keep_for_undo(path);
        self.enter_timeout(path, again || probing);
        let fills = self.fills_queue(path);
        let state = &mut self.paths[path];
        let before = state.congestion.cwnd();
        state.congestion.on_timeout(TimedOut { now, flight_size, again });
        if fills {
            state.congestion.fall_to_two(before);
        }
        state.congestion.keep_threshold(state.least_window());
        state.episode.on_fall(&self.ledger, true);
        self.reduced = true;
    }

    /// Declares the packets lost that the policy's rule for timeouts names, and returns their
    /// number. `rto`: the timeout without back-off.
    fn lose_by_timeout(&mut self, now: Instant, path: PathId, rto: Duration) -> u32 {
        let state = &self.paths[path];
        let target = state.routes.timeout;
        let sent_by = match self.policy.timeout_resends {
            TimeoutResends::AllOutstanding => now,
            TimeoutResends::OldEnough => now.before(state.rtt.overdue_after().unwrap_or(rto)),
            TimeoutResends::ByRack => {
                let mechanisms = state.mechanisms.as_deref();
                let lost = mechanisms.and_then(|mechanisms| {
                    let policy = self.policy.loss.reordering_window;
                    let least = mechanisms.shortest_trip();
                    let window = mechanisms.rack.window_at_timeout(policy, &state.rtt, least);
                    mechanisms.rack.lost_at_timeout(now, window)
                });
                lost.unwrap_or(now)
            }
        };
        let packets =
            self.ledger.lose_sent_by(path, target, sent_by, Cause::Timeout, Cause::Bundled);
        self.heard.duplicates = 0;
        let discarded = self.policy.loss.forget_sack_at_timeout || self.ledger.has_reneged();
        if discarded && self.heard.silence == Silence::Nothing {
            self.ledger.forget_reports(target, Cause::Bundled);
        }
        self.grant_one_packet(target);
        let state = &mut self.paths[path];
        state.on_fates(packets, true);
        packets
    }
}
