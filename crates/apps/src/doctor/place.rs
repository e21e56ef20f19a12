//! The system's files from which a diagnosis is made.

use std::path::PathBuf;

/// The folder that stands for `/`; another than that of the system is for tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    root: PathBuf,
}

impl Place {
    /// The system that this process runs on.
    pub fn here() -> Place {
        Place { root: PathBuf::from("/") }
    }

    #[cfg(test)]
    pub(super) fn at(root: PathBuf) -> Place {
        Place { root }
    }

    /// First line of a file, without space around it; `None` where it is missing or cannot be read.
    pub(super) fn line(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_owned())
    }

    /// The number that a file has.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.line(path)?.parse().ok()
    }

    /// Names in a folder, in their order.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(path)).into_iter().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether a file can be opened for reading and writing.
    pub(super) fn opens(&self, path: &str) -> std::io::Result<()> {
        let file = std::fs::File::options().read(true).write(true).open(self.root.join(path));
        file.map(|_| ())
    }

    /// Whether a program of this name is where programs are.
    pub(super) fn has_program(&self, name: &str) -> bool {
        let folders = ["usr/sbin", "usr/bin", "sbin", "bin", "usr/local/sbin", "usr/local/bin"];
        folders.iter().any(|folder| self.root.join(folder).join(name).is_file())
    }
}
