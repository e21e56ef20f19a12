//! Processes of this program that the measuring one starts.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::Result;

/// Numbers of a server process at a mark.
pub struct Mark {
    /// Messages since the mark before.
    pub messages: u64,
    /// Processor time in user mode, in nanoseconds.
    pub user: u64,
    pub system: u64,
    /// Resident memory in bytes.
    pub resident: u64,
    /// p50, p99 and p99.9 of the messages, in nanoseconds.
    pub latencies: [u64; 3],
    /// Processor time since the mark before of the thread that used the most, in nanoseconds.
    pub busiest: u64,
}

/// A process of this program; it ends with this value.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts this program with other arguments, in the network namespace of the calling thread.
    pub fn start(arguments: &[&str]) -> Result<Process> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("the process has no output")?);
        Ok(Process { child, input, output })
    }

    /// Number of the process in the system.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it prints.
    pub fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Sends it a line, and reads its answer.
    pub fn ask(&mut self) -> Result<String> {
        writeln!(self.input.as_mut().ok_or("the process has no input")?, "now")?;
        self.line()
    }

    /// The numbers of a server.
    pub fn mark(&mut self) -> Result<Mark> {
        let line = self.ask()?;
        let numbers: Vec<u64> =
            line.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?;
        match numbers[..] {
            [messages, user, system, resident, p50, p99, p999, busiest] => {
                let latencies = [p50, p99, p999];
                Ok(Mark { messages, user, system, resident, latencies, busiest })
            }
            _ => Err(format!("the server said {line:?}").into()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}
