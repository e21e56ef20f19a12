//! Notices that never hold up the work: a reader of standard error may stop to read, and the pipe to it be full.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use apps::Notice;

/// Notices that wait for the reader; beyond them lines are left out.
const WAITING: usize = 256;
/// Time that the last notices have at the end.
const LAST: Duration = Duration::from_secs(1);

/// Hands notices to a thread that prints them.
pub(super) struct Printer {
    /// None once no notice follows.
    notices: Option<SyncSender<Notice>>,
    /// Ends with the thread.
    printing: Receiver<()>,
    /// Lines that found no room since the last one that did.
    left_out: u64,
}

impl Printer {
    pub(super) fn new(mut print: impl FnMut(Notice) + Send + 'static) -> Printer {
        let (notices, waiting) = sync_channel(WAITING);
        let (done, printing) = sync_channel(0);
        std::thread::spawn(move || {
            waiting.into_iter().for_each(&mut print);
            // What is drawn goes away before the end is told.
            drop(print);
            drop::<SyncSender<()>>(done);
        });
        Printer { notices: Some(notices), printing, left_out: 0 }
    }

    /// Prints a notice soon, or leaves it out.
    pub(super) fn print(&mut self, notice: Notice) {
        if self.left_out > 0 {
            let lines = if self.left_out == 1 { "line was" } else { "lines were" };
            let text = format!("{} {lines} left out: standard error was not read", self.left_out);
            if self.has_room_for(Notice::Line(text)) {
                self.left_out = 0;
            }
        }
        let is_line = matches!(notice, Notice::Line(_));
        if !self.has_room_for(notice) {
            self.left_out += u64::from(is_line);
        }
    }

    fn has_room_for(&self, notice: Notice) -> bool {
        self.notices.as_ref().is_some_and(|notices| notices.try_send(notice).is_ok())
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.notices = None;
        // An error is the thread's end, or that it still waits for a reader.
        let _ = self.printing.recv_timeout(LAST);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};

    use super::*;

    fn line(number: usize) -> Notice {
        Notice::Line(number.to_string())
    }

    #[test]
    fn where_nothing_is_read_lines_are_left_out_and_counted_and_what_waits_is_printed_in_the_end() {
        let (resume, may_read) = channel::<()>();
        let printed = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&printed);
        let mut printer = Printer::new(move |notice| {
            // The first one waits until the reader reads.
            let _ = may_read.recv();
            if let Notice::Line(text) = notice {
                lines.lock().unwrap().push(text);
            }
        });
        (0..1000).for_each(|number| printer.print(line(number)));
        let left_out = printer.left_out;
        assert!((700..=1000 - WAITING as u64).contains(&left_out), "{left_out}");
        // Reading goes on.
        drop(resume);
        while printer.left_out > 0 {
            printer.print(Notice::Progress(String::new()));
        }
        drop(printer);
        let printed = printed.lock().unwrap();
        assert_eq!(printed[..3], ["0", "1", "2"]);
        let told = printed.last().unwrap();
        assert_eq!(*told, format!("{left_out} lines were left out: standard error was not read"));
    }
}
