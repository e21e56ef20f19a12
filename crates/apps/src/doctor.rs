//! `thinstream doctor`: the abilities of this machine for thin streams, each with its consequence,
//! and those of its kernel's TCP. Changes nothing; the effect of the kernel's options is measured
//! in virtual time.

mod kernel;
mod laboratory;
mod machine;
mod place;

use results::text_table::{Table, wrapped};
use serde::Serialize;

pub use kernel::KernelOption;
pub use laboratory::{LaboratoryError, Measured};
pub use place::Place;

/// The findings about a machine, and what its kernel's TCP can do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Version of the command, as in its manifest.
    pub version: &'static str,
    /// Operating system and processor that the command was built for, and the kernel's release.
    pub system: String,
    /// Abilities of the machine, one finding for each feature.
    pub findings: Vec<Finding>,
    /// Settings of the kernel that help thin streams, and their measured effect.
    pub kernel_tcp: KernelTcp,
}

/// Abilities of a kernel's own TCP.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelTcp {
    /// Settings of `/proc/sys/net` that help thin streams, with present and recommended values.
    pub options: Vec<KernelOption>,
    /// The stream that was measured, in words.
    pub stream: &'static str,
    /// Effect of the options, in virtual time; empty if the measurement was not asked for.
    pub measured: Vec<Measured>,
}

/// One thing that a machine can do or cannot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Feature that was looked at, such as UDP.
    pub about: &'static str,
    /// Whether the feature is available.
    pub state: State,
    /// The evidence, as a sentence.
    pub found: String,
    /// The consequence for thinstream, as a sentence.
    pub follows: String,
    /// A command or an action that would change it, if there is one.
    pub remedy: Option<String>,
}

/// Availability of a feature on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Available without limits: nothing to be done.
    Good,
    /// Less than there could be.
    Limited,
    /// The machine cannot do it; the text names what is missing.
    Missing,
}

/// Looks at the machine; options of the kernel are measured if `measure` says so, which takes
/// seconds of processor time.
///
/// # Errors
/// Where the measurement fails.
pub fn examine(place: &Place, measure: bool) -> Result<Diagnosis, LaboratoryError> {
    let release = place.line("proc/sys/kernel/osrelease").unwrap_or_default();
    let system = format!("{} {} {release}", std::env::consts::OS, std::env::consts::ARCH);
    let measured = if measure { laboratory::measure()? } else { Vec::new() };
    Ok(Diagnosis {
        version: env!("CARGO_PKG_VERSION"),
        system: system.trim_end().to_owned(),
        findings: machine::findings(place),
        kernel_tcp: KernelTcp {
            options: kernel::options(place),
            stream: laboratory::STREAM,
            measured,
        },
    })
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Good => "good",
            State::Limited => "limited",
            State::Missing => "missing",
        }
    }
}

/// Characters of the first column, at most, with the gap behind it.
const NAME: usize = 9;

/// Adds a name with a paragraph beside it, and a command, which stays whole, below.
fn add(table: &mut Table, name: &str, text: &str, command: Option<&str>, columns: usize) {
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    let lines = wrapped(text, columns.saturating_sub(NAME));
    names.zip(lines).for_each(|(name, line)| table.row([name, &line]));
    command.iter().for_each(|command| table.row(["", &format!("$ {command}")]));
}

impl Diagnosis {
    /// Text for people: a paragraph for each finding, then the kernel's options and a table of
    /// their effects, in lines of at most this number of columns. Commands stay whole.
    pub fn text(&self, columns: usize) -> String {
        let mut table = Table::new(2);
        for finding in &self.findings {
            let text = format!("{}: {}. {}", finding.about, finding.found, finding.follows);
            add(&mut table, finding.state.word(), &text, finding.remedy.as_deref(), columns);
        }
        let head = format!("thinstream {} on {}", self.version, self.system);
        format!("{head}\n\n{table}{}", self.kernel_tcp.text(columns))
    }
}

impl KernelTcp {
    fn text(&self, columns: usize) -> String {
        if self.options.is_empty() {
            return String::new();
        }
        let mut table = Table::new(2);
        for option in &self.options {
            let text = format!("{}: {}", option.name, option.meaning);
            let value = option.value.as_deref().unwrap_or("-");
            add(&mut table, value, &text, option.command.as_deref(), columns);
        }
        let head = "What this kernel can do for its own TCP, as its sender, without thinstream:";
        let head = wrapped(head, columns).join("\n");
        let options = format!("\n{head}\n\n{table}");
        if self.measured.is_empty() {
            return options;
        }
        let stream = wrapped(self.stream, columns).join("\n");
        let mut table = Table::headed(&["ms", "mean", "p99", "p99.9", "max", "bytes", "packets"]);
        for row in &self.measured {
            let Measured { name, mean_ms, p99_ms, p999_ms, max_ms, bytes, packets } = row;
            let times = [mean_ms, p99_ms, p999_ms, max_ms].map(|one| format!("{one:.0}"));
            let price = [format!("{bytes:.0}"), format!("{packets:.2}")];
            table.row([name.clone()].into_iter().chain(times).chain(price));
        }
        format!("{options}\n{stream}\n{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(found: &str) -> Finding {
        Finding {
            about: "UDP",
            state: State::Limited,
            found: found.to_owned(),
            follows: "so it is".to_owned(),
            remedy: Some("sysctl -w a=b".to_owned()),
        }
    }

    #[test]
    fn a_diagnosis_fits_the_terminal_and_commands_stay_whole() {
        let diagnosis = Diagnosis {
            version: "1",
            system: "linux".to_owned(),
            findings: vec![finding(&"word ".repeat(60)), finding("short")],
            kernel_tcp: KernelTcp { options: Vec::new(), stream: "", measured: Vec::new() },
        };
        for columns in [60, 80, 100] {
            let text = diagnosis.text(columns);
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= columns && longest > columns - 10, "{columns}: {text}");
        }
        let text = diagnosis.text(100);
        assert!(
            text.contains("\nlimited  UDP: short. so it is\n         $ sysctl -w a=b\n"),
            "{text}"
        );
        assert!(!text.contains("for its own TCP"), "{text}");
    }

    #[test]
    fn this_machine_can_be_examined() {
        let diagnosis = examine(&Place::here(), false).unwrap();
        assert!(diagnosis.findings.len() >= 4, "{diagnosis:?}");
        assert!(diagnosis.findings.iter().all(|one| !one.follows.is_empty()));
        let about = diagnosis.findings.iter().map(|one| one.about).collect::<Vec<_>>().join("; ");
        for wanted in ["GSO", "GRO", "--raw-ip", "Time stamps", "Timers"] {
            assert!(about.contains(wanted), "{wanted} is not among {about}");
        }
        assert_eq!(diagnosis.kernel_tcp.measured, []);
    }
}
