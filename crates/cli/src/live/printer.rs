//! Lines that never hold up the work: a reader of standard error may stop to read, and the pipe to
//! it be full.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Lines that wait for the reader; beyond them lines are left out.
const WAITING: usize = 256;
/// Time that the last lines have at the end.
const LAST: Duration = Duration::from_secs(1);

/// Text to be printed, and whether a later one replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Printed<S> {
    /// A line that stays on the screen.
    Line(String),
    /// A state, which the next one replaces.
    State(S),
}

/// Hands lines and states to a thread that prints them.
pub(crate) struct Printer<S> {
    /// Channel to the thread; none once nothing follows.
    queue: Option<SyncSender<Printed<S>>>,
    /// Disconnected once the printing thread has ended.
    printing: Receiver<()>,
    /// Whether a state waits to be printed: of several only the first, which may be large, has a
    /// place.
    state_waits: Arc<AtomicBool>,
    /// Lines that found no room since the last one that did.
    left_out: u64,
}

impl<S: Send + 'static> Printer<S> {
    pub(crate) fn new(mut print: impl FnMut(Printed<S>) + Send + 'static) -> Printer<S> {
        let (queue, waiting) = sync_channel(WAITING);
        let (done, printing) = sync_channel(0);
        let state_waits = Arc::new(AtomicBool::new(false));
        let waits = Arc::clone(&state_waits);
        std::thread::spawn(move || {
            for one in waiting {
                if matches!(one, Printed::State(_)) {
                    waits.store(false, Ordering::Relaxed);
                }
                print(one);
            }
            // What is drawn goes away before the end is told.
            drop(print);
            drop::<SyncSender<()>>(done);
        });
        Printer { queue: Some(queue), printing, state_waits, left_out: 0 }
    }

    /// Prints a line soon, or leaves it out and says so.
    pub(crate) fn line(&mut self, text: String) {
        self.own_up();
        if !self.has_room_for(Printed::Line(text)) {
            self.left_out += 1;
        }
    }

    /// Prints a state soon, or leaves it out while another one waits.
    pub(crate) fn state(&mut self, state: S) {
        self.own_up();
        if !self.state_waits.swap(true, Ordering::Relaxed)
            && !self.has_room_for(Printed::State(state))
        {
            self.state_waits.store(false, Ordering::Relaxed);
        }
    }

    fn own_up(&mut self) {
        if self.left_out > 0 {
            let lines = if self.left_out == 1 { "line was" } else { "lines were" };
            let text = format!("{} {lines} left out: standard error was not read", self.left_out);
            if self.has_room_for(Printed::Line(text)) {
                self.left_out = 0;
            }
        }
    }

    fn has_room_for(&self, one: Printed<S>) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.try_send(one).is_ok())
    }
}

impl<S> Drop for Printer<S> {
    fn drop(&mut self) {
        self.queue = None;
        // An error is the thread's end, or that it still waits for a reader.
        let _ = self.printing.recv_timeout(LAST);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    type Log = Arc<Mutex<Vec<Printed<u32>>>>;

    /// A printer that prints nothing until the sender is dropped, and its output.
    fn unread() -> (Printer<u32>, Sender<()>, Log) {
        let (resume, may_read) = channel::<()>();
        let printed = Log::default();
        let output = Arc::clone(&printed);
        let printer = Printer::new(move |one| {
            let _ = may_read.recv();
            output.lock().unwrap().push(one);
        });
        (printer, resume, printed)
    }

    #[test]
    fn where_nothing_is_read_lines_are_left_out_and_counted_and_what_waits_is_printed_in_the_end() {
        let (mut printer, resume, printed) = unread();
        (0..1000).for_each(|number: usize| printer.line(number.to_string()));
        let left_out = printer.left_out;
        assert!((700..=1000 - WAITING as u64).contains(&left_out), "{left_out}");
        // Reading goes on.
        drop(resume);
        while printer.left_out > 0 {
            printer.state(7);
        }
        drop(printer);
        let printed = printed.lock().unwrap();
        let line = |text: &str| Printed::Line(text.to_owned());
        assert_eq!(printed[..3], ["0", "1", "2"].map(line));
        let told = format!("{left_out} lines were left out: standard error was not read");
        assert!(printed.contains(&line(&told)), "{printed:?}");
    }

    #[test]
    fn of_states_that_nobody_reads_one_waits_and_the_others_take_no_memory() {
        let (mut printer, resume, printed) = unread();
        (0..1000).for_each(|number| printer.state(number));
        printer.line("last".to_owned());
        drop(resume);
        drop(printer);
        let printed = printed.lock().unwrap();
        let states = printed.iter().filter(|one| matches!(one, Printed::State(_))).count();
        // One is being printed, one waits.
        assert!((1..=2).contains(&states), "{printed:?}");
        assert_eq!(printed.last(), Some(&Printed::Line("last".to_owned())));
    }
}
