//! Runs a script against a stack in virtual time.

mod call;
mod output;
mod sctp;
mod tcp;

use std::collections::VecDeque;

use base::{Duration, Instant, Purpose, RandomStream};

use self::sctp::Sctp;
use self::tcp::Tcp;
use crate::assertion;
use crate::config::RunConfig;
use crate::expression::Expression;
use crate::leniency::Leniency;
use crate::options;
use crate::script::{Action, Call, Content, Event, Packet, Script, ScriptOption, When};
use crate::sockets::{Application, Emitted, Outcome, Output, WRAPPING_SEED};
use crate::stop::Stop;
use crate::verdict::{Divergence, Report, Verdict};
use crate::vocabulary;

/// Beginning of a script: late enough that no time is before zero.
const ORIGIN: Instant = Instant::from_millis(1_000_000);

/// Lateness after which a packet or call counts as missing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lateness after which a packet or call without a time counts as missing.
const ENDLESS: Duration = Duration::from_secs(3_600);

/// Time after the last event in which no further packet may be sent, if none is allowed: longer
/// than any timer of recovery or heartbeats.
const HORIZON: Duration = Duration::from_secs(180);

/// Number of calls of the stack at one instant after which it counts as stuck.
const STUCK: u32 = 10_000;

/// Runs `script` against a new stack.
pub fn run(script: &Script, config: &RunConfig) -> Report {
    if script.events.iter().any(|event| is_tcp(&event.action)) {
        play_as::<Tcp>(script, config)
    } else {
        play_as::<Sctp>(script, config)
    }
}

/// A protocol's part of a run: the stack under test, its sockets, and the translation of the
/// script's numbers.
trait Party: Sized {
    /// Creates a new stack.
    fn new(config: &RunConfig) -> Self;

    /// Applies an option of the script; returns the tolerance in time if the option sets it.
    fn set_option(&mut self, option: &ScriptOption) -> Result<Option<Duration>, String>;

    /// Reason for which a packet cannot be sent or expected; `None` if it can.
    fn refuses(&self, packet: &Packet, to_send: bool) -> Option<String>;

    /// Sends a packet to the stack.
    fn inject(runner: &mut Runner<'_, Self>, packet: &Packet) -> Result<(), Stop>;

    /// Compares the next packet of the stack with a pattern; returns whether it matched the `next`
    /// event as well.
    fn expect(
        runner: &mut Runner<'_, Self>,
        packet: &Packet,
        due: Option<Due>,
        next: Option<&Event>,
    ) -> Result<bool, Stop>;

    /// Makes a call, as far as it can proceed now.
    fn call(&mut self, now: Instant, call: &Call) -> Result<Outcome, Stop>;

    /// Applies a shell command, as far as it concerns the stack.
    fn shell(&mut self, now: Instant, command: &str) -> Result<(), Stop>;

    /// The number that assertions call `name`, if it exists now.
    fn fact(&self, now: Instant, name: &str) -> Option<i64>;

    /// The protocol's sockets on top of the stack.
    fn sockets(&mut self) -> &mut impl Application;

    /// The script's number for a symbolic output of a call.
    fn symbolic(&self, output: &Output) -> Option<u32>;

    /// A packet as text.
    fn show(&self, packet: &Emitted) -> String;
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

/// Time at which an event is due: the beginning and the end of its range.
#[derive(Clone, Copy, Debug)]
struct Due {
    from: Instant,
    to: Instant,
    /// Tolerance on both sides.
    tolerance: Duration,
}

struct Runner<'a, P> {
    config: &'a RunConfig,
    tolerance: Duration,
    now: Instant,
    /// Script time of the previous event.
    script_time: Duration,
    line: usize,
    party: P,
    emitted: VecDeque<Emitted>,
    /// Calls that have not returned.
    waiting: Vec<call::Waiting>,
    slack: Duration,
    used_leniencies: Vec<&'static str>,
}

impl<'a, P: Party> Runner<'a, P> {
    fn new(config: &'a RunConfig) -> Self {
        Runner {
            config,
            tolerance: config.tolerance,
            now: ORIGIN,
            script_time: Duration::ZERO,
            line: 0,
            party: P::new(config),
            emitted: VecDeque::new(),
            waiting: Vec::new(),
            slack: Duration::ZERO,
            used_leniencies: Vec::new(),
        }
    }

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

    // ---- time ----------------------------------------------------------------------------------

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

    /// Advances time to `until`; the stack runs its timers on the way.
    fn advance(&mut self, until: Instant) -> Result<(), Stop> {
        while self.step(until)? {}
        self.now = self.now.max(until);
        Ok(())
    }

    /// Advances time to the stack's next deadline; returns false if that is later than `until`.
    fn step(&mut self, until: Instant) -> Result<bool, Stop> {
        let Some(next) = self.party.sockets().poll_timeout().filter(|next| *next <= until) else {
            return Ok(false);
        };
        self.now = self.now.max(next);
        for _ in 0..STUCK {
            if self.party.sockets().poll_timeout().is_none_or(|next| next > self.now) {
                return Ok(true);
            }
            self.party.sockets().handle_timeout(self.now);
            self.drain()?;
        }
        Err(Stop::fail("the stack wants to be called again and again at the same time"))
    }

    /// Takes the stack's output.
    fn drain(&mut self) -> Result<(), Stop> {
        let before = self.emitted.len();
        self.party.sockets().drain(self.now, &mut self.emitted);
        if let Some(spoil) = self.config.spoil {
            self.emitted.iter_mut().skip(before).for_each(|packet| spoil(&mut packet.bytes));
        }
        self.resume_calls()
    }

    /// Checks that an event happened when it was due, and records its distance.
    fn check_time(&mut self, what: &str, at: Instant, due: Due) -> Result<(), Stop> {
        let off = if at < due.from { due.from.since(at) } else { at.since(due.to) };
        if off > due.tolerance {
            let when = |instant: Instant| instant.since(ORIGIN);
            return Err(Stop::fail(format!(
                "{what} at {}, {off} off: expected at {} (tolerance {})",
                when(at),
                when(if at < due.from { due.from } else { due.to }),
                due.tolerance
            )));
        }
        self.slack = self.slack.max(off);
        Ok(())
    }

    fn used(&mut self, leniency: Leniency) {
        if !self.used_leniencies.contains(&leniency.name()) {
            self.used_leniencies.push(leniency.name());
        }
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

/// Shifts of the script's tags and TSNs: none without a seed, so that packets look like the script;
/// then one with which TSNs wrap during the script; then random ones.
fn shifts(seed: u64) -> (u32, u32) {
    let mut random = RandomStream::new(seed, Purpose("packetdrill shifts", 0));
    match seed {
        0 => (0, 0),
        WRAPPING_SEED => (random.next_u32(), u32::MAX - 1),
        _ => (random.next_u32(), random.next_u32()),
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
