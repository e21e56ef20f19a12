//! Chromium, headless, as the browser of a test: in a network namespace with a way out, since without one it gathers no
//! candidates.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::missing::{self, Missing};
use crate::namespace::Namespace;
use crate::process::Process;

/// Address of the namespace on its way out.
pub const BROWSER_HOST: &str = "10.80.0.1";

/// The installed Chromium.
#[derive(Clone, Debug)]
pub struct Chromium {
    program: PathBuf,
}

/// A page that is open; dropping it ends the browser and all of its processes.
#[derive(Debug)]
pub struct Page {
    process: Process,
    _profile: TempDir,
}

impl Page {
    /// What the browser wrote so far.
    pub fn text(&self) -> String {
        self.process.text()
    }
}

impl Chromium {
    /// Chromium, where namespaces can be made.
    ///
    /// # Errors
    /// What is missing.
    pub fn find() -> Result<Chromium, Missing> {
        Namespace::find()?;
        let program = missing::program("chromium", "chromium")?;
        Ok(Chromium { program })
    }

    /// A namespace in which it finds candidates: an interface besides loopback, with the default route.
    ///
    /// # Errors
    /// Where the namespace cannot be made.
    pub fn namespace() -> Result<Namespace> {
        let namespace = Namespace::new()?;
        for words in [
            "link add c0 type veth peer name c1",
            &format!("addr add {BROWSER_HOST}/24 dev c0"),
            "link set c0 up",
            "link set c1 up",
            "route add default dev c0",
        ] {
            namespace.ip(words)?;
        }
        Ok(namespace)
    }

    /// The browser without a screen, with a profile of its own.
    fn command(&self, profile: &TempDir) -> Command {
        let mut command = Command::new(&self.program);
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--disable-extensions",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command
    }

    /// Opens a page.
    ///
    /// # Errors
    /// Where the browser cannot be started.
    pub fn open(&self, namespace: &Namespace, url: &str) -> Result<Page> {
        let profile = tempfile::tempdir().context("no folder for the profile")?;
        let mut command = self.command(&profile);
        command.args(["--enable-logging=stderr", url]);
        let process = Process::start_tree(Some(namespace), command)?;
        Ok(Page { process, _profile: profile })
    }

    /// The document of a page as it is after eight seconds.
    ///
    /// # Errors
    /// Where the browser does not end by itself.
    pub fn dump(&self, namespace: &Namespace, url: &str) -> Result<String> {
        let profile = tempfile::tempdir().context("no folder for the profile")?;
        let mut command = self.command(&profile);
        command.args(["--timeout=8000", "--dump-dom", url]);
        let process = Process::start_tree(Some(namespace), command)?;
        process.wait(std::time::Duration::from_secs(60))?;
        Ok(process.text())
    }

    /// The version, as the browser prints it.
    ///
    /// # Errors
    /// Where it does not run.
    pub fn version(&self) -> Result<String> {
        let (_, text) = Process::output(None, &self.program, &["--version"])?;
        Ok(text.trim().to_owned())
    }
}
