//! Visible reports of tests that cannot run, since their peers are not installed.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Set to anything but the empty text, a missing peer fails the test instead of skipping it.
const REQUIRE: &str = "THINSTREAM_REQUIRE_PEERS";

/// Reason for which a peer cannot be used on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// The peer; or none, after a line to standard error that the test harness does not swallow.
///
/// # Panics
/// Where `THINSTREAM_REQUIRE_PEERS` is set and the peer is missing: there, a skip is a failure.
pub fn available<T>(found: Result<T, Missing>) -> Option<T> {
    match found {
        Ok(peer) => Some(peer),
        Err(missing) => {
            let required = std::env::var_os(REQUIRE).is_some_and(|value| !value.is_empty());
            assert!(!required, "{REQUIRE} is set, but {missing}");
            let current = std::thread::current();
            let test = current.name().unwrap_or("a test").to_owned();
            // Written to the descriptor: the harness captures only what the print macros write.
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {missing}");
            None
        }
    }
}

/// The program of this name, or which Debian package would bring it.
///
/// # Errors
/// With the name of the package, where it is not installed.
pub fn program(name: &str, package: &str) -> Result<PathBuf, Missing> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let standard = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(standard)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| Missing(format!("{name} is not installed (Debian package {package})")))
}

/// Succeeds where `file` exists.
///
/// # Errors
/// With the reason given, where it does not.
pub fn file(file: &str, reason: &str) -> Result<(), Missing> {
    if Path::new(file).exists() { Ok(()) } else { Err(Missing(format!("{file}: {reason}"))) }
}

/// Succeeds for root.
///
/// # Errors
/// For other users, with what only root may do.
#[cfg(unix)]
pub fn root(purpose: &str) -> Result<(), Missing> {
    if nix::unistd::geteuid().is_root() {
        Ok(())
    } else {
        Err(Missing(format!("only root may {purpose}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_its_package() {
        let missing = program("no-such-program", "no-such-package").expect_err("it is not there");
        assert!(missing.0.contains("no-such-program") && missing.0.contains("no-such-package"));
        assert!(program("sh", "dash").is_ok());
    }
}
