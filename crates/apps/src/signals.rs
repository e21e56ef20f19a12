//! The signals by which a process is asked to end.

/// Resolves when the process is asked to end: Ctrl-C; on Unix SIGTERM, SIGHUP and SIGQUIT too,
/// those two unless they were ignored when the process began, as `nohup` has it.
pub async fn interrupted() {
    Requests::new().next().await;
}

/// The signals of a process that is asked to end, one after the other. None is missed between two
/// calls of [`Requests::next`].
#[derive(Debug)]
pub(crate) struct Requests {
    #[cfg(unix)]
    signals: [Option<tokio::signal::unix::Signal>; 4],
    /// Whether a signal has arrived. After that, the end of the terminal asks for nothing more:
    /// the system may report it more than once.
    asked: bool,
}

#[cfg(unix)]
impl Requests {
    /// Takes them from now on.
    pub(crate) fn new() -> Requests {
        use tokio::signal::unix::{SignalKind, signal};
        let ignored = ignored();
        let unless_ignored = |kind: SignalKind| {
            let bit = 1u64 << (kind.as_raw_value() - 1);
            if ignored & bit == 0 { signal(kind).ok() } else { None }
        };
        let signals = [
            signal(SignalKind::interrupt()).ok(),
            signal(SignalKind::terminate()).ok(),
            unless_ignored(SignalKind::quit()),
            unless_ignored(SignalKind::hangup()),
        ];
        Requests { signals, asked: false }
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        loop {
            let [interrupt, terminate, quit, hangup] = &mut self.signals;
            let is_hangup = tokio::select! {
                () = one(interrupt) => false,
                () = one(terminate) => false,
                () = one(quit) => false,
                () = one(hangup) => true,
            };
            let was_asked = std::mem::replace(&mut self.asked, true);
            if !(is_hangup && was_asked) {
                return;
            }
        }
    }
}

#[cfg(unix)]
async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}

/// The set of signals that this process ignores, the first in the lowest bit; empty where the
/// system does not report it.
#[cfg(unix)]
fn ignored() -> u64 {
    std::fs::read_to_string("/proc/self/status").map_or(0, |status| ignored_in(&status))
}

#[cfg(unix)]
fn ignored_in(status: &str) -> u64 {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(not(unix))]
impl Requests {
    pub(crate) fn new() -> Requests {
        Requests { asked: false }
    }

    pub(crate) async fn next(&mut self) {
        self.asked = true;
        if tokio::signal::ctrl_c().await.is_err() {
            // No signal can arrive on this system.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_which_signals_are_ignored() {
        let status = "Name:\tedge\nSigBlk:\t0000000000000004\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored_in(status), 0x1001);
        assert_eq!(ignored_in("Name:\tedge\n"), 0);
    }
}
