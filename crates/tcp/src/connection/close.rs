//! CLOSE and ABORT (RFC 9293, sections 3.6, 3.10.4 and 3.10.5), and how a connection ends.

use base::Instant;

use super::output::PendingReset;
use super::time_wait::TimeWait;
use super::{Connection, State};
use crate::event::{Event, Failure};

impl Connection {
    /// Finishes this side's direction: FIN follows the data.
    pub(crate) fn shutdown_write(&mut self) {
        match self.state {
            State::SynSent | State::SynReceived => {
                if let Some(handshake) = &mut self.handshake {
                    handshake.finish = true;
                }
            }
            State::Established => self.finish(State::FinWait1),
            State::CloseWait => self.finish(State::LastAck),
            _ => {}
        }
    }

    fn finish(&mut self, state: State) {
        self.tx.finish();
        self.state = state;
    }

    /// The application closes both directions.
    pub(crate) fn close(&mut self, now: Instant) {
        if core::mem::replace(&mut self.closed, true) {
            return;
        }
        let unread = self.rx.readable() > 0;
        let linger = self.options.linger;
        match self.state {
            State::Closed | State::TimeWait => {}
            // Section 3.10.4: nothing was promised to the peer yet.
            State::SynSent => self.enter_closed(),
            // Unread data was not delivered to the application, which the peer must learn (RFC
            // 2525, section 2.17). With a linger time of zero, no data is waited for.
            _ if unread || linger.is_some_and(|span| span.is_zero()) => {
                self.abort_with(Failure::Aborted);
            }
            _ => {
                self.shutdown_write();
                self.progress_at = now;
                self.ends_at = linger.map(|span| now + span);
                self.limit_fin_wait_2(now);
            }
        }
    }

    /// The application released the connection: unread data of an ended connection stays unread.
    pub(crate) fn forget_unread(&mut self) {
        if matches!(self.state, State::Closed | State::TimeWait) {
            self.rx.discard();
        }
    }

    /// The application aborts the connection.
    pub(crate) fn abort(&mut self) {
        self.closed = true;
        match self.state {
            State::Closed | State::TimeWait => {}
            State::SynSent => self.fail(Failure::Aborted),
            _ => self.abort_with(Failure::Aborted),
        }
    }

    /// Ends a connection that made no progress, for its memory: resets it if it is established, and
    /// returns whether it did (RFC 6429, for a peer whose window stays closed).
    pub(crate) fn evict(&mut self) -> bool {
        let ends = self.can_be_evicted();
        if ends {
            self.abort_with(Failure::NoMemory);
        }
        ends
    }

    /// Whether [`Connection::evict`] would end the connection, and free its memory.
    pub(crate) fn can_be_evicted(&self) -> bool {
        self.state.is_synchronized() && self.state != State::TimeWait
    }

    /// Resets the connection for the reason `failure`.
    pub(super) fn abort_with(&mut self, failure: Failure) {
        self.reset = Some(PendingReset::Abort);
        self.fail(failure);
    }

    /// Ends the connection for the reason `failure`; received data stays readable unless the peer
    /// reset the connection.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.events.add(Event::Failed(failure));
        self.state = State::Closed;
        if matches!(failure, Failure::Reset | Failure::Aborted | Failure::NoMemory) {
            self.rx.discard();
        }
        self.stop();
    }

    /// Enters CLOSED: both sides have sent FIN.
    pub(super) fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.events.add(Event::Closed);
        self.stop();
    }

    /// Stops both directions: only a reset may still be sent.
    fn stop(&mut self) {
        self.handshake = None;
        self.ends_at = None;
        self.probes = false;
        self.tx.discard();
    }

    /// The peer's FIN was received in order.
    pub(super) fn on_fin(&mut self) {
        self.state = match self.state {
            State::Established => State::CloseWait,
            State::FinWait1 => State::Closing,
            State::FinWait2 => return self.enter_time_wait(),
            state => state,
        };
    }

    /// This side's FIN was acknowledged.
    pub(super) fn on_fin_acked(&mut self, now: Instant) {
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.ends_at = None;
                self.limit_fin_wait_2(now);
            }
            State::Closing => self.enter_time_wait(),
            State::LastAck => self.enter_closed(),
            _ => {}
        }
    }

    /// Limits FIN-WAIT-2, so that a peer that never sends FIN does not keep a released connection
    /// alive.
    fn limit_fin_wait_2(&mut self, now: Instant) {
        if self.state == State::FinWait2 && self.closed {
            self.ends_at = self.options.fin_wait_2.map(|span| now + span);
        }
    }

    fn enter_time_wait(&mut self) {
        self.state = State::TimeWait;
        self.events.add(Event::Closed);
        self.stop();
    }

    /// The state that the endpoint keeps in TIME-WAIT.
    pub(crate) fn time_wait(&self) -> TimeWait {
        let echo = self.rx.timestamp_to_echo().filter(|_| self.negotiated.timestamps);
        TimeWait {
            local: self.local,
            remote: self.remote,
            snd_nxt: self.outgoing.wrap(self.tx.snd_nxt()),
            rcv_nxt: self.incoming.wrap(self.rx.rcv_nxt()),
            window: self.window_field(),
            timestamps: echo.map(|echo| (echo, self.echoes.offset())),
            lasts: self.options.time_wait,
        }
    }

    /// Ends TIME-WAIT: the connection is closed, and its addresses may be used again.
    pub(crate) fn end_time_wait(&mut self) {
        if self.state == State::TimeWait {
            self.state = State::Closed;
        }
    }
}
