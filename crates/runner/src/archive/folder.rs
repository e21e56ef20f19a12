//! The folder of one plan's results.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use lab::engine::journal;
use lab::engine::{Finished, Job, Journal, JournalError, Shard, conclude};
use lab::plan::{Plan, Size};
use lab::stored::{Manifest, Stored, Surroundings, runs};
use results::{Labels, Results, Runs, TABLES, label_texts};

use super::existing::{self, Existing};
use super::files::{FolderError, JOURNAL, MANIFEST, read_journal, read_manifest};
use super::parquet;

/// A folder that a plan's runs go to.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    journal: Journal<File>,
    finished: Finished,
    /// Whether all of that was there already.
    untouched: bool,
}

impl Folder {
    /// Opens the folder, makes it if need be; `existing` says what becomes of the results that it
    /// holds. `build` names what the laboratory was built from.
    ///
    /// # Errors
    /// The folder cannot be used, or holds results that may not be used or replaced.
    pub fn open(
        path: &Path,
        plan: &Plan,
        existing: Existing,
        build: &str,
    ) -> Result<Folder, FolderError> {
        plan.check_versions().map_err(|error| FolderError::new(path, error))?;
        let before = existing.check(path, plan, build)?;
        fs::create_dir_all(path).map_err(|error| FolderError::new(path, error))?;
        if existing == Existing::Replace {
            existing::remove(path)?;
        }
        let file = path.join(JOURNAL);
        let failed = |error: &dyn ToString| FolderError::new(&file, error.to_string());
        let journal = match &before.plan {
            None => {
                let out = File::create(&file).map_err(|error| failed(&error))?;
                Journal::begin(out, plan, build).map_err(|error| failed(&error))?
            }
            Some(_) => {
                let open = || -> io::Result<File> {
                    // A line that was cut short goes before anything is added.
                    OpenOptions::new().write(true).open(&file)?.set_len(before.good)?;
                    OpenOptions::new().append(true).open(&file)
                };
                Journal::resume(open().map_err(|error| failed(&error))?)
            }
        };
        let untouched = before.plan.is_some();
        Ok(Folder { path: path.to_owned(), journal, finished: before.finished, untouched })
    }

    /// Whether [`Folder::open`] would take the folder; changes nothing in it.
    ///
    /// # Errors
    /// As [`Folder::open`].
    pub fn check(
        path: &Path,
        plan: &Plan,
        existing: Existing,
        build: &str,
    ) -> Result<(), FolderError> {
        existing.check(path, plan, build).map(drop)
    }

    /// Finished runs, those of an earlier start included.
    pub fn finished(&self) -> &Finished {
        &self.finished
    }

    /// Takes a finished run.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&mut self, job: Job, results: Results) -> Result<(), JournalError> {
        self.journal.add(job, &results)?;
        self.untouched = false;
        self.finished.insert(job, results);
        Ok(())
    }

    /// Writes tables, pictures and manifest of what is finished and of what follows from it; gives
    /// all of that. Where nothing was added, the surroundings stay those of the runs.
    ///
    /// # Errors
    /// The results cannot be written.
    pub fn write_tables(
        mut self,
        plan: &Plan,
        shard: Shard,
        around: Surroundings,
    ) -> Result<Finished, FolderError> {
        let before = || read_manifest(&self.path.join(MANIFEST)).ok().map(Surroundings::from);
        let around = self.untouched.then(before).flatten().unwrap_or(around);
        let manifest = Manifest::new(plan, shard, self.finished.len() as u64, around);
        conclude(plan, &mut self.finished);
        write_tables(&self.path, &runs(plan, &self.finished), &manifest)?;
        Ok(self.finished)
    }
}

