//! Files that a command leaves beside its table: tried before the run, so that a mistake costs no
//! measurement, and written as a whole after it, so that a failure costs no earlier file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output;

/// A file to be written when a command is done.
#[derive(Debug)]
pub(crate) struct OutFile {
    path: PathBuf,
    /// Contents of the file, for messages.
    what: &'static str,
}

impl OutFile {
    /// Tries whether the file can be written, and refuses one that is there already unless it is to
    /// be made `anew`. Changes nothing: what stands in it stays, and one that is not there is
    /// not made.
    pub(crate) fn try_open(
        path: &Path,
        what: &'static str,
        anew: bool,
    ) -> Result<OutFile, Failure> {
        refuse_existing(path, anew)?;
        try_write(path).map_err(|error| Failure::file(path, error))?;
        Ok(OutFile { path: path.to_owned(), what })
    }

    /// A file of a name that the user did not give: whether it can be written shows in the end.
    pub(crate) fn untried(path: PathBuf, what: &'static str) -> OutFile {
        OutFile { path, what }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a device or a pipe, beside which nothing else is written.
    pub(crate) fn is_special(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| is_special(&found))
    }

    /// Writes the file and says where it is, and whether it replaces another.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let replaced = if self.path.exists() { " (replaced)" } else { "" };
        self.write_silently(text)?;
        output::note(&format!("{}: {}{replaced}", self.what, self.path.display()));
        Ok(())
    }

    /// Replaces the file by `text` without a note on standard error; fails where it cannot be
    /// written.
    pub(crate) fn write_silently(&self, text: &str) -> Result<(), Failure> {
        replace(&self.path, text.as_bytes()).map_err(|error| Failure::file(&self.path, error))
    }
}

/// Refuses a file that holds something, unless it is to be made anew. Devices and pipes hold
/// nothing that would be lost.
pub(crate) fn refuse_existing(path: &Path, anew: bool) -> Result<(), Failure> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() > 0 && !anew => Err(Failure::usage(format!(
            "\"{}\" is there already: expected another file, or --anew to replace it",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses two options that name one file: the later would overwrite the earlier. A file that is
/// read counts, too.
pub(crate) fn check_distinct(named: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let all: Vec<_> = named.iter().filter_map(|(name, path)| Some((*name, (*path)?))).collect();
    for (place, (name, path)) in all.iter().enumerate() {
        let same = all[..place].iter().find(|(_, other)| is_same(other, path));
        if let Some((other, _)) = same {
            return Err(Failure::usage(format!(
                "{other} and {name} name the same file, \"{}\"",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Whether two names are of one file. Devices take data from several writers.
fn is_same(one: &Path, other: &Path) -> bool {
    let is_device = |path: &Path| fs::metadata(path).is_ok_and(|found| is_special(&found));
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other && !is_device(&one),
        (Err(_), Err(_)) => one == other,
        _ => false,
    }
}

/// Whether it is neither a file nor a folder but a device or a pipe.
fn is_special(found: &fs::Metadata) -> bool {
    !found.is_file() && !found.is_dir()
}

fn try_write(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        // A pipe would have to have a reader already.
        Ok(found) if is_special(&found) => Ok(()),
        Ok(_) => OpenOptions::new().write(true).open(path).map(drop),
        Err(_) => {
            drop(OpenOptions::new().write(true).create_new(true).open(path)?);
            fs::remove_file(path)
        }
    }
}

/// Writes a file as a whole: a failure leaves what stood there.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let found = fs::metadata(path);
    if found.as_ref().is_ok_and(is_special) {
        return File::options().write(true).open(path)?.write_all(bytes);
    }
    // A link stays, and what it leads to is replaced.
    let target = if found.is_ok() { fs::canonicalize(path)? } else { path.to_owned() };
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let aside = target.with_file_name(name);
    let Ok(mut file) = OpenOptions::new().write(true).create_new(true).open(&aside) else {
        // The folder takes no more files, but the file may be written.
        return fs::write(&target, bytes);
    };
    let written = file.write_all(bytes).and_then(|()| {
        found.map_or(Ok(()), |found| fs::set_permissions(&aside, found.permissions()))?;
        fs::rename(&aside, &target)
    });
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of the test's own, gone at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let name = format!("thinstream-file-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Scratch(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn trying_a_file_changes_nothing_and_names_what_cannot_be_written() {
        let scratch = Scratch::new("tried");
        let (new, old) = (scratch.0.join("new.html"), scratch.0.join("old.html"));
        fs::write(&old, "earlier").unwrap();
        OutFile::try_open(&new, "report", false).unwrap();
        OutFile::try_open(&old, "report", true).unwrap();
        let refused = OutFile::try_open(&old, "report", false).unwrap_err();
        assert!(refused.exit_code() == 2 && refused.to_string().contains("--anew"), "{refused}");
        assert_eq!(scratch.names(), ["old.html"]);
        assert_eq!(fs::read(&old).unwrap(), b"earlier");
        for wrong in [scratch.0.clone(), scratch.0.join("nowhere/report.html")] {
            let failure = OutFile::try_open(&wrong, "report", false).unwrap_err();
            assert_eq!(failure.exit_code(), 2);
            assert!(failure.to_string().contains(&wrong.display().to_string()), "{failure}");
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_through_links_too() {
        let scratch = Scratch::new("written");
        let path = scratch.0.join("report.html");
        let file = OutFile::try_open(&path, "report", false).unwrap();
        file.write("one").unwrap();
        file.write("two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        #[cfg(unix)]
        {
            let link = scratch.0.join("link.html");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            OutFile::try_open(&link, "report", true).unwrap().write("three").unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(&path).unwrap(), b"three");
        }
        assert!(scratch.names().iter().all(|name| name.ends_with(".html")));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_told_when_it_is_written_to() {
        let full = OutFile::try_open(Path::new("/dev/full"), "report", false).unwrap();
        let failure = full.write("x").unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().contains("/dev/full"), "{failure}");
    }

    #[test]
    fn one_file_for_two_purposes_is_refused_and_a_device_is_not() {
        let scratch = Scratch::new("distinct");
        let (path, other) = (scratch.0.join("x"), scratch.0.join("y"));
        let named = |second: &Path| {
            check_distinct(&[("--pcap", Some(&path)), ("--svg", None), ("--events", Some(second))])
        };
        assert!(named(&path).is_err(), "neither is there yet");
        fs::write(&path, "").unwrap();
        let text = named(&scratch.0.join("./x")).unwrap_err().to_string();
        assert!(text.contains("--pcap and --events"), "{text}");
        named(&other).unwrap();
        let null = Some(Path::new("/dev/null"));
        check_distinct(&[("--pcap", null), ("--events", null)]).unwrap();
    }
}
