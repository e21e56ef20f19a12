//! Calls of the script's application.

use base::{Duration, Instant};

use super::output::{self, Symbolic, show};
use super::state::{Party, Runner, Waiting};
use super::times::{Due, PATIENCE};
use crate::expression::Expression;
use crate::leniency::Leniency;
use crate::script::Call;
use crate::sockets::{Application, Outcome, Output, Returned};
use crate::stop::Stop;
use crate::vocabulary::constant;

impl<P: Party> Runner<'_, P> {
    /// Begins a call. If the script gives an end, the call runs beside later events; otherwise it
    /// must return first.
    pub(super) fn begin_call(&mut self, call: &Call, due: Option<Due>) -> Result<(), Stop> {
        let outcome = self.party.call(self.now, call)?;
        match outcome {
            Outcome::Returned(returned) => {
                self.finish_call(call, &returned, self.now, due)?;
                self.drain()
            }
            Outcome::Blocks => {
                // A call without an end in the script returns at once.
                let tolerance = if self.config.exact { Duration::ZERO } else { self.tolerance };
                let at_once = Due { from: self.now, to: self.now, tolerance };
                let is_waited_for = due.is_none();
                let due = due.or(Some(at_once));
                self.waiting.push(Waiting { line: self.line, call: call.clone(), due });
                self.drain()?;
                if is_waited_for { self.wait_for_call() } else { Ok(()) }
            }
        }
    }

    fn wait_for_call(&mut self) -> Result<(), Stop> {
        let (line, limit) = (self.line, self.now + PATIENCE);
        let waits = |waiting: &[Waiting]| waiting.iter().any(|one| one.line == line);
        while waits(&self.waiting) {
            if !self.step(limit)? {
                return Err(Stop::fail("the call blocks"));
            }
        }
        Ok(())
    }

    /// Resumes the blocked calls in order, and checks those that return.
    pub(super) fn resume_calls(&mut self) -> Result<(), Stop> {
        let mut index = 0;
        while index < self.waiting.len() {
            let call = self.waiting[index].call.clone();
            match self.party.call(self.now, &call)? {
                Outcome::Blocks => index += 1,
                Outcome::Returned(returned) => {
                    let waiting = self.waiting.remove(index);
                    let line = core::mem::replace(&mut self.line, waiting.line);
                    self.finish_call(&call, &returned, self.now, waiting.due)?;
                    self.line = line;
                    self.party.sockets().drain(self.now, &mut self.emitted);
                }
            }
        }
        Ok(())
    }

    /// Result of a call without the sizes of buffers, if the run ignores those.
    fn without_sizes(&mut self, call: &Call, returned: &Returned) -> Returned {
        let mut outputs = Vec::new();
        for (position, output) in &returned.outputs {
            match output {
                Output::Size(found) if self.config.overlooks(Leniency::BufferSize) => {
                    let wanted = call.arguments.get(*position).and_then(single);
                    if wanted.is_some_and(|wanted| wanted != *found) {
                        self.used(Leniency::BufferSize);
                    }
                }
                Output::Size(found) => outputs.push((*position, Output::Number(*found))),
                other => outputs.push((*position, other.clone())),
            }
        }
        Returned { value: returned.value, errno: returned.errno, outputs }
    }

    fn finish_call(
        &mut self,
        call: &Call,
        returned: &Returned,
        at: Instant,
        due: Option<Due>,
    ) -> Result<(), Stop> {
        let returned = &self.without_sizes(call, returned);
        let symbolic = |output: &Output| self.party.symbolic(output);
        check_result(call, returned, &symbolic).map_err(|stop| match stop {
            Stop::Fail(why) => Stop::Fail(format!("{}(): {why}", call.name)),
            Stop::Skip(why) => Stop::Skip(format!("{}(): {why}", call.name)),
        })?;
        match due {
            Some(due) => self.check_time("the call returned", at, due),
            None => Ok(()),
        }
    }
}

/// The number in `[4]` or `4`.
fn single(expression: &Expression) -> Option<i64> {
    match expression {
        Expression::List(list) => list.first()?.number(&constant),
        other => other.number(&constant),
    }
}

fn check_result(call: &Call, returned: &Returned, symbolic: Symbolic<'_>) -> Result<(), Stop> {
    let (found, errno) = (returned.value, returned.errno);
    let shown = || match errno {
        Some(errno) => format!("{found} {errno}"),
        None => found.to_string(),
    };
    let as_expected = match &call.returns {
        Expression::Any => true,
        expected => expected.number(&|_| None) == Some(found),
    };
    let wanted = call.errno.as_deref().unwrap_or_default();
    if !as_expected {
        let expected = show(&call.returns);
        return Err(Stop::Fail(format!("expected {expected} {wanted}, returned {}", shown())));
    }
    if let (Some(wanted), found) = (call.errno.as_deref(), errno)
        && !found.is_some_and(|found| same_errno(found, wanted))
    {
        return Err(Stop::Fail(format!("expected {wanted}, returned {}", shown())));
    }
    for (position, output) in &returned.outputs {
        if let Some(expected) = call.arguments.get(*position) {
            output::check(expected, output, symbolic)?;
        }
    }
    Ok(())
}

fn same_errno(found: &str, wanted: &str) -> bool {
    let canonical = |name| if name == "EWOULDBLOCK" { "EAGAIN" } else { name };
    canonical(found) == canonical(wanted)
}
