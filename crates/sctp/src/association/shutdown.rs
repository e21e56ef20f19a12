//! The graceful end of an association (RFC 9260, section 9.2).

use base::Instant;
use bytes::Bytes;

use super::Association;
use crate::control::{Control, OwnedCause};
use crate::event::{Event, Failure};
use crate::phase::{Closing, Phase};
use crate::state::State;
use crate::wire::Tsn;

impl Association {
    /// The application closes: nothing more is sent but what was, and then the association ends.
    pub(crate) fn shutdown(&mut self, now: Instant) {
        match self.state() {
            State::Established if self.tx.queue().has_open() => {
                // Its end would never come.
                self.abort(Bytes::from_static(b"closed within a message"));
            }
            State::Established => {
                self.phase = Phase::ShutdownPending;
                self.end_reconfiguration();
                let waits = !self.tx.queue().is_empty() || self.extensions.held_bytes() > 0;
                if !waits && self.tx.is_given_up() {
                    // All that the peer would learn is what it does not get.
                    self.start_shutdown(now);
                } else {
                    self.advance_shutdown(now);
                }
            }
            // Nothing was agreed yet: section 9.2 knows no shutdown here.
            State::CookieWait | State::CookieEchoed => {
                self.abort(Bytes::from_static(b"closed before it was set up"));
            }
            _ => {}
        }
    }

    /// Sends SHUTDOWN or SHUTDOWN ACK once everything sent before is acknowledged.
    pub(super) fn advance_shutdown(&mut self, now: Instant) {
        match self.state() {
            State::ShutdownPending if self.is_settled() => self.start_shutdown(now),
            State::ShutdownReceived if self.is_settled() => self.acknowledge_shutdown(now),
            _ => {}
        }
    }

    /// SHUTDOWN leaves. T5-shutdown-guard runs from the first one on, for five times RTO.Max.
    fn start_shutdown(&mut self, now: Instant) {
        let guard = now + self.options.policy.rto.max * 5;
        self.phase = Phase::ShutdownSent(Closing::guarded_until(guard));
        self.control.push(Control::Shutdown);
        self.arm_t2(now);
    }

    /// SHUTDOWN ACK leaves.
    fn acknowledge_shutdown(&mut self, now: Instant) {
        self.phase.acknowledge_shutdown();
        self.control.push(Control::ShutdownAck);
        self.arm_t2(now);
    }

    fn arm_t2(&mut self, now: Instant) {
        let due = now + self.control_rto();
        if let Some(closing) = self.phase.closing_mut() {
            closing.arm(due);
        }
    }

    /// The peer sent INIT in SHUTDOWN-ACK-SENT: it has not seen SHUTDOWN ACK (section 9.2).
    pub(crate) fn repeat_shutdown_ack(&mut self) {
        self.control.push(Control::ShutdownAck);
    }

    /// The peer restarted in SHUTDOWN-ACK-SENT: it is told to finish the old association first (section 5.2.4, action A).
    pub(crate) fn refuse_restart(&mut self) {
        self.control.push(Control::ShutdownAck);
        self.control.push_answer(
            self.tx.fragment_size(),
            Control::Error(OwnedCause::CookieReceivedWhileShuttingDown),
        );
    }

    /// DATA came in SHUTDOWN-SENT: the peer has not seen SHUTDOWN, or what it acknowledges has grown.
    pub(super) fn repeat_shutdown(&mut self, now: Instant) {
        if self.state() == State::ShutdownSent && !self.control.contains(&Control::Shutdown) {
            self.control.push(Control::Shutdown);
            self.arm_t2(now);
        }
    }

    /// A packet of the peer came: in SHUTDOWN-SENT the retransmissions of SHUTDOWN are counted anew, and T2-shutdown
    /// begins again (section 9.2), so that the peer has time for all that it has still to send.
    pub(super) fn on_heard_while_closing(&mut self, now: Instant) {
        if self.state() == State::ShutdownSent {
            self.liveness.clear_errors();
            let due = now + self.control_rto();
            if let Some(closing) = self.phase.closing_mut() {
                closing.begin_again(due);
            }
        }
    }

    /// The peer closes, and acknowledges what it received.
    pub(super) fn on_shutdown(&mut self, now: Instant, cumulative: Tsn) {
        match self.state() {
            State::CookieWait | State::CookieEchoed | State::Closed => {
                self.counters.chunks_dropped += 1;
                return;
            }
            State::Established | State::ShutdownPending => {
                // Section 9.2 gives T5-shutdown-guard to the side that sends SHUTDOWN; here the limit
                // of retransmissions is the guard.
                if !self.end_open_messages() {
                    return;
                }
                self.phase = Phase::ShutdownReceived;
                self.end_reconfiguration();
            }
            // Both closed at once.
            State::ShutdownSent => self.acknowledge_shutdown(now),
            State::ShutdownReceived => {}
            State::ShutdownAckSent => self.control.push(Control::ShutdownAck),
        }
        // Section 9.2 asks what SHUTDOWN acknowledges only for whether all was received. pion and
        // sctp-proto write a TSN of the wrong direction there: it says nothing, and the peer is told
        // of what it did not acknowledge otherwise as long as it lives.
        if let Ok(outcome) = self.tx.on_cumulative_ack(now, cumulative) {
            self.on_acknowledged(now, outcome, false);
        }
    }

    /// Nothing new is accepted once the peer closes (section 9.2), so that messages of which parts are
    /// to come never end: they are given up where that can be, and else the association is. False then.
    fn end_open_messages(&mut self) -> bool {
        for stream in self.tx.queue().open_streams() {
            if !self.abandon_open(stream) {
                self.abort(Bytes::from_static(b"closed within a message"));
                return false;
            }
        }
        true
    }

    /// The peer has nothing outstanding either.
    pub(super) fn on_shutdown_ack(&mut self) {
        match self.state() {
            State::ShutdownSent | State::ShutdownAckSent => {
                self.control.end_with(Some(Control::ShutdownComplete));
                self.close(Event::Closed);
            }
            // Section 8.5.1, rule E: in COOKIE-WAIT and COOKIE-ECHOED it is answered as out of the
            // blue, which the endpoint does; elsewhere it is out of place.
            _ => self.counters.chunks_dropped += 1,
        }
    }

    /// The peer knows that all is over.
    pub(super) fn on_shutdown_complete(&mut self) {
        if self.state() == State::ShutdownAckSent {
            self.control.end_with(None);
            self.close(Event::Closed);
        } else {
            self.counters.chunks_dropped += 1;
        }
    }

    /// T2-shutdown expired: what the peer did not answer goes again.
    pub(super) fn on_t2_shutdown(&mut self, now: Instant) {
        let control = match self.state() {
            State::ShutdownSent => Control::Shutdown,
            State::ShutdownAckSent => Control::ShutdownAck,
            _ => return,
        };
        self.on_path_error(now, self.control_route(), true);
        if self.is_closed() {
            return;
        }
        self.turn_control_path();
        self.control.push(control);
        let (rto, max) = (self.control_rto(), self.options.policy.rto.max);
        if let Some(closing) = self.phase.closing_mut() {
            closing.back_off(now, rto, max);
        }
    }

    /// T5-shutdown-guard expired: the peer did not finish in time.
    pub(super) fn on_t5_shutdown_guard(&mut self) {
        let cause = OwnedCause::UserInitiatedAbort(Bytes::from_static(b"shutdown timed out"));
        self.abort_with(cause, Failure::ShutdownTimeout);
    }
}
