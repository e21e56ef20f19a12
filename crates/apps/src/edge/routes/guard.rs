//! Rules in force, and who takes them back.
//!
//! The rules must not outlive the edge, however that ends: they send new connections to it. So a process of its own
//! holds the table: the kernel removes a table with the flag *owner* once the netlink socket is closed by which it
//! was made. That process reads from a pipe of which the edge has the other end, and ends when the edge is gone; then
//! it gives back the settings. It heeds none of the signals that end the edge, which may still be draining.

use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::system::{Real, System, path};
use super::{RouteError, Rule, Setting};

/// What the process does, in the language of the shell. Its arguments are, for each setting that was changed, its
/// file, what it was, the file of the setting above it, and what that is to be then: where others have changed the
/// latter meanwhile, they need the former too. So does another edge, whose guard then gives it back.
const GUARD: &str = r#"
trap '' HUP INT QUIT TERM
nft -i
exec > /dev/null 2>&1
nft list tables inet | grep -q ' thinstream_' && exit
while [ $# -ge 4 ]; do
    [ "$(cat "$3")" = "$4" ] && echo "$2" > "$1"
    shift 4
done
"#;
/// A command of nft that changes nothing, and what its answer has: everything before it was done then.
const MARK: (&str, &str) = ("describe tcp dport", "payload expression");

/// Rules in force; dropping it takes them back.
#[derive(Debug)]
pub struct Applied {
    rules: Vec<Rule>,
    /// Settings that were changed, and what they were.
    changes: Vec<(Setting, String)>,
    guard: Guard,
}

impl Applied {
    pub(super) fn new(rules: &[Rule]) -> Result<Applied, RouteError> {
        let is_first = !other_edges()?;
        let mut changes = Vec::new();
        for rule in rules {
            if let Rule::Setting(setting) = rule {
                let before = before(setting, is_first)?;
                if before != setting.value {
                    changes.push((setting.clone(), before));
                }
            }
        }
        let guard = Guard::start(rules, &changes)?;
        Ok(Applied { rules: rules.to_vec(), changes, guard })
    }

    /// Makes the rules anew if somebody has ended the process that holds them; whether that was so.
    ///
    /// # Errors
    /// As [`super::Routes::apply`].
    pub(in super::super) fn renew(&mut self) -> Result<bool, RouteError> {
        if matches!(self.guard.process.try_wait(), Ok(None)) {
            return Ok(false);
        }
        self.guard.end();
        self.guard = Guard::start(&self.rules, &self.changes)?;
        Ok(true)
    }
}

/// The process that holds the rules.
#[derive(Debug)]
struct Guard {
    process: Child,
    /// While this is open, it holds them.
    nft: Option<ChildStdin>,
    /// What nft says.
    said: BufReader<PipeReader>,
}

impl Guard {
    fn start(rules: &[Rule], changes: &[(Setting, String)]) -> Result<Guard, RouteError> {
        let mut guard = Guard::spawn(changes).map_err(RouteError::NoNft)?;
        for rule in rules {
            if let Rule::Table { name, script } = rule {
                guard.load(&owned(name, script))?;
            }
        }
        for (setting, _) in changes {
            let Setting { name, value, .. } = setting;
            if Real.read(name).as_deref() != Some(value) {
                std::fs::write(path(name), value).map_err(|error| failed(setting, error))?;
            }
        }
        Ok(guard)
    }

    fn spawn(changes: &[(Setting, String)]) -> io::Result<Guard> {
        let (said, speaks) = io::pipe()?;
        let mut command = Command::new("sh");
        command.args(["-c", GUARD, "thinstream-edge-rules"]);
        for (setting, before) in changes {
            let changed = changes.iter().find(|(other, _)| other.name == setting.above);
            let above = match changed {
                Some((other, _)) => other.value.to_owned(),
                None => Real.read(setting.above).unwrap_or_default(),
            };
            command.arg(path(&setting.name)).arg(before).arg(path(setting.above)).arg(above);
        }
        command.stdin(Stdio::piped()).stdout(speaks.try_clone()?).stderr(speaks);
        // What the terminal sends to the edge is not for it.
        command.process_group(0);
        // Where nft would write down what it was told.
        command.env("HOME", "/dev/null");
        let mut process = command.spawn()?;
        let nft = process.stdin.take();
        Ok(Guard { process, nft, said: BufReader::new(said) })
    }

    /// Hands a script to nft and waits for what it says.
    fn load(&mut self, script: &str) -> Result<(), RouteError> {
        if let Some(nft) = &mut self.nft {
            // If it has gone, what it said tells why.
            let _ = nft.write_all(format!("{script}\n{}\n", MARK.0).as_bytes());
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

    /// Ends it. Then everything is as it was, unless it was ended by others before.
    fn end(&mut self) {
        drop(self.nft.take());
        let _ = self.process.wait();
        // When nobody is left who could speak, nft has ended too, whose table it is.
        let _ = io::copy(&mut self.said, &mut io::sink());
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
    }
}

/// The script of a table, owned by who makes it, in one line as nft wants what it is told while it runs.
fn owned(name: &str, script: &str) -> String {
    let head = format!("table inet {name} {{\n");
    let script = script.replace(&head, &format!("{head}  flags owner\n"));
    let mut line = String::new();
    for part in script.lines().map(str::trim) {
        line.push_str(part);
        line.push_str(if part.ends_with(['{', ';']) { " " } else { "; " });
    }
    line
}

/// Whether rules of another edge are in force.
fn other_edges() -> Result<bool, RouteError> {
    let tables = Command::new("nft").args(["list", "tables", "inet"]).stdin(Stdio::null()).output();
    let tables = tables.map_err(RouteError::NoNft)?;
    if !tables.status.success() {
        let said = String::from_utf8_lossy(&tables.stderr);
        return Err(RouteError::Refused(said.lines().next().unwrap_or_default().to_owned()));
    }
    Ok(String::from_utf8_lossy(&tables.stdout).contains(" thinstream_"))
}

/// What a setting was before this edge, or another before it, has changed it.
fn before(setting: &Setting, is_first: bool) -> Result<String, RouteError> {
    let missing = || failed(setting, io::ErrorKind::NotFound.into());
    let now = Real.read(&setting.name).ok_or_else(missing)?;
    let is_own_work = !is_first && now == setting.value && setting.name != setting.above;
    match is_own_work && Real.read(setting.above).as_deref() == Some("0") {
        true => Ok("0".to_owned()),
        false => Ok(now),
    }
}

fn failed(setting: &Setting, source: io::Error) -> RouteError {
    RouteError::Setting { setting: setting.name.clone(), value: setting.value, source }
}
