//! Building packets: which data may leave, and that it left.

use core::num::NonZeroU64;

use base::{Duration, Instant};

use super::{Draft, Load, Recovery};
use crate::ack_delay::AckDelay;
use crate::congestion::Congestion;
use crate::episode::Exempt;
use crate::event::Event;
use crate::ledger::PacketNumber;
use crate::path_id::PathId;
use crate::policy::{ImmediateRequest, ThinDetector, TimerRestart, WindowCounts};
use crate::rto::compute_rto;
use crate::stats::Cause;

impl Recovery {
    /// An input arrived: a new burst begins.
    pub fn begin_burst(&mut self) {
        self.paths.each_mut(|path| path.burst_end = None);
    }

    /// The lowest unit at or after `from` that waits for retransmission on `path`, with its weight.
    #[inline]
    pub fn next_again(&self, path: PathId, from: u64) -> Option<(u64, u32)> {
        self.ledger.next_lost(path, from).filter(|_| !self.holds_back(path))
    }

    /// Whether a packet with this load may leave on `path` now.
    pub fn may_send(&mut self, now: Instant, path: PathId, load: Load) -> bool {
        self.room(now, path, load) > 0
    }

    /// Bytes that may leave on `path` now in a packet with this load; `u64::MAX` for a packet that
    /// is exempt from the window or may have any size.
    pub fn room(&mut self, now: Instant, path: PathId, load: Load) -> u64 {
        let flight = self.window_taken(path);
        // The timeout takes longer to compute than all the rest.
        let may_fall = self.paths[path].congestion.may_fall_idle(now, flight);
        let rto = if may_fall { self.rto(path) } else { Duration::MAX };
        let max_burst = u64::from(self.policy.congestion.max_burst);
        let state = &mut self.paths[path];
        if load == Load::Again && state.episode.exempted().is_some() {
            return u64::MAX;
        }
        state.congestion.before_send(now, rto, flight);
        let mss = state.congestion.mss();
        if max_burst > 0 {
            let end = NonZeroU64::new(flight + max_burst * mss);
            state.burst_end = state.burst_end.or(end);
        }
        if state.burst_end.is_some_and(|end| flight >= end.get()) {
            return 0;
        }
        let mut room = state.window().saturating_sub(flight);
        if self.policy.congestion.window_counts == WindowCounts::Packets {
            // At least one packet while none is in flight, however large packets have become.
            let fits = flight == 0 || room >= mss;
            room = if fits { u64::MAX } else { 0 };
        }
        if room == 0 && load == Load::New && state.episode.allows_extra() {
            return mss;
        }
        if load == Load::New && room < mss && self.asks_by_data(now, path) {
            return mss;
        }
        let state = &self.paths[path];
        // RFC 9260, section 6.1, rule B: data that begins inside the window may end beyond it; its
        // controller only grows in that case.
        let overlaps = room > 0 && matches!(state.congestion, Congestion::Rfc9260(_));
        if overlaps { room.max(mss) } else { room }
    }

    /// Whether new data on `path` may leave before what waits to be sent again, whatever the window
    /// says: in an outage, each packet of which asks whether it is over.
    pub fn asks_by_data(&self, now: Instant, path: PathId) -> bool {
        let state = &self.paths[path];
        let policy = state.rto_policy(&self.policy.rto);
        let rto = || compute_rto(policy, &state.rtt, state.margin, true);
        let Some(after) = state.backoff.data_after(now, self.policy.backoff, rto) else {
            return false;
        };
        let due = self
            .ledger
            .oldest_sent_at(path)
            .is_none_or(|oldest| now >= oldest + self.ledger.span_in_flight(path) + after);
        due && state.episode.exempted().is_none()
            && self.asks_by_timeout(path)
            && self.is_thin(path)
            && !self.has_queue(path)
    }

    /// Whether new data on `path` asks the peer for an immediate acknowledgement, which the next
    /// packet then does. `last`: no data is queued behind it.
    pub fn asks_for_ack(&mut self, path: PathId, last: bool) -> bool {
        let asks = match self.policy.acknowledgement.request_immediate {
            ImmediateRequest::Never => false,
            // Not if the stream is thin for being slow only: further packets follow within a round
            // trip, and a gap makes the peer answer at once.
            ImmediateRequest::WhileThin => last && self.detects_few(self.policy.thin, path),
            ImmediateRequest::Always => true,
        };
        if asks {
            self.paths[path].on_asked(self.ledger.next_packet());
            self.ledger.draft_request();
        }
        asks
    }

