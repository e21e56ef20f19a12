//! The duration of a peer's silence, counted in steps, and the errors of all paths.

use base::{Duration, Instant, RandomStream};
use recovery::RecoveryPolicy;
use recovery::rto::ErrorSchedule;

/// Steps of silence after which the peer counts as dead.
pub(super) const STEPS: u8 = 36;

/// Steps of silence after which it is probed. Fewer would probe idle peers more often, and more
/// would leave less of the time for answers.
const IDLE_STEPS: u8 = 3;

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

/// The action that a step of silence asks of the association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// The peer was heard since the timer was set: nothing is sent yet.
    Waits,
    /// HEARTBEATs with this nonce are sent.
    Probe { nonce: u64 },
    /// The peer counts as dead.
    Dead,
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

    /// A path with this RTO did not answer.
    pub(super) fn count_error(&mut self, now: Instant, rto: Duration, policy: &RecoveryPolicy) {
        let (counting, max) = (policy.backoff.errors, policy.rto.max);
        self.schedule.on_expiry(now, &mut self.error_count, counting, rto, max);
    }

    /// The association is set up: the peer was just heard, and no probe of an earlier silence is
    /// outstanding.
    pub(super) fn begin(&mut self, now: Instant) {
        let Liveness { error_count, schedule, .. } = *self;
        *self = Liveness { heard_at: now, error_count, schedule, ..Liveness::default() };
    }

    /// The peer was heard; returns whether it was being probed.
    pub(super) fn hear(&mut self, now: Instant) -> bool {
        self.heard_at = now;
        self.steps > 0
    }

    /// Waits for the first probe of the silence, in steps of this length.
    pub(super) fn wait(&mut self, step: Option<Duration>) {
        self.steps = 0;
        self.due = step.map(|step| self.idle_until(step));
    }

    fn idle_until(&self, step: Duration) -> Instant {
        self.heard_at + step * u64::from(IDLE_STEPS)
    }

    /// Whether a step is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|at| at <= now)
    }

    /// Takes the step that is due at `now`.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        step: Duration,
        random: &mut RandomStream,
    ) -> Silence {
        let idle_until = self.idle_until(step);
        match self.steps {
            0 if now < idle_until => {
                self.due = Some(idle_until);
                return Silence::Waits;
            }
            0 => {
                self.steps = IDLE_STEPS;
                self.nonce = random.next_u64();
            }
            steps => self.steps = steps + 1,
        }
        if self.steps >= STEPS {
            return Silence::Dead;
        }
        self.due = Some(now + step);
        Silence::Probe { nonce: self.nonce }
    }

    /// Whether HEARTBEATs of the present silence have this nonce.
    pub(super) fn has_asked(&self, nonce: u64) -> bool {
        self.nonce != 0 && self.nonce == nonce
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
