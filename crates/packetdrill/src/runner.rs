//! Runs a script against a stack in virtual time.

mod call;
mod output;
mod sctp;
mod shifts;
mod state;
mod tcp;
mod times;

use base::Duration;

use self::sctp::Sctp;
use self::state::{Party, Runner};
use self::tcp::Tcp;
use self::times::{Due, ORIGIN, PATIENCE};
use crate::assertion;
use crate::config::RunConfig;
use crate::expression::Expression;
use crate::options;
use crate::script::{Action, Content, Event, Script, When};
use crate::stop::Stop;
use crate::verdict::{Divergence, Report, Verdict};
use crate::vocabulary;

/// Time after the last event in which no further packet may be sent, if none is allowed: longer
/// than any timer of recovery or heartbeats.
const HORIZON: Duration = Duration::from_secs(180);

/// Runs `script` against a new stack.
pub fn run(script: &Script, config: &RunConfig) -> Report {
    if script.events.iter().any(|event| is_tcp(&event.action)) {
        play_as::<Tcp>(script, config)
    } else {
        play_as::<Sctp>(script, config)
    }
}

fn play_as<P: Party>(script: &Script, config: &RunConfig) -> Report {
    let mut runner = Runner::<P>::new(config);
    let stopped = runner.prepare(script).and_then(|()| runner.play(script)).err();
    let verdict = match stopped {
        None => Verdict::Pass,
        Some(Stop::Skip(reason)) => Verdict::Skip { line: runner.line, reason },
        Some(Stop::Fail(message)) => {
            let at = runner.now.since(ORIGIN);
            Verdict::Fail(Divergence { line: runner.line, at, message })
        }
    };
    Report { verdict, slack: runner.slack, leniencies: runner.used_leniencies }
}

impl<P: Party> Runner<'_, P> {
    /// Applies the script's options, and refuses a script that cannot be run before anything runs.
    fn prepare(&mut self, script: &Script) -> Result<(), Stop> {
        if let Some((line, why)) = vocabulary::unknown(script) {
            self.line = line;
            return Err(Stop::Fail(why));
        }
        for option in &script.options {
            self.line = option.line;
            if let Some(why) = options::is_nonsense(option) {
                return Err(Stop::Fail(why));
            }
            let tolerance =
                self.party.set_option(option).map_err(|why| match options::is_own(option) {
                    true => Stop::Fail(why),
                    false => Stop::Skip(why),
                })?;
            self.tolerance = tolerance.unwrap_or(self.tolerance);
        }
        for event in &script.events {
            self.line = event.line;
            let why = match &event.action {
                Action::Unsupported(why) => Some(why.clone()),
                Action::Inject(packet) => self.party.refuses(packet, true),
                Action::Expect(packet) => self.party.refuses(packet, false),
                _ => None,
            };
            if let Some(why) = why {
                return Err(Stop::Skip(why));
            }
        }
        Ok(())
    }

    fn play(&mut self, script: &Script) -> Result<(), Stop> {
        let mut events = script.events.iter().peekable();
        while let Some(event) = events.next() {
            self.line = event.line;
            if self.event(event, events.peek().copied())? {
                events.next();
            }
        }
        if let Some(waiting) = self.waiting.first() {
            self.line = waiting.line;
            let until = waiting.due.map_or(self.now + PATIENCE, |due| due.to + PATIENCE);
            self.advance(until)?;
        }
        if let Some(waiting) = self.waiting.first() {
            self.line = waiting.line;
            return Err(Stop::fail(format!("{}() never returned", waiting.call.name)));
        }
        if !script.events.iter().any(|event| says_something(&event.action)) {
            return Err(Stop::fail(
                "nothing in the script could fail: no packet of the stack, call or assertion",
            ));
        }
        if self.config.no_tail { self.expect_silence() } else { Ok(()) }
    }

    /// Continues after the last event: the stack must send nothing more up to the horizon.
    fn expect_silence(&mut self) -> Result<(), Stop> {
        let horizon = self.now + HORIZON;
        while self.emitted.is_empty() && self.step(horizon)? {}
        let Some(packet) = self.emitted.front() else { return Ok(()) };
        let (found, at) = (self.party.show(packet), packet.at.since(ORIGIN));
        Err(Stop::fail(format!("nothing more expected, found at {at}: {found}")))
    }

    /// Executes an event; returns whether the `next` one happened with it.
    fn event(&mut self, event: &Event, next: Option<&Event>) -> Result<bool, Stop> {
        let due = self.due(event.when);
        if let Action::Expect(packet) = &event.action {
            return P::expect(self, packet, due, next);
        }
        if let Some(due) = due {
            self.advance(due.from)?;
        }
        match &event.action {
            Action::Inject(packet) => P::inject(self, packet),
            Action::Call(call) => {
                let until = self.until(event.when, due);
                self.begin_call(call, until)
            }
            Action::Shell(command) => self.party.shell(self.now, command),
            Action::Code(code) => {
                let facts = |name: &str| self.party.fact(self.now, name);
                match assertion::evaluate(code, &facts) {
                    assertion::Outcome::Holds => Ok(()),
                    assertion::Outcome::Fails(what) => Err(Stop::Fail(what)),
                    assertion::Outcome::Unsupported(why) => Err(Stop::Skip(why)),
                }
            }
            Action::Unsupported(_) | Action::Expect(_) => Ok(()),
        }?;
        Ok(false)
    }

    /// Time at which an event is due. A relative time counts from the actual time of the previous
    /// event, so that small delays do not accumulate.
    fn due(&mut self, when: When) -> Option<Due> {
        let When::At { relative, from, to, .. } = when else { return None };
        let gap = if relative { from } else { from.saturating_sub(self.script_time) };
        self.script_time = if relative { self.script_time + from } else { from };
        let base = if relative { self.now } else { ORIGIN };
        let share = gap.scale(self.config.tolerance_per_mille, 1000);
        let tolerance = if self.config.exact { Duration::ZERO } else { self.tolerance.max(share) };
        Some(Due { from: base + from, to: base + to.unwrap_or(from), tolerance })
    }

    /// Time at which a blocking call is due to return, if the script says so.
    fn until(&self, when: When, due: Option<Due>) -> Option<Due> {
        let When::At { from, until: Some(until), .. } = when else { return None };
        let due = due?;
        let end = due.from + until.saturating_sub(from);
        Some(Due { from: end, to: end, tolerance: due.tolerance })
    }
}

/// Whether an event can make a script fail. An unsupported event makes the run skip it.
fn says_something(action: &Action) -> bool {
    match action {
        // Sent packets and settings cannot fail.
        Action::Shell(_) | Action::Inject(_) => false,
        Action::Code(code) => !code.trim().is_empty(),
        _ => true,
    }
}

/// Whether an event concerns TCP.
fn is_tcp(action: &Action) -> bool {
    match action {
        Action::Inject(packet) | Action::Expect(packet) => {
            matches!(packet.content, Content::Tcp(_))
        }
        Action::Call(call) => {
            let protocol = call.arguments.get(2);
            call.name == "socket" && protocol == Some(&Expression::Name("IPPROTO_TCP".to_owned()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod hole_tests;
#[cfg(test)]
mod leniency_tests;
#[cfg(test)]
mod socket_tests;
#[cfg(test)]
mod tests;
