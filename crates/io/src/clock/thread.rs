//! The thread that wakes the tasks of all alarms: it sleeps until the earliest deadline.
//!
//! A kernel timer (timerfd) for each alarm would take a file descriptor, and a system call for each
//! later deadline; here the thread is woken only when a deadline becomes the earliest of all.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

/// Tasks that wait for their deadlines.
struct Board {
    /// Wakers by deadline and by the number of the alarm.
    tasks: BTreeMap<(Instant, u64), Waker>,
    /// Time at which the thread wakes next; none while no deadline is set.
    looks_at: Option<Instant>,
    is_running: bool,
    numbers: u64,
}

static BOARD: Mutex<Board> =
    Mutex::new(Board { tasks: BTreeMap::new(), looks_at: None, is_running: false, numbers: 0 });
static EARLIER: Condvar = Condvar::new();

/// A panic of another thread leaves the board as it was.
fn board() -> MutexGuard<'static, Board> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The entry of one alarm.
#[derive(Debug)]
pub(super) struct Place {
    number: u64,
    /// The alarm's deadline and waker on the board, until the deadline passes.
    set: Option<(Instant, Waker)>,
}

impl Place {
    /// An entry without a deadline.
    pub(super) fn take() -> io::Result<Place> {
        let mut board = board();
        if !board.is_running {
            std::thread::Builder::new().name("alarms".to_owned()).spawn(run)?;
            board.is_running = true;
        }
        board.numbers += 1;
        Ok(Place { number: board.numbers, set: None })
    }

    /// Sets the only deadline of the alarm to `at`.
    pub(super) fn set(&mut self, at: Instant, waker: &Waker) {
        if let Some((before, known)) = &self.set
            && *before == at
            && known.will_wake(waker)
        {
            return;
        }
        let mut board = board();
        if let Some((before, _)) = self.set.take() {
            board.tasks.remove(&(before, self.number));
        }
        board.tasks.insert((at, self.number), waker.clone());
        self.set = Some((at, waker.clone()));
        if board.looks_at.is_none_or(|looks_at| at < looks_at) {
            board.looks_at = Some(at);
            // The thread needs the lock as soon as it runs.
            drop(board);
            EARLIER.notify_one();
        }
    }

    /// Removes the deadline from the board, so that the alarm does not ring.
    pub(super) fn clear(&mut self) {
        if let Some((before, _)) = self.set.take() {
            board().tasks.remove(&(before, self.number));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Wakes tasks, until the process ends.
fn run() {
    // A wish: the system would otherwise sleep up to 50 us longer, to join wake-ups.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut due = Vec::new();
    let mut board = board();
    loop {
        let now = Instant::now();
        while let Some(entry) = board.tasks.first_entry()
            && entry.key().0 <= now
        {
            due.push(entry.remove());
        }
        if !due.is_empty() {
            drop(board);
            due.drain(..).for_each(Waker::wake);
            board = self::board();
            continue;
        }
        board.looks_at = board.tasks.first_key_value().map(|((at, _), _)| *at);
        board = match board.looks_at {
            None => EARLIER.wait(board).unwrap_or_else(PoisonError::into_inner),
            Some(at) => {
                let span = at.saturating_duration_since(now);
                EARLIER.wait_timeout(board, span).unwrap_or_else(PoisonError::into_inner).0
            }
        };
    }
}
