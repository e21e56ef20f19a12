//! The files of a folder of results, and why one cannot be used.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use lab::engine::JournalError;
use lab::engine::journal::{self, Contents};
use lab::stored::Manifest;

pub(super) const JOURNAL: &str = "runs.journal";
pub(super) const MANIFEST: &str = "manifest.json";

/// The reason why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {what}")]
pub struct FolderError {
    path: String,
    what: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Results would be lost, unless they are gone on with where that is possible.
    Loss {
        can_resume: bool,
    },
    /// The journal is of another version.
    OtherVersion,
    Other,
}

impl FolderError {
    pub(super) fn new(path: &Path, what: impl ToString) -> FolderError {
        let (path, what) = (path.display().to_string(), what.to_string());
        FolderError { path, what, kind: Kind::Other }
    }

    pub(super) fn loss(path: &Path, what: impl ToString, can_resume: bool) -> FolderError {
        FolderError { kind: Kind::Loss { can_resume }, ..FolderError::new(path, what) }
    }

    /// Whether results that the folder holds would be lost:
    /// [`Existing::Replace`](super::Existing::Replace) removes them, or another folder may
    /// be chosen.
    pub fn would_lose(&self) -> bool {
        matches!(self.kind, Kind::Loss { .. })
    }

    /// Whether these results are of the same plan and build, so that
    /// [`Existing::Resume`](super::Existing::Resume) goes on with them.
    pub fn can_resume(&self) -> bool {
        self.kind == Kind::Loss { can_resume: true }
    }

    pub(super) fn is_of_other_version(&self) -> bool {
        self.kind == Kind::OtherVersion
    }
}

pub(super) fn read_manifest(file: &Path) -> Result<Manifest, FolderError> {
    let text = fs::read_to_string(file).map_err(|error| {
        let what = format!("{error}; is this a folder of results, and has its run ended?");
        FolderError::new(file, what)
    })?;
    serde_json::from_str(&text).map_err(|error| FolderError::new(file, error))
}

pub(super) fn read_journal(file: &Path) -> Result<Contents, FolderError> {
    match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Contents::default()),
        Err(error) => Err(FolderError::new(file, error)),
        Ok(open) => journal::read(BufReader::new(open)).map_err(|error| match error {
            JournalError::OtherVersion => {
                FolderError { kind: Kind::OtherVersion, ..FolderError::new(file, error) }
            }
            other => FolderError::new(file, other),
        }),
    }
}
