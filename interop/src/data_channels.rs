//! Data channels with others: their servers, as programs that answer offers over TCP and send what
//! a channel's label asks for (`peers/webrtc` and `peers/pion-webrtc`); their clients, with the
//! exercises that they do with ours.

mod client;
mod host;
mod judgement;
mod table;
mod versions;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub use self::host::{Host, HostReport};
pub use self::judgement::judge_page;
pub use self::table::{DataChannelTable, HEADING};
use self::versions::{go_module, locked};
use crate::build;
use crate::missing::Missing;
use crate::namespace::Namespace;
use crate::process::Process;

/// A server's program in another language, built.
#[derive(Clone, Debug)]
pub struct DataChannelServer {
    name: &'static str,
    version: String,
    path: PathBuf,
}

impl DataChannelServer {
    /// pion. The first build fetches its modules.
    ///
    /// # Errors
    /// Where Go is not installed, or the program does not build.
    pub fn pion() -> Result<DataChannelServer, Missing> {
        let path = build::go("pion-webrtc", "pion_data_channels");
        DataChannelServer::new("pion", go_module(), path)
    }

    /// str0m. The first build fetches its crates.
    ///
    /// # Errors
    /// Where the program does not build.
    pub fn str0m() -> Result<DataChannelServer, Missing> {
        let path = build::cargo("webrtc", "str0m");
        DataChannelServer::new("str0m", locked("str0m"), path)
    }

    /// webrtc-rs. The first build fetches its crates.
    ///
    /// # Errors
    /// Where the program does not build.
    pub fn webrtc_rs() -> Result<DataChannelServer, Missing> {
        let path = build::cargo("webrtc", "webrtc-rs");
        DataChannelServer::new("webrtc-rs", locked("webrtc"), path)
    }

    fn new(
        name: &'static str,
        version: Option<&str>,
        path: Result<PathBuf>,
    ) -> Result<DataChannelServer, Missing> {
        let path = path.map_err(|error| Missing(format!("{error:#}")))?;
        let version = version.unwrap_or("of unknown version").to_owned();
        Ok(DataChannelServer { name, version, path })
    }

    /// Name and version, as the table shows them.
    pub fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Starts it in `namespace`.
    ///
    /// # Errors
    /// With the program's output, where it does not come to listen.
    pub fn start(&self, namespace: &Namespace) -> Result<RunningServer> {
        let process = Process::start(Some(namespace), Command::new(&self.path))?;
        let line = process.wait_for_line("MARK ready ", Duration::from_secs(5))?;
        let at = line.rsplit(' ').next().unwrap_or_default();
        let at = at.trim().parse().with_context(|| line.clone())?;
        Ok(RunningServer { process, at })
    }
}

/// A running server; dropping it ends it.
#[derive(Debug)]
pub struct RunningServer {
    process: Process,
    at: SocketAddr,
}

impl RunningServer {
    /// The answer to an offer. The caller is in the server's namespace.
    ///
    /// # Errors
    /// With what the program said, where it gives none.
    pub async fn answer(&self, offer: &str) -> Result<String> {
        let mut stream = TcpStream::connect(self.at).await?;
        stream.write_all(offer.as_bytes()).await?;
        stream.shutdown().await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        anyhow::ensure!(!answer.is_empty(), "no answer:\n{}", self.process.text());
        Ok(answer)
    }
}
