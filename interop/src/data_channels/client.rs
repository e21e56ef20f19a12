//! Clients of data channels by others, as programs: they do exercises with the server whose TCP
//! address they are given, and to which they bring an offer, or from which they fetch one.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::versions::{go_module, locked, npm_package, requirement};
use crate::build;
use crate::missing::{self, Missing};
use crate::namespace::Namespace;
use crate::process::Process;

/// A client's program in another language, built.
#[derive(Clone, Debug)]
pub(super) struct DataChannelClient {
    title: String,
    /// Program, and arguments ahead of those that all have.
    command: Vec<PathBuf>,
}

impl DataChannelClient {
    /// pion. The first build fetches its modules.
    ///
    /// # Errors
    /// Where Go is not installed, or the program does not build.
    pub(super) fn pion() -> Result<DataChannelClient, Missing> {
        client(
            "pion",
            go_module(),
            build::go("pion-webrtc", "pion_data_channels").map(|one| vec![one]),
        )
    }

    /// str0m. The first build fetches its crates.
    ///
    /// # Errors
    /// Where the program does not build.
    pub(super) fn str0m() -> Result<DataChannelClient, Missing> {
        client("str0m", locked("str0m"), build::cargo("webrtc", "str0m").map(|one| vec![one]))
    }

    /// webrtc-rs. The first build fetches its crates.
    ///
    /// # Errors
    /// Where the program does not build.
    pub(super) fn webrtc_rs() -> Result<DataChannelClient, Missing> {
        client(
            "webrtc-rs",
            locked("webrtc"),
            build::cargo("webrtc", "webrtc-rs").map(|one| vec![one]),
        )
    }

    /// aiortc. The first call fetches its packages.
    ///
    /// # Errors
    /// Where Python is not installed, or the packages are not available.
    pub(super) fn aiortc() -> Result<DataChannelClient, Missing> {
        let python = build::python("aiortc");
        let script = build::sources().join("aiortc/exercises.py");
        client("aiortc", requirement(), python.map(|python| vec![python, script]))
    }

    /// libdatachannel, by its binding to Node.js. The first call fetches the package.
    ///
    /// # Errors
    /// Where Node.js is not installed, or the package is not available.
    pub(super) fn libdatachannel() -> Result<DataChannelClient, Missing> {
        let node = missing::program("node", "nodejs")?;
        let script = build::node("libdatachannel").map(|folder| folder.join("exercises.js"));
        let version = script.as_ref().ok().and_then(|script| library_version(&node, script));
        let title = format!(
            "{} (node-datachannel {})",
            version.as_deref().unwrap_or(""),
            npm_package().unwrap_or("")
        );
        client("libdatachannel", Some(title.trim()), script.map(|script| vec![node, script]))
    }

    /// Name and version, as the table shows them.
    pub(super) fn title(&self) -> String {
        self.title.clone()
    }

    /// Does the exercises with the server at `server`, where it brings its offer or fetches one
    /// (`offers`), and waits for the end; what came of it.
    ///
    /// # Errors
    /// With the program's output, where it fails or does not end.
    pub(super) fn run(
        &self,
        namespace: &Namespace,
        (offers, server): (bool, SocketAddr),
        limit: Duration,
    ) -> Result<Value> {
        let (program, before) = self.command.split_first().context("no program")?;
        let mut command = Command::new(program);
        let what = if offers { "offer" } else { "answer" };
        command.args(before).args([what, &server.to_string()]);
        let process = Process::start(Some(namespace), command)?;
        let line = process.wait_for_line("RESULT ", limit)?;
        let (_, result) = line.split_once("RESULT ").context("no result")?;
        let result = serde_json::from_str(result).with_context(|| process.text());
        ensure!(result.is_ok(), "{}", process.text());
        result
    }
}

fn client(
    name: &str,
    version: Option<&str>,
    command: Result<Vec<PathBuf>>,
) -> Result<DataChannelClient, Missing> {
    let command = command.map_err(|error| Missing(format!("{error:#}")))?;
    Ok(DataChannelClient {
        title: format!("{name} {}", version.unwrap_or("of unknown version")),
        command,
    })
}

/// The version that a binding's script prints without arguments.
fn library_version(node: &Path, script: &Path) -> Option<String> {
    let (status, text) = Process::output(None, node, &[script]).ok()?;
    status.success().then(|| text.trim().to_owned())
}
