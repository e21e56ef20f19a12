//! Helpers of the tests that run the command as a process.
#![allow(dead_code, reason = "each test uses a part")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use interop::Process;
use tempfile::TempDir;

/// Time limit for a process to print what the test waits for.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The command with these words, in a folder that is its place for keys, too.
pub(crate) fn thinstream(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thinstream"));
    command.args(words.split_whitespace()).current_dir(folder);
    command.env("XDG_STATE_HOME", folder).env_remove("STATE_DIRECTORY");
    command
}

/// A running command that says at which address of 127.0.0.1 it serves.
pub(crate) fn served(folder: &Path, words: &str) -> (Process, SocketAddr) {
    let server = Process::start(None, thinstream(folder, words)).unwrap();
    let line = server.wait_for_line("127.0.0.1:", LIMIT).unwrap();
    let at = line.split("127.0.0.1:").nth(1).unwrap();
    let port: String = at.chars().take_while(char::is_ascii_digit).collect();
    (server, SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap())))
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A folder of the test's own, gone at its end.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    /// An empty temporary folder, removed when it is dropped.
    pub(crate) fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    /// The path of something in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The path of [`Scratch::path`], as an argument.
    pub(crate) fn word(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Makes a folder below it, with its parents; its path.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}
