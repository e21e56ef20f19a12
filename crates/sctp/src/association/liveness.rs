//! Detection of a dead peer: the option [`dead_after`](crate::AssociationOptions::dead_after).
//!
//! The counters of RFC 9260, section 8.1, count expiries of timers that double, so that minutes pass before a peer
//! counts as dead, and an idle association only probes once per HB.interval. With this option time decides. After a
//! twelfth of it in silence HEARTBEATs are sent on every confirmed path, one each per 36th, and after all of it
//! without a sign of life the association ends. A sign of life is any packet from the peer's address with the right
//! verification tag and an accepted chunk; on an association with authentication (RFC 4895), chunks that lack their
//! AUTH are not accepted.
//!
//! Time is counted in steps of the timer, not read off the clock: a process that was suspended probes the peer for
//! as long as any other before it gives up. A lost HEARTBEAT of this kind does not count as an error, and none
//! gives an RTT sample.

use base::{Duration, Instant, RandomStream};
use bytes::Bytes;
use recovery::PathId;
use recovery::rto::ErrorSchedule;

use super::Association;
use crate::control::{Control, OwnedCause};
use crate::event::Failure;
use crate::paths::heartbeat::Asked;

/// Steps of silence after which the peer counts as dead.
const STEPS: u8 = 36;

/// Steps of silence after which it is probed. Fewer would probe idle peers more often, and more would leave less of
/// the time for answers.
const IDLE_STEPS: u8 = 3;

/// Least total time in round trips, each with four times its variation, so that a distant peer can answer.
const ROUND_TRIPS: u64 = 4;

/// State of the detection: the duration of the silence, and unanswered probes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    /// Instant of the last sign of life.
    heard_at: Instant,
    /// The next step, while the option is set.
    due: Option<Instant>,
    /// Identifies the HEARTBEATs of this silence.
    nonce: u64,
    /// Number of steps passed, from [`IDLE_STEPS`] on; 0 while the peer is not probed.
    steps: u8,
    /// Consecutive errors on all paths (Association.Max.Retrans).
    error_count: u8,
    schedule: ErrorSchedule,
}

impl Liveness {
    /// Consecutive errors on all paths.
    pub(super) fn error_count(&self) -> u8 {
        self.error_count
    }

    /// The peer answered: resets the errors.
    pub(super) fn clear_errors(&mut self) {
        self.error_count = 0;
        self.schedule = ErrorSchedule::default();
    }

    /// Instant of the next step of silence; `None` without the option.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due
    }

    /// Stops the timer, since the association has ended.
    pub(super) fn stop(&mut self) {
        self.due.take();
    }
}

impl Association {
    /// A path that the association needs did not answer. Under the exponential schedule, several silent paths are
    /// one silence: together they count no sooner than one of them alone.
    pub(super) fn count_error(&mut self, now: Instant, path: PathId) {
        let recovery = self.tx.recovery();
        let policy = recovery.policy();
        let (counting, max) = (policy.backoff.errors, policy.rto.max);
        let rto = recovery.rto(path);
        let Liveness { error_count, schedule, .. } = &mut self.liveness;
        schedule.on_expiry(now, error_count, counting, rto, max);
    }

    /// The association is set up: the peer was just heard.
    pub(super) fn start_listening(&mut self, now: Instant) {
        let Liveness { error_count, schedule, .. } = self.liveness;
        self.liveness = Liveness { heard_at: now, error_count, schedule, ..Liveness::default() };
        self.await_sign_of_life();
    }

    /// Sets the timer by the options, which may have changed.
    #[cold]
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

    /// A chunk of the peer was accepted.
    pub(super) fn on_life(&mut self, now: Instant) {
        self.liveness.heard_at = now;
        if self.liveness.steps > 0 {
            self.await_sign_of_life();
        }
    }

    /// A 36th of the time after which a silent peer counts as dead; `None` without the option.
    fn silence_step(&self) -> Option<Duration> {
        let wanted = self.options.dead_after? / u64::from(STEPS);
        let (path, recovery) = (self.control_route(), self.tx.recovery());
        let measured = recovery.srtt(path).zip(recovery.rttvar(path));
        let round_trip = match measured {
            Some((srtt, rttvar)) => srtt + rttvar * 4,
            None => self.options.policy.rto.initial,
        };
        Some(wanted.max(round_trip * ROUND_TRIPS / u64::from(STEPS)))
    }

    /// Runs the timer at `now`.
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

    /// Whether an answer is to a HEARTBEAT of this silence: then its path works.
    pub(super) fn answers_silence(&mut self, now: Instant, answer: &[u8]) -> bool {
        let Some(Asked { path, nonce }) = Asked::read(answer) else { return false };
        self.paths.has(path) && self.on_life_proven(now, path, nonce)
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
