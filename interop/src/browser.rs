//! Browsers, headless and unmodified, as peers of a test: in a network namespace with a way out,
//! since without one they gather no candidates.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::missing::{self, Missing};
use crate::namespace::Namespace;
use crate::process::Process;

/// Address of the namespace on its way out.
pub const BROWSER_HOST: &str = "10.80.0.1";

/// Preferences that keep Firefox from actions of its own at the start, and print the log of a page.
const FIREFOX_PREFERENCES: &str = r#"
user_pref("app.update.enabled", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("browser.tabs.remote.autostart", true);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("devtools.console.stdout.content", true);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "");
user_pref("toolkit.telemetry.enabled", false);
"#;

/// The program to start, which decides about flags and profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Chromium,
    Firefox,
}

/// An installed browser: its program and how it is started.
#[derive(Clone, Debug)]
pub struct Browser {
    kind: Kind,
    program: PathBuf,
    flags: Vec<&'static str>,
}

/// A page that is open; dropping it ends the browser and all of its processes.
#[derive(Debug)]
pub struct Page {
    process: Process,
    _profile: TempDir,
}

impl Page {
    /// Output of the browser so far.
    pub fn text(&self) -> String {
        self.process.text()
    }

    /// Whether a line that the browser wrote so far, such as the page's log, contains `marker`.
    pub fn has_said(&self, marker: &str) -> bool {
        self.text().lines().any(|line| line.contains(marker))
    }
}

impl Browser {
    /// Chromium, where namespaces can be made.
    ///
    /// # Errors
    /// The missing program.
    pub fn chromium() -> Result<Browser, Missing> {
        Browser::find(Kind::Chromium, "chromium", "chromium")
    }

    /// Firefox, where namespaces can be made.
    ///
    /// # Errors
    /// The missing program.
    pub fn firefox() -> Result<Browser, Missing> {
        Browser::find(Kind::Firefox, "firefox-esr", "firefox-esr")
    }

    fn find(kind: Kind, name: &str, package: &str) -> Result<Browser, Missing> {
        Namespace::find()?;
        let program = missing::program(name, package)?;
        Ok(Browser { kind, program, flags: Vec::new() })
    }

    /// Chromium as it is, but that its offers carry SCTP's set-up: what an origin trial would have
    /// it do for a page.
    ///
    /// # Errors
    /// The missing program.
    pub fn chromium_signalling_init() -> Result<Browser, Missing> {
        let browser = Browser::chromium()?;
        Ok(Browser { flags: vec!["--enable-features=WebRtcSctpSnap"], ..browser })
    }

    /// A namespace in which a browser finds candidates: an interface besides loopback, with the
    /// default route.
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

    /// Opens a page, in a profile of its own.
    ///
    /// # Errors
    /// Where the browser cannot be started.
    pub fn open(&self, namespace: &Namespace, url: &str) -> Result<Page> {
        let profile = tempfile::tempdir().context("no folder for the profile")?;
        let mut command = Command::new(&self.program);
        match self.kind {
            Kind::Chromium => chromium(&mut command, profile.path()),
            Kind::Firefox => firefox(&mut command, profile.path())?,
        }
        command.args(&self.flags).arg(url);
        let process = Process::start_tree(Some(namespace), command)?;
        Ok(Page { process, _profile: profile })
    }

    /// The version, as the browser prints it.
    ///
    /// # Errors
    /// Where it does not run.
    pub fn version(&self) -> Result<String> {
        let (_, text) = Process::output(None, &self.program, &["--version"])?;
        // A wrapper may complain ahead of it.
        Ok(text.lines().last().unwrap_or_default().trim().to_owned())
    }
}

fn chromium(command: &mut Command, profile: &Path) {
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
        "--enable-logging=stderr",
    ]);
    command.arg(format!("--user-data-dir={}", profile.display()));
}

fn firefox(command: &mut Command, profile: &Path) -> Result<()> {
    std::fs::write(profile.join("user.js"), FIREFOX_PREFERENCES).context("the preferences")?;
    // What it keeps besides the profile goes there, too.
    command.env("HOME", profile).env("MOZ_DISABLE_CONTENT_SANDBOX", "1");
    command.args(["--headless", "--no-remote", "--new-instance", "--profile"]).arg(profile);
    Ok(())
}
