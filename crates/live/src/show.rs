//! Both sides of a setting, run together.

use base::{Duration, Instant};

use crate::book::Due;
use crate::change::{Change, Side};
use crate::frame::{Frame, Numbers};
use crate::gate::millis;
use crate::setting::{DURATION_S, Setting, SettingError};
use crate::side::{BEGIN, Running};
use crate::traffic::Traffic;

/// Two policies over one network, on the same losses.
pub struct Show {
    setting: Setting,
    traffic: Option<Traffic>,
    /// Changes that are still to come, the next one last.
    ahead: Vec<Change>,
    sides: [Running; 2],
    due: Due,
    now: Instant,
}

/// Time at which the run ends.
const END: Duration = Duration::from_secs(DURATION_S);

impl Show {
    /// The run of a setting, just before its first message may be due; `traffic` is that of a
    /// capture, if the setting names one.
    ///
    /// # Errors
    /// The fault in the setting, and a value that would be right.
    pub fn new(setting: Setting, traffic: Option<Traffic>) -> Result<Show, SettingError> {
        let known = setting.known(traffic.as_ref())?;
        let (left, due) = Running::new(&setting, &known, Side::Left)?;
        let (right, _) = Running::new(&setting, &known, Side::Right)?;
        let mut ahead = known.changes;
        ahead.reverse();
        let mut show =
            Show { setting, traffic, ahead, sides: [left, right], due, now: Instant::ZERO };
        show.run_until(BEGIN)?;
        Ok(show)
    }

    /// The setting, with all that was done to it.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// The present, in milliseconds since the first message may be due.
    pub fn now_ms(&self) -> f64 {
        millis(BEGIN, self.now)
    }

    /// Runs until this time, in milliseconds since the first message may be due, and tells what is
    /// new. A time that has passed, or is no number, is the present; nothing happens after the
    /// end.
    ///
    /// # Errors
    /// When a machine never comes to rest.
    pub fn advance(&mut self, to_ms: f64) -> Result<Frame, SettingError> {
        let span = Duration::from_micros((to_ms.max(0.0) * 1e3) as u64).min(END);
        let to = (BEGIN + span).max(self.now);
        self.run_until(to)?;
        let shown = self.setting.flow as usize;
        let now = self.now;
        Ok(Frame {
            now_ms: millis(BEGIN, now),
            is_over: now >= BEGIN + END,
            due: self.due.until(now).map(|(message, at)| (message, millis(BEGIN, at))).collect(),
            sides: self.sides.each_mut().map(|side| side.frame(shown)),
        })
    }

    /// Takes a change into the setting and begins again, up to the present: packets that were sent
    /// can be dropped, too.
    ///
    /// # Errors
    /// The fault in the change.
    pub fn change(&mut self, text: &str) -> Result<(), SettingError> {
        let change: Change = text.parse()?;
        let text = change.to_string();
        let mut setting = self.setting.clone();
        if !setting.changes.contains(&text) {
            setting.changes.push(text);
        }
        self.replay(setting)
    }

    /// Takes a change back and begins again, up to the present.
    ///
    /// # Errors
    /// When a machine never comes to rest.
    pub fn undo(&mut self, text: &str) -> Result<(), SettingError> {
        let mut setting = self.setting.clone();
        setting.changes.retain(|one| one != text);
        self.replay(setting)
    }

    fn replay(&mut self, setting: Setting) -> Result<(), SettingError> {
        let now = self.now;
        let mut show = Show::new(setting, self.traffic.clone())?;
        show.run_until(now.max(BEGIN))?;
        *self = show;
        Ok(())
    }

    /// Numbers of both sides so far.
    pub fn numbers(&self) -> [Numbers; 2] {
        self.sides.each_ref().map(Running::numbers)
    }

    /// The plan of each side as the command takes it, for `thinstream lab run`: the network with
    /// its losses, without changes.
    ///
    /// # Errors
    /// The fault in the setting.
    pub fn plans(&self) -> Result<[String; 2], SettingError> {
        let known = self.setting.known(self.traffic.as_ref())?;
        Ok([0, 1].map(|side| known.plan_with_losses(side)))
    }

    fn run_until(&mut self, to: Instant) -> Result<(), SettingError> {
        while let Some(change) = self.ahead.last().copied().filter(|one| BEGIN + one.at <= to) {
            self.ahead.pop();
            // Packets to lose are known from the beginning.
            let at = if change.at.is_zero() { self.now } else { BEGIN + change.at };
            for side in &mut self.sides {
                side.run_until(at)?;
                side.on_change(&change);
            }
        }
        for side in &mut self.sides {
            side.run_until(to)?;
        }
        self.now = to;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
