//! Results that a folder holds before a plan's results go there: none are lost unless that was
//! asked for.

use std::fs;
use std::io;
use std::path::Path;

use lab::engine::JournalError;
use lab::engine::journal::Contents;
use lab::plan::Plan;
use results::TABLES;

use super::files::{FolderError, JOURNAL, MANIFEST, read_journal, read_manifest};

/// The choice for results that a folder holds already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Refuse the folder, so that no result is overwritten.
    #[default]
    Refuse,
    /// Go on with the runs that are finished, if they are of the same plan and build.
    Resume,
    /// Remove the files that this laboratory wrote there, and nothing else, and begin again.
    Replace,
}

impl Existing {
    /// The choice of two switches, of which at most one is set.
    pub fn of(resume: bool, anew: bool) -> Existing {
        match (resume, anew) {
            (_, true) => Existing::Replace,
            (true, false) => Existing::Resume,
            (false, false) => Existing::Refuse,
        }
    }

    /// The runs in the folder that count; changes nothing in it.
    ///
    /// # Errors
    /// When the folder holds what may not be used or replaced.
    pub(super) fn check(
        self,
        path: &Path,
        plan: &Plan,
        build: &str,
    ) -> Result<Contents, FolderError> {
        if path.exists() && !path.is_dir() {
            return Err(FolderError::new(path, "it is a file, and results need a folder"));
        }
        let file = path.join(JOURNAL);
        match (self, read_journal(&file)) {
            (Existing::Resume, Ok(contents)) => match contents.check(plan, build) {
                Ok(()) => Ok(contents),
                Err(JournalError::NoJournal) => refuse(path, plan, build, &contents),
                Err(error) => Err(FolderError::loss(&file, error, false)),
            },
            (Existing::Refuse, Ok(contents)) => refuse(path, plan, build, &contents),
            (Existing::Refuse, Err(_)) if file.is_file() => {
                Err(FolderError::loss(path, format!("it holds a {JOURNAL} already"), false))
            }
            (Existing::Replace, Ok(_)) => Ok(Contents::default()),
            (Existing::Replace, Err(error)) if error.is_of_other_version() => {
                Ok(Contents::default())
            }
            (_, Err(error)) => Err(error),
        }
    }
}

/// No runs at all, or the error that names results that would be lost.
fn refuse(
    path: &Path,
    plan: &Plan,
    build: &str,
    contents: &Contents,
) -> Result<Contents, FolderError> {
    let count = contents.finished.len();
    let runs = if count == 1 { "run" } else { "runs" };
    let whose = contents.check(plan, build);
    let can_resume = whose.is_ok();
    let whose = match whose {
        Ok(()) => format!("{count} of {} {runs} of this plan", plan.jobs()),
        Err(JournalError::OtherBuild) => {
            format!("{count} {runs} of this plan by a laboratory that was built from other sources")
        }
        Err(_) => match read_manifest(&path.join(MANIFEST)) {
            Ok(manifest) => format!("{count} {runs} of another plan, \"{}\"", manifest.title),
            Err(_) => format!("{count} {runs} of another plan, or of other numbers of runs"),
        },
    };
    if count > 0 {
        return Err(FolderError::loss(path, format!("it holds results: {whose}"), can_resume));
    }
    let own = own_files();
    match own.iter().find(|name| name.as_str() != JOURNAL && path.join(name).exists()) {
        Some(name) => Err(FolderError::loss(path, format!("it holds a {name} already"), false)),
        None => Ok(Contents::default()),
    }
}

/// Names of the files that results consist of, pictures and captures aside.
fn own_files() -> Vec<String> {
    let tables = TABLES.map(|(name, _)| [format!("{name}.csv"), format!("{name}.parquet")]);
    [JOURNAL.to_owned(), MANIFEST.to_owned()]
        .into_iter()
        .chain(tables.into_iter().flatten())
        .collect()
}

/// Removes the files that this laboratory wrote to a folder.
pub(super) fn remove(path: &Path) -> Result<(), FolderError> {
    let is_ours = path.join(JOURNAL).is_file() || path.join(MANIFEST).is_file();
    if !is_ours {
        return Ok(());
    }
    for name in own_files() {
        remove_file(&path.join(name))?;
    }
    for inner in ["pictures", "captures"] {
        let inner = path.join(inner);
        let Ok(entries) = fs::read_dir(&inner) else { continue };
        for entry in entries.flatten() {
            if entry.file_name().to_str().is_some_and(is_of_run) {
                remove_file(&entry.path())?;
            }
        }
        // Other files keep the folder.
        let _ = fs::remove_dir(&inner);
    }
    Ok(())
}

/// Whether a file is called as pictures and captures are ([`super::folder::file_name`]).
fn is_of_run(name: &str) -> bool {
    // Spaces stand in the names of earlier versions.
    let endings = [".png", "sender.pcapng", "receiver.pcapng", "events.sqlog"];
    let names_seed = name.split([',', ' ']).any(|word| word.starts_with("seed="));
    names_seed && endings.iter().any(|ending| name.ends_with(ending))
}

fn remove_file(path: &Path) -> Result<(), FolderError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FolderError::new(path, error)),
        _ => Ok(()),
    }
}
