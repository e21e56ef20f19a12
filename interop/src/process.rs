//! A child process that ends when its guard does, with its output kept line by line.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::namespace::Namespace;

/// Time for a process to end after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_secs(3);

/// A running child. Dropping it ends it; it ends with the test process too, however that ends.
#[derive(Debug)]
pub struct Process {
    name: String,
    id: Pid,
    signals: &'static [Signal],
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<String>,
    output_ended: bool,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts `command` (program, arguments, environment), inside `namespace` if there is one.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(namespace: Option<&Namespace>, command: Command) -> Result<Process> {
        Process::start_tied(namespace, command, &["setpriv", "--pdeathsig", "TERM", "--"])
    }

    /// Starts `command` with whatever processes it will make as one tree (a PID namespace; needs
    /// root): all of it ends at once when the guard does, whatever state it is in.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start_tree(namespace: Option<&Namespace>, command: Command) -> Result<Process> {
        let tie = "setpriv --pdeathsig KILL -- unshare --pid --kill-child=KILL --";
        let tie: Vec<&str> = tie.split_whitespace().collect();
        let mut process = Process::start_tied(namespace, command, &tie)?;
        process.signals = &[Signal::SIGKILL];
        Ok(process)
    }

    fn start_tied(
        namespace: Option<&Namespace>,
        command: Command,
        tie: &[&str],
    ) -> Result<Process> {
        let name = command.get_program().to_string_lossy().into_owned();
        let namespace = namespace.cloned();
        let command = tied(tie, &command);
        let shared = Arc::<Shared>::default();
        let (started, outcome) = std::sync::mpsc::channel();
        let keeper_shared = shared.clone();
        // The system ends the child when the thread that started it ends. So this thread lives as
        // long as the child does, and no longer than the test process.
        std::thread::spawn(move || match spawn(namespace.as_ref(), command, &keeper_shared) {
            Ok(child) => {
                let _ = started.send(Ok(child.id()));
                keep(child, &keeper_shared);
            }
            Err(error) => drop(started.send(Err(error))),
        });
        let id = outcome.recv().context("the keeper of the process died")?;
        let id = id.with_context(|| format!("cannot start {name}"))?;
        let signals = &[Signal::SIGTERM, Signal::SIGKILL];
        Ok(Process { name, id: Pid::from_raw(id.cast_signed()), signals, shared })
    }

    /// Runs a short command to its end; its status, standard output and standard error.
    ///
    /// # Errors
    /// Where it cannot be started or takes longer than 30 s.
    pub fn output(
        namespace: Option<&Namespace>,
        program: &Path,
        arguments: &[impl AsRef<OsStr>],
    ) -> Result<(ExitStatus, String)> {
        let mut command = Command::new(program);
        command.args(arguments);
        let process = Process::start(namespace, command)?;
        let status = process.wait(Duration::from_secs(30))?;
        Ok((status, process.text()))
    }

    /// Waits until a line of the output contains `marker`, and returns that line.
    ///
    /// # Errors
    /// With all output, where the process ends without it or does not say it within `limit`.
    pub fn wait_for_line(&self, marker: &str, limit: Duration) -> Result<String> {
        let mut seen = 0;
        let found = self.wait_until(limit, |state| {
            let new = &state.lines[seen..];
            seen = state.lines.len();
            match new.iter().find(|line| line.contains(marker)) {
                Some(line) => Some(Some(line.clone())),
                None => state.output_ended.then_some(None),
            }
        });
        match found.flatten() {
            Some(line) => Ok(line),
            None => bail!("{} did not say {marker:?}; it said:\n{}", self.name, self.text()),
        }
    }

    /// Waits for the end of the process and of its output.
    ///
    /// # Errors
    /// With all output, where it does not end within `limit`.
    pub fn wait(&self, limit: Duration) -> Result<ExitStatus> {
        let Some(status) = self.wait_until(limit, |state| state.status) else {
            bail!("{} did not end within {limit:?}; it said:\n{}", self.name, self.text());
        };
        // A grandchild may hold the output open: then what came so far must do.
        self.wait_until(Duration::from_millis(500), |state| state.output_ended.then_some(()));
        Ok(status)
    }

    /// The number by which the system knows the process, for signals.
    pub fn id(&self) -> Pid {
        self.id
    }

    /// Whether it has not ended yet.
    pub fn is_running(&self) -> bool {
        lock(&self.shared).status.is_none()
    }

    /// Output so far, standard output and standard error in one.
    pub fn text(&self) -> String {
        lock(&self.shared).lines.join("\n")
    }

    /// The lines it wrote so far that begin with `prefix`.
    pub fn lines_with(&self, prefix: &str) -> Vec<String> {
        lock(&self.shared).lines.iter().filter(|line| line.starts_with(prefix)).cloned().collect()
    }

    /// Sends it a signal, if it is still there.
    pub fn signal(&self, signal: Signal) {
        let state = lock(&self.shared);
        // Under the lock the process is not reaped yet, so the id cannot belong to another one.
        if state.status.is_none() {
            let _ = kill(self.id, signal);
        }
    }

    /// Ends it: politely where it is one process, then not.
    pub fn end(&self) {
        for signal in self.signals {
            if lock(&self.shared).status.is_some() {
                return;
            }
            self.signal(*signal);
            self.wait_until(GRACE, |state| state.status);
        }
    }

    fn wait_until<T>(
        &self,
        limit: Duration,
        mut answer: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + limit;
        let mut state = lock(&self.shared);
        loop {
            if let Some(answer) = answer(&mut state) {
                return Some(answer);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `command` behind the words of `tie`, a program that starts it and binds its life to ours.
fn tied(tie: &[&str], command: &Command) -> Command {
    let mut tied = Command::new(tie[0]);
    tied.args(&tie[1..]).arg(command.get_program()).args(command.get_args());
    command.get_current_dir().map(|folder| tied.current_dir(folder));
    tied.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    tied
}

fn spawn(
    namespace: Option<&Namespace>,
    mut command: Command,
    shared: &Arc<Shared>,
) -> std::io::Result<Child> {
    if let Some(namespace) = namespace {
        namespace.join()?;
    }
    let (reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn()?;
    // It holds the other ends of the pipe; only the child may.
    drop(command);
    let shared = shared.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n') {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            lock(&shared).lines.push(line);
            shared.changed.notify_all();
        }
        lock(&shared).output_ended = true;
        shared.changed.notify_all();
    });
    Ok(child)
}

/// Waits for the child and reaps it under the lock.
fn keep(mut child: Child, shared: &Shared) {
    let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(Pid::from_raw(child.id().cast_signed())), ended)
        == Err(nix::errno::Errno::EINTR)
    {}
    lock(shared).status = child.wait().ok();
    shared.changed.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir("/usr");
        Process::start(None, command).unwrap()
    }

    #[test]
    fn output_and_status_are_kept() {
        assert_eq!(shell("pwd").wait_for_line("", Duration::from_secs(5)).unwrap(), "/usr");
        let process = shell("echo one; echo two >&2; exit 3");
        assert_eq!(process.wait_for_line("two", Duration::from_secs(5)).unwrap(), "two");
        assert_eq!(process.wait(Duration::from_secs(5)).unwrap().code(), Some(3));
        assert_eq!(process.text(), "one\ntwo");
    }

    #[test]
    fn a_process_without_the_expected_line_is_an_error_that_shows_its_output() {
        let error = shell("echo hello").wait_for_line("MARK", Duration::from_secs(5)).unwrap_err();
        assert!(error.to_string().contains("hello"), "{error}");
    }

    #[test]
    fn dropping_the_guard_ends_the_process() {
        let process = shell("echo ready; exec sleep 100");
        process.wait_for_line("ready", Duration::from_secs(5)).unwrap();
        let shared = process.shared.clone();
        drop(process);
        assert!(lock(&shared).status.is_some());
    }
}
