//! The journal of finished runs: one line for each, with a checksum.
//!
//! A line that was cut short, by a kill or a full disk, does not count, and its run is done again.
//! The first line names the plan.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use results::Results;
use serde::{Deserialize, Serialize};

use super::job::Job;
use crate::hash::mix;
use crate::plan::Plan;

/// Version of the journal's format, which its first line states.
const VERSION: u32 = 2;

/// Results of finished runs, by cell and seed.
pub type Finished = BTreeMap<Job, Results>;

/// The reason why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be read or written.
    #[error("the journal of finished runs cannot be used: {0}")]
    Io(#[from] io::Error),
    /// The journal is of another plan, or of another size of the plan.
    #[error("the journal of finished runs is of another plan or of other numbers of runs")]
    OtherPlan,
    /// The format is that of another version of the laboratory.
    #[error("the journal of finished runs is of another version")]
    OtherVersion,
    /// The laboratory that wrote it was built from other sources: its numbers may differ.
    #[error(
        "the journal of finished runs was written by a laboratory that was built from other sources"
    )]
    OtherBuild,
    /// The first line is no head of a journal.
    #[error("this is no journal of finished runs")]
    NoJournal,
}

/// Appends finished runs to a journal, a line of JSON for each.
#[derive(Debug)]
pub struct Journal<W> {
    out: W,
}

#[derive(Serialize, Deserialize)]
struct Head {
    /// Version of the journal's format.
    journal: u32,
    /// Fingerprint of the plan's text and sizes.
    plan: String,
    /// Name of the sources that the laboratory was built from.
    #[serde(default)]
    build: String,
}

#[derive(Deserialize)]
struct Line {
    cell: usize,
    seed: u64,
    results: Results,
}

#[derive(Serialize)]
struct LineOf<'a> {
    cell: usize,
    seed: u64,
    results: &'a Results,
}

/// Keys of a plan that say how its results are shown and judged, or what a search may vary: changes
/// there do not change any run.
const SHOWN: [&str; 9] =
    ["title", "paper", "reproduces", "about", "open", "expect", "target", "figure", "fit"];

/// Distinguishes plans by everything that their runs depend on: the subject, the size, keys whose
/// variation replaces the text's, and the seeds.
pub fn fingerprint(plan: &Plan) -> String {
    let mut hash = match plan.text.parse::<toml::Table>() {
        Ok(mut keys) => {
            keys.retain(|key, _| !SHOWN.contains(&key));
            hash_bytes(keys.to_string().as_bytes())
        }
        Err(_) => hash_bytes(plan.text.as_bytes()),
    };
    hash = mix(hash ^ hash_bytes(format!("{:?}", plan.size).as_bytes()));
    for (cell, _) in &plan.cells {
        hash = mix(hash ^ hash_bytes(cell.to_string().as_bytes()));
    }
    // Cells go by their names, which two values may share.
    for text in plan.varied.iter().flat_map(|(_, values)| values) {
        hash = mix(hash ^ hash_bytes(text.as_bytes()));
    }
    hash = mix(hash ^ plan.seeds);
    // Without an offset, names are those of versions that had none.
    if plan.seed_offset() > 0 {
        hash = mix(hash ^ plan.seed_offset());
    }
    format!("{hash:016x}")
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(bytes.len() as u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash ^ u64::from_le_bytes(word))
    })
}

impl<W: Write> Journal<W> {
    /// Begins a journal. `build` names the sources of the laboratory: runs of other builds are not
    /// mixed with these.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(mut out: W, plan: &Plan, build: &str) -> Result<Journal<W>, JournalError> {
        let head = Head { journal: VERSION, plan: fingerprint(plan), build: build.to_owned() };
        write_line(&mut out, &head)?;
        Ok(Journal { out })
    }

    /// Continues behind the part that [`read`] found to be good.
    pub fn resume(out: W) -> Journal<W> {
        Journal { out }
    }

    /// Writes a finished run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, job: Job, results: &Results) -> Result<(), JournalError> {
        let line = LineOf { cell: job.cell, seed: job.seed, results };
        write_line(&mut self.out, &line)
    }

    /// Returns the writer, to which all lines have been written.
    pub fn into_inner(self) -> W {
        self.out
    }
}

fn write_line(out: &mut impl Write, line: &impl Serialize) -> Result<(), JournalError> {
    let text = serde_json::to_string(line).map_err(io::Error::from)?;
    writeln!(out, "{:016x} {text}", hash_bytes(text.as_bytes()))?;
    out.flush()?;
    Ok(())
}

/// A journal that was read, up to the first line that is damaged.
#[derive(Debug, Default)]
pub struct Contents {
    /// Fingerprint of the plan; none if not even that line is whole.
    pub plan: Option<String>,
    /// Name of the sources of the laboratory that wrote it.
    pub build: String,
    /// Results of finished runs, by cell and seed.
    pub finished: Finished,
    /// Bytes from the beginning that are good: the rest is to be cut off.
    pub good: u64,
}

impl Contents {
    /// Whether its runs are of this plan and of this build.
    ///
    /// # Errors
    /// When they are of another plan or build, or when this is no journal.
    pub fn check(&self, plan: &Plan, build: &str) -> Result<(), JournalError> {
        match &self.plan {
            None => Err(JournalError::NoJournal),
            Some(other) if *other != fingerprint(plan) => Err(JournalError::OtherPlan),
            Some(_) if self.build != build => Err(JournalError::OtherBuild),
            Some(_) => Ok(()),
        }
    }
}

/// Reads a journal up to the first incomplete line.
///
/// # Errors
/// When it cannot be read, or is no journal.
pub fn read(mut from: impl BufRead) -> Result<Contents, JournalError> {
    let mut contents = Contents::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let size = from.read_until(b'\n', &mut line)?;
        let Some(text) = checked(&line) else {
            // An empty or cut first line is a beginning that was killed.
            let foreign = contents.plan.is_none() && size > 0 && line.ends_with(b"\n");
            return if foreign { Err(JournalError::NoJournal) } else { Ok(contents) };
        };
        match contents.plan {
            None => {
                let head: Head = serde_json::from_str(text).map_err(|_| JournalError::NoJournal)?;
                if head.journal != VERSION {
                    return Err(JournalError::OtherVersion);
                }
                contents.plan = Some(head.plan);
                contents.build = head.build;
            }
            Some(_) => {
                let Ok(line) = serde_json::from_str::<Line>(text) else { return Ok(contents) };
                contents.finished.insert(Job { cell: line.cell, seed: line.seed }, line.results);
            }
        }
        contents.good += size as u64;
    }
}

/// The text of a line whose checksum is right.
fn checked(line: &[u8]) -> Option<&str> {
    let line = core::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (sum, text) = line.split_once(' ')?;
    (u64::from_str_radix(sum, 16).ok()? == hash_bytes(text.as_bytes())).then_some(text)
}
