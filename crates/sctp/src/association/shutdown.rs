//! Graceful shutdown of an association (RFC 9260, section 9.2).

use base::Instant;
use bytes::Bytes;

use super::Association;
use crate::control::{Control, OwnedCause};
use crate::event::{Event, Failure};
use crate::phase::{Closing, Phase};
use crate::state::State;
use crate::wire::Tsn;

impl Association {
    /// Closes the association: queued data is sent, and then the association ends.
    pub(crate) fn shutdown(&mut self, now: Instant) {
        match self.state() {
            State::Established if self.tx.queue().has_open() => {
                // Its end would never be sent.
                self.abort(Bytes::from_static(b"closed within a message"));
            }
            State::Established => {
                self.phase = Phase::ShutdownPending;
                self.end_reconfiguration();
                let waits = !self.tx.queue().is_empty() || self.extensions.held_bytes() > 0;
                if !waits && self.tx.is_given_up() {
                    // The peer would only learn that data is missing.
                    self.start_shutdown(now);
                } else {
                    self.advance_shutdown(now);
                }
            }
            // Nothing was agreed yet: section 9.2 has no shutdown in these states.
            State::CookieWait | State::CookieEchoed => {
                self.abort(Bytes::from_static(b"closed before it was set up"));
            }
            _ => {}
        }
    }

    /// Sends SHUTDOWN or SHUTDOWN ACK once all data is acknowledged.
    pub(super) fn advance_shutdown(&mut self, now: Instant) {
        match self.state() {
            State::ShutdownPending if self.is_settled() => self.start_shutdown(now),
            State::ShutdownReceived if self.is_settled() => self.acknowledge_shutdown(now),
            _ => {}
        }
    }

    /// Sends SHUTDOWN. T5-shutdown-guard runs from the first one on, for five times RTO.Max.
    #[cold]
    fn start_shutdown(&mut self, now: Instant) {
        let guard = now + self.options.policy.rto.max * 5;
        self.phase = Phase::ShutdownSent(Closing::guarded_until(guard));
        self.control.push(Control::Shutdown);
        self.arm_t2(now);
    }

    /// Queues SHUTDOWN ACK, enters SHUTDOWN-ACK-SENT and starts T2.
    #[cold]
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

    /// The peer sent INIT in SHUTDOWN-ACK-SENT: it has not received SHUTDOWN ACK (section 9.2).
    pub(crate) fn repeat_shutdown_ack(&mut self) {
        self.control.push(Control::ShutdownAck);
    }

    /// The peer restarted in SHUTDOWN-ACK-SENT: it must finish the old association first (section
    /// 5.2.4, action A).
    pub(crate) fn refuse_restart(&mut self) {
        self.control.push(Control::ShutdownAck);
        self.control.push_answer(
            self.tx.fragment_size(),
            Control::Error(OwnedCause::CookieReceivedWhileShuttingDown),
        );
    }

    /// DATA arrived in SHUTDOWN-SENT: the peer has not received SHUTDOWN, or its acknowledgement
    /// has advanced.
    #[cold]
    pub(super) fn repeat_shutdown(&mut self, now: Instant) {
        if self.state() == State::ShutdownSent && !self.control.contains(&Control::Shutdown) {
            self.control.push(Control::Shutdown);
            self.arm_t2(now);
        }
    }

    /// A packet of the peer arrived in SHUTDOWN-SENT: resets the number of retransmissions of
    /// SHUTDOWN and restarts T2-shutdown (section 9.2), so that the peer has time to send its
    /// remaining data.
    pub(super) fn on_heard_while_closing(&mut self, now: Instant) {
        if self.state() == State::ShutdownSent {
            self.begin_shutdown_again(now);
        }
    }

    #[cold]
    fn begin_shutdown_again(&mut self, now: Instant) {
        self.liveness.clear_errors();
        let due = now + self.control_rto();
        if let Some(closing) = self.phase.closing_mut() {
            closing.begin_again(due);
        }
    }

    /// The peer sent SHUTDOWN, which acknowledges received data.
    pub(super) fn on_shutdown(&mut self, now: Instant, cumulative: Tsn) {
        match self.state() {
            State::CookieWait | State::CookieEchoed | State::Closed => {
                self.counters.chunks_dropped += 1;
                return;
            }
            State::Established | State::ShutdownPending => {
                // Section 9.2 gives T5-shutdown-guard to the side that sends SHUTDOWN; here the
                // limit of retransmissions takes its role.
                if !self.end_open_messages() {
                    return;
                }
                self.phase = Phase::ShutdownReceived;
                self.end_reconfiguration();
            }
            // Both sides closed at once.
            State::ShutdownSent => self.acknowledge_shutdown(now),
            State::ShutdownReceived => {}
            State::ShutdownAckSent => self.control.push(Control::ShutdownAck),
        }
        // Section 9.2 uses the acknowledgement in SHUTDOWN only to check that all data was
        // received. pion and sctp-proto write a TSN of the wrong direction there, which is
        // ignored; the peer learns of unacknowledged data by other means.
        if let Ok(outcome) = self.tx.on_cumulative_ack(now, cumulative) {
            self.on_acknowledged(now, outcome, false);
        }
    }

    /// The peer closes, so no new data is accepted (section 9.2), and incomplete messages can never
    /// be completed: they are abandoned if possible, otherwise the association is aborted.
    /// Returns false in the latter case.
    fn end_open_messages(&mut self) -> bool {
        for stream in self.tx.queue().open_streams() {
            if !self.abandon_open(stream) {
                self.abort(Bytes::from_static(b"closed within a message"));
                return false;
            }
        }
        true
    }

    /// Processes SHUTDOWN ACK: the peer has no outstanding data either.
    pub(super) fn on_shutdown_ack(&mut self) {
        match self.state() {
            State::ShutdownSent | State::ShutdownAckSent => {
                self.control.end_with(Some(Control::ShutdownComplete));
                self.close(Event::Closed);
            }
            // Section 8.5.1, rule E: in COOKIE-WAIT and COOKIE-ECHOED the endpoint answers it as
            // out of the blue; in other states it is invalid.
            _ => self.counters.chunks_dropped += 1,
        }
    }

    /// Processes SHUTDOWN COMPLETE, which is ignored in any state but SHUTDOWN-ACK-SENT.
    pub(super) fn on_shutdown_complete(&mut self) {
        if self.state() == State::ShutdownAckSent {
            self.control.end_with(None);
            self.close(Event::Closed);
        } else {
            self.counters.chunks_dropped += 1;
        }
    }

    /// T2-shutdown expired: repeats the unanswered chunk.
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
        self.switch_control_path();
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
