//! Whether the peer is there at all: the option
//! [`dead_after`](crate::AssociationOptions::dead_after).
//!
//! The counters of RFC 9260, section 8.1, count expiries of timers that double, so that minutes pass before
//! they give a peer up, and an idle association asks only once per HB.interval. With this option time
//! decides. After a twelfth of it in silence the peer is asked by HEARTBEATs on every confirmed path, one
//! each per 36th, and after all of it without a sign of life the association ends. Any packet counts that
//! came from the peer's address with the right verification tag and a chunk that was taken, which on an
//! association that authenticates chunks (RFC 4895) those that lack their AUTH are not.
//!
//! Time is counted in steps of the timer, not read off the clock: a process that was stopped asks the peer
//! for as long as any other before it gives it up. The HEARTBEATs are counted for no error when they are
//! lost, and measure no round trip.

use base::{Duration, Instant, RandomStream};
use bytes::Bytes;
use recovery::rto::ErrorSchedule;

use super::Association;
use crate::control::{Control, OwnedCause};
use crate::event::Failure;
use crate::paths::PathId;
use crate::paths::heartbeat::Asked;

/// Steps of silence after which the peer is dead.
const STEPS: u8 = 36;

/// Steps of silence after which it is asked. Fewer would ask idle peers more often, and more would leave a
/// smaller part of the time in which answers may come.
const IDLE_STEPS: u8 = 3;

/// Round trips, each with four times its variation, that the whole time has at least: a peer that is only
/// far away can answer.
const ROUND_TRIPS: u64 = 4;

/// Whether the peer is there: how long it has been silent, and what it did not answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    /// When the last sign of life came.
    heard_at: Instant,
    /// The next step, while the option is set.
    due: Option<Instant>,
    /// Names the HEARTBEATs of this silence.
    nonce: u64,
    /// Steps that have passed, from [`IDLE_STEPS`] on; 0 while the peer is not asked.
    steps: u8,
    /// Errors in a row on all paths (Association.Max.Retrans).
    error_count: u8,
    schedule: ErrorSchedule,
}

impl Liveness {
    /// Errors in a row on all paths.
    pub(super) fn error_count(&self) -> u8 {
        self.error_count
    }

    /// The peer answered.
    pub(super) fn clear_errors(&mut self) {
        self.error_count = 0;
        self.schedule = ErrorSchedule::default();
    }

    /// When this timer wants to be called.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due
    }

    /// The association is over.
    pub(super) fn stop(&mut self) {
        self.due.take();
    }
}

impl Association {
    /// A path did not answer that the association needs. Under the exponential schedule several paths that are silent at
    /// the same time are one silence: together they count no sooner than one of them alone.
    pub(super) fn count_error(&mut self, now: Instant, path: PathId) {
        let recovery = self.tx.recovery();
        let policy = recovery.policy();
        let (counting, max) = (policy.backoff.errors, policy.rto.max);
        let rto = recovery.rto(path.number());
        let Liveness { error_count, schedule, .. } = &mut self.liveness;
        schedule.on_expiry(now, error_count, counting, rto, max);
    }

    /// The association is set up: the peer has just been heard.
    pub(super) fn start_listening(&mut self, now: Instant) {
        let Liveness { error_count, schedule, .. } = self.liveness;
        self.liveness = Liveness { heard_at: now, error_count, schedule, ..Liveness::default() };
        self.await_sign_of_life();
    }

    /// Arms the timer as the options say, which may have changed.
    pub(super) fn await_sign_of_life(&mut self) {
        let waits = self.state().is_alive();
        self.liveness.steps = 0;
        match self.silence_step().filter(|_| waits) {
            Some(step) => {
                self.liveness.due = Some(self.liveness.heard_at + step * u64::from(IDLE_STEPS))
            }
            None => self.liveness.stop(),
        }
    }

    /// A chunk that the peer sent was taken.
    pub(super) fn on_life(&mut self, now: Instant) {
        self.liveness.heard_at = now;
        if self.liveness.steps > 0 {
            self.await_sign_of_life();
        }
    }

    /// A 36th of the time after which a silent peer is dead; none if it never is.
    fn silence_step(&self) -> Option<Duration> {
        let wanted = self.options.dead_after? / u64::from(STEPS);
        let (path, recovery) = (self.control_route().number(), self.tx.recovery());
        let measured = recovery.srtt(path).zip(recovery.rttvar(path));
        let round_trip = match measured {
            Some((srtt, rttvar)) => srtt + rttvar * 4,
            None => self.options.policy.rto.initial,
        };
        Some(wanted.max(round_trip * ROUND_TRIPS / u64::from(STEPS)))
    }

    /// Input: time has come to `now`.
    pub(super) fn handle_silence(&mut self, now: Instant, random: &mut RandomStream) {
        if self.liveness.due.is_none_or(|at| at > now) {
            return;
        }
        let Some(step) = self.silence_step() else { return self.liveness.stop() };
        let idle_until = self.liveness.heard_at + step * u64::from(IDLE_STEPS);
        match self.liveness.steps {
            0 if now < idle_until => return self.liveness.due = Some(idle_until),
            0 => {
                self.liveness.steps = IDLE_STEPS;
                self.liveness.nonce = random.next_u64();
            }
            steps => self.liveness.steps = steps + 1,
        }
        if self.liveness.steps >= STEPS {
            let cause = OwnedCause::UserInitiatedAbort(Bytes::from_static(b"nothing was heard"));
            return self.abort_with(cause, Failure::Silent { span: step * u64::from(STEPS) });
        }
        let nonce = self.liveness.nonce;
        for (path, _) in self.paths.all().filter(|(_, path)| path.is_confirmed()) {
            self.control.push(Control::Heartbeat(Asked { path, nonce }));
        }
        self.liveness.due = Some(now + step);
    }

    /// Whether an answer is that to a HEARTBEAT that asked for a sign of life: then the path works.
    pub(super) fn answers_silence(&mut self, now: Instant, answer: &[u8]) -> bool {
        let Some(Asked { path, nonce }) = Asked::read(answer) else { return false };
        let Some(path) = self.paths.find(path.number()) else { return false };
        self.on_life_proven(now, path, nonce)
    }

    fn on_life_proven(&mut self, now: Instant, path: PathId, nonce: u64) -> bool {
        if self.liveness.nonce == 0 || self.liveness.nonce != nonce {
            return false;
        }
        self.on_path_alive(now, path);
        if path == self.paths.data() {
            self.liveness.clear_errors();
        }
        true
    }
}
