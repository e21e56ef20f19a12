//! Output of long-running commands in progress: permanent lines, and a few that are replaced on a
//! terminal. A line too long for the terminal is cut between columns or words, never inside a
//! number.

mod fit;
mod frame;
mod printer;

use std::io::{self, Write};

use apps::Notice;
use apps::demo::LiveView;
use base::{Duration, Instant};

use self::frame::Frame;
pub(crate) use self::printer::{Printed, Printer};
use crate::output;
use crate::terminal::Size;

/// Lines on standard error that are drawn again in their place; without a terminal, now and then.
pub(crate) struct Screen {
    frame: Frame,
    /// Time at which lines were last printed, without a terminal.
    printed: Option<Instant>,
}

/// Interval at which lines are printed where they cannot be replaced.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);

impl Screen {
    pub(crate) fn new() -> Screen {
        Screen { frame: Frame::default(), printed: None }
    }

    /// Shows the state of a demo.
    pub(crate) fn show(&mut self, view: &LiveView) {
        view.news.iter().for_each(|line| self.note(line));
        let columns = Size::of_standard_error().map(|size| size.columns);
        self.show_lines(view.elapsed, &view.lines(columns));
    }

    /// Shows lines instead of those before; `elapsed` is the time since the start.
    pub(crate) fn show_lines(&mut self, elapsed: Duration, lines: &[String]) {
        let now = Instant::ZERO + elapsed;
        if let Some(size) = Size::of_standard_error() {
            draw(&self.frame.replace(&fit::fit(lines, size), size));
        } else if self.printed.is_none_or(|printed| now.since(printed) >= PLAIN_INTERVAL) {
            self.printed = Some(now);
            lines.iter().for_each(|line| output::note(line));
        }
    }

    /// Prints a line that stays, above those that are replaced.
    pub(crate) fn note(&mut self, line: &str) {
        self.clear();
        output::note(line);
    }

    /// Takes away what was drawn.
    fn clear(&mut self) {
        draw(&self.frame.replace(&[], Size::of_standard_error().unwrap_or(Size::USUAL)));
    }
}

/// Writes to the terminal; a terminal that is gone shows nothing.
fn draw(text: &str) {
    if !text.is_empty() {
        let mut err = io::stderr().lock();
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A line of progress that replaces itself; only on a terminal.
pub(crate) struct Progress(Screen);

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress(Screen::new())
    }

    /// Shows `text` instead of what was shown before.
    pub(crate) fn show(&mut self, text: &str) {
        if Size::of_standard_error().is_some() {
            self.0.show_lines(Duration::ZERO, &[text.to_owned()]);
        }
    }

    /// Prints a line that stays.
    pub(crate) fn note(&mut self, line: &str) {
        self.0.note(line);
    }
}

/// Prints notices, in a thread of its own: lines as they are, progress in one place.
pub(crate) fn notices() -> impl FnMut(Notice) + Send {
    let mut progress = Progress::new();
    let mut printer = Printer::new(move |printed: Printed<String>| match printed {
        Printed::State(text) => progress.show(&text),
        Printed::Line(text) => progress.note(&text),
    });
    move |notice| match notice {
        Notice::Progress(text) => printer.state(text),
        Notice::Line(text) => printer.line(text),
    }
}
