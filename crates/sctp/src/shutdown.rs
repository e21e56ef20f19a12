//! The graceful end of an association (RFC 9260, section 9.2).

use base::{Duration, Instant};

use crate::association::{Association, Control, OwnedCause, State, Timer};
use crate::event::{Event, Failure};
use crate::wire::Tsn;

impl Association {
    /// The application closes: nothing more is sent but what was, and then the association ends.
    pub(crate) fn shutdown(&mut self, now: Instant) {
        match self.state {
            State::Established if self.queue.has_open() => {
                // Its end would never come.
                self.abort(bytes::Bytes::from_static(b"closed within a message"));
            }
            State::Established => {
                self.state = State::ShutdownPending;
                self.end_reconfiguration();
                let nothing_waits = self.queue.is_empty() && self.held_bytes() == 0;
                if nothing_waits && self.tx.is_given_up() {
                    // All that the peer would learn is what it does not get.
                    self.start_shutdown(now);
                } else {
                    self.advance_shutdown(now);
                }
            }
            // Nothing was agreed yet: section 9.2 knows no shutdown here.
            State::CookieWait | State::CookieEchoed { .. } => {
                self.abort(bytes::Bytes::from_static(b"closed before it was set up"));
            }
            _ => {}
        }
    }

    /// Sends SHUTDOWN or SHUTDOWN ACK once everything sent before is acknowledged.
    pub(crate) fn advance_shutdown(&mut self, now: Instant) {
        if !self.is_settled() {
            return;
        }
        match self.state {
            State::ShutdownPending => self.start_shutdown(now),
            State::ShutdownReceived => {
                self.state = State::ShutdownAckSent;
                self.start_t2(now, Control::ShutdownAck);
            }
            _ => {}
        }
    }

    fn start_shutdown(&mut self, now: Instant) {
        self.state = State::ShutdownSent;
        self.start_shutdown_guard(now);
        self.start_t2(now, Control::Shutdown);
    }

    fn start_t2(&mut self, now: Instant, control: Control) {
        self.attempts = 0;
        self.push_control(control);
        self.timers.arm(Timer::T2Shutdown as usize, now + self.control_rto());
    }

    /// T5-shutdown-guard, from the first SHUTDOWN on: five times RTO.Max.
    fn start_shutdown_guard(&mut self, now: Instant) {
        let guard = self.options.policy.rto.max * 5;
        self.timers.arm(Timer::T5ShutdownGuard as usize, now + guard);
    }

    /// DATA came in SHUTDOWN-SENT: the peer has not seen SHUTDOWN, or what it acknowledges has grown.
    pub(crate) fn repeat_shutdown(&mut self, now: Instant) {
        if self.state == State::ShutdownSent && !self.control.contains(&Control::Shutdown) {
            self.push_control(Control::Shutdown);
            self.timers.arm(Timer::T2Shutdown as usize, now + self.control_rto());
        }
    }

    /// The peer closes, and acknowledges what it received.
    pub(crate) fn on_shutdown(&mut self, now: Instant, cumulative: Tsn) {
        match self.state {
            State::CookieWait | State::CookieEchoed { .. } | State::Closed => {
                self.counters.chunks_dropped += 1;
                return;
            }
            State::Established | State::ShutdownPending => {
                // Section 9.2 gives T5-shutdown-guard to the side that sends SHUTDOWN; here the limit
                // of retransmissions is the guard.
                if !self.end_open_messages() {
                    return;
                }
                self.state = State::ShutdownReceived;
                self.end_reconfiguration();
            }
            // Both closed at once.
            State::ShutdownSent => {
                self.timers.stop(Timer::T2Shutdown as usize);
                self.state = State::ShutdownAckSent;
                self.start_t2(now, Control::ShutdownAck);
            }
            State::ShutdownReceived => {}
            State::ShutdownAckSent => self.push_control(Control::ShutdownAck),
        }
        // Section 9.2 asks what SHUTDOWN acknowledges only for whether all was received. pion and
        // sctp-proto write a TSN of the wrong direction there: it says nothing, and the peer is told
        // of what it did not acknowledge otherwise as long as it lives.
        if let Ok(outcome) = self.tx.on_cumulative_ack(now, cumulative, &mut self.queue) {
            self.on_acknowledged(now, outcome, false);
        }
    }

    /// Nothing new is accepted once the peer closes (section 9.2), so that messages of which parts are
    /// to come never end: they are given up where that can be, and else the association is. False then.
    fn end_open_messages(&mut self) -> bool {
        for stream in self.queue.open_streams() {
            if !self.abandon_open(stream) {
                self.abort(bytes::Bytes::from_static(b"closed within a message"));
                return false;
            }
        }
        true
    }

    /// The peer has nothing outstanding either.
    pub(crate) fn on_shutdown_ack(&mut self) {
        match self.state {
            State::ShutdownSent | State::ShutdownAckSent => {
                self.control.clear();
                self.push_control(Control::ShutdownComplete);
                self.close(Event::Closed);
            }
            // Section 8.5.1, rule E: in COOKIE-WAIT and COOKIE-ECHOED it is answered as out of the
            // blue, which the endpoint does; elsewhere it is out of place.
            _ => self.counters.chunks_dropped += 1,
        }
    }

    pub(crate) fn on_shutdown_complete(&mut self) {
        if self.state == State::ShutdownAckSent {
            self.control.clear();
            self.close(Event::Closed);
        } else {
            self.counters.chunks_dropped += 1;
        }
    }

    pub(crate) fn on_t2_shutdown(&mut self, now: Instant) {
        let control = match self.state {
            State::ShutdownSent => Control::Shutdown,
            State::ShutdownAckSent => Control::ShutdownAck,
            _ => return,
        };
        self.on_path_error(now, self.control_route(), true);
        if self.state == State::Closed {
            return;
        }
        self.turn_control_path();
        self.attempts = self.attempts.saturating_add(1);
        let wait = backed_off(self.control_rto(), self.attempts, self.options.policy.rto.max);
        self.push_control(control);
        self.timers.arm(Timer::T2Shutdown as usize, now + wait);
    }

    pub(crate) fn on_t5_shutdown_guard(&mut self) {
        let cause =
            OwnedCause::UserInitiatedAbort(bytes::Bytes::from_static(b"shutdown timed out"));
        self.abort_with(cause, Failure::ShutdownTimeout);
    }
}

/// The timeout of a control chunk after `attempts` expiries.
pub(crate) fn backed_off(rto: Duration, attempts: u8, max: Duration) -> Duration {
    (rto * 1u64.checked_shl(attempts.into()).unwrap_or(u64::MAX)).min(max)
}