    /// Whether a request for its acknowledgement follows the last packet, which left on `path` at
    /// `now`, for protocols without a flag for it. Not if a copy follows, which is acknowledged
    /// at once as well, nor, unless messages are far apart, if it carries copies to a peer that
    /// answers these at once.
    pub fn asks_behind(&self, now: Instant, path: PathId) -> bool {
        let delay = || self.paths[path].ack_delay.as_ref();
        let rides = || {
            let brake = self.paths[path].copying.brake();
            brake.is_none_or(|brake| brake.reach(self.ledger.next_packet()) > 0)
        };
        let wanted = match self.policy.acknowledgement.request_immediate {
            ImmediateRequest::Never => return false,
            ImmediateRequest::WhileThin => {
                let asks = |delay: &AckDelay| {
                    let answered = delay.answers_copies() && self.last_carries_copies();
                    delay.is_slow() || (rides() && !answered)
                };
                delay().is_some_and(|delay| delay.requests.is_wanted() && asks(delay))
                    && self.detects_few(self.policy.thin, path)
                    // Further packets make the peer answer.
                    && self.detects_few(ThinDetector::FewerThanFour, path)
                    && self.copies_pay(path)
            }
            ImmediateRequest::Always => true,
        };
        let last = self.ledger.next_packet().checked_sub(1);
        wanted
            && last.and_then(|last| self.ledger.sent_at(last)) == Some(now)
            && !self.asked_for_last(path)
            && !self.awaits_copy(path)
    }

    /// Whether copies of earlier data rode along in the last packet.
    fn last_carries_copies(&self) -> bool {
        let last = self.ledger.next_packet().checked_sub(1);
        last.is_some_and(|last| self.ledger.carries_copies(last))
    }

    /// A packet is about to leave: if the previous one has travelled alone for longer than the peer
    /// takes to answer, the peer delays its acknowledgement.
    fn note_delayed_ack(&mut self, now: Instant, path: PathId) {
        // Few paths have an estimate, and few of their packets one other in flight.
        if self.paths[path].ack_delay.is_some() && self.ledger.flight(path).packets == 1 {
            self.note_wait_of_one(now, path);
        }
    }

    /// Compares the wait of the only packet in flight with the peer's delay.
    #[inline(never)]
    fn note_wait_of_one(&mut self, now: Instant, path: PathId) {
        if self.asked_for_last(path) {
            return;
        }
        let oldest = self.ledger.oldest_sent_at(path);
        let delay = self.paths[path].ack_delay.as_deref_mut();
        if let Some((delay, sent_at)) = delay.zip(oldest) {
            delay.on_waiting(now.since(sent_at));
        }
    }

    /// Whether the peer was asked to acknowledge the last packet at once.
    pub(super) fn asked_for_last(&self, path: PathId) -> bool {
        let last = self.ledger.next_packet().wrapping_sub(1);
        self.paths[path].was_asked_for(last)
    }

    /// A request for its acknowledgement follows the last packet: the timer no longer allows for
    /// the peer's delay.
    pub fn on_asked_behind(&mut self, now: Instant, path: PathId) {
        let last = self.ledger.next_packet().wrapping_sub(1);
        let state = &mut self.paths[path];
        state.on_asked(last);
        if state.t3_rtx.is_some() && self.ledger.flight(path).packets == 1 {
            self.start_timer(now, path);
        }
    }

    /// Adds new data of `len` steps and `weight` bytes to the packet being built for `path`, and
    /// returns its unit.
    pub fn draft_new(&mut self, path: PathId, len: u32, weight: u32) -> u64 {
        self.draft.new += 1;
        self.draft.bytes += weight;
        self.ledger.draft_new(path, len, weight)
    }

    /// Adds new data to the packet being built that was sent before without an entry in the ledger:
    /// its round trip is not measured.
    pub fn draft_untimed(&mut self, path: PathId, len: u32, weight: u32) -> u64 {
        self.draft.new += 1;
        self.draft.bytes += weight;
        self.ledger.draft_untimed(path, len, weight)
    }

