//! `thinstream trace convert`: messages of a capture as a table.

use std::path::PathBuf;

use ::lab::Recording;
use ::lab::workload::RecordedStream;

use super::Selection;
use crate::failure::Failure;
use crate::file::{OutFile, check_distinct};
use crate::output;

/// Write what applications sent, as far as a capture shows it: a line with time and size for each
/// message.
///
/// Retransmissions are left out. The laboratory replays such a table (arrivals = "replay
/// messages.csv" in a plan), and so does "thinstream send --interval 'replay messages.csv'". Of
/// several streams it has a column with their names.
///
/// Example: thinstream trace convert server.pcapng --stream 1a --out messages.csv
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Output file; by default standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Replace a file of --out that is there already; without it such a file is refused.
    #[arg(long, requires = "out", help_heading = "Output")]
    anew: bool,
}

impl Arguments {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let file = self.out.as_deref();
        check_distinct(&[("the capture", Some(&self.selection.file)), ("--out", file)])?;
        let file = file.map(|path| OutFile::try_open(path, "messages", self.anew)).transpose()?;
        let (recording, _) = self.selection.record()?;
        let recording = without_name(recording);
        output::note(&told(&recording));
        let text = recording.to_csv();
        match &file {
            None => output::print(&text),
            Some(file) => file.write_silently(&text),
        }
    }
}

/// A single stream needs no name.
fn without_name(recording: Recording) -> Recording {
    match recording.streams() {
        [one] => {
            let messages = one.messages.clone();
            Recording::new(vec![RecordedStream { name: String::new(), messages }])
                .unwrap_or(recording)
        }
        _ => recording,
    }
}

/// Number of messages, bytes and streams as a sentence.
pub(super) fn told(recording: &Recording) -> String {
    let streams = match recording.streams().len() {
        1 => "one stream".to_owned(),
        count => format!("{count} streams"),
    };
    let bytes: u64 = recording
        .streams()
        .iter()
        .flat_map(|stream| &stream.messages)
        .map(|(_, size)| *size as u64)
        .sum();
    let count = recording.count();
    format!(
        "{count} messages of {streams} in {:.3} s, {:.1} bytes each in the mean",
        recording.duration().as_secs_f64(),
        bytes as f64 / count.max(1) as f64
    )
}
