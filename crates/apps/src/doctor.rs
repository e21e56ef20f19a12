//! `thinstream doctor`: what this machine can do for thin streams, each with what follows from it, and what its kernel
//! can do for its own TCP. Looks and changes nothing; what options of the kernel bring is measured in virtual time.

mod kernel;
mod laboratory;
mod machine;
mod place;

use std::fmt;

use serde::Serialize;

use crate::Table;
pub use kernel::KernelOption;
pub use laboratory::{LaboratoryError, Measured};
pub use place::Place;

/// What was found on a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Version of the command.
    pub version: &'static str,
    /// Operating system and processor that the command was built for, and the kernel's release.
    pub system: String,
    /// What the machine can do.
    pub findings: Vec<Finding>,
    /// The kernel's own TCP.
    pub kernel_tcp: KernelTcp,
}

/// What a kernel can do for its own TCP.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelTcp {
    /// Options that this kernel has.
    pub options: Vec<KernelOption>,
    /// The stream that was measured, in words.
    pub stream: &'static str,
    /// What the options bring to it, in virtual time; empty if that was not asked for.
    pub measured: Vec<Measured>,
}

/// One thing that a machine can do or cannot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub about: &'static str,
    /// Whether it is there.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What follows from it for thinstream.
    pub follows: String,
    /// What would change it, if anything would.
    pub remedy: Option<String>,
}

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All of it.
    Good,
    /// Less than there could be.
    Limited,
    /// Nothing of it.
    Missing,
}

/// Looks at the machine; options of the kernel are measured if `measure` says so, which takes seconds of processor time.
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

/// Columns that a line takes at most.
const WIDTH: usize = 100;

/// Adds `text` with lines of at most [`WIDTH`] columns, the first behind `lead`, the others as far in.
fn wrapped(f: &mut fmt::Formatter<'_>, lead: &str, text: &str) -> fmt::Result {
    let indent = lead.chars().count();
    let mut line = lead.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(f, "{line}")?;
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    writeln!(f, "{}", line.trim_end())
}

/// For people: a paragraph for each finding, then the kernel's options and a table of what they bring.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "thinstream {} on {}\n", self.version, self.system)?;
        for finding in &self.findings {
            let lead = format!("{:8} ", finding.state.word());
            wrapped(
                f,
                &lead,
                &format!("{}: {}. {}", finding.about, finding.found, finding.follows),
            )?;
            if let Some(remedy) = &finding.remedy {
                writeln!(f, "         $ {remedy}")?;
            }
        }
        self.kernel_tcp.fmt(f)
    }
}

impl fmt::Display for KernelTcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.options.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "\nWhat this kernel can do for its own TCP, as its sender, without thinstream:\n"
        )?;
        for option in &self.options {
            let lead = format!("{:8} ", option.value.as_deref().unwrap_or("-"));
            wrapped(f, &lead, &format!("{}: {}", option.name, option.meaning))?;
            if let Some(command) = &option.command {
                writeln!(f, "         $ {command}")?;
            }
        }
        if self.measured.is_empty() {
            return Ok(());
        }
        writeln!(f)?;
        wrapped(f, "", self.stream)?;
        let mut table = Table::headed(&["ms", "mean", "p99", "p99.9", "max", "bytes", "packets"]);
        for row in &self.measured {
            let Measured { name, mean_ms, p99_ms, p999_ms, max_ms, bytes, packets } = row;
            let times = [mean_ms, p99_ms, p999_ms, max_ms].map(|one| format!("{one:.0}"));
            let price = [format!("{bytes:.0}"), format!("{packets:.2}")];
            table.row([name.clone()].into_iter().chain(times).chain(price));
        }
        table.fmt(f)
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
    fn a_diagnosis_fits_a_hundred_columns_and_commands_stay_whole() {
        let diagnosis = Diagnosis {
            version: "1",
            system: "linux".to_owned(),
            findings: vec![finding(&"word ".repeat(60)), finding("short")],
            kernel_tcp: KernelTcp { options: Vec::new(), stream: "", measured: Vec::new() },
        };
        let text = diagnosis.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
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
        assert_eq!(diagnosis.kernel_tcp.measured, []);
    }
}
