//! Work that Ctrl-C and other signals end, with the interpreter free meanwhile.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Interval at which a waiting thread asks the interpreter for signals.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// Does `work` on a thread of its own, the interpreter free; ends early when a signal's handler
/// raises, as that of Ctrl-C does. The thread then ends by itself, and its result is dropped.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (give, take) = channel();
    std::thread::spawn(move || drop(give.send(work())));
    // A receiver is of one thread, and so is the interpreter's lock: what is done without it must
    // be of any.
    let take = Mutex::new(take);
    loop {
        let got = py.detach(|| lock(&take).recv_timeout(PATIENCE));
        match got {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the work ended in a panic; this is a bug"));
            }
        }
    }
}

/// The value, whether or not a thread panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
