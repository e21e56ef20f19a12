//! Timers of an association: its earliest deadline, and their expiry.

use base::{Duration, Instant, RandomStream};
use bytes::Bytes;
use recovery::PathId;

use super::Association;
use crate::control::OwnedCause;
use crate::event::Failure;
use crate::rx::receiver::Receiver;

/// A policy may have timeouts of a round trip, since a peer answers a requested SACK at once. The
/// answer to a request may wait for the peer's application, and some peers execute a repeated
/// request twice.
const LEAST_REQUEST_TIMEOUT: Duration = Duration::from_millis(200);

impl Association {
    /// Earliest deadline of the association.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        if self.is_closed() {
            // A pending SACK is never sent.
            return None;
        }
        Instant::earliest(&[
            self.phase.next_timeout(),
            self.tx.recovery().next_timeout(),
            self.sack_deadline(),
            self.paths.next_heartbeat(),
            self.paths.next_mtu_timeout(),
            self.sending_deadline(),
            self.liveness.next(),
            self.extensions.next_timeout(),
        ])
    }

    /// Deadline of a delayed SACK; `None` if none is pending, or if the association has ended,
    /// which sends no SACK any more.
    #[inline]
    pub(crate) fn sack_deadline(&self) -> Option<Instant> {
        let open = self.rx.as_ref().filter(|_| !self.is_closed());
        open.and_then(Receiver::sack_deadline)
    }

    /// Runs the timers due at `now`.
    pub(crate) fn handle_timeout(&mut self, now: Instant, random: &mut RandomStream) {
        self.handle_phase_timers(now);
        self.tx.begin_burst();
        let probing = self.tx.is_window_closed();
        let unsent = self.tx.unsent_packets();
        while let Some(timeout) = self.tx.recovery_mut().on_timeout(now, probing, unsent) {
            let path = timeout.path;
            if timeout.counts_as_error {
                self.suspect_black_hole(now, path, timeout.smallest_missing);
                self.on_path_error(now, path, true);
            }
            self.tx.on_timeout(now);
            self.on_timer_expiry(now, path, random);
        }
        self.handle_sending_timers(now);
        self.handle_heartbeat_timers(now, random);
        self.handle_path_mtu_timers(now, random);
        self.handle_silence(now, random);
        self.tx.give_up_stale(now, self.paths.data());
        self.handle_reconfiguration_timer(now);
        self.handle_asconf_timer(now);
        self.announce_progress();
    }

    fn handle_phase_timers(&mut self, now: Instant) {
        if self.phase.handshake_mut().is_some_and(|handshake| handshake.expire(now)) {
            self.on_t1(now);
        }
        if self.phase.closing_mut().is_some_and(|closing| closing.expire(now)) {
            self.on_t2_shutdown(now);
        }
        if self.phase.closing_mut().is_some_and(|closing| closing.expire_guard(now)) {
            self.on_t5_shutdown_guard();
        }
    }

    /// A path did not answer: counts an error for the path and, if `of_association`, for the
    /// association (section 8).
    pub(super) fn on_path_error(&mut self, now: Instant, path: PathId, of_association: bool) {
        if !self.state().is_alive() {
            // T1 counts its attempts itself.
            return;
        }
        self.decide(|paths, context| paths.count_error(now, context, path));
        if of_association {
            self.count_error(now, path);
        }
        if self.liveness.error_count() > self.options.association_max_retrans {
            // Section 8.1 only demands CLOSED. The ABORT spares a peer that is alive the wait.
            let cause = OwnedCause::UserInitiatedAbort(Bytes::from_static(b"no acknowledgement"));
            self.abort_with(cause, Failure::Unreachable);
        }
    }

    /// The timeout for control chunks.
    pub(super) fn control_rto(&self) -> Duration {
        self.tx.recovery().rto(self.control_route())
    }

    /// The timeout of requests: RE-CONFIG and ASCONF. RTO (RFC 6525, 5.1.1; RFC 5061, 5.1), but at
    /// least [`LEAST_REQUEST_TIMEOUT`].
    pub(super) fn request_rto(&self) -> Duration {
        self.control_rto().max(LEAST_REQUEST_TIMEOUT)
    }
}