    /// Cuts a unit that waits for retransmission after its first `len` bytes.
    pub fn cut_lost(&mut self, unit: u64, len: u32) -> bool {
        self.ledger.cut_lost(unit, len)
    }

    /// Bytes of data in the packet being built.
    pub fn drafted_bytes(&self) -> u64 {
        self.draft.bytes.into()
    }

    /// Adds a unit that waits for retransmission to the packet being built for `path`.
    pub fn draft_again(&mut self, now: Instant, path: PathId, unit: u64, weight: u32) {
        if let Some((cause, order)) = self.ledger.draft_again(path, unit) {
            self.draft.again += 1;
            self.draft.bytes += weight;
            let oldest = unit == self.ledger.cumulative();
            self.draft.resends_oldest |= oldest;
            self.draft.mends_oldest |= oldest && cause == Cause::Fast;
            self.paths[path].episode.on_again(unit, weight);
            if let Some(lost_on) = self.ledger.lost_on(unit).filter(|_| cause != Cause::Copy) {
                self.watch_again(now, lost_on, unit, cause);
            }
            if cause == Cause::Copy {
                self.stats.redundant_bytes += u64::from(weight);
                self.stats.redundant_units += 1;
                if let Some(worth) = self.paths[path].copying.worth_mut() {
                    worth.on_copy(weight);
                }
                // A duplicate is acknowledged at once.
                let packet = self.ledger.next_packet();
                self.paths[path].on_asked(packet);
                return;
            }
            self.stats.retransmissions.count(cause, order);
            self.events.record(now, || Event::Resent { unit, cause, order });
        }
    }

    /// The packet being built left on `path`; returns its number.
    pub fn on_sent(&mut self, now: Instant, path: PathId) -> PacketNumber {
        let Draft { new, again, bytes, along, resends_oldest, mends_oldest } =
            core::mem::take(&mut self.draft);
        let follows = self.ledger.flight(path).packets > 0;
        let state = &mut self.paths[path];
        state.equip(now, follows, &self.policy);
        if let Some(worth) = state.copying.worth_mut() {
            let (fresh, within) = (if again == 0 { bytes } else { 0 }, state.rtt.srtt());
            worth.on_sent(now, (fresh, along), self.policy.redundancy.budget(), within);
        }
        let bytes = u64::from(bytes);
        self.note_delayed_ack(now, path);
        let beyond_window = self.window_taken(path) >= self.paths[path].window();
        let number = self.ledger.commit(now, path);
        self.paths[path].congestion.on_sent(now);
        self.events.record(now, || Event::Sent {
            packet: number,
            path,
            new,
            again,
            bytes,
            next_unit: self.ledger.next_unit(),
        });
        let state = &mut self.paths[path];
        if beyond_window && again == 0 {
            state.episode.use_extra();
        }
        // A count by acknowledgements leaves out the fast retransmission, as in ns-2.
        if again == 0 || state.episode.exempted().is_none() {
            state.episode.fill_pipe();
        }
        // Section 7.2.4, rule 4: a fast retransmission of the oldest data restarts the timer. If
        // the timer depends on the age of the oldest data, so does each further one, since
        // that age begins at zero again.
        let fast = state.episode.exempted() == Some(Exempt::Fast);
        let by_age = matches!(self.policy.timer_restart, TimerRestart::LessOldestAge { .. });
        let restarts = self.policy.loss.fast_restarts_timer
            && (resends_oldest && fast || mends_oldest && by_age);
        if again > 0 {
            state.episode.end_exemption();
            // Data that fills a hole is acknowledged at once (RFC 5681, section 4.2).
            if self.ledger.has_reports() {
                state.on_asked(number);
            }
        }
        if state.t3_rtx.is_none() || restarts {
            self.start_timer(now, path);
        } else {
            self.hasten_timer(now, path);
        }
        self.arm_early_timer(now, path);
        if new > 0 {
            self.arm_copy(now, path, number);
            if let Some(delay) = self.paths[path].ack_delay.as_deref_mut() {
                delay.on_sent(now);
            }
        }
        self.watch_sent(now, path, bytes, new > 0);
        number
    }
}