/// Reads a folder that results were written to.
///
/// # Errors
/// The folder has no results, or this version cannot read their plan.
pub fn read(path: &Path) -> Result<Stored, FolderError> {
    let file = path.join(MANIFEST);
    let failed = |what: &dyn ToString| FolderError::new(&file, what.to_string());
    let manifest = read_manifest(&file)?;
    let varied = manifest.varied.as_ref().map(|(key, values)| (key.as_str(), values.as_slice()));
    let parsed = [Size::Normal, Size::Full, Size::Small].map(|size| {
        Plan::parse_varied(&manifest.plan, size, Some(manifest.seeds), varied)?
            .with_seed_offset(manifest.seed_offset)
    });
    let is_it = |plan: &Plan| journal::fingerprint(plan) == manifest.fingerprint;
    let plan = match parsed {
        [Err(error), ..] => return Err(failed(&error)),
        plans => plans.into_iter().flatten().find(is_it).ok_or_else(|| {
            failed(&"the plan is of another version of this laboratory; run it again")
        })?,
    };
    let mut finished = read_journal(&path.join(JOURNAL))?.finished;
    conclude(&plan, &mut finished);
    Ok(Stored { plan, finished, manifest })
}

fn write_tables(folder: &Path, runs: &Runs<'_>, manifest: &Manifest) -> Result<(), FolderError> {
    for (name, table) in TABLES {
        let table = table(runs);
        if name != "rows" && table.is_empty() {
            continue;
        }
        write(&folder.join(format!("{name}.csv")), |out| table.write_csv(out))?;
        write(&folder.join(format!("{name}.parquet")), |out| parquet::write(&table, out))?;
    }
    write_pictures(&folder.join("pictures"), runs)?;
    write(&folder.join(MANIFEST), |out| {
        serde_json::to_writer_pretty(&mut *out, manifest)?;
        writeln!(out)
    })
}

/// Pictures are files named by cell, seed and measure.
fn write_pictures(folder: &Path, runs: &Runs<'_>) -> Result<(), FolderError> {
    for run in runs.runs.iter().filter(|run| !run.results.pictures.is_empty()) {
        fs::create_dir_all(folder).map_err(|error| FolderError::new(folder, error))?;
        for picture in &run.results.pictures {
            let mut parts = label_texts(&picture.labels);
            parts.push(picture.measure.clone());
            let name = file_name(&run.cell, run.seed, &parts);
            write(&folder.join(format!("{name}.png")), |out| out.write_all(&picture.png))?;
        }
    }
    Ok(())
}

/// `carriage=streams,loss=10%,seed=1,sheet`: cell, seed and these parts, without what a file's name
/// may not have or a shell would read.
pub fn file_name(cell: &Labels, seed: u64, parts: &[String]) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let cell = cell.iter().map(|(key, value)| format!("{}={value}", last(key)));
    let parts: Vec<String> =
        cell.chain([format!("seed={seed}")]).chain(parts.iter().cloned()).collect();
    let is_plain = |one: char| one.is_alphanumeric() || "=%-_.~,".contains(one);
    parts.join(",").chars().map(|one| if is_plain(one) { one } else { '_' }).collect()
}

/// Writes a file completely or not at all.
fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), FolderError> {
    let aside = path.with_extension("tmp");
    let written = File::create(&aside).and_then(|file| {
        let mut out = BufWriter::new(file);
        fill(&mut out)?;
        out.into_inner().map_err(|error| error.into_error())?.sync_all()
    });
    written.and_then(|()| fs::rename(&aside, path)).map_err(|error| FolderError::new(path, error))
}

/// Joins what shards finished into one folder. Runs that several have are the same, and count once.
///
/// # Errors
/// When a folder cannot be used or is of another plan or build, or `out` holds results that
/// `existing` keeps.
pub fn merge(
    plan: &Plan,
    shards: &[PathBuf],
    out: &Path,
    existing: Existing,
    around: Surroundings,
) -> Result<Finished, FolderError> {
    let mut finished: Finished = BTreeMap::new();
    for shard in shards {
        let file = shard.join(JOURNAL);
        let contents = read_journal(&file)?;
        contents.check(plan, &around.build).map_err(|error| FolderError::new(&file, error))?;
        finished.extend(contents.finished);
    }
    let mut folder = Folder::open(out, plan, existing, &around.build)?;
    for (job, results) in &finished {
        folder.add(*job, results.clone()).map_err(|error| FolderError::new(out, error))?;
    }
    folder.write_tables(plan, Shard::default(), around)
}
