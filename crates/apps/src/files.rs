//! The files that show why a message was late: a capture of packets and a list of events.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::io::{Clock, PcapTap};
use base::{DatagramMeta, Instant, Transmit};
use bytes::Bytes;
use qlog::EventLine;
use thinstream::{Encapsulation, PacketTap, TimedEvent};

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

/// A file that keeps its contents until something is written, so that a run that fails at once
/// costs no earlier result.
struct ResultFile {
    file: File,
    begun: bool,
}

impl ResultFile {
    fn open(path: &Path) -> io::Result<ResultFile> {
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        Ok(ResultFile { file, begun: false })
    }

    /// Removes the contents of an earlier run.
    fn begin(&mut self) -> io::Result<()> {
        if !core::mem::replace(&mut self.begun, true) && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        Ok(())
    }
}

impl Write for ResultFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A capture that begins with the first packet.
struct Capture {
    waiting: Option<(ResultFile, String, Clock)>,
    begun: Option<PcapTap<BufWriter<ResultFile>>>,
    failure: Option<io::Error>,
}

impl Capture {
    fn begin(&mut self) -> Option<&mut PcapTap<BufWriter<ResultFile>>> {
        if let Some((file, name, clock)) = self.waiting.take() {
            match PcapTap::new(BufWriter::new(file), &name, clock) {
                Ok(tap) => self.begun = Some(tap),
                Err(error) => self.failure = Some(error),
            }
        }
        self.begun.as_mut()
    }

    fn finish(mut self) -> io::Result<()> {
        self.begin();
        match (self.failure, self.begun) {
            (Some(failure), _) => Err(failure),
            (None, begun) => begun.map_or(Ok(()), |tap| tap.finish().map(drop)),
        }
    }
}

impl PacketTap for Capture {
    fn on_sent(&mut self, now: Instant, transmit: &Transmit, datagram: &[u8]) {
        if let Some(tap) = self.begin() {
            tap.on_sent(now, transmit, datagram);
        }
    }

    fn on_received(&mut self, now: Instant, meta: &DatagramMeta, datagram: &Bytes) {
        if let Some(tap) = self.begin() {
            tap.on_received(now, meta, datagram);
        }
    }
}

/// A capture of an endpoint's packets in the making, if one was asked for.
pub(crate) struct PacketFile {
    open: Option<(PathBuf, Arc<Mutex<Option<Capture>>>)>,
}

impl PacketFile {
    /// Opens the file, if there is a path. The name of its interface says where packets in it were
    /// encrypted on the way.
    pub(crate) fn create(
        path: Option<&Path>,
        name: &str,
        encapsulation: Encapsulation,
        clock: Clock,
    ) -> Result<PacketFile, FileError> {
        let Some(path) = path else { return Ok(PacketFile { open: None }) };
        let file = ResultFile::open(path).map_err(|error| FileError::new("write", path, error))?;
        let decrypted = if encapsulation.is_secure() { ", decrypted" } else { "" };
        let waiting = Some((file, format!("{name}{decrypted}"), clock));
        let capture = Capture { waiting, begun: None, failure: None };
        Ok(PacketFile { open: Some((path.to_owned(), Arc::new(Mutex::new(Some(capture))))) })
    }

    /// The observer of the endpoint's packets, if packets are recorded.
    pub(crate) fn tap(&self) -> Option<Box<dyn PacketTap>> {
        let (_, capture) = self.open.as_ref()?;
        Some(Box::new(Arc::clone(capture)))
    }

    /// Ends the capture and its file; the error names the path.
    pub(crate) fn finish(self) -> Result<(), FileError> {
        let Some((path, capture)) = self.open else { return Ok(()) };
        let finished = lock(&capture).take().map_or(Ok(()), Capture::finish);
        finished.map_err(|error| FileError::new("write", &path, error))
    }
}

/// Recovery's events as they come, written to a file.
pub(crate) struct EventFile {
    file: Option<(PathBuf, BufWriter<ResultFile>)>,
    failure: Option<FileError>,
}

/// Events of many associations go to one file.
pub(crate) type SharedEventFile = Arc<Mutex<EventFile>>;

impl EventFile {
    /// Opens the file, if there is a path.
    pub(crate) fn create(path: Option<&Path>) -> Result<EventFile, FileError> {
        let file = match path {
            None => None,
            Some(path) => {
                let file = ResultFile::open(path);
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

    /// Ends the file; returns its first failure.
    pub(crate) fn finish(&mut self) -> Result<(), FileError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        match &mut self.file {
            Some((path, file)) => {
                let written = file.flush().and_then(|()| file.get_mut().begin());
                written.map_err(|error| FileError::new("write", path, error))
            }
            None => Ok(()),
        }
    }
}

/// A panic while a lock was held leaves counters and files as they were.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn earlier(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("thinstream-{}-{name}", std::process::id()));
        std::fs::write(&path, "an earlier result").unwrap();
        path
    }

    #[test]
    fn files_of_a_run_that_fails_at_once_keep_what_they_had() {
        let (packets, events) = (earlier("kept.pcapng"), earlier("kept.sqlog"));
        drop(
            PacketFile::create(Some(&packets), "send", Encapsulation::Secure, Clock::start())
                .unwrap(),
        );
        drop(EventFile::create(Some(&events)).unwrap());
        for path in [packets, events] {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "an earlier result");
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn files_of_a_run_that_ends_have_what_it_wrote_and_nothing_else() {
        let (packets, events) = (earlier("new.pcapng"), earlier("new.sqlog"));
        PacketFile::create(Some(&packets), "send", Encapsulation::Secure, Clock::start())
            .unwrap()
            .finish()
            .unwrap();
        EventFile::create(Some(&events)).unwrap().finish().unwrap();
        assert_eq!(std::fs::read(&packets).unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
        assert!(std::fs::read(&events).unwrap().is_empty());
        [packets, events].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }
}
