//! Options for records that a command writes beside its table, the same for all commands.

use std::path::{Path, PathBuf};

use apps::Unwritten;

use crate::failure::Failure;
use crate::file::{check_distinct, refuse_existing};
use crate::output;

/// Details to print, and files to write.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Recording {
    /// Print the results as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the packets to a capture (pcapng).
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Write the events of recovery as JSON, one a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Replace files that are there already; without it they are refused.
    #[arg(long)]
    pub(crate) anew: bool,
    /// Report every timeout, loss and retransmission as it happens.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

impl Recording {
    /// Refuses files that would overwrite each other, the input, or what is there already.
    pub(crate) fn check(&self, input: Option<(&str, &Path)>) -> Result<(), Failure> {
        let (pcap, events) = (self.pcap.as_deref(), self.events.as_deref());
        let input = input.map(|(name, path)| (name, Some(path)));
        let outputs = [("--pcap", pcap), ("--events", events)];
        check_distinct(&input.into_iter().chain(outputs).collect::<Vec<_>>())?;
        self.refuse_existing()
    }

    /// Refuses files that hold something, unless they are to be made anew.
    pub(crate) fn refuse_existing(&self) -> Result<(), Failure> {
        let mut outputs = self.pcap.iter().chain(&self.events);
        outputs.try_for_each(|path| refuse_existing(path, self.anew))
    }

    /// Says how to read the capture, if one was written and is not among those that failed.
    /// `ports`: UDP ports of SCTP in it, none for raw IP.
    pub(crate) fn print_how_to_read(&self, ports: Option<&str>, unwritten: &[Unwritten]) {
        let has_failed = |path: &Path| unwritten.iter().any(|file| file.is_at(path));
        if let Some(path) = self.pcap.as_deref().filter(|path| !has_failed(path)) {
            output::note(&format!("capture: {}", tshark(&path.display().to_string(), ports)));
        }
    }
}

/// The command that shows a capture. tshark takes UDP for SCTP on port 9899 alone, unless told.
fn tshark(path: &str, ports: Option<&str>) -> String {
    let path = output::quoted(path);
    match ports {
        None => format!("tshark -r {path}"),
        Some(ports) => format!("tshark -r {path} -d udp.port=={ports},sctp"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_a_capture_names_the_port_that_is_sctp() {
        assert_eq!(
            tshark("a b.pcapng", Some("7000")),
            "tshark -r 'a b.pcapng' -d udp.port==7000,sctp"
        );
        assert_eq!(tshark("x.pcapng", None), "tshark -r x.pcapng");
    }
}
