//! Detection of a dead peer: the option [`dead_after`](crate::AssociationOptions::dead_after).
//!
//! The counters of RFC 9260, section 8.1, count expiries of timers that double, so that minutes
//! pass before a peer counts as dead, and an idle association only probes once per HB.interval.
//! With this option time decides. After a twelfth of it in silence HEARTBEATs are sent on every
//! confirmed path, one each per 36th, and after all of it without a sign of life the association
//! ends. A sign of life is any packet from the peer's address with the right verification tag and
//! an accepted chunk; on an association with authentication (RFC 4895), chunks that lack their AUTH
//! are not accepted.
//!
//! Time is counted in steps of the timer, not read off the clock: a process that was suspended
//! probes the peer for as long as any other before it gives up. A lost HEARTBEAT of this kind does
//! not count as an error, and none gives an RTT sample.

use base::{Duration, Instant, RandomStream};
use bytes::Bytes;
use recovery::PathId;

use super::Association;
use super::liveness::{STEPS, Silence};
use crate::control::{Control, OwnedCause};
use crate::event::Failure;
use crate::paths::heartbeat::Asked;

/// Least total time in round trips, each with four times its variation, so that a distant peer can
/// answer.
const ROUND_TRIPS: u64 = 4;

impl Association {
    /// A path that the association needs did not answer. Under the exponential schedule, several
    /// silent paths are one silence: together they count no sooner than one of them alone.
    pub(super) fn count_error(&mut self, now: Instant, path: PathId) {
        let recovery = self.tx.recovery();
        self.liveness.count_error(now, recovery.rto(path), recovery.policy());
    }

    /// The association is set up: the peer was just heard.
    pub(super) fn start_listening(&mut self, now: Instant) {
        self.liveness.begin(now);
        self.await_sign_of_life();
    }

    /// Sets the timer by the options, which may have changed.
    #[cold]
    pub(super) fn await_sign_of_life(&mut self) {
        let step = if self.state().is_alive() { self.silence_step() } else { None };
        self.liveness.wait(step);
    }

    /// A chunk of the peer was accepted.
    pub(super) fn on_life(&mut self, now: Instant) {
        if self.liveness.hear(now) {
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
        if !self.liveness.is_due(now) {
            return;
        }
        let Some(step) = self.silence_step() else { return self.liveness.stop() };
        match self.liveness.advance(now, step, random) {
            Silence::Waits => {}
            Silence::Probe { nonce } => {
                for (path, _) in self.paths.all().filter(|(_, path)| path.is_confirmed()) {
                    self.control.push(Control::Heartbeat(Asked { path, nonce }));
                }
            }
            Silence::Dead => {
                let reason = Bytes::from_static(b"nothing was heard");
                let span = step * u64::from(STEPS);
                self.abort_with(OwnedCause::UserInitiatedAbort(reason), Failure::Silent { span });
            }
        }
    }

    /// Whether an answer is to a HEARTBEAT of this silence: then its path works.
    pub(super) fn answers_silence(&mut self, now: Instant, answer: &[u8]) -> bool {
        let Some(Asked { path, nonce }) = Asked::read(answer) else { return false };
        self.paths.has(path) && self.on_life_proven(now, path, nonce)
    }

    fn on_life_proven(&mut self, now: Instant, path: PathId, nonce: u64) -> bool {
        if !self.liveness.has_asked(nonce) {
            return false;
        }
        self.on_path_alive(now, path);
        if path == self.paths.data() {
            self.liveness.clear_errors();
        }
        true
    }
}
