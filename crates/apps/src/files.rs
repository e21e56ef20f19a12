//! The files that show why a message was late: a capture of packets and a list of events.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use io::{Clock, PcapTap};
use lab::events::EventLine;
use thinstream::{PacketTap, TimedEvent};

/// A file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} \"{}\": {source}", path.display())]
pub struct FileError {
    verb: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

impl FileError {
    pub(crate) fn new(verb: &'static str, path: &Path, source: std::io::Error) -> FileError {
        FileError { verb, path: path.to_owned(), source }
    }
}

/// A file that could not be written to its end, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritten {
    path: PathBuf,
    why: String,
}

impl Unwritten {
    /// Whether this is the file at `path`, spelled as it was asked for.
    pub fn is_at(&self, path: &Path) -> bool {
        self.path == path
    }
}

impl From<FileError> for Unwritten {
    fn from(error: FileError) -> Unwritten {
        Unwritten { why: error.to_string(), path: error.path }
    }
}

impl core::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.why)
    }
}

impl serde::Serialize for Unwritten {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.why)
    }
}

/// The files that failed at their end.
pub(crate) fn unwritten(ended: impl IntoIterator<Item = Result<(), FileError>>) -> Vec<Unwritten> {
    ended.into_iter().filter_map(Result::err).map(Unwritten::from).collect()
}

type Capture = Arc<Mutex<Option<PcapTap<BufWriter<File>>>>>;

/// A capture of an endpoint's packets in the making, if one was asked for.
pub(crate) struct PacketFile {
    open: Option<(PathBuf, Capture)>,
}

impl PacketFile {
    /// Begins the file, if there is a path.
    pub(crate) fn create(
        path: Option<&Path>,
        name: &str,
        clock: Clock,
    ) -> Result<PacketFile, FileError> {
        let Some(path) = path else { return Ok(PacketFile { open: None }) };
        let begin = || PcapTap::new(BufWriter::new(File::create(path)?), name, clock);
        let tap = begin().map_err(|error| FileError::new("write", path, error))?;
        Ok(PacketFile { open: Some((path.to_owned(), Arc::new(Mutex::new(Some(tap))))) })
    }

    /// What the endpoint shows its packets to.
    pub(crate) fn tap(&self) -> Option<Box<dyn PacketTap>> {
        let (_, capture) = self.open.as_ref()?;
        Some(Box::new(Arc::clone(capture)))
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<(), FileError> {
        let Some((path, capture)) = self.open else { return Ok(()) };
        let tap = lock(&capture).take();
        let finished = tap.map_or(Ok(()), |tap| tap.finish().map(drop));
        finished.map_err(|error| FileError::new("write", &path, error))
    }
}

/// Recovery's events as they come, written to a file.
pub(crate) struct EventFile {
    file: Option<(PathBuf, BufWriter<File>)>,
    failure: Option<FileError>,
}

/// Events of many associations go to one file.
pub(crate) type SharedEventFile = Arc<Mutex<EventFile>>;

impl EventFile {
    /// Begins the file, if there is a path.
    pub(crate) fn create(path: Option<&Path>) -> Result<EventFile, FileError> {
        let file = match path {
            None => None,
            Some(path) => {
                let file = File::create(path);
                let file = file.map_err(|error| FileError::new("write", path, error))?;
                Some((path.to_owned(), BufWriter::new(file)))
            }
        };
        Ok(EventFile { file, failure: None })
    }

    /// Whether events are of any use.
    pub(crate) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Writes an event of flow number `flow`, whose first DATA chunk is `first_unit`.
    pub(crate) fn write(&mut self, policy: &str, flow: u32, first_unit: u64, event: &TimedEvent) {
        let Some((path, file)) = self.file.as_mut().filter(|_| self.failure.is_none()) else {
            return;
        };
        let line = EventLine::new(policy, flow, first_unit, event).to_json();
        if let Err(error) = writeln!(file, "{line}") {
            self.failure = Some(FileError::new("write", path, error));
        }
    }

    /// Ends the file; tells of the first failure.
    pub(crate) fn finish(&mut self) -> Result<(), FileError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        match &mut self.file {
            Some((path, file)) => {
                file.flush().map_err(|error| FileError::new("write", path, error))
            }
            None => Ok(()),
        }
    }
}

/// A panic while a lock was held leaves counters and files as they were.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
