//! Timers of a connection (RFC 9293, sections 3.8.3, 3.8.4 and 3.10.8).

use base::Instant;

use super::{Connection, State};
use crate::event::{Failure, SoftError};
use crate::keep_alive::Due;
use crate::options::KeepAlive;
use crate::tx::GiveUp;

impl Connection {
    /// Earliest deadline of the connection.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Closed | State::TimeWait => None,
            State::SynSent | State::SynReceived => {
                let handshake = self.handshake.as_ref();
                let due = handshake.and_then(|handshake| handshake.next_timeout());
                Instant::earliest(&[due, self.ends_at])
            }
            _ => Instant::earliest(&[
                self.tx.next_timeout(),
                self.rx.ack_due(),
                self.keep_alive_due(),
                self.ends_at,
                self.orphan_due(),
            ]),
        }
    }

    /// Runs the timers due at `now`.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.ends_at.is_some_and(|at| at <= now) {
            return self.on_end();
        }
        if self.orphan_due().is_some_and(|at| at <= now) {
            return self.abort_with(Failure::TimedOut);
        }
        match self.state {
            State::Closed | State::TimeWait => {}
            State::SynSent | State::SynReceived => self.on_syn_timeout(now),
            _ => {
                self.on_sender_timeout(now);
                self.on_keep_alive(now);
            }
        }
    }

    /// Ends a state of limited duration: FIN-WAIT-2 silently, lingering with a reset.
    fn on_end(&mut self) {
        self.ends_at = None;
        match self.state {
            State::FinWait2 => self.fail(Failure::FinWait2),
            _ => self.abort_with(Failure::Aborted),
        }
    }

    /// Runs the timers of the sending side.
    fn on_sender_timeout(&mut self, now: Instant) {
        let before = self.tx.timeouts();
        let result = self.tx.on_timeout(now);
        if result.retransmits {
            self.suspect_black_hole(now, result.large_timeouts);
        }
        match result.give_up {
            None if before < SoftError::R1 && result.timeouts >= SoftError::R1 => {
                self.tell(SoftError::Retransmissions);
            }
            None => {}
            Some(GiveUp::Retries) => self.abort_with(Failure::TimedOut),
            Some(GiveUp::UserTimeout) => self.abort_with(Failure::UserTimeout),
        }
    }

    /// Deadline of a released connection without progress.
    fn orphan_due(&self) -> Option<Instant> {
        let waits = self.closed && self.state.is_synchronized() && !self.tx.is_fin_acked();
        Some(self.progress_at + self.options.orphan_timeout.filter(|_| waits)?)
    }

    /// Present keep-alive probing: by `dead_after` always; by `keep_alive` only while no data is
    /// outstanding, since retransmissions probe as well.
    fn probing(&self) -> Option<KeepAlive> {
        if !self.state.is_synchronized() || self.state == State::TimeWait {
            return None;
        }
        match self.options.dead_after {
            Some(span) => Some(KeepAlive::within(span.max(self.tx.longest_answer()))),
            None => self.options.keep_alive.filter(|_| self.tx.is_settled()),
        }
    }

    /// Deadline of the next keep-alive probe.
    fn keep_alive_due(&self) -> Option<Instant> {
        Some(self.silence.due(&self.probing()?))
    }

    fn on_keep_alive(&mut self, now: Instant) {
        let Some(options) = self.probing() else { return };
        match self.silence.on_timeout(now, &options) {
            Due::Nothing => {}
            Due::Probe => self.probes = true,
            Due::GiveUp => self.abort_with(Failure::KeepAlive),
        }
    }
}
