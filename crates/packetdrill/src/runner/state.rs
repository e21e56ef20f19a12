//! State of a run, the protocol's part in it, and the passing of its time.

use std::collections::VecDeque;

use base::{Duration, Instant};

use super::times::{Due, ORIGIN};
use crate::config::RunConfig;
use crate::leniency::Leniency;
use crate::script::{Call, Event, Packet, ScriptOption};
use crate::sockets::{Application, Emitted, Outcome, Output};
use crate::stop::Stop;

/// Number of calls of the stack at one instant after which it counts as stuck.
const STUCK: u32 = 10_000;

/// A protocol's part of a run: the stack under test, its sockets, and the translation of the
/// script's numbers.
pub(super) trait Party: Sized {
    /// Creates a stack for one run.
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

    /// Text of a packet in the script's language, for a message.
    fn show(&self, packet: &Emitted) -> String;
}

/// A call that blocks, with the time of its return.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) line: usize,
    pub(super) call: Call,
    /// Time at which the script says that it returns.
    pub(super) due: Option<Due>,
}

/// A run under way: the script's time, the stack, and calls that block.
pub(super) struct Runner<'a, P> {
    pub(super) config: &'a RunConfig,
    pub(super) tolerance: Duration,
    pub(super) now: Instant,
    /// Script time of the previous event.
    pub(super) script_time: Duration,
    pub(super) line: usize,
    pub(super) party: P,
    pub(super) emitted: VecDeque<Emitted>,
    /// Calls that have not returned.
    pub(super) waiting: Vec<Waiting>,
    pub(super) slack: Duration,
    pub(super) used_leniencies: Vec<&'static str>,
}

impl<'a, P: Party> Runner<'a, P> {
    pub(super) fn new(config: &'a RunConfig) -> Self {
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

    /// Advances time to `until`; the stack runs its timers on the way.
    pub(super) fn advance(&mut self, until: Instant) -> Result<(), Stop> {
        while self.step(until)? {}
        self.now = self.now.max(until);
        Ok(())
    }

    /// Advances time to the stack's next deadline; returns false if that is later than `until`.
    pub(super) fn step(&mut self, until: Instant) -> Result<bool, Stop> {
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

    /// Takes the packets that the stack sends, and resumes blocked calls.
    pub(super) fn drain(&mut self) -> Result<(), Stop> {
        let before = self.emitted.len();
        self.party.sockets().drain(self.now, &mut self.emitted);
        if let Some(spoil) = self.config.spoil {
            self.emitted.iter_mut().skip(before).for_each(|packet| spoil(&mut packet.bytes));
        }
        self.resume_calls()
    }

    /// Checks that an event happened when it was due, and records its distance.
    pub(super) fn check_time(&mut self, what: &str, at: Instant, due: Due) -> Result<(), Stop> {
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

    pub(super) fn used(&mut self, leniency: Leniency) {
        if !self.used_leniencies.contains(&leniency.name()) {
            self.used_leniencies.push(leniency.name());
        }
    }
}
