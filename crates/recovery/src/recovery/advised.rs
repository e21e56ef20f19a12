//! Advice from outside, and what it can rest on.

use base::{Duration, Instant};

use super::{Lost, PathSnapshot, Recovery};
use crate::advice::{Advice, AdviceError, LARGEST_WINDOW, LEAST_WAIT, MOST_DOUBLINGS};
use crate::event::Event;
use crate::ledger::{Found, UnitInFlight};
use crate::path::RunningTimer;
use crate::path_id::PathId;
use crate::stats::Cause;

/// State of a path on which advice can be based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathView {
    /// RTT, retransmission timeout and windows of the path.
    pub snapshot: PathSnapshot,
    /// The lowest units in flight, ascending.
    pub units: Vec<UnitInFlight>,
}

impl Recovery {
    /// Applies one advice. What leaves because of it leaves as after any other input: a new burst
    /// begins, unless the advice only concerns timers.
    ///
    /// # Errors
    /// [`AdviceError`] where the advice makes no sense; nothing changed then.
    pub fn advise(&mut self, now: Instant, advice: Advice) -> Result<(), AdviceError> {
        match advice {
            Advice::Doublings { path, doublings } => {
                self.known(path)?;
                if doublings > MOST_DOUBLINGS {
                    return Err(AdviceError::TooManyDoublings(doublings));
                }
                let before = self.rto(path);
                self.paths[path].backoff.set_doublings(doublings);
                self.move_timer(now, path, before);
            }
            Advice::Timer { path, after } => {
                self.known(path)?;
                let most = self.policy.rto.max.max(LEAST_WAIT);
                if self.paths[path].t3_rtx.is_none() {
                    return Err(AdviceError::NoTimer(path));
                }
                if !(LEAST_WAIT..=most).contains(&after) {
                    return Err(AdviceError::Timer { after, most });
                }
                self.set_timer(now, path, now + after);
            }
            Advice::Lose { unit } => self.lose_advised(now, unit)?,
            Advice::Copy { unit } => self.copy_advised(now, unit)?,
            Advice::Window { path, bytes } => {
                self.known(path)?;
                let congestion = &mut self.paths[path].congestion;
                let least = congestion.mss();
                if bytes < least || bytes > LARGEST_WINDOW {
                    return Err(AdviceError::Window { bytes, least });
                }
                self.reduced |= bytes < congestion.cwnd();
                congestion.restart(bytes);
                self.paths[path].burst_end = None;
                self.record_window(now, path);
            }
        }
        Ok(())
    }

    /// State of a path with the lowest `most` of its units in flight; `None` for an unknown path.
    pub fn view(&self, path: PathId, most: usize) -> Option<PathView> {
        self.known(path).ok()?;
        let units = self.ledger.units_in_flight(path, most);
        Some(PathView { snapshot: self.snapshot(path), units })
    }

    fn known(&self, path: PathId) -> Result<(), AdviceError> {
        self.paths.get(path).map(drop).ok_or(AdviceError::UnknownPath(path))
    }

    /// The timeout of `path`, which was `before`, has changed: so does a timer that is not due yet.
    fn move_timer(&mut self, now: Instant, path: PathId, before: Duration) {
        let (after, tick) = (self.rto(path), self.policy.rto.tick);
        let timer = self.paths[path].t3_rtx.filter(|timer| timer.due > now && after != before);
        let Some(RunningTimer { started_at, due }) = timer else { return };
        // Some rules measure the timeout from another instant than that at which they set the
        // timer.
        let ordinary = (started_at + before).round_up(tick) == due;
        let from = if ordinary { started_at } else { due.before(before) };
        let due = (from + after).max(now + LEAST_WAIT).round_up(tick);
        self.paths[path].t3_rtx = Some(RunningTimer { started_at, due });
        self.events.record(now, || Event::TimerSet { path, due });
    }

    /// The unit, if it has been in flight for long enough.
    fn in_flight_for_long(&self, now: Instant, unit: u64) -> Result<Found, AdviceError> {
        let found = self.ledger.find_in_flight(unit).ok_or(AdviceError::NotInFlight(unit))?;
        match now >= found.sent_at + LEAST_WAIT {
            true => Ok(found),
            false => Err(AdviceError::TooSoon(unit)),
        }
    }

    fn lose_advised(&mut self, now: Instant, unit: u64) -> Result<(), AdviceError> {
        let Found { path, resent, .. } = self.in_flight_for_long(now, unit)?;
        let (flight_before, cause) = (self.window_taken(path), Cause::Fast);
        let to = self.paths[path].routes.fast;
        // A packet whose other units stay in flight has not been counted yet.
        let packets = u32::from(self.ledger.lose_found(unit, to, cause));
        self.on_loss(now, path, Lost { packets, cause, resent, flight_before });
        self.paths[to].burst_end = None;
        Ok(())
    }

    fn copy_advised(&mut self, now: Instant, unit: u64) -> Result<(), AdviceError> {
        let Found { path, once, .. } = self.in_flight_for_long(now, unit)?;
        if !once {
            return Err(AdviceError::SentAgain(unit));
        }
        self.ledger.lose_found(unit, path, Cause::Copy);
        self.paths[path].burst_end = None;
        // The timer runs from the copy, if nothing else is in flight.
        if self.ledger.flight(path).packets == 0 {
            self.start_timer(now, path);
        }
        Ok(())
    }
}
