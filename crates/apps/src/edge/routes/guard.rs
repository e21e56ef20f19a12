//! Rules in force, and who takes them back.
//!
//! The rules must not outlive the edge, however that ends: they send new connections to it. So a process of its own
//! holds the table: the kernel removes a table with the flag *owner* once the netlink socket is closed by which it
//! was made. That process reads from a pipe of which the edge has the other end, and ends when the edge is gone; then
//! it gives back the settings, but for those that another edge has noted in its table: the last that needs one gives
//! it back. It heeds none of the signals that end the edge, which may still be draining.

use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::system::{Real, System, path};
use super::{Note, RouteError, Rule, Setting};

/// What the process does, in the language of the shell. Its arguments are, for each setting that was changed, its
/// name, its file, what it was, the file of the setting above it, and what that is to be then: where others have
/// changed the latter meanwhile, they need the former too. A table without notes was made by hand, and what its maker
/// needs nobody knows.
pub(super) const GUARD: &str = r#"
trap '' HUP INT QUIT TERM
nft -i
exec > /dev/null 2>&1
notes=
for table in $(nft list tables inet | sed -n 's/.* \(thinstream_\)/\1/p'); do
    text=$(nft list table inet "$table") || continue
    case $text in
        *'chain found {'*) notes="$notes$text" ;;
        *) exit ;;
    esac
done
while [ $# -ge 5 ]; do
    case $notes in
        *"\"$1="*) ;;
        *) [ "$(cat "$4")" = "$5" ] && echo "$3" > "$2" ;;
    esac
    shift 5
done
"#;
/// A command of nft that changes nothing, and what its answer has: everything before it was done then.
const MARK: (&str, &str) = ("describe tcp dport", "payload expression");

/// Rules in force; dropping it takes them back.
#[derive(Debug)]
pub struct Applied {
    guard: Guard,
}

impl Applied {
    pub(super) fn new(rules: &[Rule]) -> Result<Applied, RouteError> {
        if let Some(setting) = settings(rules).find(|setting| setting.before.is_none()) {
            return Err(failed(setting, io::ErrorKind::NotFound.into()));
        }
        Ok(Applied { guard: Guard::start(rules)? })
    }

    /// Whether the process that holds them is still there.
    pub(super) fn is_held(&mut self) -> bool {
        matches!(self.guard.process.try_wait(), Ok(None))
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
    fn start(rules: &[Rule]) -> Result<Guard, RouteError> {
        let notes: Vec<Note> = settings(rules).filter_map(Setting::note).collect();
        let mut guard = Guard::spawn(&notes).map_err(RouteError::NoNft)?;
        for rule in rules {
            if let Rule::Table { name, script } = rule {
                guard.load(&owned(name, script, &notes))?;
            }
        }
        // Now that it is written down what they were.
        for setting in settings(rules).filter(|setting| setting.note().is_some()) {
            let Setting { name, value, .. } = setting;
            if Real.read(name).as_deref() != Some(value) {
                std::fs::write(path(name), value).map_err(|error| failed(setting, error))?;
            }
        }
        Ok(guard)
    }

    fn spawn(notes: &[Note]) -> io::Result<Guard> {
        let (said, speaks) = io::pipe()?;
        let mut command = Command::new("sh");
        command.args(["-c", GUARD, "thinstream-edge-rules"]);
        for Note { name, was, above, then } in notes {
            command.arg(name).arg(path(name)).arg(was).arg(path(above)).arg(then);
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

fn settings(rules: &[Rule]) -> impl Iterator<Item = &Setting> {
    rules.iter().filter_map(Rule::setting)
}

/// The script of a table, owned by who makes it and with its notes, in one line as nft wants what it is told while it
/// runs. No packet ever comes to the chain with the notes.
fn owned(name: &str, script: &str, notes: &[Note]) -> String {
    let head = format!("table inet {name} {{\n");
    let notes: String = notes.iter().map(|note| format!("return comment \"{note}\"\n")).collect();
    let own = format!("{head}  flags owner\n  chain found {{\n{notes}}}\n");
    let script = script.replace(&head, &own);
    let mut line = String::new();
    for part in script.lines().map(str::trim) {
        line.push_str(part);
        line.push_str(if part.ends_with(['{', ';']) { " " } else { "; " });
    }
    line
}

fn failed(setting: &Setting, source: io::Error) -> RouteError {
    RouteError::Setting { setting: setting.name.clone(), value: setting.value, source }
}
