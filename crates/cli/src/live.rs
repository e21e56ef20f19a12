//! What long-running commands show meanwhile: lines that stay, and a few that replace themselves where
//! there is a terminal.

use std::io::{self, IsTerminal, Write};

use apps::Notice;
use apps::demo::LiveView;
use base::{Duration, Instant};

use crate::output;

/// Lines on standard error that are drawn anew in their place; without a terminal, now and then.
pub(crate) struct Screen {
    is_terminal: bool,
    /// Lines drawn last, which are replaced.
    drawn: usize,
    /// When lines were last printed, without a terminal.
    printed: Option<Instant>,
}

/// How often lines are printed where they cannot be replaced.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);

impl Screen {
    pub(crate) fn new() -> Screen {
        Screen { is_terminal: io::stderr().is_terminal(), drawn: 0, printed: None }
    }

    /// Shows the state of a demo.
    pub(crate) fn show(&mut self, view: &LiveView) {
        let now = Instant::ZERO + view.elapsed;
        if !view.news.is_empty() {
            self.clear();
            view.news.iter().for_each(|line| output::note(line));
        }
        self.show_at(now, &view.lines());
    }

    /// Shows lines in the place of those before; `elapsed` is the time since the start.
    pub(crate) fn show_lines(&mut self, elapsed: Duration, lines: &[String]) {
        self.show_at(Instant::ZERO + elapsed, lines);
    }

    fn show_at(&mut self, now: Instant, lines: &[String]) {
        if self.is_terminal {
            self.replace(lines);
        } else if self.printed.is_none_or(|printed| now.since(printed) >= PLAIN_INTERVAL) {
            self.printed = Some(now);
            lines.iter().for_each(|line| output::note(line));
        }
    }

    /// Takes what was drawn away.
    fn clear(&mut self) {
        if self.drawn > 0 {
            self.replace(&[]);
        }
    }

    fn replace(&mut self, lines: &[String]) {
        let mut text = String::new();
        if self.drawn > 0 {
            // Up to the first line drawn, and away with all that follows.
            text.push_str(&format!("\x1b[{}A\r\x1b[J", self.drawn));
        }
        for line in lines {
            // Lines that wrap would not be counted.
            text.push_str(&format!("\x1b[?7l{line}\x1b[?7h\n"));
        }
        self.drawn = lines.len();
        let mut err = io::stderr().lock();
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Prints notices: lines as they are, progress in one place.
pub(crate) fn notices() -> impl FnMut(Notice) + Send {
    let mut progress = output::Progress::new();
    move |notice| match notice {
        Notice::Progress(text) => progress.show(&text),
        Notice::Line(text) => {
            progress.show("");
            output::note(&text);
        }
    }
}
