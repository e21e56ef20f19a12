//! Rules in force, and who takes them back.
//!
//! The rules must not outlive the edge, however that ends: they send new connections to it. So a
//! process of its own holds the tables: the kernel removes a table with the flag *owner* once the
//! netlink socket is closed by which it was made. That process reads from a pipe of which the edge
//! has the other end, and ends when the edge is gone. It ignores the signals that end the edge,
//! which may still be draining.

use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::system::Real;
use super::{RouteError, Routes, existing};

/// The process's program, in the language of the shell.
const GUARD: &str = "trap '' HUP INT QUIT TERM; exec nft -i";
/// A command of nft that changes nothing, and what its answer has: everything before it was done
/// then.
const MARK: (&str, &str) = ("describe tcp dport", "payload expression");

/// Rules in force; dropping it takes them back.
#[derive(Debug)]
pub struct Applied {
    process: Child,
    /// While this is open, the process holds the rules.
    nft: Option<ChildStdin>,
    /// Output of nft, in which it confirms or refuses.
    said: BufReader<PipeReader>,
}

impl Applied {
    /// Connections that begin go to the edge first; then, when the kernel gets no new ones, those
    /// that it has are listed; then everything else is the edge's. So none of either falls
    /// between.
    pub(super) fn new(routes: &Routes) -> Result<Applied, RouteError> {
        let Routes { name, families, .. } = routes;
        let mut applied = Applied::spawn().map_err(RouteError::NoNft)?;
        for family in families {
            applied.load(&family.begin(name))?;
        }
        let kept = existing::at(&Real, families).map_err(RouteError::Connections)?;
        for family in families {
            for command in family.leave(name, &kept) {
                applied.load(&command)?;
            }
            applied.load(&family.settle(name))?;
        }
        Ok(applied)
    }

    /// Whether the process that holds them is still there.
    pub(super) fn is_held(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    fn spawn() -> io::Result<Applied> {
        let (said, speaks) = io::pipe()?;
        let mut command = Command::new("sh");
        command.args(["-c", GUARD, "thinstream-edge-rules"]);
        command.stdin(Stdio::piped()).stdout(speaks.try_clone()?).stderr(speaks);
        // Keys of the terminal are not for it.
        command.process_group(0);
        // The file in which nft would keep its history.
        command.env("HOME", "/dev/null");
        let mut process = command.spawn()?;
        let nft = process.stdin.take();
        Ok(Applied { process, nft, said: BufReader::new(said) })
    }

    /// Passes commands to nft, which executes all of them or none, and waits for its answer.
    fn load(&mut self, commands: &str) -> Result<(), RouteError> {
        if let Some(nft) = &mut self.nft {
            // A process that ended has said why.
            let _ = nft.write_all(format!("{}\n{}\n", in_one_line(commands), MARK.0).as_bytes());
        }
        let mut lines = Vec::new();
        for line in (&mut self.said).lines() {
            let line = line.map_err(RouteError::NoNft)?;
            if line.contains(MARK.1) {
                let wrong = lines.iter().position(|line: &String| line.contains("Error:"));
                return match wrong {
                    None => Ok(()),
                    Some(first) => Err(RouteError::Refused(lines[first].clone())),
                };
            }
            lines.push(line);
        }
        Err(RouteError::Refused(lines.join("; ")))
    }
}

impl Drop for Applied {
    /// Ends the process. Then everything is as it was, unless others have ended it before.
    fn drop(&mut self) {
        drop(self.nft.take());
        let _ = self.process.wait();
        // When no process is left that could speak, nft has ended too, whose tables they are.
        let _ = io::copy(&mut self.said, &mut io::sink());
    }
}

/// Commands on one line, as nft reads them while it runs.
fn in_one_line(commands: &str) -> String {
    let mut line = String::new();
    for part in commands.lines().map(str::trim) {
        line.push_str(part);
        line.push_str(if part.ends_with(['{', ';']) { " " } else { "; " });
    }
    line
}
